//! What a command gave as its answer: a JSON object with known keys, or any text at all.
//!
//! A bad part costs only itself. An answer that was paid for is never lost over a wrong number beside it.

use super::command::OUTPUT_CAP;
use crate::config::same_key;
use crate::file_input;
use agentv_core::Response;
use agentv_core::metrics::{amount, reported};
use agentv_wire::{Object, OutputMessage, ToolCall, TraceEvent};
use serde_json::Value;
use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

/// What was left out of an output, and why. The user is warned of each.
pub(in crate::providers) type Problems = Vec<String>;

/// The answer of an object that has neither text nor messages.
#[derive(Debug, Clone, Copy)]
pub(in crate::providers) enum Otherwise<'a> {
    /// The object was the answer itself: JSON that is not meant for us.
    Text(&'a str),
    Nothing,
}

/// What an output says.
#[derive(Debug, Default, PartialEq)]
pub(in crate::providers) struct ParsedOutput {
    pub(in crate::providers) response: Response,
    pub(in crate::providers) problems: Problems,
    /// The file with the trace. None if the output has a trace itself, or is the answer as a whole: what a model says is
    /// not for us.
    pub(in crate::providers) trace_ref: Option<String>,
}

/// Reads the output of one question.
pub(in crate::providers) fn parse(text: &str) -> ParsedOutput {
    match serde_json::from_str(text.trim_start_matches('\u{feff}')) {
        Ok(Value::Object(object)) => from_object(&object, Otherwise::Text(text)),
        _ => ParsedOutput { response: Response::text(text), ..ParsedOutput::default() },
    }
}

/// Reads the keys that are known; others are the command's own.
pub(in crate::providers) fn from_object(object: &Object, otherwise: Otherwise<'_>) -> ParsedOutput {
    let object = &*in_snake_case(object, &KEYS);
    let (reported, mut problems) = reported(object);
    let messages = list(object, "output_messages", &mut problems, message);
    let messages = messages.filter(|messages| !messages.is_empty());
    let text = object.get("text").and_then(text);
    let trace = trace(object, &mut problems);
    let (text, is_answer) = match (text, &messages, otherwise) {
        (None, None, Otherwise::Text(whole)) => (Some(whole.to_owned()), true),
        (text, ..) => (text, false),
    };
    let trace_ref = object.get("trace_ref").and_then(Value::as_str).map(str::to_owned);
    let trace_ref = trace_ref.filter(|_| trace.is_none() && !is_answer);
    let response = Response { text, messages, trace, reported, ..Response::default() };
    ParsedOutput { response, problems, trace_ref }
}

/// The keys of an answer that `camelCase` spells differently.
const KEYS: [&str; 5] = ["output_messages", "token_usage", "cost_usd", "duration_ms", "trace_ref"];

/// The object with these keys in `snake_case`. If it has both spellings of a key, `snake_case` wins. Other keys are the
/// command's own and stay as they are.
fn in_snake_case<'o>(object: &'o Object, keys: &[&str]) -> Cow<'o, Object> {
    let mut object = Cow::Borrowed(object);
    for key in keys {
        if object.contains_key(*key) {
            continue;
        }
        let other = object.iter().find(|(written, _)| same_key(written, key));
        if let Some(value) = other.map(|(_, value)| value.clone()) {
            object.to_mut().insert((*key).to_owned(), value);
        }
    }
    object
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => agentv_wire::number::to_string(other).ok(),
    }
}

/// The good items of a list, if there is one under this key; what is wrong is named.
fn list<T>(
    object: &Object,
    key: &str,
    odd: &mut Vec<String>,
    item: impl Fn(&Value, &str, &mut Vec<String>) -> Option<T>,
) -> Option<Vec<T>> {
    let value = object.get(key).filter(|value| !value.is_null())?;
    let Some(items) = value.as_array() else {
        odd.push(format!("`{key}` is left out: it is not a list"));
        return None;
    };
    let good = items
        .iter()
        .enumerate()
        .filter_map(|(index, value)| item(value, &format!("`{key}[{index}]`"), odd));
    Some(good.collect())
}

fn message(value: &Value, place: &str, odd: &mut Vec<String>) -> Option<OutputMessage> {
    let Some((object, role)) = object_with(value, "role") else {
        odd.push(format!("{place} is left out: a message is an object with a text `role`"));
        return None;
    };
    let object = &*in_snake_case(object, &["tool_calls", "duration_ms"]);
    let mut part = Part { object, place, odd };
    let (name, timestamp) = (part.text("name"), part.text("timestamp"));
    let (duration_ms, metadata) = (part.amount("duration_ms"), part.object("metadata"));
    Some(OutputMessage {
        role,
        name,
        content: object.get("content").filter(|content| !content.is_null()).cloned(),
        tool_calls: list(object, "tool_calls", odd, |value, inner, odd| {
            tool_call(value, &format!("{inner} of {place}"), odd)
        }),
        timestamp,
        duration_ms,
        metadata,
    })
}

fn tool_call(value: &Value, place: &str, odd: &mut Vec<String>) -> Option<ToolCall> {
    let Some((object, tool)) = object_with(value, "tool") else {
        odd.push(format!("{place} is left out: a tool call is an object with a text `tool`"));
        return None;
    };
    let object = &*in_snake_case(object, &["duration_ms"]);
    let mut part = Part { object, place, odd };
    Some(ToolCall {
        tool,
        input: object.get("input").cloned(),
        output: object.get("output").cloned(),
        id: part.text("id"),
        timestamp: part.text("timestamp"),
        duration_ms: part.amount("duration_ms"),
    })
}

fn object_with<'v>(value: &'v Value, key: &str) -> Option<(&'v Object, String)> {
    let object = value.as_object()?;
    Some((object, object.get(key)?.as_str()?.to_owned()))
}

/// An object whose optional keys are read one by one.
struct Part<'a> {
    object: &'a Object,
    place: &'a str,
    odd: &'a mut Vec<String>,
}

impl Part<'_> {
    fn text(&mut self, key: &str) -> Option<String> {
        self.take(key, "text", |value| value.as_str().map(str::to_owned))
    }

    fn amount(&mut self, key: &str) -> Option<f64> {
        self.take(key, "a number from 0 up", amount)
    }

    fn object(&mut self, key: &str) -> Option<Object> {
        self.take(key, "an object", |value| value.as_object().cloned())
    }

    fn take<T>(
        &mut self,
        key: &str,
        expected: &str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Option<T> {
        let value = self.object.get(key).filter(|value| !value.is_null())?;
        let read = read(value);
        if read.is_none() {
            self.odd.push(format!("`{key}` of {} is left out: it is not {expected}", self.place));
        }
        read
    }
}

/// The trace in the output.
fn trace(object: &Object, problems: &mut Problems) -> Option<Vec<TraceEvent>> {
    let given = list(object, "trace", problems, |value, place, odd| {
        let event = serde_json::from_value(value.clone());
        event.map_err(|error| odd.push(format!("{place} is left out: {error}"))).ok()
    });
    // A list of which nothing is left says as little as none.
    let was_empty = object.get("trace").and_then(Value::as_array).is_some_and(Vec::is_empty);
    given.filter(|given| was_empty || !given.is_empty())
}

/// The trace in the file that an output names. The first of `dirs` is where the command ran; the file must lie in one of
/// them, since a path may come from what a model has said.
pub(super) fn read_trace(reference: &str, dirs: &[&Path]) -> io::Result<Vec<TraceEvent>> {
    let path = dirs.first().map_or_else(PathBuf::new, |dir| dir.join(reference));
    let file = file_input::open_inside(&path, dirs)?;
    Ok(serde_json::from_slice(&file_input::read_capped(file, OUTPUT_CAP as u64)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentv_wire::{TokenUsage, TraceEventType};
    use proptest::prelude::*;
    use serde_json::json;

    fn parsed(text: &str) -> (Response, Problems) {
        let ParsedOutput { response, problems, .. } = parse(text);
        (response, problems)
    }

    /// The response as JSON, without what is empty, and how many problems there were.
    #[track_caller]
    fn check(output: &Value, expected: &Value, odd: usize) {
        let (response, problems) = parsed(&output.to_string());
        let mut got = serde_json::to_value(&response).unwrap();
        if got["reported"] == json!({}) {
            got.as_object_mut().unwrap().shift_remove("reported");
        }
        assert_eq!(got, *expected);
        assert_eq!(problems.len(), odd, "{problems:?}");
    }

    #[test]
    fn whatever_is_no_object_is_text() {
        for text in ["", " plain\n", "[1, 2]", "7", "\"quoted\"", "{cut", "{} {}", "null"] {
            assert_eq!(parsed(text), (Response::text(text), Problems::new()));
        }
    }

    #[test]
    fn an_object_that_is_not_for_us_is_text() {
        let text = "{ \"answer\": 42 }\n";
        assert_eq!(parsed(text).0, Response::text(text));
    }

    #[test]
    fn metrics_are_kept_without_text_or_messages() {
        let text = r#"{"answer": 42, "cost_usd": 0.5}"#;
        let (response, _) = parsed(text);
        assert_eq!((response.text.as_deref(), response.reported.cost_usd), (Some(text), Some(0.5)));
    }

    #[test]
    fn text_may_be_any_value() {
        check(&json!({"text": "hi"}), &json!({"text": "hi"}), 0);
        check(&json!({"text": {"a": [1.0]}}), &json!({"text": r#"{"a":[1]}"#}), 0);
        check(&json!({"text": ""}), &json!({"text": ""}), 0);
    }

    #[test]
    fn messages_and_text_are_both_kept() {
        check(
            &json!({"text": "t", "extra": 1, "output_messages": [
                {"role": "assistant", "content": null, "tool_calls": [{"tool": "Read", "input": {"p": 1},
                    "output": "x", "id": "c1", "duration_ms": 12}]},
                {"role": "user", "name": "n", "content": [1], "timestamp": "t", "metadata": {"k": 1}}]}),
            &json!({"text": "t", "messages": [
                {"role": "assistant", "tool_calls": [{"tool": "Read", "input": {"p": 1},
                    "output": "x", "id": "c1", "duration_ms": 12.0}]},
                {"role": "user", "name": "n", "content": [1], "timestamp": "t", "metadata": {"k": 1}}]}),
            0,
        );
    }

    #[test]
    fn keys_may_be_in_camel_case() {
        let call = json!({"tool": "Read", "input": {"filePath": 1}, "durationMs": 12});
        let message =
            json!({"role": "assistant", "content": "x", "toolCalls": [call], "durationMs": 3});
        check(
            &json!({"outputMessages": [message], "tokenUsage": {"input": 1, "output": 2}, "costUsd": 0.5,
                "durationMs": 300}),
            &json!({"messages": [{"role": "assistant", "content": "x", "duration_ms": 3.0, "tool_calls":
                    [{"tool": "Read", "input": {"filePath": 1}, "duration_ms": 12.0}]}],
                "reported": {"token_usage": {"input": 1.0, "output": 2.0}, "cost_usd": 0.5, "duration_ms": 300.0}}),
            0,
        );
        let both = json!({"text": "t", "cost_usd": 1, "costUsd": 2});
        check(&both, &json!({"text": "t", "reported": {"cost_usd": 1.0}}), 0);
    }

    #[test]
    fn a_bad_part_costs_only_itself() {
        check(
            &json!({"cost_usd": -1, "token_usage": {"input": 1, "output": 2}, "output_messages": [
                "no", {"content": "no role"}, {"role": 7},
                {"role": "assistant", "content": "yes", "duration_ms": -1, "name": 3, "metadata": [],
                    "tool_calls": [{"tool": "A", "id": 5}, {"input": 1}, 9]},
                {"role": "assistant", "content": "end", "tool_calls": "none"}]}),
            &json!({"reported": {"token_usage": {"input": 1.0, "output": 2.0}}, "messages": [
                {"role": "assistant", "content": "yes", "tool_calls": [{"tool": "A"}]},
                {"role": "assistant", "content": "end"}]}),
            11,
        );
    }

    #[test]
    fn messages_of_which_nothing_is_left_are_none() {
        let text = r#"{"output_messages": [1]}"#;
        assert_eq!(parsed(text).0, Response::text(text));
        check(&json!({"text": "t", "output_messages": []}), &json!({"text": "t"}), 0);
        check(&json!({"text": "t", "output_messages": {}}), &json!({"text": "t"}), 1);
    }

    #[test]
    fn a_bad_event_is_left_out_of_a_trace() {
        let trace =
            json!([{"type": "tool_call", "name": "A"}, {"type": "dance"}, 3, {"type": "error"}]);
        check(
            &json!({"text": "t", "trace": trace}),
            &json!({"text": "t", "trace": [{"type": "tool_call", "name": "A"}, {"type": "error"}]}),
            2,
        );
        check(&json!({"text": "t", "trace": []}), &json!({"text": "t", "trace": []}), 0);
        check(&json!({"text": "t", "trace": [1]}), &json!({"text": "t"}), 1);
    }

    #[test]
    fn a_trace_file_is_used_if_all_of_it_is_good() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("good.json"), r#"[{"type": "message"}]"#).unwrap();
        std::fs::write(dir.path().join("bad.json"), r#"[{"type": "message"}, {}]"#).unwrap();
        let read = |reference: &str| read_trace(reference, &[dir.path()]).ok();
        assert_eq!(read("good.json"), Some(vec![TraceEvent::of(TraceEventType::Message)]));
        for file in ["bad.json", "none.json", ".", "/dev/null"] {
            assert_eq!(read(file), None, "{file}");
        }
    }

    #[test]
    fn a_trace_file_is_named_beside_an_answer_that_has_no_trace() {
        let named = |output: Value| parse(&output.to_string()).trace_ref;
        for key in ["trace_ref", "traceRef"] {
            assert_eq!(named(json!({"text": "t", key: "a.json"})).as_deref(), Some("a.json"));
        }
        assert_eq!(named(json!({"text": "t", "trace_ref": "a.json", "trace": []})), None);
        // This is what a model has said, and not what the command says about it.
        assert_eq!(named(json!({"answer": 42, "trace_ref": "a.json"})), None);
    }

    #[test]
    fn metrics_are_read() {
        let (response, _) = parsed(
            r#"{"text": "t", "token_usage": {"input": 10, "output": 5, "cached": 1}, "duration_ms": 300}"#,
        );
        let usage = TokenUsage { input: 10.0, output: 5.0, cached: Some(1.0) };
        assert_eq!(response.reported.token_usage, Some(usage));
        assert_eq!(response.reported.duration_ms, Some(300.0));
    }

    /// JSON that looks like ours, with nonsense in every place.
    fn nonsense() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "[a-z]{0,5}".prop_map(Value::from),
        ];
        let key = prop_oneof![
            Just("text"),
            Just("output_messages"),
            Just("tool_calls"),
            Just("trace"),
            Just("role"),
            Just("tool"),
            Just("token_usage"),
            Just("cost_usd"),
            Just("type"),
            Just("trace_ref"),
        ];
        leaf.prop_recursive(4, 40, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec((key.clone().prop_map(str::to_owned), inner), 0..6)
                    .prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_odd(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let (response, _) = parsed(&String::from_utf8_lossy(&bytes));
            prop_assert!(response.text.is_some() || response.messages.is_some());
        }

        #[test]
        fn no_json_is_too_odd(value in nonsense()) {
            let text = value.to_string();
            let (response, _) = parsed(&text);
            prop_assert!(response.text.is_some() || response.messages.is_some());
            let _ = from_object(value.as_object().unwrap_or(&Object::new()), Otherwise::Nothing);
        }
    }
}
