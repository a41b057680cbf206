//! The order of effects: what is in the file when the run is told of, interrupted, cut off or killed.

use crate::{context, mocked, waiting};
use agentv_test_support::{
    Meeting, Running, TestContext, cases, cli_target, is_alive, mock_target, targets,
};
use std::{fs, process};

/// A run of three cases with one worker: `done` has answered, `held` is under way and has started a child in a session of
/// its own, `never` waits.
struct Stopped {
    cx: TestContext,
    running: Running,
    meeting: Meeting,
}

impl Stopped {
    /// `held` is what the second case does once it has told that it is there.
    #[track_caller]
    fn start(held: &str) -> Self {
        let cx = context();
        let meeting = cx.meeting("meeting");
        cx.script(
            "agent.sh",
            &format!(
                "#!/bin/sh\ncase $1 in\n\
                 held)\n  setsid sh -c 'echo $$ > child; {child}; sleep 600' &\n  echo $$ > parent\n  {parent}\n  {held};;\n\
                 never) touch called;;\nesac\necho ok > \"$2\"\n",
                child = meeting.tell("child"),
                parent = meeting.tell("parent"),
            ),
        );
        let command = "exec ./agent.sh {EVAL_ID} {OUTPUT_FILE}";
        cx.write("targets.yaml", &targets(&[cli_target("default", command)]));
        cx.write("suite.yaml", &cases(&["done", "held", "never"]));
        let running = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).start();
        let mut there = [meeting.next(), meeting.next()];
        there.sort();
        assert_eq!(there, ["child", "parent"]);
        Self { cx, running, meeting }
    }

    /// Waits for the end and checks what is left.
    #[track_caller]
    fn check(self) {
        let ran = self.running.finish();
        ran.code(130).stderr_has("interrupted");
        let record = ran.record();
        assert_eq!((&record["eval_id"], &record["score"]), (&"done".into(), &1.into()));
        assert!(self.cx.read("out.jsonl").ends_with("}\n"));
        for who in ["parent", "child"] {
            assert!(!is_alive(&self.cx.read(who)), "{who} is alive");
        }
        assert!(!self.cx.path("called").exists());
        assert_eq!(fs::read_dir(self.cx.temp()).unwrap().count(), 0, "temporary files are left");
    }
}

#[test]
fn an_interrupt_keeps_what_is_done_and_leaves_nobody_behind() {
    for signal in ["INT", "TERM", "HUP", "QUIT"] {
        let stopped = Stopped::start("sleep 600");
        stopped.running.signal(signal);
        stopped.check();
    }
}

#[test]
fn a_second_interrupt_does_not_wait_for_those_who_will_not_go() {
    let stopped = Stopped::start(
        "trap 'echo asked > meeting/arrivals' TERM; while :; do sleep 600 & wait; done",
    );
    stopped.running.signal("INT");
    // The command was asked to end, and stays.
    assert_eq!(stopped.meeting.next(), "asked");
    stopped.running.signal("INT");
    stopped.check();
}

#[test]
fn a_run_that_is_killed_leaves_whole_lines() {
    let mut stopped = Stopped::start("read -r go < meeting/gate");
    // The second case has begun, which says nothing of the first one's record: that is in the file once it was told.
    while !stopped.running.read_line().contains("✓ passed   1.000  done") {}
    stopped.running.signal("KILL");
    let ran = stopped.running.finish();
    ran.code(137);
    assert_eq!(ran.record()["eval_id"], "done");
    assert!(stopped.cx.read("out.jsonl").ends_with("}\n"));
    // Nobody is left to end the command, so the test does.
    stopped.meeting.let_go(1);
    let child = stopped.cx.read("child");
    crate::kill(&child);
}

/// The second run finds what the first one could not remove.
#[test]
#[cfg(target_os = "linux")]
fn what_a_killed_run_left_is_removed_by_the_next_one() {
    let cx = mocked(&["one"]);
    let meeting = cx.meeting("meeting");
    cx.write("template/file", "1\n");
    let command =
        format!("echo $$ > agent; {}; sleep 600 # {{OUTPUT_FILE}}", meeting.tell("agent"));
    let target = cli_target("default", &command) + "    workspace: template\n";
    cx.write("targets.yaml", &targets(&[target]));
    let running = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).start();
    assert_eq!(meeting.next(), "agent");
    running.signal("KILL");
    running.finish().code(137);
    let left = || -> Vec<String> {
        let entries = fs::read_dir(cx.temp()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    let (dirs, alive): (Vec<_>, Vec<_>) =
        left().into_iter().partition(|name| !name.starts_with('.'));
    assert_eq!((dirs.len(), alive.len()), (2, 1), "{dirs:?} {alive:?}");
    let agent = fs::read_to_string(
        cx.temp()
            .join(dirs.iter().find(|name| name.contains("-one-")).unwrap())
            .join("workspace/agent"),
    );
    crate::kill(&agent.unwrap());
    // Neither of these is ours to remove.
    fs::create_dir(cx.temp().join("agentv-of-somebody")).unwrap();
    cx.write("targets.yaml", &targets(&[mock_target("default", "ok")]));
    cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).run().success();
    assert_eq!(left(), ["agentv-of-somebody"]);
}

#[test]
fn what_is_told_is_in_the_file() {
    let cx = mocked(&["a", "b"]);
    let mut meeting = waiting(&cx, "{EVAL_ID}");
    let mut running = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).start();
    assert_eq!(meeting.next(), "a");
    // The file is there from the start, and empty.
    assert_eq!(cx.read("out.jsonl"), "");
    meeting.let_go(1);
    while !running.read_line().contains("1/2  ✓ passed   1.000  a") {}
    let line = cx.read("out.jsonl");
    assert!(line.contains("\"eval_id\":\"a\"") && line.ends_with("}\n"), "{line}");
    meeting.let_go(1);
    assert_eq!(running.finish().success().records().len(), 2);
}

#[test]
fn a_reader_who_leaves_early_does_not_end_the_run() {
    let ids: Vec<String> = (0..3000).map(|number| format!("case-{number}")).collect();
    let cx = mocked(&ids.iter().map(String::as_str).collect::<Vec<_>>());
    let mut running = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).start();
    assert!(running.read_line().starts_with("Output path: "));
    running.close_stdout();
    let ran = running.finish();
    ran.success();
    assert_eq!(ran.stderr, "");
    assert_eq!(ran.records().len(), 3000);
    let mut running = cx.agentv(["eval", "--help"]).start();
    running.close_stdout();
    running.finish().success().stderr_lacks("panicked");
    let mut running = cx.agentv(["validate", "suite.yaml", "--format", "json"]).start();
    running.close_stdout();
    running.finish().success().stderr_lacks("panicked");
}

#[test]
fn a_child_that_a_finished_command_left_behind_is_ended() {
    let cx = mocked(&["a"]);
    let meeting = cx.meeting("meeting");
    // The command waits until its child is there, then goes without it.
    let command = format!(
        "setsid sh -c 'echo $$ > child; echo > ready; {}; exec sleep 600' > /dev/null 2>&1 & read -r go < ready; echo ok",
        meeting.tell("child")
    );
    let command = format!("mkfifo ready; {command}");
    cx.write("targets.yaml", &targets(&[cli_target("default", &command)]));
    let ran = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).run();
    assert_eq!(ran.success().record()["candidate_answer"], "ok");
    assert!(!is_alive(&cx.read("child")));
}

/// Starts a daemon that shows nothing of where it comes from, and waits until it has written its id to `$1`.
#[cfg(target_os = "linux")]
const DAEMON: &str = "mkfifo \"$1.up\"\n\
    (env -i PATH=\"$PATH\" setsid sh -c 'echo $$ > \"$0\"; echo > \"$0.up\"; exec sleep 600' \"$1\" > /dev/null 2>&1 &)\n\
    read -r up < \"$1.up\"\n";

/// Each command leaves a daemon; the second one looks for that of the first.
#[test]
#[cfg(target_os = "linux")]
fn a_daemon_with_a_clean_environment_ends_with_its_call() {
    let cx = mocked(&["a", "b"]);
    cx.script("daemon.sh", &format!("#!/bin/sh\n{DAEMON}"));
    let command = "./daemon.sh {EVAL_ID}; \
                   if [ {EVAL_ID} = b ]; then kill -0 $(cat a) 2> /dev/null && echo a is alive; fi; echo ok";
    cx.write("targets.yaml", &targets(&[cli_target("default", command)]));
    let ran = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).run();
    assert_eq!(ran.success().record_of("b")["candidate_answer"], "ok");
    assert!(!is_alive(&cx.read("a")) && !is_alive(&cx.read("b")));
}

#[test]
#[cfg(target_os = "linux")]
fn the_end_of_a_call_leaves_the_daemons_of_others_alone() {
    let cx = mocked(&["quick", "slow"]);
    cx.script("daemon.sh", &format!("#!/bin/sh\n{DAEMON}"));
    let mut meeting = cx.meeting("meeting");
    let command = format!(
        "./daemon.sh {{EVAL_ID}}; {}; kill -0 $(cat {{EVAL_ID}}) && echo ok",
        meeting.attend("{EVAL_ID}")
    );
    cx.script("agent.sh", &format!("#!/bin/sh\n{}\n", command.replace("{EVAL_ID}", "$1")));
    cx.write("targets.yaml", &targets(&[cli_target("default", "./agent.sh {EVAL_ID}")]));
    let mut running =
        cx.agentv(["eval", "suite.yaml", "--workers", "2", "--out", "out.jsonl"]).start();
    let mut there = [meeting.next(), meeting.next()];
    there.sort();
    assert_eq!(there, ["quick", "slow"]);
    // Either of them goes first.
    meeting.let_go(1);
    while !running.read_line().contains("1/2  ✓ passed") {}
    meeting.let_go(1);
    let ran = running.finish();
    for id in ["quick", "slow"] {
        assert_eq!(ran.record_of(id)["candidate_answer"], "ok");
        assert!(!is_alive(&cx.read(id)));
    }
}

/// Commands that are no run, and start programs all the same.
#[test]
fn a_judge_that_is_tried_out_ends_with_the_program() {
    for signal in ["INT", "TERM", "HUP", "QUIT"] {
        let cx = context();
        let meeting = cx.meeting("meeting");
        cx.script(
            "judge.sh",
            &format!("#!/bin/sh\necho $$ > judge\n{}\nsleep 600\n", meeting.tell("judge")),
        );
        cx.write("payload.json", r#"{"candidate_answer": "x"}"#);
        let args = ["judge", "test", "--payload", "payload.json", "--", "./judge.sh"];
        let running = cx.agentv(args).start();
        assert_eq!(meeting.next(), "judge");
        running.signal(signal);
        running.finish().code(130).stderr_has("interrupted");
        assert!(!is_alive(&cx.read("judge")), "the judge is alive after {signal}");
    }
}

/// `docker exec` and CI runners start a process whose session is led from outside of its pid namespace: it has none to name.
#[test]
fn a_run_whose_session_is_out_of_sight_ends_what_its_commands_left() {
    const NAMESPACE: [&str; 4] = ["unshare", "--pid", "--fork", "--mount-proc"];
    #[expect(clippy::disallowed_methods, reason = "a test has no runtime to ask")]
    let can = process::Command::new(NAMESPACE[0]).args(&NAMESPACE[1..]).arg("true").status();
    if !can.is_ok_and(|status| status.success()) {
        eprintln!("skipped: pid namespaces are refused here");
        return;
    }
    let binary = env!("CARGO_BIN_EXE_agentv");
    let wrapper = format!("#!/bin/sh\nexec {} '{binary}' \"$@\"\n", NAMESPACE.join(" "));
    let outside = context();
    let cx = TestContext::new(outside.script("namespaced", &wrapper));
    // Orphans that have ended, and one that has not.
    let command =
        "for i in 1 2 3 4 5; do sh -c 'true &'; done; setsid sleep 600 > /dev/null 2>&1 & echo ok";
    cx.write("targets.yaml", &targets(&[cli_target("default", command)]));
    cx.write("suite.yaml", &cases(&["a"]));
    let ran = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).run();
    assert_eq!(ran.success().record()["candidate_answer"], "ok");
    ran.stderr_lacks("panicked");
}

#[test]
fn records_of_many_workers_are_whole_lines() {
    let ids: Vec<String> = (0..60).map(|number| format!("case-{number}")).collect();
    let cx = mocked(&ids.iter().map(String::as_str).collect::<Vec<_>>());
    let long = "x".repeat(20_000);
    cx.write("long", &format!("ok {long}"));
    cx.write("targets.yaml", &targets(&[cli_target("default", "cat long") + "    workers: 8\n"]));
    let ran = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).run();
    let mut seen: Vec<String> = ran
        .success()
        .records()
        .iter()
        .map(|record| {
            assert_eq!(record["candidate_answer"].as_str().unwrap().len(), 20_003);
            record["eval_id"].as_str().unwrap().to_owned()
        })
        .collect();
    seen.sort();
    let mut expected = ids;
    expected.sort();
    assert_eq!(seen, expected);
}

/// Whoever starts children of its own needs to hear of their end, Node.js for one.
#[test]
#[cfg(target_os = "linux")]
fn no_signal_is_blocked_for_a_command() {
    let cx = context();
    let command = "grep SigBlk /proc/self/status > {OUTPUT_FILE}";
    cx.write("targets.yaml", &targets(&[cli_target("default", command)]));
    let ids = ["one", "two", "three", "four"];
    cx.write("suite.yaml", &cases(&ids));
    let ran = cx.agentv(["eval", "suite.yaml", "--workers", "4", "--out", "out.jsonl"]).run();
    for id in ids {
        let answer = &ran.record_of(id)["candidate_answer"];
        assert_eq!(answer.as_str().unwrap().trim(), "SigBlk:\t0000000000000000", "{id}");
    }
}
