//! What real sessions come to.

use super::GeminiCliReader;
use crate::providers::agent_cli::testing::{no_cut_is_a_success, table};
use crate::providers::agent_cli::{EventReader, read_all};
use proptest::prelude::*;
use serde_json::{Value, json};

#[test]
fn every_recording_is_read_right() {
    insta::assert_snapshot!(table::<GeminiCliReader>("gemini-cli-0.61.0"), @r#"
    api_400.jsonl | ! [API Error: {"error":{"code":400,"message":"bad req","status |  | 0/0/0
    json.json | Gemini final. |  | 101/28/40
    stream_json.jsonl | Gemini final é. | list_directory=success | 202/56/80
    "#);
}

#[test]
fn a_session_that_is_cut_is_no_success() {
    no_cut_is_a_success::<GeminiCliReader>("gemini-cli-0.61.0");
}

fn read(events: &[Value]) -> GeminiCliReader {
    let mut reader = GeminiCliReader::default();
    for event in events {
        reader.event(event);
    }
    reader
}

#[test]
fn a_result_of_a_tool_is_what_there_is_of_it() {
    let output = |result: Value| {
        let call =
            json!({"type": "tool_use", "tool_id": "t", "tool_name": "read_file", "parameters": {}});
        let messages = read(&[call, result]).finish().messages;
        messages[0].tool_calls.as_ref().unwrap()[0].output.clone()
    };
    let result = |more: Value| {
        let mut result = json!({"type": "tool_result", "tool_id": "t", "status": "success"});
        result.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        result
    };
    assert_eq!(output(result(json!({}))), Some("success".into()));
    assert_eq!(output(result(json!({"output": "text"}))), Some("text".into()));
    assert_eq!(output(result(json!({"error": {"message": "denied"}}))), Some("denied".into()));
}

#[test]
fn a_document_may_hold_an_error() {
    let document =
        "{\n  \"session_id\": \"s\",\n  \"error\": {\n    \"message\": \"no key\"\n  }\n}";
    let reading = read_all::<GeminiCliReader>(document.as_bytes());
    assert_eq!(reading.failure.as_deref(), Some("no key"));
}

#[test]
fn a_log_line_says_what_an_event_is_about() {
    let check =
        |event: Value, expected: &str| assert_eq!(GeminiCliReader::summary(&event), expected);
    check(json!({"type": "message", "role": "assistant", "content": "a\nb"}), "message: a b");
    check(json!({"type": "tool_use", "tool_name": "read_file"}), "tool_use: read_file");
    check(json!({"type": "result", "status": "success"}), "result: success");
    check(json!({"type": "init"}), "init");
}

proptest! {
    #[test]
    fn any_bytes_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read_all::<GeminiCliReader>(&bytes);
    }

    #[test]
    fn any_shape_can_be_read(
        kind in prop::sample::select(vec!["init", "message", "tool_use", "tool_result", "error", "result"]),
        odd in prop::sample::select(vec![json!(null), json!(1), json!([]), json!({}), json!([1]), json!("x")]),
    ) {
        let event = json!({"type": kind, "role": "assistant", "content": odd, "tool_id": odd, "error": odd,
            "status": odd, "stats": odd});
        GeminiCliReader::summary(&event);
        read(&[event, json!({"response": odd, "stats": {"models": odd}})]).finish();
    }
}
