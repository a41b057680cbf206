//! Programs in a sandbox: what they are kept from, what they may use, and what the record says of it.

mod escapes;
mod limits;
mod settings;
mod targets;

use crate::context;
use agentv_test_support::{TestContext, mock_target, suite, targets};
use serde_json::{Value, json};

/// A context, if this kernel can hold a sandbox; else the reason is printed, and the test ends.
#[track_caller]
pub(crate) fn confined() -> Option<TestContext> {
    let cx = context();
    cx.write("targets.yaml", &targets(&[mock_target("default", "ok")]));
    let doctor = cx.agentv(["doctor", "--offline", "--format", "json"]).run();
    let found: Value = serde_json::from_str(&doctor.stdout).unwrap();
    let findings = found["findings"].as_array().unwrap();
    let sandbox = findings.iter().find(|finding| finding["subject"] == "sandbox").unwrap();
    let message = sandbox["message"].as_str().unwrap();
    if message.starts_with("available: ") {
        return Some(cx);
    }
    // A message in other words must not skip the tests everywhere.
    let lacks_a_part =
        ["not available", "only with"].iter().any(|words| message.starts_with(words));
    assert!(lacks_a_part, "{message}");
    #[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
    {
        eprintln!("skipped: {message}");
    }
    None
}

/// What a judge in this sandbox found, with the case's mock answer.
#[track_caller]
fn judged(cx: &TestContext, script: &Value, sandbox: &Value) -> Value {
    judged_with(cx, json!({ "script": script, "sandbox": sandbox }))
}

/// The same with more keys.
#[track_caller]
fn judged_with(cx: &TestContext, mut evaluator: Value) -> Value {
    evaluator["name"] = "judge".into();
    evaluator["type"] = "code_judge".into();
    cx.write("suite.yaml", &suite(json!([evaluator])));
    let ran = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl", "--allow-errors"]).run();
    let mut record = ran.record();
    let left = std::fs::read_dir(cx.temp()).unwrap().count();
    assert_eq!(left, 0, "temporary files are left");
    record["evaluator_results"][0].take()
}

/// The error of a result.
#[track_caller]
fn message(result: &Value) -> &str {
    assert!(result["error"].is_object(), "no error: {result}");
    result["error"]["message"].as_str().unwrap()
}

/// A result says that its judge failed, by these words, in a sandbox.
#[track_caller]
fn failed(result: &Value, words: &str) {
    assert!(message(result).contains(words), "expected `{words}`: {result}");
    assert_eq!(result["score"], 0, "{result}");
    assert!(result["sandbox"]["held"].as_array().is_some_and(|held| held.len() >= 4), "{result}");
}

/// A judge that tries something in Python and passes only if that fails with `PermissionError`, which it shows.
fn tried(attempt: &str) -> Value {
    let attempt = attempt.replace('\n', "\n    ");
    let script = format!(
        "import os, socket, sys, ctypes\ntry:\n    {attempt}\nexcept PermissionError as error:\n    sys.exit(f'refused: {{error}}')\nprint('{{\"score\": 1}}')\n"
    );
    json!(["python3", "-c", script])
}
