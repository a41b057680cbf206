//! The `tool_trajectory` evaluator.

use crate::context;
use agentv_test_support::{mock_target, result_of, suite, targets};
use serde_json::{Value, json};

/// An answer with one message whose calls are these tools.
fn messages(tools: &[&str]) -> Value {
    let calls: Vec<Value> = tools.iter().map(|tool| json!({ "tool": tool })).collect();
    calling(&json!(calls))
}

/// An answer with one message with these calls.
fn calling(calls: &Value) -> Value {
    json!({ "output_messages": [{ "role": "assistant", "content": "done", "tool_calls": calls }] })
}

/// An answer with a trace and no messages.
fn trace(tools: &[&str]) -> Value {
    let events: Vec<Value> =
        tools.iter().map(|tool| json!({ "type": "tool_call", "name": tool })).collect();
    json!({ "text": "done", "trace": events })
}

/// The result of one evaluator of type `tool_trajectory` with these keys.
#[track_caller]
fn grade(answer: &Value, keys: &str) -> Value {
    let cx = context();
    let keys = keys.trim().replace('\n', "\n  ");
    let ran = cx.grade(answer, format!("- name: path\n  type: tool_trajectory\n  {keys}"));
    let record = ran.success().record();
    let result = result_of(&record, "path");
    assert_eq!(record["score"], result["score"]);
    assert_eq!(result["type"], "tool_trajectory");
    result.clone()
}

#[track_caller]
fn check(answer: &Value, keys: &str, score: f64, hits: &[&str], misses: &[&str]) {
    let result = grade(answer, keys);
    assert_eq!(result["score"].as_f64(), Some(score), "{result:#}");
    assert_eq!(result["hits"], json!(hits));
    assert_eq!(result["misses"], json!(misses));
}

const SEARCH_THRICE: &str = "
mode: any_order
minimums:
  semanticSearch: 3";

const A_THEN_B: &str = "
mode: in_order
expected:
  - tool: A
  - tool: B";

const EXACTLY_A_B: &str = "
mode: exact
expected:
  - tool: A
  - tool: B";

#[test]
fn s023_s079_a_trace_is_scored_the_same_each_time_and_by_weight() {
    let evaluators = "
- {name: path, type: tool_trajectory, mode: any_order, minimums: {A: 1, B: 1}, weight: 3}
- {name: text, type: contains, value: done, weight: 1}";
    let cx = context();
    let [first, second] = [0, 1].map(|_| {
        let record = cx.grade(messages(&["A"]), evaluators.trim()).success().record();
        (record["score"].clone(), record["evaluator_results"].clone())
    });
    assert_eq!(first, second);
    let (score, results) = first;
    assert_eq!((&results[0]["score"], &results[0]["weight"]), (&json!(0.5), &json!(3)));
    assert_eq!(results[1]["score"], 1);
    assert_eq!(score, (3.0 * 0.5 + 1.0) / 4.0);
}

#[test]
fn s039_s095_three_of_three_calls_score_one() {
    let answer = messages(&["semanticSearch", "semanticSearch", "semanticSearch"]);
    check(&answer, SEARCH_THRICE, 1.0, &["semanticSearch called 3 times (minimum: 3)"], &[]);
}

#[test]
fn s040_s096_a_trace_stands_in_for_messages() {
    let answer = trace(&["semanticSearch", "semanticSearch", "semanticSearch"]);
    check(&answer, SEARCH_THRICE, 1.0, &["semanticSearch called 3 times (minimum: 3)"], &[]);
}

#[test]
fn s041_s097_one_of_three_calls_scores_nothing() {
    let miss = "semanticSearch called 1 time (minimum: 3)";
    check(&messages(&["semanticSearch"]), SEARCH_THRICE, 0.0, &[], &[miss]);
}

#[test]
fn s042_s098_one_of_two_minimums_scores_half() {
    check(
        &messages(&["toolA", "toolB", "toolA"]),
        "mode: any_order\nminimums:\n  toolA: 2\n  toolB: 2",
        0.5,
        &["toolA called 2 times (minimum: 2)"],
        &["toolB called 1 time (minimum: 2)"],
    );
}

#[test]
fn s043_s099_other_calls_may_come_between_in_order() {
    let keys = "
mode: in_order
expected:
  - tool: A
  - tool: B
  - tool: C";
    let result = grade(&messages(&["A", "X", "B", "Y", "C"]), keys);
    assert_eq!((&result["score"], &result["misses"]), (&json!(1), &json!([])));
    assert_eq!(result["hits"].as_array().unwrap().len(), 3);
}

#[test]
fn s044_s100_a_wrong_order_scores_nothing_and_is_explained() {
    let result = grade(&messages(&["B", "A"]), A_THEN_B);
    assert_eq!((&result["score"], &result["verdict"]), (&json!(0), &json!("fail")));
    let misses = result["misses"].to_string();
    assert!(misses.contains('B') && misses.contains("wrong order"), "{misses}");
}

#[test]
fn s045_s101_the_exact_calls_score_one() {
    let result = grade(&messages(&["A", "B"]), EXACTLY_A_B);
    assert_eq!((&result["score"], &result["misses"]), (&json!(1), &json!([])));
}

#[test]
fn s046_s102_an_extra_call_is_not_exact_and_is_named() {
    let result = grade(&messages(&["A", "B", "C"]), EXACTLY_A_B);
    assert_eq!(result["score"], 0);
    let misses = result["misses"].as_array().unwrap();
    let names_it = |miss: &&Value| miss.as_str().is_some_and(|miss| miss.ends_with(": C"));
    assert!(misses.iter().any(|miss| names_it(&miss)), "{result:#}");
}

#[test]
fn s047_s103_nothing_known_of_the_calls_scores_nothing() {
    let cx = context();
    cx.write("targets.yaml", &targets(&[mock_target("default", "only text")]));
    cx.write("suite.yaml", &suite("- {type: tool_trajectory, mode: exact, expected: []}"));
    let ran = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).run();
    let record = ran.success().record();
    assert_eq!((&record["score"], &record["status"]), (&json!(0), &json!("fail")));
    assert_eq!(record["misses"], json!(["No trace available for evaluation"]));
    for keys in [SEARCH_THRICE, A_THEN_B] {
        check(&json!("text"), keys, 0.0, &[], &["No trace available for evaluation"]);
    }
}

#[test]
fn sequences_are_read_from_a_trace_too() {
    assert_eq!(grade(&trace(&["A", "X", "B"]), A_THEN_B)["score"], 1);
    assert_eq!(grade(&trace(&["A", "B"]), EXACTLY_A_B)["score"], 1);
    assert_eq!(grade(&trace(&["A", "B", "C"]), EXACTLY_A_B)["score"], 0);
}

#[test]
fn messages_without_calls_are_no_missing_trace() {
    let answer = json!({ "output_messages": [{ "role": "assistant", "content": "hi" }] });
    let miss = "semanticSearch called 0 times (minimum: 3)";
    check(&answer, SEARCH_THRICE, 0.0, &[], &[miss]);
    assert_eq!(grade(&answer, "mode: exact\nexpected: []")["score"], 1);
}

#[test]
fn a_sequence_with_a_gap_earns_no_part_of_the_score() {
    for answer in [messages(&["A"]), messages(&["B"]), messages(&["X"])] {
        assert_eq!(grade(&answer, A_THEN_B)["score"], 0);
        assert_eq!(grade(&answer, EXACTLY_A_B)["score"], 0);
    }
}

#[test]
fn arguments_are_compared_deeply_and_may_be_more() {
    let keys = r"
mode: exact
expected:
  - tool: Read
    args:
      filePath: a.md
      lines: [1, 2]
      deep: {keyName: {x: 1}}
  - tool: Write
    args: any
  - tool: Stop";
    let good = json!({ "filePath": "a.md", "lines": [1, 2], "deep": { "keyName": { "x": 1.0 } }, "more": true });
    let with = |input: &Value| {
        calling(
            &json!([{ "tool": "Read", "input": input }, { "tool": "Write", "input": 7 }, { "tool": "Stop" }]),
        )
    };
    assert_eq!(grade(&with(&good), keys)["score"], 1);
    for (key, wrong) in [
        ("filePath", json!("b.md")),
        ("lines", json!([2, 1])),
        ("lines", json!(["1", 2])),
        ("deep", json!({ "keyName": { "x": 1 }, "other": 2 })),
    ] {
        let mut input = good.clone();
        input[key] = wrong;
        let result = grade(&with(&input), keys);
        assert_eq!(result["score"], 0, "{result:#}");
        assert!(result["misses"].to_string().contains(key), "{result:#}");
    }
    let without = calling(&json!([{ "tool": "Read" }, { "tool": "Write" }, { "tool": "Stop" }]));
    assert_eq!(grade(&without, keys)["score"], 0);
}

#[test]
fn in_order_passes_over_calls_with_other_arguments() {
    let keys = "mode: in_order\nexpected:\n  - {tool: A, args: {n: 2}}\n  - tool: B";
    let calls = json!([{ "tool": "A", "input": { "n": 1 } }, { "tool": "A", "input": { "n": 2 } }, { "tool": "B" }]);
    assert_eq!(grade(&calling(&calls), keys)["score"], 1);
}

#[test]
fn durations_count_once_the_sequence_holds() {
    let calls = json!([
        { "tool": "A", "duration_ms": 100 },
        { "tool": "B", "duration_ms": 250.5 },
        { "tool": "C" },
    ]);
    let keys = "
mode: in_order
expected:
  - {tool: A, max_duration_ms: 100}
  - {tool: B, maxDurationMs: 200}
  - {tool: C, max_duration_ms: 1}";
    let cx = context();
    let entry = keys.trim().replace('\n', "\n  ");
    let ran =
        cx.grade(calling(&calls), format!("- name: path\n  type: tool_trajectory\n  {entry}"));
    // C reports no duration, so its limit is not counted.
    ran.success().stderr_has("`C`");
    let record = ran.record();
    assert_eq!(record["score"], 4.0 / 5.0);
    let hits = record["hits"].as_array().unwrap();
    assert_eq!(hits.last().unwrap(), "A completed in 100ms (max: 100ms)");
    assert_eq!(record["misses"], json!(["B took 250.5ms (max: 200ms)"]));

    let slow_and_wrong = calling(&json!([{ "tool": "B" }, { "tool": "A", "duration_ms": 1 }]));
    assert_eq!(grade(&slow_and_wrong, keys)["score"], 0);
}

#[test]
fn tool_names_are_taken_as_they_are_spelled() {
    let minimums =
        "mode: any_order\nminimums: {searchDocs: 1, search_docs: 1, \"mcp__fs.read-file\": 1}";
    let answer = messages(&["searchDocs", "mcp__fs.read-file"]);
    check(
        &answer,
        minimums,
        2.0 / 3.0,
        &["searchDocs called 1 time (minimum: 1)", "mcp__fs.read-file called 1 time (minimum: 1)"],
        &["search_docs called 0 times (minimum: 1)"],
    );
}

#[test]
fn a_mode_that_is_none_is_refused_with_its_place() {
    let cx = context();
    let ran =
        cx.grade("x", "- name: path\n  type: tool_trajectory\n  mode: any\n  minimums: {A: 1}");
    ran.code(2).stderr_has("suite.yaml:8:").stderr_has("`any_order`");
    assert!(!cx.path("out.jsonl").exists());
}
