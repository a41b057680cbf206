//! The scenarios of the specification's "Tool Trajectory Evaluator", and what they leave open.

use super::super::testing::Bench;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Calls as one letter per tool.
fn calls(tools: &str) -> Value {
    let calls: Vec<Value> = tools.chars().map(|tool| json!({ "tool": tool })).collect();
    json!({ "messages": [{ "role": "assistant", "tool_calls": calls }] })
}

fn messages(calls: &Value) -> Value {
    json!({ "messages": [{ "role": "assistant", "tool_calls": calls }] })
}

fn sequence(mode: &str, tools: &str) -> Value {
    let expected: Vec<Value> = tools.chars().map(|tool| json!({ "tool": tool })).collect();
    json!({ "mode": mode, "expected": expected })
}

#[track_caller]
fn check(config: &Value, response: &Value, score: f64, hits: &[&str], misses: &[&str]) {
    let verdict = Bench::new("tool_trajectory", config).grade(response);
    assert_eq!((verdict.hits, verdict.misses), (owned(hits), owned(misses)));
    assert!((verdict.score.value() - score).abs() < 1e-12, "{:?}", verdict.score);
    assert_eq!(verdict.reasoning, None);
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[track_caller]
fn check_notes(config: &Value, expected: &[&str]) {
    assert_eq!(Bench::new("tool_trajectory", config).notes(), expected);
}

fn search_three_times() -> Value {
    json!({ "mode": "any_order", "minimums": { "semanticSearch": 3 } })
}

#[test]
fn minimum_calls_met_from_output_messages() {
    let call = json!({ "tool": "semanticSearch" });
    let response = json!({ "messages": [
        { "role": "assistant", "tool_calls": [call, call] },
        { "role": "tool", "content": "found" },
        { "role": "assistant", "tool_calls": [call] },
    ] });
    let hit = "semanticSearch called 3 times (minimum: 3)";
    check(&search_three_times(), &response, 1.0, &[hit], &[]);
}

#[test]
fn minimum_calls_met_fallback_to_trace() {
    let call = json!({ "type": "tool_call", "name": "semanticSearch" });
    let response = json!({ "text": "t", "trace": [call, { "type": "tool_result" }, call, call] });
    let hit = "semanticSearch called 3 times (minimum: 3)";
    check(&search_three_times(), &response, 1.0, &[hit], &[]);
}

#[test]
fn minimum_calls_not_met() {
    let response = messages(&json!([{ "tool": "semanticSearch" }]));
    let miss = "semanticSearch called 1 time (minimum: 3)";
    check(&search_three_times(), &response, 0.0, &[], &[miss]);
}

#[test]
fn multiple_minimums_partial_pass() {
    let config = json!({ "mode": "any_order", "minimums": { "B": 2, "A": 2, "C": 0 } });
    check(
        &config,
        &calls("ABA"),
        2.0 / 3.0,
        &["A called 2 times (minimum: 2)", "C called 0 times (minimum: 0)"],
        &["B called 1 time (minimum: 2)"],
    );
}

#[test]
fn in_order_sequence() {
    let hits = ["Found A at call 1", "Found B at call 3", "Found C at call 5"];
    check(&sequence("in_order", "ABC"), &calls("AXBYC"), 1.0, &hits, &[]);
}

#[test]
fn in_order_sequence_wrong_order() {
    let miss = "Step 2: expected B after A, but it came before (call 1): wrong order";
    check(&sequence("in_order", "AB"), &calls("BA"), 0.0, &["Found A at call 2"], &[miss]);
}

#[test]
fn in_order_sequence_with_a_hole() {
    let hits = ["Found A at call 1", "Found C at call 2"];
    let miss = "Step 2: expected B, but it was never called";
    check(&sequence("in_order", "ABC"), &calls("AC"), 0.0, &hits, &[miss]);
    let miss = "Step 2: expected A, but it was not called again";
    check(&sequence("in_order", "AA"), &calls("AB"), 0.0, &["Found A at call 1"], &[miss]);
}

#[test]
fn exact_sequence() {
    check(&sequence("exact", "AB"), &calls("AB"), 1.0, &["Call 1: A", "Call 2: B"], &[]);
}

#[test]
fn exact_sequence_extra_tools() {
    let hits = ["Call 1: A", "Call 2: B"];
    let misses = ["Expected 2 tool calls, got 3", "Extra tool call: C"];
    check(&sequence("exact", "AB"), &calls("ABC"), 0.0, &hits, &misses);
    let misses = ["Expected 0 tool calls, got 7", "Extra tool calls: C, D, E, F, G and 2 more"];
    check(&sequence("exact", ""), &calls("CDEFGHI"), 0.0, &[], &misses);
}

#[test]
fn exact_sequence_other_tools() {
    let misses = ["Call 1: expected A, got B", "Call 2: expected B, got A"];
    check(&sequence("exact", "AB"), &calls("BA"), 0.0, &[], &misses);
    let misses = ["Expected 2 tool calls, got 1", "Call 2: expected B, got nothing"];
    check(&sequence("exact", "AB"), &calls("A"), 0.0, &["Call 1: A"], &misses);
}

#[test]
fn no_trace_or_output_messages_available() {
    let miss = ["No trace available for evaluation"];
    check(&sequence("exact", ""), &json!({ "text": "t" }), 0.0, &[], &miss);
    check(&search_three_times(), &json!({}), 0.0, &[], &miss);
}

#[test]
fn messages_without_calls_are_known_to_have_none() {
    let misses = ["Step 1: expected A, but it was never called"];
    check(&sequence("in_order", "A"), &calls(""), 0.0, &[], &misses);
}

#[test]
fn asking_for_nothing_is_met() {
    let nothing = json!({ "mode": "any_order", "minimums": {} });
    check(&nothing, &calls("A"), 1.0, &["No tool requirements specified"], &[]);
    let hit = ["No tool sequence specified"];
    check(&sequence("in_order", ""), &calls("A"), 1.0, &hit, &[]);
    check(&sequence("exact", ""), &calls(""), 1.0, &hit, &[]);
}

#[test]
fn messages_come_before_the_trace_and_order_is_the_list_s() {
    let mut response = calls("AB");
    response["trace"] = json!([{ "type": "tool_call", "name": "X" }]);
    check(&sequence("exact", "AB"), &response, 1.0, &["Call 1: A", "Call 2: B"], &[]);
    // Spec: "TraceEvent without timestamp": a timestamp sorts nothing.
    let trace = json!({ "trace": [
        { "type": "tool_call", "name": "A", "timestamp": "2026-01-02T00:00:00Z" },
        { "type": "tool_call" },
        { "type": "tool_call", "name": "B", "timestamp": "2026-01-01T00:00:00Z" },
    ] });
    check(&sequence("exact", "AB"), &trace, 1.0, &["Call 1: A", "Call 2: B"], &[]);
}

#[track_caller]
fn check_args(args: &Value, input: &Value, why: &str) {
    let config = json!({ "mode": "exact", "expected": [{ "tool": "A", "args": args }] });
    let response = messages(&json!([{ "tool": "A", "input": input }]));
    if why.is_empty() {
        check(&config, &response, 1.0, &["Call 1: A"], &[]);
    } else {
        let miss = format!("Call 1: A has other arguments: {why}");
        check(&config, &response, 0.0, &[], &[&miss]);
    }
}

#[test]
fn listed_arguments_must_be_equal_and_others_may_be_there() {
    check_args(&json!("any"), &json!(null), "");
    check_args(&json!(null), &json!("text"), "");
    check_args(&json!({ "n": 1 }), &json!({ "n": 1.0, "more": true }), "");
    check_args(&json!({ "n": 1 }), &json!({ "n": "1" }), "`n` is \"1\", not 1");
    check_args(&json!({ "n": 1 }), &json!({ "m": 1 }), "`n` is missing");
    check_args(&json!({ "n": 1 }), &json!(null), "it has none");
    check_args(&json!({ "o": { "a": 1 } }), &json!({ "o": { "a": 1 } }), "");
    check_args(
        &json!({ "o": { "a": [1] } }),
        &json!({ "o": { "a": [1], "b": 2 } }),
        "`o` is {\"a\":[1],\"b\":2}, not {\"a\":[1]}",
    );
}

#[test]
fn in_order_skips_calls_with_other_arguments() {
    let config = json!({ "mode": "in_order", "expected": [{ "tool": "A", "args": { "n": 2 } }, { "tool": "B" }] });
    let a = |n| json!({ "tool": "A", "input": { "n": n } });
    let b = json!({ "tool": "B" });
    let hits = ["Found A at call 2", "Found B at call 3"];
    check(&config, &messages(&json!([a(1), a(2), b])), 1.0, &hits, &[]);
    let miss = "Step 1: expected A, but call 1 has other arguments: `n` is 1, not 2";
    check(&config, &messages(&json!([a(1), b])), 0.0, &["Found B at call 2"], &[miss]);
}

#[test]
fn durations_count_once_the_sequence_holds() {
    let config = json!({ "mode": "in_order", "expected": [
        { "tool": "A", "max_duration_ms": 100 }, { "tool": "B", "maxDurationMs": 50 },
    ] });
    let response = messages(&json!([
        { "tool": "A", "duration_ms": 100 }, { "tool": "B", "duration_ms": 50.5 },
    ]));
    let hits = ["Found A at call 1", "Found B at call 2", "A completed in 100ms (max: 100ms)"];
    check(&config, &response, 0.75, &hits, &["B took 50.5ms (max: 50ms)"]);

    let response = messages(&json!([{ "tool": "A", "duration_ms": 1 }]));
    let miss = "Step 2: expected B, but it was never called";
    check(&config, &response, 0.0, &["Found A at call 1"], &[miss]);
}

#[test]
fn a_call_without_a_duration_is_warned_of_and_not_counted() {
    let config = json!({ "mode": "exact", "expected": [{ "tool": "A", "max_duration_ms": 1 }] });
    for response in [calls("A"), messages(&json!([{ "tool": "A", "duration_ms": -1 }]))] {
        let (verdict, heard) = Bench::new("tool_trajectory", &config).grade_heard(&response);
        assert_eq!(verdict.unwrap().score, agentv_core::Score::ONE);
        let warning = "a call of `A` reports no duration, so its `max_duration_ms` is not checked";
        assert_eq!(heard, [warning]);
    }
}

#[test]
fn any_order_limits_every_call_of_a_tool() {
    let config = json!({ "mode": "any_order", "minimums": { "A": 1 }, "expected": [
        { "tool": "A", "max_duration_ms": 10 }, { "tool": "B", "max_duration_ms": 10 },
    ] });
    let a = |ms| json!({ "tool": "A", "duration_ms": ms });
    let met = "A called 2 times (minimum: 1)";
    let response = messages(&json!([a(10), a(9)]));
    check(&config, &response, 1.0, &[met, "A completed in 10ms (max: 10ms)"], &[]);
    let response = messages(&json!([a(11), a(9)]));
    check(&config, &response, 0.5, &[met], &["A took 11ms (max: 10ms)"]);
}

#[test]
fn all_that_is_wrong_is_said_with_its_place() {
    check_notes(
        &json!({ "mode": "ordered", "minimums": { "A": -1, "B": 1.5, "C": 1 }, "expected": [
            "A", { "args": [] }, { "tool": " ", "max_duration_ms": -1, "arg": {} },
        ] }),
        &[
            "mode: `mode` of evaluator `e` must be `any_order`, `in_order` or `exact`, not the text `ordered`",
            "minimums.A: the minimum of `A` in evaluator `e` must be a whole number from 0 up",
            "minimums.B: the minimum of `B` in evaluator `e` must be a whole number from 0 up",
            "expected[0]: entry 1 of `expected` of evaluator `e` must be a mapping of keys to values, not text",
            "expected[1].args: entry 2 of `expected` of evaluator `e` needs `tool`",
            "expected[1].args: `args` of entry 2 of `expected` of evaluator `e` must be `any` or a mapping of arguments to values, not a list",
            "expected[2].max_duration_ms: `max_duration_ms` of entry 3 of `expected` of evaluator `e` must be a number from 0 up, not `-1`",
            "expected[2].arg: entry 3 of `expected` of evaluator `e` has no key `arg`",
            "expected[2].tool: `tool` of entry 3 of `expected` of evaluator `e` must not be empty",
        ],
    );
    check_notes(
        &json!({ "mode": "exact", "minimums": [], "expected": {} }),
        &[
            "minimums: `minimums` of evaluator `e` must be a mapping of tools to numbers of calls, not a list",
            "expected: `expected` of evaluator `e` must be a list of calls, not a mapping",
            "minimums: `minimums` of evaluator `e` only counts with `any_order`",
        ],
    );
}

#[test]
fn each_mode_needs_its_own_key() {
    check_notes(
        &json!({ "mode": "any_order" }),
        &["mode: evaluator `e` needs `minimums` with `mode: any_order`"],
    );
    check_notes(
        &json!({ "mode": "in_order", "minimums": {} }),
        &[
            "minimums: `minimums` of evaluator `e` only counts with `any_order`",
            "mode: evaluator `e` needs `expected` with `mode: in_order`",
        ],
    );
    let config =
        json!({ "mode": "any_order", "minimums": { "A": 1 }, "expected": [{ "tool": "A" }] });
    check_notes(
        &config,
        &[
            "expected: with `any_order`, entries in `expected` of evaluator `e` count only by their `max_duration_ms`",
        ],
    );
    assert!(Bench::new("tool_trajectory", &config).is_usable());
}

/// Whether `wanted` can be got from `all` by leaving letters out, by the plainest way to say it.
fn is_subsequence(wanted: &str, all: &str) -> bool {
    let mut all = all.chars();
    wanted.chars().all(|letter| all.any(|other| other == letter))
}

proptest! {
    #[test]
    fn sequences_hold_or_score_nothing(expected in "[ABC]{0,5}", made in "[ABCX]{0,8}") {
        let in_order = Bench::new("tool_trajectory", &sequence("in_order", &expected)).grade(&calls(&made));
        prop_assert_eq!(in_order.score.value() > 0.5, is_subsequence(&expected, &made));
        prop_assert_eq!(in_order.score.value() > 0.5, in_order.misses.is_empty());
        let exact = Bench::new("tool_trajectory", &sequence("exact", &expected)).grade(&calls(&made));
        prop_assert_eq!(exact.score.value() > 0.5, expected == made);
        prop_assert_eq!(exact.score.value() > 0.5, exact.misses.is_empty());
    }
}
