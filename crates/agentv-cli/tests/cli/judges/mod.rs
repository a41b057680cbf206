//! Models that grade, beyond the scenarios of the specification.

mod composite;
mod failures;
mod panels;
mod prompts;
mod rubrics;

use crate::{context, eval};
use agentv_test_support::{
    FakeLlm, Ran, TestContext, mock_target, openai_target, result_of, suite, targets,
};
use serde_json::{Value, json};

/// A repository whose target says this and has the API as its judge, under the name `judge`.
#[track_caller]
fn judged(answer: &str, api: &FakeLlm) -> TestContext {
    let cx = context();
    let candidate = mock_target("default", answer) + "    judge_target: judge\n";
    cx.write("targets.yaml", &targets(&[candidate, openai_target("judge", &api.url())]));
    cx
}

/// Runs one case with these evaluators.
#[track_caller]
fn grade(cx: &TestContext, evaluators: &Value) -> Ran {
    cx.write("suite.yaml", &suite(evaluators));
    eval(cx, &[])
}

/// What the only evaluator found, in a run that is complete unless its case is ungraded.
#[track_caller]
fn result(cx: &TestContext, evaluator: &Value) -> Value {
    let ran = grade(cx, &json!([evaluator]));
    let record = ran.record();
    ran.code(if record["outcome"] == "ungraded" { 3 } else { 0 });
    let name = evaluator["name"].as_str().or(evaluator["type"].as_str()).unwrap();
    result_of(&record, name).clone()
}

/// What the user said in each request so far.
fn prompts(api: &FakeLlm) -> Vec<String> {
    let asked = api.asked().into_iter();
    asked.map(|asked| asked.body["messages"][1]["content"].as_str().unwrap().to_owned()).collect()
}

/// The only prompt.
#[track_caller]
fn prompt(api: &FakeLlm) -> String {
    let mut prompts = prompts(api);
    assert_eq!(prompts.len(), 1);
    prompts.remove(0)
}
