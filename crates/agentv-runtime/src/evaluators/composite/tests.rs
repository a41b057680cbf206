//! Composites of plain checks.

use crate::evaluators::testing::Bench;
use serde_json::{Value, json};

fn members() -> Value {
    json!([{"name": "a", "type": "contains", "value": "x"}, {"name": "b", "type": "contains", "value": "y"}])
}

#[track_caller]
fn refuses(config: &Value, message: &str) {
    let notes = Bench::new("composite", config).notes();
    assert!(notes.iter().any(|note| note.contains(message)), "{notes:?}");
}

#[test]
fn what_is_missing_is_named() {
    refuses(&json!({"aggregator": {"type": "weighted_average"}}), "needs `evaluators`");
    refuses(&json!({"evaluators": members()}), "needs an `aggregator`");
    refuses(
        &json!({"evaluators": members(), "aggregator": {"type": "best"}}),
        "unknown aggregator type `best`",
    );
    refuses(
        &json!({"evaluators": members(), "aggregator": {"type": "weighted_average", "weights": {"a": -1}}}),
        "must be a number from 0 up",
    );
    refuses(
        &json!({"evaluators": [members()[0], members()[0]], "aggregator": {"type": "weighted_average"}}),
        "two members named `a`",
    );
}
