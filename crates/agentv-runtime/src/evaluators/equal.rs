//! When two JSON values are the same to a grader.

use serde_json::{Number, Value};

/// Deep equality. Lists are ordered, objects are not, a number is never a text; but 1 is 1.0, since no author of an eval
/// file means anything by the difference.
pub(super) fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => same_number(left, right),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(a, b)| equal(a, b))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, a)| right.get(key).is_some_and(|b| equal(a, b)))
        }
        _ => left == right,
    }
}

/// Whole numbers are compared digit by digit: as floats, neighbours above 2^53 would be equal.
fn same_number(left: &Number, right: &Number) -> bool {
    let both_whole = !left.is_f64() && !right.is_f64();
    left == right || (!both_whole && left.as_f64() == right.as_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(left: &Value, right: &Value, expected: bool) {
        assert_eq!(equal(left, right), expected);
        assert_eq!(equal(right, left), expected);
    }

    #[test]
    fn the_spelling_of_a_number_does_not_matter() {
        check(&json!({"a": [1, {"b": 2.0}]}), &json!({"a": [1.0, {"b": 2}]}), true);
        check(&json!(-0.0), &json!(0), true);
        check(&json!(9_007_199_254_740_992_u64), &json!(9_007_199_254_740_993_u64), false);
    }

    #[test]
    fn a_number_is_not_its_text() {
        check(&json!(1), &json!("1"), false);
        check(&json!(null), &json!(false), false);
    }

    #[test]
    fn lists_are_ordered_and_objects_are_not() {
        check(&json!([1, 2]), &json!([2, 1]), false);
        check(&json!([1]), &json!([1, 2]), false);
        check(&json!({"a": 1, "b": 2}), &json!({"b": 2, "a": 1}), true);
        check(&json!({"a": 1}), &json!({"a": 1, "b": 2}), false);
        check(&json!({"a": null}), &json!({"b": null}), false);
    }
}
