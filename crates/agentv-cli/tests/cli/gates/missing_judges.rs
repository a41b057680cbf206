//! A judge that is not there is found before anything is called.

use crate::{context, eval};
use agentv_test_support::{TestContext, mock_target, result_of, suite, targets};
use serde_json::{Value, json};

#[track_caller]
fn mocked() -> TestContext {
    let cx = context();
    cx.write("targets.yaml", &targets(&[mock_target("default", "ok")]));
    cx.script("judges/good.sh", "#!/bin/sh\necho '{\"score\": 1}'\n");
    cx
}

fn judge(script: &Value) -> Value {
    json!({ "name": "j", "type": "code_judge", "script": script })
}

#[track_caller]
fn check_refused(evaluator: &Value, missing: &str) {
    let cx = mocked();
    cx.write("suite.yaml", &suite(json!([evaluator])));
    let ran = eval(&cx, &[]);
    ran.code(2).stderr_has(&format!("the script `{missing}`")).stderr_has("was not found");
    assert!(!cx.path("out.jsonl").exists());
    cx.agentv(["validate", "suite.yaml"]).run().code(2).stderr_has(missing);
}

#[test]
fn a_script_that_is_written_as_a_path_must_be_there() {
    check_refused(&judge(&json!(["./nowhere.sh"])), "./nowhere.sh");
    check_refused(&judge(&json!(["/nowhere/judge", "x"])), "/nowhere/judge");
    check_refused(&judge(&json!("./nowhere.sh --strict")), "./nowhere.sh");
    check_refused(&judge(&json!(["python3", "judges/none.py"])), "judges/none.py");
    check_refused(&judge(&json!(["node", "--no-warnings", "judges/none.js"])), "judges/none.js");
    check_refused(&judge(&json!(["bun", "run", "judges/none.ts"])), "judges/none.ts");
    check_refused(&judge(&json!("python3 judges/none.py 2> log")), "judges/none.py");
    // It is looked up from the judge's own directory.
    let mut moved = judge(&json!(["./judges/good.sh"]));
    moved["cwd"] = json!("judges");
    check_refused(&moved, "./judges/good.sh");
    let aggregator = json!({ "type": "code_judge", "path": "./nowhere.sh" });
    let members = json!([{ "type": "contains", "value": "ok" }]);
    let whole = json!({ "type": "composite", "evaluators": members, "aggregator": aggregator });
    check_refused(&whole, "./nowhere.sh");
}

#[test]
fn a_script_that_is_there_is_run() {
    let in_judges = |mut judge: Value| {
        judge["cwd"] = json!("judges");
        judge
    };
    for evaluator in [
        judge(&json!(["./judges/good.sh"])),
        judge(&json!("./judges/good.sh")),
        judge(&json!(["sh", "judges/good.sh"])),
        judge(&json!(["sh", "-c", "./judges/good.sh"])),
        judge(&json!("cd judges && ./good.sh")),
        in_judges(judge(&json!(["./good.sh"]))),
    ] {
        let cx = mocked();
        cx.write("suite.yaml", &suite(json!([evaluator])));
        assert_eq!(eval(&cx, &[]).success().record()["score"], 1, "{evaluator}");
    }
}

#[test]
fn a_program_that_is_not_on_path_is_a_grading_error_that_doctor_names() {
    let cx = mocked();
    cx.write("suite.yaml", &suite(json!([judge(&json!(["no-such-judge", "x"]))])));
    let record = eval(&cx, &[]).code(3).record();
    let error = &result_of(&record, "j")["error"];
    assert_eq!((&record["outcome"], &error["kind"]), (&json!("ungraded"), &json!("provider")));
    let doctor = cx.agentv(["doctor", "suite.yaml", "--offline"]).run();
    doctor.code(1).stdout_has("✗ no-such-judge: `no-such-judge` was not found");
}
