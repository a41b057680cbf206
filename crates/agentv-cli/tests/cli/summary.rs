//! The end of a run: tables, what did not pass by cause, totals, next steps. On a terminal, and the same in a pipe.

use crate::{context, eval, mocked};
use agentv_test_support::{GRADER, Shown, TestContext, cases, cli_target, targets};
use serde_json::{Value, json};

/// `bad` cases say no, `broken` ones fail, and all others say ok.
#[track_caller]
fn mixed(ids: &[&str]) -> TestContext {
    let cx = context();
    let command =
        "case {EVAL_ID} in broken*) echo broken >&2; exit 1;; bad*) echo no;; *) echo ok;; esac";
    cx.write("targets.yaml", &targets(&[cli_target("default", command)]));
    cx.write("suite.yaml", &cases(ids));
    cx
}

/// A mock says ok; these cases, each with its evaluators, are among a hundred.
#[track_caller]
fn hundred(special: &[(&str, Value)]) -> TestContext {
    let cx = context();
    let mock = json!({ "name": "default", "provider": "mock", "response": "ok" });
    cx.write("targets.yaml", &json!({ "targets": [mock] }).to_string());
    let contains = |value: &str| json!([{ "name": "says-ok", "type": "contains", "value": value }]);
    let case = |id: &str, evaluators: &Value| json!({ "id": id, "input": id, "expected_outcome": "Says ok", "evaluators": evaluators });
    let mut all: Vec<Value> = special.iter().map(|(id, evaluators)| case(id, evaluators)).collect();
    let rest = (all.len()..100).map(|number| case(&format!("case-{number}"), &contains("ok")));
    all.extend(rest);
    cx.write("suite.yaml", &json!({ "evalcases": all }).to_string());
    cx
}

#[track_caller]
fn watch(cx: &TestContext, (rows, columns): (u16, u16)) -> Shown {
    cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).on_terminal(rows, columns).finish()
}

/// Without the durations at the ends of lines.
fn timeless(text: &str) -> String {
    let line = |line: &str| {
        let before = [" ms", " s"].iter().find_map(|unit| line.strip_suffix(unit));
        let number = |c: char| c.is_ascii_digit() || c == '.';
        let rest = before.map(|before| before.trim_end_matches(number).trim_end());
        rest.map_or(line.to_owned(), |rest| format!("{rest} #"))
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_pipe_gets_a_line_per_case_then_tables_failures_and_totals() {
    let cx = mixed(&["good", "bad-1", "broken-1", "bad-2", "broken-2", "last"]);
    let ran = eval(&cx, &[]);
    let expected = "\
Output path: [DIR]/out.jsonl
Using target: default [provider=cli]
1/6  ✓ passed   1.000  good  default
2/6  ✗ failed   0.000  bad-1  default  says-ok: Does not contain \"ok\"
3/6  ! error        -  broken-1  default  broken (exit code 1)
4/6  ✗ failed   0.000  bad-2  default  says-ok: Does not contain \"ok\"
5/6  ! error        -  broken-2  default  broken (exit code 1)
6/6  ✓ passed   1.000  last  default

Target                       Mean           Pass  Errors  Mean time
───────  ────────────────────────  ─────────────  ──────  ─────────
default  0.500 (0.150–0.850, n=4)  2/6 (10–70 %)       2 #

Evaluator                 Mean  Pass  Errors  Weight  Type
─────────  ───────────────────  ────  ──────  ──────  ────────
says-ok    0.500 (0.150–0.850)   2/4       0       1  contains

Errors  2 cases, 1 cause; no answer to grade
  ! 2 cases
    cases    broken-1, broken-2
    error    broken (exit code 1)

Failures  2 cases, 1 cause
  ✗ 2 cases  says-ok 0.000, needs 1.0
    cases    bad-1, bad-2
    missed   Does not contain \"ok\"

✓ 2 passed  ✗ 2 failed  ! 2 errors  in #
pass rate 33.3 % (9.7 % to 70.0 %), 95 % interval in brackets
mean score 0.500 (0.150 to 0.850, n=4)

Results  out.jsonl
Next     agentv eval --resume --retry-errors  run only the errors again
         agentv report --html report.html     see every case in a browser";
    assert_eq!(
        (timeless(&cx.redact(&ran.code(3).stdout)).as_str(), ran.stderr.as_str()),
        (expected, "")
    );
}

#[test]
fn a_grading_error_is_neither_passed_nor_failed() {
    let cx = mocked(&["a", "b"]);
    let judge = format!("{GRADER}\n    - {{name: taste, type: code_judge, script: [\"false\"]}}");
    cx.write("suite.yaml", &cx.read("suite.yaml").replace(GRADER, &judge));
    let ran = eval(&cx, &[]);
    ran.code(3).stdout_has("2/2  ? ungraded     -  b  default  taste: ");
    ran.stdout_has("\nGrading errors  2 gradings, 1 cause; grading failed; the answer was not judged\n  ? 2 cases  taste\n    cases    a, b\n    error    ");
    ran.stdout_has("\n✓ 0 passed  ? 2 ungraded  in ").stdout_has("\n2 grading errors, 2 answers");
    ran.stdout_lacks("Failures").stdout_lacks("failed  in").stdout_lacks("✅");
    // Neither red, which is the colour of a failure.
    let shown = watch(&cx, (40, 100));
    assert!(!shown.code(3).bytes.windows(5).any(|part| part == b"\x1b[31m"), "{shown:?}");
}

#[test]
fn an_error_has_not_the_colour_of_a_failure() {
    let shown = watch(&mixed(&["broken-1", "good"]), (40, 100));
    let has = |part: &[u8]| shown.bytes.windows(part.len()).any(|found| found == part);
    assert!(has("\x1b[35m!".as_bytes()), "{shown:?}");
    // Only the word `error` of the message at the end is red, and bold.
    assert!(!has(b"\x1b[31m"), "{shown:?}");
    shown.code(3).has("✓ 1 passed  ! 1 error  in ").lacks("failed");
}

#[test]
fn the_same_error_is_one_line_with_a_count() {
    let ids: Vec<String> = (0..10).map(|number| format!("broken-{number}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).chain(["good"]).collect();
    let cx = mixed(&ids);
    let ran = eval(&cx, &[]);
    ran.code(3).stdout_has(
        "\nErrors  10 cases, 1 cause; no answer to grade\n  ! 10 cases\n    cases    broken-0, broken-1, broken-2, broken-3, broken-4 and 5 more\n    error    broken (exit code 1)\n\n✓ 1 passed  ! 10 errors  in ",
    );
    // A case that is resumed is in the same group.
    cx.agentv(["eval", "--resume"]).run().code(3).stdout_has("\n  ! 10 cases\n");
}

#[test]
fn a_failure_says_which_evaluator_its_score_and_what_was_needed() {
    let contains =
        |name: &str, value: &str| json!({ "name": name, "type": "contains", "value": value });
    let mut must = contains("must", "never");
    must["required"] = json!(0.75);
    must["weight"] = json!(0);
    let check = |pass_score: f64, evaluators: Value, expected: &str| {
        let cx = hundred(&[]);
        let case =
            json!({ "id": "a", "input": "a", "expected_outcome": "x", "evaluators": evaluators });
        let suite = json!({ "execution": { "pass_score": pass_score }, "evalcases": [case] });
        cx.write("suite.yaml", &suite.to_string());
        let ran = eval(&cx, &[]);
        ran.success().stdout_has(&format!("\nFailures  1 case\n  ✗ a  {expected}\n    missed   "));
        ran.stdout_has("\n    answer   ok\n");
    };
    let (good, bad) = (contains("good", "ok"), contains("bad", "never"));
    check(1.0, json!([good, bad]), "bad 0.000, needs 1.0");
    check(0.8, json!([good, bad]), "bad 0.000; case 0.500, needs 0.8");
    check(0.5, json!([good, must]), "must 0.000, needs 0.75");
}

/// What the last screen has to show: failures, totals and the next step, with a row for the prompt.
#[track_caller]
fn on_last_screen(shown: &Shown, rows: usize, wanted: &[&str]) {
    for text in wanted
        .iter()
        .chain(&["✓ 93 passed  ✗ 7 failed  in ", "\nNext     agentv report --html report.html"])
    {
        assert!(shown.screen.contains(text), "no `{text}` in\n{}", shown.screen);
    }
    assert!(shown.screen.lines().count() < rows, "{}", shown.screen);
    assert!(shown.screen.contains("\nFailures  7 cases"), "{}", shown.screen);
}

#[test]
fn the_last_screen_of_a_hundred_cases_has_failures_totals_and_the_next_step() {
    let seven: Vec<String> = (0..7).map(|number| format!("number-{number}")).collect();
    let saying = |word: &dyn Fn(&str) -> String| {
        let contains =
            |id: &str| json!([{ "name": "says-it", "type": "contains", "value": word(id) }]);
        let cases: Vec<(&str, Value)> =
            seven.iter().map(|id| (id.as_str(), contains(id))).collect();
        hundred(&cases)
    };
    let (unlike, alike) = (saying(&str::to_owned), saying(&|_| "never".to_owned()));
    for (rows, columns) in [(24, 80), (40, 120)] {
        let shown = watch(&unlike, (rows, columns));
        let last = "✗ number-6  says-it 0.000, needs 1.0";
        on_last_screen(
            shown.code(0),
            rows.into(),
            &["✗ number-0", last, "Does not contain \"number-6\""],
        );
        let shown = watch(&alike, (rows, columns));
        on_last_screen(
            shown.code(0),
            rows.into(),
            &[
                ", 1 cause\n  ✗ 7 cases  says-it 0.000, needs 1.0",
                "missed   Does not contain \"never\"",
            ],
        );
    }
}

#[test]
fn a_small_run_in_which_all_passed_lists_its_cases() {
    let shown = watch(&mocked(&["refund", "invoice"]), (24, 80));
    shown.code(0).has("\nCases\n  ✓ 1.000  refund\n  ✓ 1.000  invoice\n\n✓ 2 passed  in ");
    // In a pipe each has had its line.
    eval(&mocked(&["refund"]), &[]).success().stdout_lacks("\nCases\n");
    let ids: Vec<String> = (0..11).map(|number| format!("case-{number}")).collect();
    let large = mocked(&ids.iter().map(String::as_str).collect::<Vec<_>>());
    watch(&large, (24, 80)).code(0).lacks("\nCases\n");
}

#[test]
fn an_interrupted_run_says_how_many_cases_did_not_run() {
    let cx = mocked(&["a", "b", "c"]);
    let meeting = cx.meeting("meeting");
    let command =
        format!("case {{EVAL_ID}} in b) {}; sleep 600;; esac; echo ok", meeting.tell("b"));
    cx.write("targets.yaml", &targets(&[cli_target("default", &command)]));
    let running = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).start();
    meeting.next();
    running.signal("INT");
    running.finish().code(130).stdout_has("\n✓ 1 passed  2 not run  in ");
}

#[test]
fn next_steps_fit_80_columns() {
    let cx = mixed(&["good", "broken-1"]);
    eval(&cx, &[]).code(3);
    let ran = eval(&cx, &[]);
    let next: Vec<&str> = ran.stdout.lines().skip_while(|line| !line.starts_with("Next")).collect();
    assert_eq!(
        next,
        [
            "Next     agentv eval --resume --retry-errors  run only the errors again",
            "         agentv report --html report.html     see every case in a browser",
            "         agentv compare                       see what changed since last time",
        ]
    );
    assert!(next.iter().all(|line| line.chars().count() <= 80), "{next:?}");
}
