//! Whole gradings; how values, dates and paths are read is tested beside them.

use super::super::testing::Bench;
use serde_json::{Value, json};

fn invoice() -> Value {
    json!({ "number": "A-1", "total": 100, "date": "2026-02-03", "lines": [{ "price": 60 }, { "price": 40 }] })
}

fn fields() -> Value {
    json!([
        { "path": "number", "match": "exact" },
        { "path": "total", "match": "numeric_tolerance", "tolerance": 1, "weight": 2 },
        { "path": "date", "match": "date", "formats": ["YYYY-MM-DD", "DD/MM/YYYY"] },
        { "path": "lines[1].price", "match": "exact", "required": false },
    ])
}

#[track_caller]
fn check(config: &Value, answer: &str, score: f64, hits: &[&str], misses: &[&str]) -> String {
    let verdict = Bench::new("field_accuracy", config).expecting(&invoice()).answer(answer);
    assert_eq!(verdict.hits, hits);
    assert_eq!(verdict.misses, misses);
    assert!((verdict.score.value() - score).abs() < 1e-12, "{:?}", verdict.score);
    verdict.reasoning.unwrap_or_default()
}

#[test]
fn all_fields_right() {
    let answer = r#"Here it is:
```json
{"number": "A-1", "total": "100.5", "date": "03/02/2026", "lines": [{}, {"price": 40.0}]}
```"#;
    let hits = ["number", "total (within tolerance: diff=0.50)", "date", "lines[1].price"];
    let reasoning = check(&json!({ "fields": fields() }), answer, 1.0, &hits, &[]);
    assert_eq!(reasoning, "4/4 fields matched");
}

#[test]
fn weights_make_the_mean_and_a_missing_optional_field_has_none() {
    let answer = r#"{"number": "A-2", "total": 100}"#;
    let hits = ["total (within tolerance: diff=0.00)", "lines[1].price: optional field missing"];
    let misses = ["number (value mismatch)", "date (required, missing)"];
    let reasoning = check(&json!({ "fields": fields() }), answer, 0.5, &hits, &misses);
    assert_eq!(reasoning, "2/4 fields matched");
    let strict = json!({ "fields": fields(), "aggregation": "all_or_nothing" });
    check(&strict, answer, 0.0, &hits, &misses);
}

#[test]
fn what_is_not_expected_cannot_be_wrong() {
    let config = json!({ "fields": [{ "path": "note", "match": "exact" }] });
    check(&config, r#"{"note": "x"}"#, 1.0, &["note: no expected value"], &[]);
}

#[test]
fn without_any_weight_the_score_is_zero_but_nothing_is_wrong() {
    let fields = json!([{ "path": "total", "match": "exact", "weight": 0 }]);
    check(&json!({ "fields": fields }), r#"{"total": 100}"#, 0.0, &["total"], &[]);
    let strict = json!({ "fields": fields, "aggregation": "all_or_nothing" });
    check(&strict, r#"{"total": 100}"#, 1.0, &["total"], &[]);
}

#[test]
fn four_of_each_are_told() {
    let fields: Vec<Value> = (0..9).map(|_| json!({ "path": "total", "match": "exact" })).collect();
    let told = ["total (value mismatch)"; 4];
    let reasoning = check(&json!({ "fields": fields }), r#"{"total": 0}"#, 0.0, &[], &told);
    assert_eq!(reasoning, "0/9 fields matched");
}

#[test]
fn a_list_of_objects_is_an_answer_too() {
    let config = json!({ "fields": [{ "path": "[1].a", "match": "exact" }] });
    let bench = Bench::new("field_accuracy", &config).expecting(&json!("[{\"a\": 1}, {\"a\": 2}]"));
    assert_eq!(bench.answer(r#"[{"a": 1}, {"a": 2}]"#).hits, ["[1].a"]);
}

#[test]
fn there_must_be_something_to_compare() {
    let config = json!({ "fields": fields() });
    check(&config, "no idea", 0.0, &[], &["Failed to parse candidate answer as JSON"]);
    let verdict = Bench::new("field-accuracy", &config).answer("{\"a\": 1}");
    assert_eq!(verdict.misses, ["No expected data found in expected_messages"]);
    let messages = json!([{ "role": "user", "content": invoice() }]);
    let bench = Bench::new("field_accuracy", &config).expecting_messages(&messages);
    assert_eq!(bench.answer("{\"a\": 1}").misses, verdict.misses);
}

#[track_caller]
fn check_notes(config: &Value, expected: &[&str]) {
    assert_eq!(Bench::new("field_accuracy", config).notes(), expected);
}

#[test]
fn all_that_is_wrong_is_said_with_its_place() {
    check_notes(
        &json!({ "aggregation": "mean", "fields": [
            { "path": "a..b", "match": "exact" },
            { "match": "close", "weight": -1 },
            { "path": "d", "match": "date", "formats": ["YY", 1], "requird": true },
            { "path": "d", "match": "date", "formats": "YYYY-MM-DD" },
            "e",
        ] }),
        &[
            "fields[0].path: `path` of field 1 of evaluator `e`: a key is missing before or after a dot",
            "fields[1].match: field 2 of evaluator `e` needs `path`",
            "fields[1].match: `match` of field 2 of evaluator `e` must be `exact`, `numeric_tolerance` or `date`, not the text `close`",
            "fields[1].weight: `weight` of field 2 of evaluator `e` must be a number from 0 up, not `-1`",
            "fields[2].formats[0]: not a date format for field 3 of evaluator `e`: `Y` has no meaning",
            "fields[2].formats[1]: not a date format for field 3 of evaluator `e`: it is a number",
            "fields[2].requird: field 3 of evaluator `e` has no key `requird`",
            "fields[3].formats: `formats` of field 4 of evaluator `e` must be a list of date formats",
            "fields[4]: field 5 of evaluator `e` must be a mapping of keys to values, not text",
            "aggregation: `aggregation` of evaluator `e` must be `weighted_average` or `all_or_nothing`, not the text `mean`",
        ],
    );
    check_notes(&json!({}), &[": evaluator `e` needs `fields`"]);
    check_notes(
        &json!({ "fields": [] }),
        &["fields: `fields` of evaluator `e` must be a list of fields"],
    );
}

#[test]
fn a_setting_of_another_comparison_is_noted() {
    let config = json!({ "fields": [{ "path": "a", "match": "exact", "tolerance": 1, "formats": ["YYYY-MM-DD"] }] });
    check_notes(
        &config,
        &[
            "fields[0].tolerance: `tolerance` of field 1 of evaluator `e` has no effect with this `match`",
            "fields[0].formats: `formats` of field 1 of evaluator `e` has no effect with this `match`",
        ],
    );
    assert!(Bench::new("field_accuracy", &config).is_usable());
}
