//! What real sessions come to.

use super::CopilotReader;
use crate::providers::agent_cli::testing::{no_cut_is_a_success, table};
use crate::providers::agent_cli::{EventReader, read_all};
use proptest::prelude::*;
use serde_json::{Value, json};

#[test]
fn every_recording_is_read_right() {
    insta::assert_snapshot!(table::<CopilotReader>("copilot-1.0.102"), @r#"
    api_401.jsonl | ! Authentication failed with provider at http://127.0.0.1:4625
    text.txt | …
    tool.jsonl | Final é. | bash=hello.txt⏎<shellId: 0 completed with exit code 0>
    tool_anthropic.jsonl | Final é. | bash=hello.txt⏎<shellId: 0 completed with exit code 0>
    "#);
}

#[test]
fn a_session_that_is_cut_is_no_success() {
    no_cut_is_a_success::<CopilotReader>("copilot-1.0.102");
}

fn read(events: &[Value]) -> CopilotReader {
    let mut reader = CopilotReader::default();
    for event in events {
        reader.event(event);
    }
    reader
}

#[test]
fn what_another_agent_says_is_not_the_answer() {
    let said = |text: &str, parent: Value| json!({"type": "assistant.message", "data": {"content": text, "parentToolCallId": parent}});
    let reading = read(&[said("main", json!(null)), said("sub", json!("call_1"))]).finish();
    assert_eq!(reading.answer.as_deref(), Some("main"));
}

#[test]
fn a_tool_that_failed_says_why_and_how_long_it_took() {
    let reading = read(&[
        json!({"type": "assistant.message", "data": {"content": "", "toolRequests": [
            {"toolCallId": "c", "name": "bash", "arguments": {}}]}}),
        json!({"type": "tool.execution_start", "timestamp": "2026-01-01T00:00:00.000Z", "data": {"toolCallId": "c"}}),
        json!({"type": "tool.execution_complete", "timestamp": "2026-01-01T00:00:00.250Z",
            "data": {"toolCallId": "c", "success": false, "error": {"message": "denied"}}}),
        json!({"type": "tool.execution_complete", "data": {"toolCallId": "nobody's"}}),
    ])
    .finish();
    let call = &reading.messages[0].tool_calls.as_ref().unwrap()[0];
    assert_eq!(call.output, Some("denied".into()));
    assert_eq!(call.duration_ms, Some(250.0));
    assert_eq!(reading.answer, None);
}

#[test]
fn a_log_line_says_what_an_event_is_about() {
    let check = |event: Value, expected: &str| assert_eq!(CopilotReader::summary(&event), expected);
    check(
        json!({"type": "assistant.message", "data": {"content": "a\nb"}}),
        "assistant.message: a b",
    );
    check(
        json!({"type": "tool.execution_start", "data": {"toolName": "bash"}}),
        "tool.execution_start: bash",
    );
    check(json!({"type": "result", "exitCode": 0}), "result");
}

proptest! {
    #[test]
    fn any_bytes_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read_all::<CopilotReader>(&bytes);
    }

    #[test]
    fn any_shape_can_be_read(
        kind in prop::sample::select(vec!["assistant.message", "tool.execution_start", "tool.execution_complete",
            "model.call_failure", "session.error", "result"]),
        odd in prop::sample::select(vec![json!(null), json!(1), json!([]), json!({}), json!([1]), json!("x")]),
    ) {
        let event = json!({"type": kind, "timestamp": odd, "exitCode": odd, "usage": odd,
            "data": {"content": odd, "toolRequests": odd, "toolCallId": odd, "result": odd, "statusCode": odd}});
        CopilotReader::summary(&event);
        read(&[event, json!({"type": kind, "data": odd})]).finish();
    }
}
