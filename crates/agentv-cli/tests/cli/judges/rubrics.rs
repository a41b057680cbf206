//! Rubrics: items that a judge checks one by one, or scores from 0 to 10.

use super::{judged, prompt, result};
use crate::eval;
use agentv_test_support::{FakeLlm, result_of, suite};
use serde_json::{Value, json};

/// What comes of these rubrics if the judge says this, and what it was told.
#[track_caller]
fn check(rubrics: &Value, reply: &Value) -> (Value, String) {
    let api = FakeLlm::answering(&reply.to_string());
    let cx = judged("the answer", &api);
    let result = result(&cx, &json!({ "name": "r", "type": "rubric", "rubrics": rubrics }));
    assert_eq!(result["type"], "llm_judge");
    assert_eq!(result.get("error"), None, "{result:#}");
    (result, prompt(&api))
}

/// Three items: the first is required and heavy, the second is not required, the third is only a text.
fn checklist() -> Value {
    json!([
        { "id": "safe", "expected_outcome": "Is safe", "weight": 2 },
        { "id": "kind", "description": "Is kind", "required": false },
        "Is short",
    ])
}

#[test]
fn a_checklist_is_met_by_its_weights() {
    let reply = json!({
        "checks": [
            { "id": "safe", "satisfied": true, "reasoning": "no harm" },
            { "id": "kind", "satisfied": false, "reasoning": "rude" },
            { "id": "rubric-3", "satisfied": true, "reasoning": "" },
        ],
        "overall_reasoning": "fine",
    });
    let (result, told) = check(&checklist(), &reply);
    assert_eq!((&result["score"], &result["verdict"]), (&json!(0.75), &json!("borderline")));
    assert_eq!(result["hits"], json!(["[safe] Is safe: no harm", "[rubric-3] Is short"]));
    assert_eq!(result["misses"], json!(["[kind] Is kind: rude"]));
    assert_eq!((&result["reasoning"], result.get("details")), (&json!("fine"), None));
    let listed = "[[ ## rubrics ## ]]\n\
                  - [safe] (REQUIRED) (weight: 2): Is safe\n\
                  - [kind]: Is kind\n\
                  - [rubric-3] (REQUIRED): Is short";
    assert!(told.ends_with(listed), "{told}");
    assert!(told.contains("[[ ## candidate_answer ## ]]\nthe answer"), "{told}");
    // There is no reference answer, so there is no section for it.
    assert!(!told.contains("reference_answer"), "{told}");
}

#[test]
fn a_required_item_that_is_not_met_fails_the_whole() {
    let rubrics = json!([{ "id": "a", "expected_outcome": "A", "weight": 9 }, "B"]);
    let checks =
        json!([{ "id": "a", "satisfied": true }, { "id": "rubric-2", "satisfied": false }]);
    let (result, _) = check(&rubrics, &json!({ "checks": checks }));
    assert_eq!((&result["score"], &result["verdict"]), (&json!(0.9), &json!("fail")));
}

#[test]
fn what_the_judge_forgets_is_not_met_and_nothing_counts_twice() {
    let reply = json!({ "checks": [
        { "id": "kind", "satisfied": true },
        { "id": "kind", "satisfied": false },
        { "id": "unheard-of", "satisfied": true },
        { "id": "safe", "satisfied": "yes" },
    ] });
    let (result, _) = check(&checklist(), &reply);
    assert_eq!((&result["score"], &result["verdict"]), (&json!(0.25), &json!("fail")));
    assert_eq!(result["hits"], json!(["[kind] Is kind"]));
    let misses = result["misses"].as_array().unwrap();
    assert_eq!(misses.len(), 2);
    assert_eq!(misses[1], "[rubric-3] Is short: the judge did not check this");
}

/// Two criteria with ranges, the first of which must reach 6.
fn ranges() -> Value {
    let ranges = json!([
        { "score_range": [0, 3], "expected_outcome": "poor" },
        { "score_range": [8, 10], "description": "rich" },
        { "score_range": [4, 7], "expected_outcome": "fair" },
    ]);
    json!([
        { "id": "depth", "expected_outcome": "Goes deep", "weight": 3, "required_min_score": 6, "score_ranges": ranges },
        { "id": "style", "score_ranges": ranges },
    ])
}

#[test]
fn ranges_are_scored_from_0_to_10() {
    let reply = json!({ "checks": [
        { "id": "depth", "score": 10, "reasoning": "well" },
        { "id": "style", "score": 0 },
    ] });
    let (result, told) = check(&ranges(), &reply);
    assert_eq!((&result["score"], &result["verdict"]), (&json!(0.75), &json!("borderline")));
    assert_eq!(result["hits"], json!(["[depth] Goes deep - Score: 10/10 (rich): well"]));
    assert_eq!(result["misses"], json!(["[style] style - Score: 0/10 (poor)"]));
    let details = json!({
        "raw_scores": { "depth": 10, "style": 0 },
        "normalization": "score / 10",
        "aggregation": "weighted_average",
    });
    assert_eq!(result["details"], details);
    let listed = "### Criterion: depth (weight: 3) [REQUIRED: min score 6]\n\
                  Goes deep\n  - Score 0-3: poor\n  - Score 4-7: fair\n  - Score 8-10: rich\n\n\
                  ### Criterion: style (weight: 1)\n  - Score 0-3: poor\n";
    assert!(told.contains(listed), "{told}");
}

#[test]
fn a_score_below_what_is_required_fails_the_whole() {
    let checks = json!([{ "id": "depth", "score": 5 }, { "id": "style", "score": 99 }]);
    let (result, _) = check(&ranges(), &json!({ "checks": checks }));
    assert_eq!((&result["score"], &result["verdict"]), (&json!(0.625), &json!("fail")));
    assert_eq!(result["misses"], json!(["[depth] Goes deep - Score: 5/10 (fair)"]));
    assert_eq!(result["hits"], json!(["[style] style - Score: 10/10 (rich)"]));
    // What the judge wrote, though it counts as 10.
    assert_eq!(result["details"]["raw_scores"], json!({ "depth": 5, "style": 99 }));
}

#[test]
fn a_least_score_is_enough_to_score() {
    let rubrics = json!([{ "id": "a", "expected_outcome": "A", "required_min_score": 5 }]);
    let checks = json!([{ "id": "a", "score": 6 }]);
    let (result, _) = check(&rubrics, &json!({ "checks": checks }));
    assert_eq!((&result["score"], &result["verdict"]), (&json!(0.6), &json!("borderline")));
}

#[test]
fn a_reply_without_checks_is_a_failed_grading() {
    let api = FakeLlm::answering(r#"{"score": 1}"#);
    let result = result(&judged("x", &api), &json!({ "type": "rubric", "rubrics": ["A"] }));
    assert_eq!((&result["score"], &result["error"]["kind"]), (&json!(0), &json!("parse")));
    let miss = result["misses"][0].as_str().unwrap();
    assert!(miss.starts_with("Evaluator 'rubric' failed: "), "{miss}");
    assert_eq!(api.asked().len(), 3);
}

#[test]
fn rubrics_of_a_case_are_an_evaluator_of_that_name() {
    let reply = json!({ "checks": [{ "id": "rubric-1", "satisfied": true }] });
    let api = FakeLlm::answering(&reply.to_string());
    let cx = judged("x", &api);
    let case = "evalcases:\n  - id: one\n    input: q\n    expected_outcome: x\n    rubrics:\n      - Is short\n";
    cx.write("suite.yaml", case);
    let record = eval(&cx, &[]).success().record();
    assert_eq!(record["score"], 1);
    assert_eq!(result_of(&record, "rubric")["hits"], json!(["[rubric-1] Is short"]));
    let with_more = format!("{case}    evaluators:\n      - {{type: contains, value: never}}\n");
    cx.write("suite.yaml", &with_more);
    assert_eq!(eval(&cx, &[]).success().record()["score"], 0.5);
}

/// Rubrics that cannot be scored are refused before anything is called, at the place of the fault.
#[track_caller]
fn refused(item: &str, place: &str, why: &str) {
    let api = FakeLlm::answering("{}");
    let cx = judged("x", &api);
    let evaluator = format!("- name: r\n  type: rubric\n  rubrics:\n    - {{id: a, {item}}}");
    cx.write("suite.yaml", &suite(&evaluator));
    eval(&cx, &[]).code(2).stderr_has(place).stderr_has(why);
    // The same as a case's own rubrics.
    let case = format!(
        "evalcases:\n  - id: one\n    expected_outcome: x\n    input: q\n    rubrics:\n      - {{id: a, {item}}}\n"
    );
    cx.write("suite.yaml", &case);
    eval(&cx, &[]).code(2).stderr_has(why);
    assert_eq!(api.asked().len(), 0);
}

#[test]
fn ranges_must_cover_every_score_once() {
    for ranges in [
        "[0, 3], [5, 10]",
        "[0, 5], [5, 10]",
        "[0, 9]",
        "[1, 10]",
        "[0, 11]",
        "[0, 3], [10, 4]",
        "[0, 18446744073709551615]",
    ] {
        let list: Vec<String> = ranges
            .split("], ")
            .map(|range| {
                format!("{{score_range: {}], expected_outcome: x}}", range.trim_end_matches(']'))
            })
            .collect();
        let item = format!("score_ranges: [{}]", list.join(", "));
        refused(&item, "suite.yaml:9:35", "`score_ranges` must cover 0 to 10, each score once");
    }
    for ranges in
        ["[]", "7", "[{score_range: [0, 10]}]", "[{score_range: [0, 5, 10], expected_outcome: x}]"]
    {
        refused(
            &format!("score_ranges: {ranges}"),
            "suite.yaml:9:35",
            "`score_ranges` must be a list",
        );
    }
}

#[test]
fn items_that_cannot_be_scored_are_refused() {
    refused("weight: 1", "suite.yaml:9:14", "rubric 1 needs `expected_outcome`");
    refused("description: x, weight: -1", "suite.yaml:9:45", "`weight` of a rubric");
    let why = "`required_min_score` must be from 0 to 10";
    refused("required_min_score: 11, description: x", "suite.yaml:9:41", why);
}

#[test]
fn two_items_of_one_name_are_refused() {
    let api = FakeLlm::answering("{}");
    let cx = judged("x", &api);
    let rubrics = "- name: r\n  type: rubric\n  rubrics:\n    - {id: a, expected_outcome: A}\n    - {id: a, expected_outcome: B}";
    cx.write("suite.yaml", &suite(rubrics));
    eval(&cx, &[]).code(2).stderr_has("suite.yaml:10:").stderr_has("`a`");
}

#[test]
fn a_rubric_without_rubrics_is_refused() {
    let api = FakeLlm::answering("{}");
    let cx = judged("x", &api);
    cx.write("suite.yaml", &suite("- name: r\n  type: rubric"));
    eval(&cx, &[]).code(2).stderr_has("suite.yaml:7:15").stderr_has("needs `rubrics`");
    cx.write("suite.yaml", &suite("- name: r\n  type: rubric\n  rubrics: []"));
    eval(&cx, &[]).code(2).stderr_has("suite.yaml:8:18").stderr_has("must be a list of items");
}
