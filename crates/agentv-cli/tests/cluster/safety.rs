//! Who may do what.

use crate::files::contains;
use crate::{Cluster, KEY, calls, suite, wait_until};
use agentv_test_support::{cli_target, mock_target, openai_target, targets};

#[test]
fn secrets_of_a_worker_are_in_no_message_object_or_record() {
    let canary = "canary-4f7d1b9e2c";
    let mut cluster = Cluster::new("targets: []\n");
    // A command that prints what it has, and a judge that does the same.
    let file = targets(&[cli_target("default", "env; echo ok")]);
    cluster.cx.write("targets.yaml", &file);
    cluster.cx.write("worker/targets.yaml", &file);
    cluster.cx.write("worker/.env", &format!("SERVICE_API_KEY={canary}\n"));
    let judge = "{ name: judge, type: code_judge, script: [sh, -c, 'cat >/dev/null; env >&2; echo \"{\\\"score\\\": 1, \\\"reasoning\\\": \\\"$SERVICE_API_KEY\\\"}\"'] }";
    cluster.cx.write(
        "suite.yaml",
        &format!("evalcases:\n  - id: a\n    criteria: x\n    input: hi\n    evaluators: [{{ name: ok, type: contains, value: ok }}, {judge}]\n"),
    );
    cluster.worker("one", &[]);
    let ran = cluster.eval(&["suite.yaml", "--verbose"]).run();
    let record = ran.success().record().to_string();
    assert!(!record.contains(canary) && record.contains("[redacted]"), "{record}");
    assert!(!record.contains("AGENTV_CLUSTER_KEY"), "children have not got it: {record}");
    let all = cluster.server.everything();
    assert!(!contains(&all, canary.as_bytes()));
    assert!(!contains(&all, KEY.as_bytes()));
    assert!(!ran.stdout.contains(canary) && !ran.stderr.contains(canary));
}

#[test]
fn a_job_with_a_wrong_signature_is_refused_and_counted() {
    let mut cluster = Cluster::new(&targets(&[mock_target("default", "ok")]));
    cluster.worker("one", &[]);
    let job = format!("{}{{\"case\": {{}}}}", "0".repeat(64));
    cluster.server.publish("agentv.jobs.any.some-run.some-token", &job);
    wait_until("it is counted", || cluster.worker_status("one")["forged"] == 1);
    let status = cluster.agentv(&["cluster", "status"]).run();
    status.success().stdout_has("1 with a wrong signature refused");
    assert_eq!(cluster.status()["queues"][0]["pending"], 0);
}

#[test]
fn a_result_that_a_stranger_sends_is_not_believed() {
    let mut cluster = Cluster::new("targets: []\n");
    let meeting = cluster.cx.meeting("meeting");
    let file = targets(&[cli_target("default", &format!("{}; echo ok", meeting.attend("a")))]);
    cluster.cx.write("targets.yaml", &file);
    cluster.cx.write("worker/targets.yaml", &file);
    cluster.cx.write("suite.yaml", &suite(&["a"]));
    cluster.worker("one", &[]);
    let running = cluster.eval(&["suite.yaml"]).start();
    meeting.next();
    let status = cluster.status();
    let run = status["runs"][0]["run"].as_str().unwrap();
    let forged = format!("{}{{\"token\": \"x\"}}", "0".repeat(64));
    cluster.server.publish(&format!("agentv.results.{run}"), &forged);
    let mut meeting = meeting;
    meeting.let_go(1);
    assert_eq!(running.finish().success().records().len(), 1);
}

#[test]
fn members_need_the_same_key() {
    let mut cluster = Cluster::new(&targets(&[mock_target("default", "ok")]));
    cluster.cx.write("suite.yaml", &suite(&["a"]));
    cluster.worker("one", &[]);
    let other =
        cluster.eval(&["suite.yaml"]).env("AGENTV_CLUSTER_KEY", "another key, long enough").run();
    other.code(3).stderr_has("`AGENTV_CLUSTER_KEY` is not the key of the cluster");
    let url = cluster.server.url();
    let none = cluster.cx.agentv(["eval", "suite.yaml", "--cluster", &url]).run();
    none.code(2).stderr_has("`AGENTV_CLUSTER_KEY` is not set").stderr_has("agentv cluster key");
    assert!(!cluster.cx.path(".agentv/runs").exists(), "nothing was begun");
}

#[test]
fn a_login_in_the_address_is_used_and_not_kept() {
    let cx = agentv_test_support::TestContext::new(env!("CARGO_BIN_EXE_agentv"));
    let server = agentv_test_support::NatsServer::start_with(
        &cx.path(".nats"),
        &["--user", "me", "--pass", "open-sesame"],
    );
    cx.write("targets.yaml", &targets(&[mock_target("default", "ok")]));
    cx.write("suite.yaml", &suite(&["a"]));
    let url = server.url().replace("nats://", "nats://me:open-sesame@");
    let key =
        |invocation: agentv_test_support::Invocation| invocation.env("AGENTV_CLUSTER_KEY", KEY);
    let mut worker = key(cx.agentv(["worker", "--cluster", &url, "--cache-dir", ".cache"])).start();
    assert!(worker.read_line().contains("is ready"));
    let ran = key(cx.agentv(["eval", "suite.yaml", "--cluster", &url, "--out", "out.jsonl"])).run();
    ran.success();
    worker.signal("KILL");
    worker.finish();
    let shown = cx.agentv(["runs", "show", "latest"]).run();
    shown.success().stdout_has("nats://127.0.0.1").stdout_lacks("open-sesame");
    for entry in std::fs::read_dir(cx.path(".agentv/runs")).unwrap() {
        let info = std::fs::read_to_string(entry.unwrap().path().join("run.json")).unwrap();
        assert!(!info.contains("open-sesame"), "{info}");
    }
    let refused = key(cx.agentv(["eval", "suite.yaml", "--cluster", &server.url()])).run();
    refused.code(3).stderr_has("cannot reach the NATS server");
}

#[test]
fn a_worker_whose_target_is_another_model_refuses() {
    let cluster_targets = targets(&[openai_target("default", "http://127.0.0.1:9")]);
    let mut cluster = Cluster::new(&cluster_targets);
    cluster
        .cx
        .write("worker/targets.yaml", &cluster_targets.replace("127.0.0.1:9", "127.0.0.1:10"));
    cluster.cx.write("suite.yaml", &suite(&["a"]));
    cluster.worker("one", &[]);
    let ran = cluster.eval(&["suite.yaml"]).env("OPENAI_API_KEY", "sk-test-key").run();
    let record = ran.code(3).record();
    assert_eq!(record["outcome"], "error");
    let reason = "target `default` has other settings here";
    assert!(record.to_string().contains(reason), "{record}");
    ran.stderr_has(&format!("worker `one` refuses: {reason}"));
}

#[test]
fn a_worker_with_other_targets_leaves_the_cases_to_the_right_one() {
    let mut cluster = Cluster::new(&targets(&[cli_target("default", "echo ok")]));
    cluster.cx.write("other/targets.yaml", &targets(&[cli_target("default", "echo wrong")]));
    cluster.cx.write("other/.git/HEAD", "");
    cluster.cx.write("suite.yaml", &suite(&["a", "b", "c"]));
    let wrong = cluster.worker_in("other", "wrong", &["-j", "2"]);
    cluster.worker("right", &["-j", "2"]);
    let ran = cluster.eval(&["suite.yaml"]).run();
    assert_eq!(ran.success().records().len(), 3);
    wrong.signal("KILL");
    wrong.finish();
    assert!(calls(&cluster.cx.path("calls")).is_empty());
}
