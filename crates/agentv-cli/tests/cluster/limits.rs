//! Limits that hold over all workers together.

use crate::{Cluster, calls, suite};
use agentv_test_support::{FakeLlm, cli_target, mock_target, openai_target, targets};

#[test]
fn labels_choose_the_workers_and_a_missing_one_is_named() {
    let mut cluster = Cluster::new(&targets(&[mock_target("default", "ok")]));
    cluster.cx.write("suite.yaml", &format!("needs: [gpu]\n{}", suite(&["a"])));
    cluster.worker("plain", &[]);
    let mut running = cluster.eval(&["suite.yaml"]).start();
    let told = running.read_error_line();
    assert!(told.contains("no worker has the labels `gpu`"), "{told}");
    assert_eq!(cluster.status()["queues"].as_array().unwrap().len(), 2);
    cluster.worker("strong", &["--labels", "gpu,linux"]);
    assert_eq!(running.finish().success().records().len(), 1);
    assert_eq!(cluster.worker_status("strong")["done"], 1);
    assert_eq!(cluster.worker_status("plain")["done"], 0);
}

#[test]
fn a_run_without_workers_says_so() {
    let mut cluster = Cluster::new(&targets(&[mock_target("default", "ok")]));
    cluster.cx.write("suite.yaml", &suite(&["a"]));
    let mut running = cluster.eval(&["suite.yaml"]).start();
    let told = running.read_error_line();
    assert!(told.contains("no worker is connected"), "{told}");
    cluster.worker("late", &[]);
    running.finish().success();
}

#[test]
fn the_calls_at_once_of_a_target_hold_over_all_workers() {
    let mut cluster = Cluster::new("targets: []\n");
    let mut meeting = cluster.cx.meeting("meeting");
    let target = cli_target("default", &format!("{}; echo ok", meeting.attend("{EVAL_ID}")));
    let file = targets(&[format!("{target}\n    workers: 2\n")]);
    cluster.cx.write("targets.yaml", &file);
    cluster.cx.write("worker/targets.yaml", &file);
    cluster.cx.write("suite.yaml", &suite(&["a", "b", "c", "d"]));
    cluster.worker("one", &["-j", "4"]);
    cluster.worker("two", &["-j", "4"]);
    let running = cluster.eval(&["suite.yaml"]).start();
    meeting.next();
    meeting.next();
    // A round trip through both workers: a third case would have come by then.
    cluster.status();
    assert!(meeting.rest().is_empty());
    meeting.let_go(4);
    running.finish().success();
}

#[test]
fn a_budget_holds_over_all_workers() {
    let llm = FakeLlm::answering("ok");
    let mut cluster = Cluster::new(&targets(&[openai_target("default", &llm.url())]));
    cluster.cx.write("worker/.env", "OPENAI_API_KEY=sk-test-key-of-the-worker\n");
    let ids: Vec<String> = (0..12).map(|number| format!("case-{number}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    cluster.cx.write("suite.yaml", &suite(&ids));
    cluster.worker("one", &["-j", "2"]);
    cluster.worker("two", &["-j", "2"]);
    let ran = cluster
        .eval(&["suite.yaml", "--max-tokens", "40"])
        .env("OPENAI_API_KEY", "sk-test-key-of-the-run")
        .run();
    ran.code(3).stderr_has("the budget of `--max-tokens` is spent");
    assert!(llm.asked().len() < 12, "{} calls", llm.asked().len());
}

#[test]
fn answers_that_are_known_are_not_asked_for_again() {
    let llm = FakeLlm::answering("ok");
    let mut cluster = Cluster::new(&targets(&[openai_target("default", &llm.url())]));
    cluster.cx.write("worker/.env", "OPENAI_API_KEY=sk-test-key-of-the-worker\n");
    cluster.cx.write("suite.yaml", &suite(&["a", "b"]));
    cluster.worker("one", &[]);
    for _ in 0..2 {
        let ran =
            cluster.eval(&["suite.yaml", "--cache"]).env("OPENAI_API_KEY", "sk-of-the-run").run();
        assert_eq!(ran.records().len(), 2);
    }
    assert_eq!(llm.asked().len(), 2);
    assert!(calls(&cluster.cx.path("calls")).is_empty());
}
