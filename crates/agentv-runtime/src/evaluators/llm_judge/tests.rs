//! The judge against a scripted model.

use crate::evaluators::reply;
use crate::evaluators::testing::Bench;
use agentv_core::Score;
use serde_json::{Value, json};

#[track_caller]
fn reads(text: &str, score: f64, hits: &[&str]) {
    let verdict = reply::read(text).unwrap_or_else(|| panic!("nothing in {text}"));
    assert_eq!(verdict.score, Score::clamped(score));
    assert_eq!(verdict.hits, hits);
}

#[test]
fn a_reply_is_found_wherever_it_stands() {
    reads(r#"{"score": 0.5, "hits": ["a"]}"#, 0.5, &["a"]);
    reads("Sure!\n```json\n{\"score\": 0.5}\n```", 0.5, &[]);
    reads(r#"I say {"note": 1} and {"score": 0.7, "hits": []} then {"score": 0}"#, 0.7, &[]);
}

#[test]
fn a_wild_reply_is_tamed() {
    reads(r#"{"score": 1.7}"#, 1.0, &[]);
    reads(r#"{"score": -2, "hits": "no list", "misses": 3}"#, 0.0, &[]);
    reads(
        r#"{"score": 1, "hits": ["a", " ", "b", 3, " c ", "d", "e"]}"#,
        1.0,
        &["a", "b", "c", "d"],
    );
}

#[test]
fn a_reply_without_a_score_is_none() {
    for text in ["", "no JSON", "{\"score\": \"high\"}", "{\"grade\": 1}", "{\"score\": null}"] {
        assert!(reply::read(text).is_none(), "{text}");
    }
}

#[track_caller]
fn refuses(config: &Value, message: &str) {
    let notes = Bench::new("llm_judge", config).notes();
    assert!(notes.iter().any(|note| note.contains(message)), "{notes:?}");
}

#[test]
fn rubrics_must_make_sense() {
    refuses(&json!({"rubrics": []}), "must be a list of items");
    refuses(&json!({"rubrics": [{"id": "a"}]}), "needs `expected_outcome`");
    refuses(
        &json!({"rubrics": [{"expected_outcome": "x", "required_min_score": 11}]}),
        "from 0 to 10",
    );
    let range = |from: u64, to: u64| json!({"score_range": [from, to], "expected_outcome": "x"});
    refuses(&json!({"rubrics": [{"score_ranges": [range(0, 4), range(4, 10)]}]}), "cover 0 to 10");
    refuses(&json!({"rubrics": [{"score_ranges": [range(0, 4), range(6, 10)]}]}), "cover 0 to 10");
    refuses(&json!({"rubrics": [{"score_ranges": [{"score_range": [0]}]}]}), "must be a list of");
    assert!(
        Bench::new("llm_judge", &json!({"rubrics": ["x", {"score_ranges": [range(0, 10)]}]}))
            .notes()
            .is_empty()
    );
}

#[test]
fn wrong_keys_are_named() {
    refuses(&json!({"judges": []}), "is empty");
    refuses(&json!({"vote": "loudest"}), "`mean`, `median` or `majority`");
    refuses(&json!({"max_asks": 0}), "from 1 up");
    refuses(&json!({"prompt": 3}), "must be text or");
    refuses(&json!({"prompt": {"script": ["python3", "nowhere.py"]}}), "was not found");
}
