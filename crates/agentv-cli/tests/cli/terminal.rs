//! What a person sees at a terminal, during a run and after it; and what programs get instead.

use crate::{context, eval, mocked};
use agentv_test_support::{
    GRADER, Meeting, Shown, Terminal, TestContext, cases, cli_target, mock_target, targets,
};
use serde_json::Value;

/// A part of the bar that is not done yet: only a display that is drawn over has it.
const OPEN: &str = "┄";

/// Cases whose ids start with `slow` wait for the test, those with `bad` say no, those with `broken` fail.
#[track_caller]
fn mixed(ids: &[&str], meeting: &str) -> (TestContext, Meeting) {
    let cx = context();
    let meeting = cx.meeting(meeting);
    let command = format!(
        "case {{EVAL_ID}} in slow*) {}; echo ok;; broken*) echo broken >&2; exit 1;; bad*) echo no; echo never;; *) echo ok;; esac",
        meeting.attend("somebody")
    );
    cx.write("targets.yaml", &targets(&[cli_target("default", &command)]));
    cx.write("suite.yaml", &cases(ids));
    (cx, meeting)
}

#[track_caller]
fn watch(cx: &TestContext, size: (u16, u16), more: &[&str]) -> Terminal {
    let args = ["eval", "suite.yaml", "--out", "out.jsonl"].iter().chain(more);
    cx.agentv(args).on_terminal(size.0, size.1)
}

/// Nothing of the display is left, and the terminal is as it was.
#[track_caller]
fn tidy(shown: &Shown) {
    shown.lacks(OPEN).lacks("Stopping:");
    assert!(shown.is_cursor_visible);
}

#[test]
fn a_run_is_watched_and_summed_up() {
    let ids = ["slow-1", "bad-one", "good", "slow-2", "broken", "last"];
    let (cx, mut meeting) = mixed(&ids, "meeting");
    let mut terminal = watch(&cx, (24, 80), &["--workers", "3"]);
    // One worker does all that is quick while two wait.
    // A screen may be read while it is drawn, so all that is wanted is waited for.
    let wanted =
        ["4/6  66 %", OPEN, "✓ 2 passed  ✗ 1 failed  ! 1 error", "slow-1", "slow-2  default"];
    let is_whole = |screen: &str| wanted.iter().all(|text| screen.contains(text));
    let screen = terminal.wait_until("4 of 6, and two that wait", is_whole);
    assert!(
        screen.contains("✗ 0.000  bad-one  default  says-ok: Does not contain \"ok\""),
        "{screen}"
    );
    assert!(screen.contains("!     -  broken  default  broken (exit code 1)"), "{screen}");
    meeting.let_go(2);
    let shown = terminal.finish();
    tidy(shown.code(3));
    let heading = "  ✗ bad-one  says-ok 0.000, needs 1.0\n";
    shown.has(&format!("\nFailures  1 case\n{heading}    missed   Does not contain \"ok\""));
    shown.has("\nErrors  no answer to grade\n  ! broken\n    error    broken (exit code 1)");
    shown.has("✓ 4 passed  ✗ 1 failed  ! 1 error  in ");
    shown.has("Results  out.jsonl").has("Next     agentv eval --resume --retry-errors");
    assert_eq!(cx.read("out.jsonl").lines().count(), 6);
}

#[test]
fn what_to_run_next_depends_on_what_happened() {
    let cx = mocked(&["a"]);
    let first = watch(&cx, (40, 120), &[]).finish();
    first.code(0).has("Next     agentv report --html report.html").lacks("agentv compare");
    first.lacks("--retry-errors").lacks("agentv grade");
    watch(&cx, (40, 120), &[]).finish().code(0).has("\n         agentv compare  ");
}

#[test]
fn a_window_may_be_small_and_change_its_size() {
    let ids = ["slow-one-with-a-rather-long-name-that-goes-on", "bad-two", "good"];
    let (cx, mut meeting) = mixed(&ids, "meeting");
    let mut terminal = watch(&cx, (12, 40), &["--workers", "2"]);
    terminal.wait_for("2/3  66 %");
    terminal.wait_for("slow-one-with-a…e-that-goes-on");
    terminal.resize(5, 20);
    terminal.wait_for("slow-…s-on");
    terminal.resize(24, 100);
    let whole = "slow-one-with-a-rather-long-name-that-goes-on  default";
    terminal.wait_until("the whole name", |screen| screen.contains(whole));
    meeting.let_go(1);
    tidy(terminal.finish().code(0).has("✓ 2 passed  ✗ 1 failed"));
}

#[test]
fn more_cases_than_rows_are_counted() {
    let ids: Vec<String> = (0..12).map(|number| format!("slow-{number}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let (cx, mut meeting) = mixed(&ids, "meeting");
    let mut terminal = watch(&cx, (24, 80), &["--workers", "12"]);
    terminal.wait_for("… and 5 more");
    meeting.let_go(12);
    tidy(terminal.finish().code(0));
}

#[test]
fn ctrl_c_leaves_a_clean_screen() {
    let (cx, _meeting) = mixed(&["good", "slow"], "meeting");
    let mut terminal = watch(&cx, (24, 80), &[]);
    terminal.wait_for("1/2  50 %");
    terminal.press("\x03");
    let shown = terminal.finish();
    tidy(shown.code(130).has("✓ 1 passed  1 not run  in "));
    shown.has("error: interrupted: cases under way have no record");
    shown.has("help: resume it with `agentv eval --resume ").lacks("^C");
}

#[test]
fn a_second_ctrl_c_ends_what_does_not_want_to_end() {
    let (cx, _meeting) = mixed(&["good", "slow"], "meeting");
    let stubborn =
        cx.read("targets.yaml").replace("case {EVAL_ID}", "trap '' TERM; case {EVAL_ID}");
    cx.write("targets.yaml", &stubborn);
    let mut terminal = watch(&cx, (24, 80), &[]);
    terminal.wait_for("1/2  50 %");
    terminal.press("\x03");
    terminal.wait_for("Stopping: 1 case under way. Ctrl-C again ends them now.");
    terminal.press("\x03");
    tidy(terminal.finish().code(130));
}

#[test]
fn what_is_said_during_a_run_stands_above_the_display_in_whole_lines() {
    let (cx, mut meeting) = mixed(&["good", "other", "slow"], "meeting");
    let mut terminal = watch(&cx, (50, 300), &["--verbose"]);
    let screen = terminal.wait_for("2/3  66 %");
    let said = screen.lines().filter(|line| line.starts_with("[cli-provider:default] cwd="));
    assert_eq!(said.count(), 3, "{screen}");
    assert!(screen.contains("\n✓ 1.000  good  default\n"), "{screen}");
    meeting.let_go(1);
    let shown = terminal.finish();
    tidy(shown.code(0).has("\n✓ 1.000  slow  default\n"));
}

#[test]
fn a_log_or_a_dumb_terminal_gets_plain_lines() {
    for (name, value) in [("CI", "true"), ("TERM", "dumb")] {
        let cx = mocked(&["a"]);
        let args = ["eval", "suite.yaml", "--out", "out.jsonl"];
        let shown = cx.agentv(args).env(name, value).on_terminal(24, 200).finish();
        shown.code(0).has("1/1  ✓ passed   1.000  a  default\n").has("\n✓ 1 passed  in ");
        assert!(!shown.bytes.contains(&0x1b), "{name}={value}: {shown:?}");
    }
}

#[test]
fn colours_are_a_matter_of_choice() {
    let cx = mocked(&["a"]);
    let args = ["eval", "suite.yaml", "--out", "out.jsonl"];
    let is_coloured = |bytes: &[u8]| bytes.windows(5).any(|part| part == b"\x1b[32m");
    assert!(is_coloured(&cx.agentv(args).on_terminal(24, 80).finish().code(0).bytes));
    let plain = cx.agentv(args).env("NO_COLOR", "1").on_terminal(24, 80).finish();
    assert!(!is_coloured(&plain.code(0).has("✓ 1 passed").bytes));
    // Somebody looks at it after all, as with `less -R`.
    let forced = cx.agentv(args).env("CLICOLOR_FORCE", "1").run();
    assert!(is_coloured(forced.success().stdout.as_bytes()), "{}", forced.stdout);
    forced.stdout_has("✓ 1 passed");
    assert!(!is_coloured(cx.agentv(args).run().success().stdout.as_bytes()));
}

#[test]
fn an_answer_cannot_draw_on_the_terminal() {
    let cx = mocked(&["a"]);
    let answer = "no \u{1b}[2J\u{1b}]0;title\u{7} \u{1b}[31mred";
    cx.write("targets.yaml", &targets(&[mock_target("default", answer)]));
    let shown = watch(&cx, (24, 80), &[]).finish();
    shown.code(0).has(r"answer   no \x1b[2J\x1b]0;title\x07 \x1b[31mred");
    for wild in [&b"\x1b[2J"[..], b"\x1b]0;"] {
        assert!(!shown.bytes.windows(4).any(|part| part == wild), "{shown:?}");
    }
}

#[test]
fn judges_that_went_wrong_are_told_apart() {
    let cx = mocked(&["a", "b"]);
    let suite = cx.read("suite.yaml");
    let judge = format!(
        "{GRADER}\n    - {{name: taste, type: code_judge, script: [\"false\"], weight: 3}}"
    );
    cx.write("suite.yaml", &suite.replace(GRADER, &judge));
    let shown = watch(&cx, (50, 80), &[]).finish();
    shown.code(3).lacks("Failures").has("Grading errors  2 gradings, 1 cause; grading failed");
    shown
        .has("  ? 2 cases  taste\n    cases    a, b\n    error    ")
        .has("✓ 0 passed  ? 2 ungraded");
    shown
        .has("-   0/0       2       3  code_judge")
        .has("1.000 (0.342–1.000)   2/2       0       1");
    shown.has("mean score - (n=0)").has("agentv grade latest");
}

#[test]
fn quiet_tells_what_did_not_pass_and_where_the_results_are() {
    let (cx, _meeting) = mixed(&["good", "bad-one", "broken"], "meeting");
    let ran = eval(&cx, &["--quiet"]);
    let expected = "\
✗ 0.000  bad-one  default  says-ok: Does not contain \"ok\"
!     -  broken  default  broken (exit code 1)
✓ 1 passed  ✗ 1 failed  ! 1 error  in #
pass rate 33.3 % (6.1 % to 79.2 %), 95 % interval in brackets
mean score 0.500 (0.095 to 0.905, n=2)
Results  out.jsonl
";
    let (start, end) = ran.code(3).stdout.split_once(" in ").unwrap();
    let printed = format!("{start} in #\n{}", end.split_once('\n').unwrap().1);
    assert_eq!((printed.as_str(), ran.stderr.as_str()), (expected, ""));
    // The same at a terminal: nothing is drawn.
    tidy(watch(&cx, (24, 80), &["--quiet"]).finish().code(3).lacks("Output path"));
    eval(&cx, &["--quiet", "--verbose"]).code(2);
}

#[test]
fn events_are_json_and_nothing_else_is_on_stdout() {
    let (cx, _meeting) = mixed(&["good", "bad-one", "broken"], "meeting");
    let ran = eval(&cx, &["--format", "json"]);
    ran.code(3).stderr_has("Output path: ").stderr_has("Using target: default [provider=cli]");
    let events: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    let graded = ["started", "answered", "grading", "finished"];
    let broken = ["started", "answered", "finished"];
    assert_eq!(names, [&["planned"], &graded[..], &graded, &broken, &["ended"]].concat());
    assert_eq!((&events[0]["total"], &events[0]["done"]), (&3.into(), &0.into()));
    assert_eq!(events[0]["targets"][0]["provider"], "cli");
    assert_eq!(events[1]["target"], "default");
    let bad = &events[8];
    assert_eq!((&bad["eval_id"], &bad["status"]), (&"bad-one".into(), &"fail".into()));
    assert_eq!((&bad["done"], &bad["misses"][0]), (&2.into(), &"Does not contain \"ok\"".into()));
    assert_eq!(events[10]["error"], "broken (exit code 1)");
    assert_eq!(events[11]["error"], "broken (exit code 1)");
    let summary = &events[12];
    assert_eq!((&summary["exit_code"], &summary["totals"]["errors"]), (&3.into(), &1.into()));
    assert_eq!(summary["failures"][0]["answer"], "no\nnever");
    assert_eq!(summary["failures"][0]["suite"], "suite.yaml");
    assert_eq!(summary["run"], events[0]["run"]);
    assert_eq!(summary["out"], cx.path("out.jsonl").display().to_string());
}

#[test]
fn a_reader_that_has_seen_enough_of_the_events_stops_nothing() {
    let (cx, mut meeting) = mixed(&["good", "slow", "other"], "meeting");
    let args = ["eval", "suite.yaml", "--out", "out.jsonl", "--format", "json"];
    let mut running = cx.agentv(args).start();
    assert!(running.read_line().starts_with("{\"event\":\"planned\""));
    running.close_stdout();
    meeting.next();
    meeting.let_go(1);
    let ran = running.finish();
    ran.code(0).stderr_lacks("panic");
    assert_eq!(cx.read("out.jsonl").lines().count(), 3);
}
