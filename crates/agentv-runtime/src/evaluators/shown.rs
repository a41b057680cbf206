//! Values as hits and misses show them: on one line, never at length.

use serde_json::Value;
use std::borrow::Cow;

/// How many characters of a value are shown.
const SHOWN: usize = 80;

/// Text in quotes.
pub(super) fn quoted(text: &str) -> String {
    Value::from(clipped(text)).to_string()
}

/// A JSON value as compact JSON.
pub(super) fn json(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        value => clipped(&agentv_wire::number::to_string(value).unwrap_or_default()).into_owned(),
    }
}

/// A number as results files spell it: `1`, not `1.0`.
pub(super) fn number(number: f64) -> String {
    agentv_wire::number::to_string(&number).unwrap_or_default()
}

/// The beginning of a text.
pub(super) fn clipped(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_value_stays_on_one_line_and_short() {
        assert_eq!(quoted("a\n\"b\""), r#""a\n\"b\"""#);
        assert_eq!(quoted(&"é".repeat(81)), format!("\"{}…\"", "é".repeat(80)));
        assert_eq!(json(&json!({"a": [1.0, "x"]})), r#"{"a":[1,"x"]}"#);
        assert_eq!(json(&json!(vec![0; 999])).chars().count(), 81);
        assert_eq!(number(1500.0), "1500");
    }
}
