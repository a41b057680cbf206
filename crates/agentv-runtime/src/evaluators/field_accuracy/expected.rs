//! The data that an answer is compared with.

use crate::evaluators::json;
use serde_json::Value;
use std::borrow::Cow;

/// The data of the last expected assistant message that has any.
pub(super) fn data(messages: &[Value]) -> Option<Cow<'_, Value>> {
    let said = messages.iter().rev().filter(|message| message["role"] == "assistant");
    said.filter_map(|message| message.get("content")).find_map(of_content)
}

fn of_content(content: &Value) -> Option<Cow<'_, Value>> {
    match content {
        Value::Object(_) => Some(Cow::Borrowed(content)),
        Value::String(text) => json::first_value(text).map(Cow::Owned),
        Value::Array(list) if list.iter().all(is_part) => list.iter().find_map(of_part),
        Value::Array(_) => Some(Cow::Borrowed(content)),
        _ => None,
    }
}

/// Whether an item of a list is a part of a message (text or a file) and no data itself.
fn is_part(item: &Value) -> bool {
    item["type"].is_string() && (item["value"].is_string() || item["text"].is_string())
}

/// A file's contents stand in `text`, beside its name in `value`.
fn of_part(part: &Value) -> Option<Cow<'_, Value>> {
    let text = part["text"].as_str().or_else(|| part["value"].as_str())?;
    json::first_value(text).map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(messages: &Value, expected: Option<&Value>) {
        assert_eq!(data(messages.as_array().unwrap()).as_deref(), expected);
    }

    #[test]
    fn the_last_assistant_message_with_data_counts() {
        let say = |role: &str, content: Value| json!({ "role": role, "content": content });
        check(
            &json!([
                say("assistant", json!({ "a": 1 })),
                say("assistant", json!("{\"a\": 2}")),
                say("assistant", json!("no data")),
                { "role": "assistant", "tool_calls": [] },
                say("user", json!({ "a": 3 })),
            ]),
            Some(&json!({ "a": 2 })),
        );
        check(&json!([say("assistant", json!([1, { "a": 1 }]))]), Some(&json!([1, { "a": 1 }])));
        check(&json!([say("assistant", json!("42")), "nonsense", null]), None);
        check(&json!([]), None);
    }

    #[test]
    fn parts_are_read_by_their_text() {
        let parts = json!([
            { "type": "text", "value": "As in the file:" },
            { "type": "file", "value": "a.json", "path": "a.json", "text": "{\"a\": 1}" },
        ]);
        check(&json!([{ "role": "assistant", "content": parts }]), Some(&json!({ "a": 1 })));
    }
}
