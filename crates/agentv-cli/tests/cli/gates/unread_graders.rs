//! A grader in a place where it is not read is an error: dropped with a warning, it would pass every answer.

use crate::context;
use agentv_test_support::{Ran, TestContext, mock_target, targets};

/// Words that other versions of AgentV, and other tools, have for graders.
const FOREIGN: [&str; 9] = [
    "assert",
    "assertions",
    "evaluator",
    "graders",
    "rubric",
    "metrics",
    "checks",
    "default_test",
    "defaultTest",
];

/// The checks that would be dropped.
const CHECKS: &str = "[{type: contains, value: Paris, required: true}]";

/// A target that does not know, and judges itself right.
#[track_caller]
fn clueless() -> TestContext {
    let cx = context();
    let judge = mock_target("judge", r#"{"score": 1}"#);
    let target = mock_target("default", "I have no idea.") + "    judge_target: judge\n";
    cx.write("targets.yaml", &targets(&[target, judge]));
    cx
}

/// A suite with these lines at its head, and these in its first case of two.
fn suite(head: &str, case: &str) -> String {
    format!(
        "{head}evalcases:\n  - id: capital\n    input: Capital of France?\n    expected_outcome: Names it\n{case}  \
         - id: other\n    input: Hello\n    expected_outcome: Greets\n"
    )
}

#[track_caller]
fn run(cx: &TestContext, file: &str, more: &[&str]) -> Ran {
    cx.agentv(["eval", file, "--out", "out.jsonl"].iter().chain(more)).run()
}

#[track_caller]
fn check_refused(file: &str, text: &str, key: &str) -> TestContext {
    let cx = clueless();
    cx.write(file, text);
    let ran = run(&cx, file, &[]);
    ran.code(2).stderr_has("error[evaluator::not-read]").stderr_has(&format!("`{key}`"));
    let helps =
        ["list the graders", "list the evaluators", "write `rubrics:`", "name it `evaluators`"];
    assert!(helps.iter().any(|help| ran.stderr.contains(help)), "{}", ran.stderr);
    assert!(!cx.path("out.jsonl").exists(), "{key}");
    cx.agentv(["validate", file]).run().code(2);
    cx
}

/// The same, where only the first case is concerned.
#[track_caller]
fn check_case_refused(case: &str, key: &str) {
    let cx = check_refused("suite.yaml", &suite("", case), key);
    let records = run(&cx, "suite.yaml", &["--skip-invalid"]).success().records();
    let ids: Vec<&str> = records.iter().map(|record| record["eval_id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["other"], "{key}");
}

#[test]
fn in_a_case_it_costs_the_case() {
    for key in FOREIGN {
        check_case_refused(&format!("    {key}: {CHECKS}\n"), key);
    }
    check_case_refused("    evaluator: {type: contains, value: Paris}\n", "evaluator");
}

#[test]
fn a_misspelt_key_is_an_error_too() {
    for (key, help) in [
        ("evaluatorz", "did you mean `evaluators`?"),
        ("Evalutors", "did you mean `evaluators`?"),
        ("rubriks", "did you mean `rubrics`?"),
        ("asserts", "list the graders under `evaluators`"),
        ("grader", "list the graders under `evaluators`"),
    ] {
        let cx = clueless();
        cx.write("suite.yaml", &suite("", &format!("    {key}: {CHECKS}\n")));
        let ran = run(&cx, "suite.yaml", &[]);
        ran.code(2).stderr_has("error[evaluator::not-read]").stderr_has(help);
        let records = run(&cx, "suite.yaml", &["--skip-invalid"]).success().records();
        assert_eq!(records.len(), 1, "{key}");
    }
    let head = format!("execution:\n  evaluatorz: {CHECKS}\n");
    let cx = clueless();
    cx.write("suite.yaml", &suite(&head, ""));
    run(&cx, "suite.yaml", &[]).code(2).stderr_has("did you mean `evaluators`?");
    check_refused("suite.yaml", &suite(&format!("evaluatorz: {CHECKS}\n"), ""), "evaluatorz");
    let table = "id,input,criteria,evaluatorz\na,Capital?,x,[]\n";
    check_refused("rows.csv", table, "evaluatorz");
}

#[test]
fn other_unknown_keys_stay_warnings() {
    for key in ["assets", "headers", "priority"] {
        let cx = clueless();
        cx.write("suite.yaml", &suite("", &format!("    {key}: [x]\n")));
        run(&cx, "suite.yaml", &[]).success().stderr_has("warning[config::unknown-key]");
    }
}

#[test]
fn in_the_execution_of_a_case_it_costs_the_case() {
    for key in FOREIGN.into_iter().chain(["rubrics"]) {
        check_case_refused(&format!("    execution:\n      {key}: {CHECKS}\n"), key);
    }
}

#[test]
fn in_the_suite_it_costs_the_suite() {
    let keys = || FOREIGN.into_iter().chain(["rubrics"]);
    for key in keys().chain(["evaluators"]) {
        check_refused("suite.yaml", &suite(&format!("{key}: {CHECKS}\n"), ""), key);
    }
    for key in keys() {
        check_refused("suite.yaml", &suite(&format!("execution:\n  {key}: {CHECKS}\n"), ""), key);
    }
}

#[test]
fn in_rows_it_is_an_error_too() {
    let row = r#"{"id": "a", "input": "Capital?", "criteria": "x", "assert": [{"type": "contains", "value": "Paris"}]}"#;
    check_refused("rows.jsonl", &format!("{row}\n"), "assert");
    check_refused("rows.json", &format!("[{row}]"), "assert");
    for column in ["assert", "Assertions", "graders", "rubric", "metrics", "checks", "__expected1"]
    {
        let table = format!("id,input,criteria,{column}\na,Capital?,x,contains:Paris\n");
        check_refused("rows.csv", &table, column);
    }
    // Beside a dataset, as in a suite.
    let cx = clueless();
    cx.write("rows.csv", "id,input,criteria\na,Capital?,x\n");
    cx.write("rows.yaml", &format!("default_test:\n  assert: {CHECKS}\n"));
    run(&cx, "rows.csv", &[]).code(2).stderr_has("rows.yaml:1:1").stderr_has("`default_test`");
}

#[test]
fn a_column_that_the_suite_uses_as_a_var_is_read() {
    let cx = clueless();
    cx.write("rows.csv", "id,input,rubric\na,Capital?,Names the capital\n");
    cx.write("rows.yaml", "expected_outcome: '{{ rubric }}'\n");
    run(&cx, "rows.csv", &["--strict"]).success();
}

#[test]
fn the_name_of_a_type_is_read_as_in_2x() {
    for text in [suite("evaluator: llm_judge\n", ""), suite("", "    evaluator: code_judge\n")] {
        let cx = clueless();
        cx.write("suite.yaml", &text);
        let ran = run(&cx, "suite.yaml", &["--strict"]);
        assert_eq!(ran.success().records().len(), 2);
        ran.stderr_lacks("evaluator");
    }
    let cx = clueless();
    cx.write("suite.yaml", &suite("", "    evaluator: kontains\n"));
    run(&cx, "suite.yaml", &[]).success().stderr_has("`kontains` is not an evaluator type");
}
