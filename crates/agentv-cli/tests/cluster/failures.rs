//! Workers, servers and coordinators that end at the wrong moment.

use crate::{Cluster, calls, suite, wait_until};
use agentv_test_support::{Meeting, cli_target, targets};

/// A target that writes down its calls in the project, comes to a meeting, and says `ok`.
fn meeting() -> (Cluster, Meeting) {
    let cluster = Cluster::new("targets: []\n");
    let meeting = cluster.cx.meeting("meeting");
    let calls = cluster.cx.path("calls");
    let command = format!(
        "echo {{EVAL_ID}} >> '{}'; {}; echo ok",
        calls.display(),
        meeting.attend("{EVAL_ID}")
    );
    let file = targets(&[cli_target("default", &command)]);
    cluster.cx.write("targets.yaml", &file);
    cluster.cx.write("worker/targets.yaml", &file);
    (cluster, meeting)
}

#[test]
fn a_case_of_a_killed_worker_is_run_by_another() {
    let (mut cluster, mut meeting) = meeting();
    cluster.cx.write("suite.yaml", &suite(&["a"]));
    let first = cluster.worker_in("worker", "first", &["-j", "1"]);
    let running = cluster.eval(&["suite.yaml"]).start();
    assert_eq!(meeting.next(), "a");
    first.signal("KILL");
    first.finish();
    cluster.worker("second", &["-j", "1"]);
    assert_eq!(meeting.next(), "a");
    meeting.let_go(2);
    let ran = running.finish();
    assert_eq!(ran.success().records().len(), 1);
    assert_eq!(calls(&cluster.cx.path("calls")), ["a", "a"]);
}

#[test]
fn a_case_that_runs_twice_is_recorded_once() {
    let (mut cluster, mut meeting) = meeting();
    cluster.cx.write("suite.yaml", &suite(&["a", "b"]));
    let stopped = cluster.worker_in("worker", "stopped", &["-j", "1"]);
    let running = cluster.eval(&["suite.yaml"]).start();
    let first = meeting.next();
    // Longer than the server waits for a sign of life.
    stopped.signal("STOP");
    cluster.worker("other", &["-j", "2"]);
    let mut met = [meeting.next(), meeting.next()];
    met.sort();
    assert_eq!(met, ["a", "b"], "the case of the stopped worker, too");
    stopped.signal("CONT");
    meeting.let_go(3);
    let ran = running.finish();
    assert_eq!(ran.success().records().len(), 2);
    let calls = calls(&cluster.cx.path("calls"));
    assert_eq!(calls.iter().filter(|call| **call == first).count(), 2, "{calls:?}");
    stopped.signal("KILL");
    stopped.finish();
}

#[test]
fn a_killed_coordinator_is_resumed_and_nothing_is_paid_twice() {
    let (mut cluster, mut meeting) = meeting();
    cluster.cx.write("suite.yaml", &suite(&["a", "b", "c", "d"]));
    cluster.worker("one", &["-j", "2"]);
    let running = cluster.eval(&["suite.yaml"]).start();
    let (_first, _second) = (meeting.next(), meeting.next());
    running.signal("KILL");
    running.finish();
    // The workers go on meanwhile: the jobs that were sent are done.
    meeting.let_go(4);
    wait_until("all jobs that were sent are done", || {
        let status = cluster.status();
        let queue = &status["queues"][0];
        queue["pending"] == 0 && queue["running"] == 0
    });
    assert_eq!(cluster.status()["abandoned_runs"].as_array().unwrap().len(), 1);
    let url = cluster.server.url();
    let resumed = cluster.agentv(&["eval", "--resume", "--cluster", &url]).run();
    resumed.success().stdout_has("✓ 4 passed");
    assert_eq!(calls(&cluster.cx.path("calls")), ["a", "b", "c", "d"]);
    let records = cluster.cx.read("out.jsonl");
    assert_eq!(records.lines().count(), 4, "{records}");
}

#[test]
fn a_resumed_run_waits_for_cases_that_are_still_under_way() {
    let (mut cluster, mut meeting) = meeting();
    cluster.cx.write("suite.yaml", &suite(&["a", "b"]));
    cluster.worker("one", &["-j", "2"]);
    let running = cluster.eval(&["suite.yaml"]).start();
    let (_first, _second) = (meeting.next(), meeting.next());
    running.signal("KILL");
    running.finish();
    let url = cluster.server.url();
    let resumed = cluster.agentv(&["eval", "--resume", "--cluster", &url]).start();
    wait_until("the run is there again", || {
        cluster.status()["runs"].as_array().is_some_and(|runs| !runs.is_empty())
    });
    meeting.let_go(2);
    resumed.finish().success().stdout_has("✓ 2 passed");
    assert_eq!(calls(&cluster.cx.path("calls")), ["a", "b"]);
}

#[test]
fn a_server_that_is_killed_and_comes_back_loses_nothing() {
    let (mut cluster, mut meeting) = meeting();
    cluster.cx.write("suite.yaml", &suite(&["a", "b", "c"]));
    cluster.worker("one", &["-j", "1"]);
    let running = cluster.eval(&["suite.yaml"]).start();
    meeting.next();
    cluster.server.kill();
    meeting.let_go(1);
    cluster.server.restart();
    meeting.let_go(2);
    let ran = running.finish();
    assert_eq!(ran.success().records().len(), 3);
    assert_eq!(calls(&cluster.cx.path("calls")), ["a", "b", "c"]);
}

#[test]
fn a_case_that_kills_its_workers_ends_as_an_error() {
    let mut cluster = Cluster::new("targets: []\n");
    let killer = "pid=$PPID; while [ \"$(cat /proc/$pid/comm)\" != agentv ]; do pid=$(cut -d\" \" -f4 /proc/$pid/stat); done; kill -9 $pid; sleep 60";
    let file = targets(&[cli_target("default", killer)]);
    cluster.cx.write("targets.yaml", &file);
    cluster.cx.write("worker/targets.yaml", &file);
    cluster.cx.write("suite.yaml", &suite(&["deadly"]));
    let running = cluster.eval(&["suite.yaml"]).start();
    for name in ["first", "second", "third"] {
        let worker = cluster.worker_in("worker", name, &["-j", "1"]);
        assert_eq!(worker.finish().code, 128 + 9);
    }
    cluster.worker("fourth", &["-j", "1"]);
    let ran = running.finish();
    let record = ran.code(3).record();
    assert_eq!(record["outcome"], "error");
    ran.stdout_has("the case was started 3 times");
}

#[test]
fn a_worker_that_is_stopped_hands_its_case_on() {
    let (mut cluster, mut meeting) = meeting();
    cluster.cx.write("suite.yaml", &suite(&["a"]));
    let first = cluster.worker_in("worker", "first", &["-j", "1"]);
    let running = cluster.eval(&["suite.yaml"]).start();
    meeting.next();
    first.signal("INT");
    wait_until("it drains", || cluster.worker_status("first")["is_draining"] == true);
    first.signal("INT");
    first.finish().success();
    cluster.worker("second", &["-j", "1"]);
    meeting.next();
    meeting.let_go(2);
    assert_eq!(running.finish().success().records().len(), 1);
}

#[test]
fn ctrl_c_stops_the_cases_of_the_workers() {
    let (mut cluster, meeting) = meeting();
    cluster.cx.write("suite.yaml", &suite(&["a"]));
    cluster.worker("one", &["-j", "1"]);
    let running = cluster.eval(&["suite.yaml"]).start();
    meeting.next();
    running.signal("INT");
    running.finish().code(130);
    wait_until("the worker is free", || cluster.worker_status("one")["busy"] == 0);
    assert!(cluster.status()["abandoned_runs"].as_array().unwrap().is_empty());
}
