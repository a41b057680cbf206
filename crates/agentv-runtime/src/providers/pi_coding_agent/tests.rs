//! What real sessions come to.

use super::PiReader;
use crate::providers::agent_cli::testing::{no_cut_is_a_success, table};
use crate::providers::agent_cli::{EventReader, read_all};
use proptest::prelude::*;
use serde_json::{Value, json};

#[test]
fn every_recording_is_read_right() {
    insta::assert_snapshot!(table::<PiReader>("pi-0.73.1"), @r#"
    api_400.jsonl | ! 400 {"type":"error","error":{"type":"invalid_request_error", |  | 0/0/0
    text.txt | …
    tool.jsonl | Final é. | bash=hello.txt⏎ | 296/46/80 | 0.001372
    "#);
}

#[test]
fn a_session_that_is_cut_is_no_success() {
    no_cut_is_a_success::<PiReader>("pi-0.73.1");
}

fn read(events: &[Value]) -> PiReader {
    let mut reader = PiReader::default();
    for event in events {
        reader.event(event);
    }
    reader
}

fn assistant(more: &Value) -> Value {
    let mut message = json!({"role": "assistant", "content": "done", "stopReason": "stop"});
    message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    message
}

#[test]
fn sums_that_no_number_holds_end_at_the_largest_one() {
    let large = assistant(&json!({"usage": {"input": 1e308, "cost": {"total": 1e308}}}));
    let end = json!({"type": "agent_end", "messages": [large, large]});
    let response = read(&[end]).finish().into_response().unwrap();
    assert_eq!(response.reported.cost_usd, Some(f64::MAX));
    assert_eq!(response.reported.token_usage.map(|usage| usage.input), Some(f64::MAX));
}

#[test]
fn sums_that_are_no_number_at_all_are_none() {
    let up = assistant(&json!({"usage": {"input": 1e308, "cacheRead": 1e308}}));
    let down = assistant(&json!({"usage": {"input": -1e308, "cacheRead": -1e308}}));
    let end = json!({"type": "agent_end", "messages": [up, down]});
    let response = read(&[end]).finish().into_response().unwrap();
    assert_eq!(response.reported.token_usage, None);
}

#[test]
fn a_later_try_takes_a_failure_back() {
    let failed = assistant(&json!({"content": [], "stopReason": "error", "errorMessage": "529"}));
    let mut events = vec![
        json!({"type": "message_end", "message": failed}),
        json!({"type": "agent_end", "messages": [failed]}),
    ];
    assert!(!read(&events).is_done());
    assert_eq!(read(&events).finish().failure.as_deref(), Some("529"));
    events.push(json!({"type": "auto_retry_start", "errorMessage": "529"}));
    events.push(json!({"type": "agent_start"}));
    assert!(read(&events).finish().is_cut);
    events.push(json!({"type": "message_end", "message": assistant(&json!({}))}));
    events.push(json!({"type": "agent_end", "messages": [assistant(&json!({}))]}));
    let reader = read(&events);
    assert!(reader.is_done());
    let reading = reader.finish();
    assert_eq!((reading.failure, reading.answer.as_deref()), (None, Some("done")));
    assert_eq!(reading.messages.len(), 1);
}

#[test]
fn the_end_of_a_session_or_of_its_turns_is_enough() {
    let call = json!({"content": [{"type": "tool_use", "id": "t", "name": "read", "input": {"path": "a"}},
        {"type": "tool_result", "tool_use_id": "t", "content": "text"}, {"type": "text", "text": "done"}]});
    let end = json!({"type": "agent_end", "messages": [assistant(&call)]});
    let reading = read(&[end]).finish();
    assert_eq!(reading.answer.as_deref(), Some("done"));
    let output = &reading.messages[0].tool_calls.as_ref().unwrap()[0].output;
    assert_eq!(output, &Some("text".into()));
    let turn = json!({"type": "turn_end", "message": assistant(&json!({})), "toolResults": []});
    assert_eq!(read(&[turn]).finish().answer.as_deref(), Some("done"));
}

#[test]
fn a_key_is_where_pi_looks_for_it() {
    let check = |provider, expected| assert_eq!(super::key_variable(provider), expected);
    check(None, "GEMINI_API_KEY");
    check(Some("google"), "GEMINI_API_KEY");
    check(Some("anthropic"), "ANTHROPIC_API_KEY");
    check(Some("OpenRouter"), "OPENROUTER_API_KEY");
    check(Some("xai"), "XAI_API_KEY");
}

#[test]
fn a_log_line_says_what_an_event_is_about() {
    let check = |event: Value, expected: &str| assert_eq!(PiReader::summary(&event), expected);
    check(json!({"type": "message_start", "message": {"role": "user"}}), "message_start: user");
    check(
        json!({"type": "message_update", "assistantMessageEvent": {"type": "text_delta", "delta": "a\nb"}}),
        "text_delta: a b",
    );
    check(
        json!({"type": "tool_execution_start", "toolName": "bash"}),
        "tool_execution_start: bash",
    );
    check(json!({"type": "agent_start"}), "agent_start");
}

proptest! {
    #[test]
    fn any_bytes_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read_all::<PiReader>(&bytes);
    }

    #[test]
    fn any_shape_can_be_read(
        kind in prop::sample::select(vec!["session", "message_end", "turn_end", "agent_end", "auto_retry_start"]),
        odd in prop::sample::select(vec![json!(null), json!(i64::MAX), json!([]), json!({}), json!([1]), json!("x")]),
    ) {
        let message = json!({"role": "assistant", "content": odd, "timestamp": odd, "usage": odd, "stopReason": odd});
        let event = json!({"type": kind, "message": message, "toolResults": odd, "messages": [message, odd]});
        PiReader::summary(&event);
        read(&[event, json!({"type": kind, "messages": odd, "message": odd})]).finish();
    }
}
