//! `criteria`: what a good answer does. Judges read it; other evaluators do not need it.

use crate::{eval, mocked};

const COMPOSITE: &str = "name: c, type: composite, aggregator: {type: weighted_average}";

/// Runs a case without criteria that is graded by these evaluators.
#[track_caller]
fn check(evaluators: &str, is_needed: bool) {
    let cx = mocked(&[]);
    let case = "evalcases:\n  - id: a\n    input: q\n    evaluators:";
    cx.write("suite.yaml", &format!("{case} {evaluators}\n"));
    let ran = eval(&cx, &[]);
    if is_needed {
        ran.code(2).stderr_has("case `a` has no `criteria`").stderr_has("suite.yaml:2:9");
    } else {
        assert_eq!(ran.success().record()["score"], 1, "{evaluators}");
    }
}

#[test]
fn deterministic_evaluators_need_no_criteria() {
    check("[{type: contains, value: ok}]", false);
    check("[{type: contains, value: ok}, {type: regex, pattern: ok}]", false);
    let member = "{name: k, type: contains, value: ok}";
    check(&format!("[{{{COMPOSITE}, evaluators: [{member}]}}]"), false);
}

#[test]
fn judges_need_criteria() {
    check("[{type: contains, value: ok}, {type: llm_judge}]", true);
    check("[{type: code_judge, script: [cat]}]", true);
    check(&format!("[{{{COMPOSITE}, evaluators: [{{name: k, type: llm_judge}}]}}]"), true);
    // The default judge.
    check("", true);
}

#[test]
fn a_table_may_do_without_the_column() {
    let cx = mocked(&[]);
    cx.write("t.csv", "id,input\na,q\n");
    cx.write("t.yaml", "execution: {evaluators: [{type: contains, value: ok}]}\n");
    let eval = || cx.agentv(["eval", "t.csv", "--out", "out.jsonl"]).run();
    assert_eq!(eval().success().record()["score"], 1);
    cx.write("t.yaml", "execution: {evaluators: [{type: llm_judge}]}\n");
    eval().code(2).stderr_has("missing column `criteria`");
}

#[test]
fn a_wrong_value_is_named_by_the_key_that_was_written() {
    for key in ["criteria", "expected_outcome", "outcome"] {
        let cx = mocked(&[]);
        cx.write("suite.yaml", &format!("evalcases:\n  - {{id: a, input: q, {key}: 7}}\n"));
        let message = format!("`{key}` of case `a` must be text, not a number");
        eval(&cx, &[]).code(2).stderr_has(&message);
    }
}
