//! Text that is nested without an end, wherever JSON is looked for in it. Each brace used to be read 128 levels deep, which
//! took minutes for these.

use crate::{context, eval};
use agentv_test_support::{cli_target, result_of, suite, targets};
use serde_json::json;

#[test]
fn nesting_without_an_end_is_no_json() {
    let cx = context();
    cx.write("deep.txt", &"{\"a\":".repeat(400_000));
    let target = cli_target("default", "cat deep.txt") + "    judge_target: default\n";
    cx.write("targets.yaml", &targets(&[target]));
    cx.write(
        "suite.yaml",
        &suite(json!([
            { "name": "fields", "type": "field_accuracy", "fields": [{ "path": "a", "match": "exact" }] },
            { "name": "json", "type": "is_json" },
            { "name": "judge", "type": "llm_judge" },
        ]))
        .replace("input: Do it", "input: Do it\n    expected_output: {a: 1}"),
    );
    let record = eval(&cx, &[]).record();
    for name in ["fields", "json", "judge"] {
        assert_eq!(result_of(&record, name)["score"], 0, "{name}");
    }
}

#[test]
fn nesting_without_an_end_is_refused_in_files() {
    for (name, text) in [
        ("s.yaml", "{\"a\":"),
        ("s.yaml", "["),
        ("s.yaml", "- "),
        ("s.json", "{\"a\":"),
        ("s.json", "["),
        ("s.jsonl", "{\"a\":"),
    ] {
        let cx = context();
        cx.write(name, &text.repeat(1_000_000));
        cx.agentv(["validate", name]).run().code(2).stderr_has(name);
    }
}
