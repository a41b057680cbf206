//! `agentv cluster`.

use crate::{Cluster, suite, wait_until};
use agentv_test_support::{TestContext, cli_target, mock_target, targets};
use std::net::TcpListener;

/// A port that is free now.
fn free_port() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string()
}

#[test]
fn a_server_is_started_for_a_trial_and_stopped() {
    let cx = TestContext::new(env!("CARGO_BIN_EXE_agentv"));
    let port = free_port();
    let up = cx.agentv(["cluster", "up", "--port", &port]).run();
    up.success()
        .stdout_has("NATS server started")
        .stdout_has(&format!("agentv worker --cluster nats://127.0.0.1:{port}"));
    let key = cx.read(".agentv/cluster/key");
    cx.write("targets.yaml", &targets(&[mock_target("default", "ok")]));
    cx.write("suite.yaml", &suite(&["a"]));
    let url = format!("nats://127.0.0.1:{port}");
    let with_key = |args: &[&str]| cx.agentv(args).env("AGENTV_CLUSTER_KEY", key.trim());
    let mut worker = with_key(&["worker", "--cluster", &url, "--cache-dir", ".cache"]).start();
    assert!(worker.read_line().contains("is ready"));
    with_key(&["eval", "suite.yaml", "--cluster", &url]).run().success().stdout_has("✓ 1 passed");
    cx.agentv(["cluster", "up", "--port", &port]).run().success().stdout_has("is already running");
    worker.signal("KILL");
    worker.finish();
    cx.agentv(["cluster", "down"]).run().success().stdout_has("NATS server stopped");
    let again = cx.agentv(["cluster", "down"]).run();
    again.code(2).stderr_has("is running");
}

#[test]
fn what_cannot_be_started_says_why() {
    let cx = TestContext::new(env!("CARGO_BIN_EXE_agentv"));
    let missing =
        cx.agentv(["cluster", "up", "--port", &free_port()]).env("PATH", "/nowhere").run();
    missing
        .code(3)
        .stderr_has("`nats-server` cannot be started")
        .stderr_has("apt-get install nats-server");
    let url = format!("nats://127.0.0.1:{}", free_port());
    let key = |args: &[&str]| cx.agentv(args).env("AGENTV_CLUSTER_KEY", "0123456789abcdef");
    key(&["cluster", "status", "--cluster", &url])
        .run()
        .code(3)
        .stderr_has("cannot reach the NATS server");
    key(&["cluster", "status"]).run().code(2).stderr_has("no cluster is named");
    key(&["cluster", "status", "--cluster", "http://x"])
        .run()
        .code(2)
        .stderr_has("is not the address of a NATS server");
    let printed = cx.agentv(["cluster", "key"]).run();
    assert_eq!(printed.success().stdout.trim().len(), 64);
}

#[test]
fn a_drained_worker_finishes_and_takes_no_more() {
    let mut cluster = Cluster::new("targets: []\n");
    let mut meeting = cluster.cx.meeting("meeting");
    let file =
        targets(&[cli_target("default", &format!("{}; echo ok", meeting.attend("{EVAL_ID}")))]);
    cluster.cx.write("targets.yaml", &file);
    cluster.cx.write("worker/targets.yaml", &file);
    cluster.cx.write("suite.yaml", &suite(&["a", "b"]));
    let first = cluster.worker_in("worker", "first", &["-j", "1"]);
    let running = cluster.eval(&["suite.yaml"]).start();
    meeting.next();
    cluster
        .agentv(&["cluster", "drain", "missing"])
        .run()
        .code(2)
        .stderr_has("no worker `missing`");
    cluster
        .agentv(&["cluster", "drain", "first"])
        .run()
        .success()
        .stdout_has("first takes no more cases");
    meeting.let_go(1);
    first.finish().success();
    cluster.worker("second", &["-j", "1"]);
    meeting.next();
    meeting.let_go(1);
    assert_eq!(running.finish().success().records().len(), 2);
}

#[test]
fn a_run_is_cancelled_from_elsewhere_and_can_be_resumed() {
    let mut cluster = Cluster::new("targets: []\n");
    let mut meeting = cluster.cx.meeting("meeting");
    let file =
        targets(&[cli_target("default", &format!("{}; echo ok", meeting.attend("{EVAL_ID}")))]);
    cluster.cx.write("targets.yaml", &file);
    cluster.cx.write("worker/targets.yaml", &file);
    cluster.cx.write("suite.yaml", &suite(&["a", "b"]));
    cluster.worker("one", &["-j", "1"]);
    let running = cluster.eval(&["suite.yaml"]).start();
    meeting.next();
    let status = cluster.status();
    let run = status["runs"][0]["run"].as_str().unwrap().to_owned();
    assert_eq!(status["runs"][0]["total"], 2);
    cluster.agentv(&["cluster", "cancel", &run]).run().success();
    running.finish().code(130);
    wait_until("the worker is free", || cluster.worker_status("one")["busy"] == 0);
    // The run knows its cluster.
    let resumed = cluster.agentv(&["eval", "--resume", &run]).start();
    meeting.let_go(3);
    resumed.finish().success().stdout_has("✓ 2 passed");
    cluster.agentv(&["cluster", "cancel", &run]).run().code(2).stderr_has("no run");
}
