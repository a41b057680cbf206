//! The context is tested with a shell in the place of `agentv`.

use agentv_test_support::{TestContext, is_alive};

#[track_caller]
fn shell(script: &str) -> (TestContext, agentv_test_support::Ran) {
    let cx = TestContext::new("/bin/sh");
    let ran = cx.agentv(["-c", script]).run();
    (cx, ran)
}

#[test]
fn a_run_gives_its_code_and_both_streams() {
    let (_, ran) = shell("echo out; echo err >&2; exit 3");
    ran.code(3).stdout_has("out").stderr_has("err").stdout_lacks("err").stderr_lacks("out");
}

#[test]
fn a_death_by_signal_is_told_as_shells_do() {
    shell("kill -TERM $$").1.code(143);
}

#[test]
fn the_environment_is_made_from_nothing() {
    let (cx, ran) = shell("echo \"$HOME $TMPDIR\"; echo \"$CARGO_MANIFEST_DIR\" | wc -c");
    let expected = "[DIR]/.home [DIR]/.tmp\n1\n";
    assert_eq!(cx.redact(&ran.success().stdout).replace(' ', ""), expected.replace(' ', ""));
}

#[test]
fn input_that_is_not_read_is_no_fault() {
    let cx = TestContext::new("/bin/sh");
    let ran = cx.agentv(["-c", "exit 0"]).stdin(vec![b'x'; 1 << 20]).run();
    ran.success();
}

#[test]
fn input_is_read_in_the_chosen_folder() {
    let cx = TestContext::new("/bin/sh");
    cx.write("inner/file", "found\n");
    let ran = cx.agentv(["-c", "cat; cat file"]).stdin("given\n").cwd("inner").run();
    assert_eq!(ran.success().stdout, "given\nfound\n");
}

#[test]
fn records_are_found_by_flag_and_by_output_path() {
    let cx = TestContext::new("/bin/sh");
    cx.write("out.jsonl", "{\"eval_id\":\"a\"}\n{\"eval_id\":\"b\"}\n");
    let by_flag = cx.agentv(["-c", "true", "--out", "out.jsonl"]).run();
    assert_eq!(by_flag.records().len(), 2);
    let told = cx.agentv(["-c", "echo \"Output path: $PWD/out.jsonl\""]).run();
    assert_eq!(told.record_of("b")["eval_id"], "b");
}

#[test]
fn a_judge_keeps_every_call() {
    let cx = TestContext::new("/bin/sh");
    let judge = cx.judge_dump("judge", r#"{"score":0.5}"#);
    let script = judge.script.display().to_string();
    let ran = cx.agentv(["-c", &script]).env("SEEN", "a\nb").stdin(r#"{"question":"q"}"#).run();
    assert_eq!(ran.success().stdout, r#"{"score":0.5}"#);
    assert_eq!(judge.payload()["question"], "q");
    assert_eq!(judge.call().env["SEEN"], "a\nb");
    cx.agentv(["-c", &script]).stdin("{}").run().success();
    assert_eq!(judge.calls().len(), 2);
}

#[test]
fn a_target_answers_what_it_was_told_to() {
    let cx = TestContext::new("/bin/sh");
    let entry = cx.cli_target_answering("agent", "{\"text\":\"it's\"}");
    assert!(entry.contains("{OUTPUT_FILE}"), "{entry}");
    assert_eq!(cx.read(".answers/agent"), "{\"text\":\"it's\"}");
}

#[test]
fn children_wait_until_they_are_let_go() {
    let cx = TestContext::new("/bin/sh");
    let mut meeting = cx.meeting("meeting");
    let script = format!("{}; echo gone > gone", meeting.attend("somebody"));
    let running = cx.agentv(["-c", &script]).start();
    assert_eq!(meeting.next(), "somebody");
    assert!(!cx.path("gone").exists());
    meeting.let_go(1);
    running.finish().success();
    assert_eq!(cx.read("gone"), "gone\n");
}

#[test]
fn a_run_can_be_given_a_signal_and_cut_off() {
    let cx = TestContext::new("/bin/sh");
    let meeting = cx.meeting("meeting");
    let script = format!("echo $$ > pid; echo first; {}", meeting.attend("there"));
    let mut running = cx.agentv(["-c", &script]).start();
    assert_eq!(running.read_line(), "first\n");
    running.close_stdout();
    assert_eq!(meeting.next(), "there");
    assert!(is_alive(&cx.read("pid")));
    running.signal("TERM");
    running.finish().code(143);
    assert!(!is_alive(&cx.read("pid")));
}
