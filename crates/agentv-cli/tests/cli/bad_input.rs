//! Wrong files and flags: all that is wrong is shown at once, nothing is called, no file is touched.

use crate::{context, eval, mocked};
use agentv_test_support::{GRADER, Ran, TestContext, cases, cli_target, mock_target, targets};
use serde_json::json;
use std::fmt::Write as _;
use std::fs;

/// What stood in the results file before.
const OLD: &str = "results of yesterday\n";

/// A repository whose target leaves a file behind when it is called, and with results of an earlier run.
#[track_caller]
fn watched(suite: &str) -> TestContext {
    let cx = context();
    cx.write("targets.yaml", &targets(&[cli_target("default", "touch called; echo ok")]));
    cx.write("suite.yaml", suite);
    cx.write("out.jsonl", OLD);
    cx
}

/// Checks that a run was refused and left everything alone.
#[track_caller]
fn refused(cx: &TestContext, ran: &Ran) {
    ran.code(2);
    assert!(!cx.path("called").exists(), "the target was called");
    assert_eq!(cx.read("out.jsonl"), OLD);
    assert!(!cx.path(".agentv").exists(), "a folder was made");
}

#[test]
fn a_sound_run_calls_the_target_and_begins_the_file_anew() {
    let cx = watched(&cases(&["a"]));
    eval(&cx, &[]).success();
    assert!(cx.path("called").exists());
    assert_ne!(cx.read("out.jsonl"), OLD);
}

#[test]
fn all_that_is_wrong_in_all_files_is_shown_at_once() {
    let cx = watched(
        "evalcases:\n  \
         - input: no id\n    expected_outcome: x\n    evaluators: &graders\n      - {type: contains, value: ok}\n  \
         - id: ''\n    input: empty id\n    expected_outcome: x\n    evaluators: *graders\n  \
         - id: three\n    expected_outcome: x\n    evaluators: *graders\n  \
         - id: four\n    input: no criteria\n    evaluators: [{type: llm_judge}]\n  \
         - id: five\n    input: 7\n    expected_outcome: x\n    evaluators: [{type: contian, value: ok}]\n",
    );
    cx.write("other/broken.yaml", "evalcases: [\n");
    cx.write("other/list.yml", "- a\n- b\n");
    cx.write(
        "targets.yaml",
        "targets:\n  \
         - {name: default, provider: cli, command_template: touch called, timeout: 5}\n  \
         - {name: wrong, provider: mock, workers: 0}\n",
    );
    let ran = cx.agentv(["eval", "suite.yaml", "other/*", "--out", "out.jsonl"]).run();
    refused(&cx, &ran);
    for (text, place) in [
        ("case number 1 has no `id`", "suite.yaml:2:5"),
        ("`id` of case number 2 must be text, not empty text", "suite.yaml:6:9"),
        ("case `three` has no input", "suite.yaml:10:9"),
        ("case `four` has no `criteria`", "suite.yaml:13:9"),
        ("`input` of case `five` must be text or a list of messages", "suite.yaml:17:12"),
        ("unknown evaluator type `contian`", "suite.yaml:19:25"),
        ("target `default` has no key `timeout`", "targets.yaml:2:68"),
        ("`workers` of target `wrong` must be from 1 to 1024, not `0`", "targets.yaml:3:44"),
        ("", "other/broken.yaml:"),
        ("the eval file must be a mapping", "other/list.yml:1:1"),
    ] {
        ran.stderr_has(text).stderr_has(place);
    }
    ran.stderr_has("help: did you mean `contains`?").stderr_has("nothing was run: ");
}

#[test]
fn a_fault_is_shown_as_compilers_show_it() {
    let cx = watched(&cases(&["a"]).replace("type: contains", "type: kontains"));
    let ran = eval(&cx, &[]);
    refused(&cx, &ran);
    assert_eq!(
        ran.stderr,
        "\
error[evaluator::type]: unknown evaluator type `kontains`
 --> suite.yaml:3:29
  |
3 |     - {name: says-ok, type: kontains, value: ok}
  |                             ^^^^^^^^
  |
  = help: did you mean `contains`?

error: nothing was run: 1 error in the files
"
    );
}

#[test]
fn near_misses_are_named() {
    let check = |suite: &str, target: &str, more: &[&str], help: &str| {
        let cx = watched(suite);
        cx.write("targets.yaml", &format!("targets:\n{target}"));
        let ran = eval(&cx, &[&["--strict"], more].concat());
        refused(&cx, &ran);
        ran.stderr_has(help);
    };
    let (suite, target) = (cases(&["a"]), cli_target("default", "touch called"));
    let with = |from, to| suite.replace(from, to);
    check(&with("evalcases:", "evalcase:"), &target, &[], "did you mean `evalcases`?");
    check(
        &with("expected_outcome:", "expected_outcom:"),
        &target,
        &[],
        "did you mean `expected_outcome`?",
    );
    check(&with("value: ok", "valeu: ok"), &target, &[], "did you mean `value`?");
    check(&with("contains", "contain"), &target, &[], "did you mean `contains`?");
    check(&suite, &target.replace("cli", "cil"), &[], "did you mean `cli`?");
    check(&suite, &target.replace("provider", "provder"), &[], "did you mean `provider`?");
    check(&suite, &target, &["--target", "defualt"], "did you mean `default`? available: default");
    check(&suite, &target, &["--target", "nothing-like-it"], "available: default");
    let own = format!("{suite}    execution: {{target: defalt}}\n");
    check(&own, &target, &[], "did you mean `default`?");
}

#[test]
fn unknown_keys_are_warned_of_and_counted() {
    let cx = mocked(&["a"]);
    let suite = cases(&["a"]) + "    expected_messges: []\n    colour: blue\n";
    cx.write("suite.yaml", &suite);
    cx.write("targets.yaml", &targets(&[mock_target("default", "ok") + "    respons: x\n"]));
    let ran = eval(&cx, &[]);
    ran.success().stderr_has("warning[config::unknown-key]: case `a` has no key `colour`");
    ran.stderr_has("did you mean `expected_messages`?").stderr_has("did you mean `response`?");
    ran.stdout_has("\n3 warnings in files, shown above (--strict refuses them)\n");
    assert_eq!(ran.records().len(), 1);
    eval(&cx, &["--strict"]).code(2).stderr_has("nothing was run: 3 warnings");
}

#[test]
fn strict_refuses_before_anything_is_called() {
    let cx = watched(&(cases(&["a"]) + "    colour: blue\n"));
    let ran = eval(&cx, &["--strict"]);
    refused(&cx, &ran);
    let ran = eval(&cx, &["--strict", "--skip-invalid"]);
    refused(&cx, &ran);
}

#[test]
fn a_missing_file_is_an_error_with_the_places_that_were_tried() {
    let cx = mocked(&[]);
    let parts = "[{type: text, value: Read}, {type: file, value: gone.md}]";
    cx.write(
        "suite.yaml",
        &format!("evalcases:\n  - id: a\n    expected_outcome: x\n    evaluators: [{GRADER}]\n    input: [{{role: user, content: {parts}}}]\n"),
    );
    let ran = eval(&cx, &[]);
    ran.code(2).stderr_has("gone.md").stderr_has("suite.yaml:5:");
    ran.stderr_has(&format!("create one of {}", cx.path("gone.md").display()));
}

#[test]
fn cases_and_evaluators_that_cannot_be_used_are_left_out_only_on_request() {
    let suite = cases(&["good", "no-input", "odd-grader"])
        .replace("    input: \"Question no-input\"\n", "")
        + &format!("    evaluators: [{GRADER}, {{type: nonsense}}]\n");
    let cx = watched(&suite);
    let ran = eval(&cx, &[]);
    refused(&cx, &ran);
    let ran = eval(&cx, &["--skip-invalid"]);
    ran.success().stderr_has("case `no-input` has no input").stderr_has("type `nonsense`");
    assert_eq!(ran.records().len(), 2);
    assert_eq!(ran.record_of("odd-grader")["evaluator_results"].as_array().unwrap().len(), 1);
}

#[test]
fn a_targets_file_that_is_wrong_stops_the_run_even_where_cases_may_be_skipped() {
    let cx = watched(&cases(&["a"]));
    cx.write("targets.yaml", "targets:\n  - {name: default, provider: cli}\n");
    let ran = eval(&cx, &["--skip-invalid"]);
    refused(&cx, &ran);
    cx.write("targets.yaml", &targets(&[mock_target("default", "a"), mock_target("default", "b")]));
    let ran = eval(&cx, &[]);
    refused(&cx, &ran);
    ran.stderr_has("there are two targets named `default`");
    fs::remove_file(cx.path("targets.yaml")).unwrap();
    let ran = eval(&cx, &[]);
    refused(&cx, &ran);
    ran.stderr_has("Unable to locate targets.yaml");
}

#[test]
fn an_error_behind_many_warnings_still_counts() {
    let mut suite = cases(&["first"]);
    for number in 0..250 {
        writeln!(suite, "    unknown_{number}: 1").unwrap();
    }
    suite += "  - id: broken\n    expected_outcome: x\n";
    suite += &cases(&["last"]).split_once("evalcases:\n").unwrap().1.replace("Question last", "?");
    suite += "    another_unknown: 1\n";
    let cx = watched(&suite);
    let ran = eval(&cx, &[]);
    refused(&cx, &ran);
    ran.stderr_has("case `broken` has no input").stderr_has(" more");
    ran.stderr_has("nothing was run: 1 error and 251 warnings");
}

#[test]
fn a_bad_line_of_a_dataset_is_named_by_its_number() {
    let cx = watched("");
    let good = json!({"id": "a", "input": "q", "expected_outcome": "x", "evaluators": [{"type": "contains", "value": "ok"}]});
    cx.write(
        "data.jsonl",
        &format!("{good}\n\n{{\"id\": \"b\",, }}\n{{\"id\": \"c\", \"input\": \"q\"}}\n[1]\n"),
    );
    let ran = cx.agentv(["eval", "data.jsonl", "--out", "out.jsonl"]).run();
    refused(&cx, &ran);
    ran.stderr_has("Line 3: Invalid JSON - ").stderr_has("data.jsonl:3:12");
    ran.stderr_has("case `c` has no `criteria`").stderr_has("data.jsonl:4:");
    ran.stderr_has("data.jsonl:5:1");
}

#[test]
fn a_fault_in_a_very_long_line_is_shown_where_it_is() {
    let cx = watched("");
    let long = "é".repeat(5000);
    cx.write(
        "data.jsonl",
        &format!("{{\"id\":\"a\",\"input\":\"{long}\",\"expected_outcome\":7}}\n"),
    );
    let ran = cx.agentv(["eval", "data.jsonl", "--out", "out.jsonl"]).run();
    refused(&cx, &ran);
    ran.stderr_has("`expected_outcome` of case `a` must be text, not a number");
    ran.stderr_has("data.jsonl:1:5041").stderr_has("\"expected_outcome\":7}").stderr_has("^");
}

#[test]
fn arguments_that_make_no_sense_are_refused_with_help() {
    let cx = watched(&cases(&["a"]));
    fs::create_dir(cx.path("evals")).unwrap();
    let check = |args: &[&str], texts: &[&str]| {
        let ran = cx.agentv(args).run();
        refused(&cx, &ran);
        for text in texts {
            ran.stderr_has(text);
        }
    };
    check(&["eval"], &["No eval paths provided"]);
    check(&["eval", "  "], &["No eval paths provided"]);
    check(
        &["eval", "none.yaml", "no/*.yaml", "suite.yaml"],
        &["No eval files matched: none.yaml, no/*.yaml"],
    );
    check(&["eval", "evals"], &["No eval files matched: evals", "`evals` has no files with cases"]);
    check(
        &["eval", "suite.yaml", "--eval-id", "zzz"],
        &["No eval cases matched the provided filters."],
    );
    check(&["eval", "suite.yaml", "--eval-id", "[a"], &["[a"]);
    check(&["eval", "suite.yaml", "--workers", "0"], &["--workers"]);
    check(&["eval", "suite.yaml", "--workers", "1025"], &["--workers"]);
    check(&["eval", "suite.yaml", "--workers", "many"], &["--workers"]);
    check(
        &["eval", "suite.yaml", "--threshold", "80"],
        &["`--threshold` must be between 0 and 1, got 80"],
    );
    check(&["eval", "suite.yaml", "--case-threshold", "NaN"], &["--case-threshold"]);
    check(&["eval", "suite.yaml", "--output-format", "xml"], &["jsonl", "yaml"]);
    check(&["eval", "suite.yaml", "--target", ""], &["unknown target ``"]);
    check(&["eval", "suite.yaml", "--targets", "none.yaml"], &["no targets file at `none.yaml`"]);
    check(&["eval", "suite.yaml", "--taget", "x"], &["--target"]);
    check(&["evil", "suite.yaml"], &["eval"]);
}

#[test]
fn help_and_version_are_no_errors() {
    let cx = context();
    for args in [&["--help"][..], &["eval", "--help"], &["eval", "-h"], &["validate", "--help"]] {
        let ran = cx.agentv(args).run();
        ran.success().stdout_has("Usage: agentv");
        assert_eq!(ran.stderr, "");
    }
    for args in [&["--version"][..], &["-v"], &["eval", "--version"]] {
        cx.agentv(args).run().success().stdout_has("agentv");
    }
}

/// Bytes that have broken readers of such files before.
fn nasty() -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = [
        "", " ", "\n\n\n", "\u{feff}", "\0", "---", "---\n---\n", "...", "null", "~", "42", "\"", "'", "[", "{", "]", "}",
        "*a", "&a", "&a *a", "&a [*a]", "<<: *x", "a: &a {b: *a}", "!!binary x", "!x y", "%YAML 9.9\n---\n", "? ", ": ",
        "- - - - -", "a: b: c", "\ta: 1", "a: |", "a: >-\n b", "evalcases", "evalcases:", "evalcases: null", "evalcases: {}",
        "evalcases: []", "evalcases: [null, 1, [], {}]", "evalcases:\n- id: a\n- id: a\n", "evalcases:\n  - id: [x]\n",
        "evalcases: &c [*c]", "tests: []\nevalcases: []", "targets: []", "targets: [null]", "targets: {a: 1}",
        "targets:\n  - {name: default, provider: mock, response: [1], workers: 1e400}\n",
        "targets:\n  - {name: default, provider: cli, command: '{', healthcheck: {type: {}}}\n",
        "execution: {evaluators: {}}\nevalcases: []", "execution: {evaluators: [{type: [1]}]}\nevalcases: [{id: a}]",
        "evalcases:\n- id: \"\\ud800\"\n", "evalcases:\n- id: \u{202e}\u{0}x\n", "{\"id\":", "{\"id\":\"a\"}\n{", "[]\n[]",
        "{\"id\":\"a\",\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"file\",\"value\":\"\\u0000\"}]}],\"outcome\":\"x\"}",
    ]
    .map(|text| text.as_bytes().to_vec())
    .into();
    all.push(vec![0xff, 0xfe, b'a', 0, b':', 0]);
    all.push(b"evalcases:\n- id: \xc3\x28\n".to_vec());
    all.push(b"evalcases:\n- id: a\xf0\x9f\n  input: q\n".to_vec());
    all.push("[".repeat(50_000).into_bytes());
    all.push("{a: ".repeat(20_000).into_bytes());
    all.push("- ".repeat(20_000).into_bytes());
    all.push(format!("evalcases:\n- id: {}\n", "x".repeat(20_000)).into_bytes());
    // A bomb: each name stands for ten of the one before.
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for number in 1..12 {
        let before = format!("*a{}, ", number - 1).repeat(10);
        writeln!(bomb, "a{number}: &a{number} [{before}]").unwrap();
    }
    all.push((bomb + "evalcases: *a11\n").into_bytes());
    // Anything at all, the same each time.
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    for length in 1..40 {
        let mut bytes = Vec::new();
        for _ in 0..length * 7 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            bytes.push(state.to_le_bytes()[0]);
        }
        all.push(bytes);
    }
    all
}

/// A folder for each of them, with the bytes in files of these names.
#[track_caller]
fn with_nasty(files: &[&str]) -> TestContext {
    let cx = watched("");
    for (number, bytes) in nasty().iter().enumerate() {
        cx.write(format!("odd/{number}/good.yaml"), &cases(&["a"]));
        for file in files {
            fs::write(cx.path(format!("odd/{number}/{file}")), bytes).unwrap();
        }
    }
    cx
}

/// One run looks at them all, so it must end as itself and not by a panic or an overflow.
#[track_caller]
fn survives(cx: &TestContext, args: &[&str]) {
    let ran = cx.agentv(args).run();
    assert!([0, 2].contains(&ran.code), "exit code {}: {}", ran.code, ran.stderr);
    ran.stderr_lacks("panicked");
    assert_eq!(cx.read("out.jsonl"), OLD);
}

#[test]
fn no_bytes_are_too_odd_for_an_eval_file() {
    let cx = with_nasty(&["odd.yaml", "lines.jsonl", "beside.yaml"]);
    for number in 0..nasty().len() {
        cx.write(format!("odd/{number}/beside.jsonl"), "{\"id\": \"a\"}\n");
    }
    survives(&cx, &["validate", "odd", "--format", "json"]);
    survives(&cx, &["eval", "odd/*/*.yaml", "odd/*/*.jsonl", "--out", "out.jsonl"]);
}

#[test]
fn no_bytes_are_too_odd_for_a_targets_file() {
    let cx = with_nasty(&["targets.yaml"]);
    survives(&cx, &["validate", "odd"]);
    survives(&cx, &["eval", "odd/*/good.yaml", "--out", "out.jsonl"]);
}

#[test]
fn no_bytes_are_too_odd_for_configuration() {
    let cx = with_nasty(&[".agentv.yaml", ".env"]);
    survives(&cx, &["eval", "odd/*/good.yaml", "--dry-run", "--out", "new.jsonl"]);
    for number in 0..nasty().len() {
        survives(&cx, &["validate", &format!("odd/{number}/.agentv.yaml")]);
    }
}

#[test]
fn results_do_not_overwrite_the_eval_file() {
    let cx = mocked(&["a"]);
    let before = cx.read("suite.yaml");
    let ran = cx.agentv(["eval", "suite.yaml", "--out", "./suite.yaml"]).run();
    ran.code(2).stderr_has("`--out` would overwrite the eval file");
    assert_eq!(cx.read("suite.yaml"), before);
}
