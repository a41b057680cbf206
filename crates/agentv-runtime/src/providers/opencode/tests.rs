//! What real sessions come to.

use super::OpenCodeReader;
use crate::providers::agent_cli::testing::{no_cut_is_a_success, table};
use crate::providers::agent_cli::{EventReader, read_all};
use proptest::prelude::*;
use serde_json::{Value, json};

#[test]
fn every_recording_is_read_right() {
    insta::assert_snapshot!(table::<OpenCodeReader>("opencode-1.18.33"), @r#"
    api_400.jsonl | ! bad req
    tool.jsonl | Final é. | bash=hello.txt⏎ | 202/46/80
    "#);
}

#[test]
fn a_session_that_is_cut_is_no_success() {
    no_cut_is_a_success::<OpenCodeReader>("opencode-1.18.33");
}

fn read(events: &[Value]) -> OpenCodeReader {
    let mut reader = OpenCodeReader::default();
    for event in events {
        reader.event(event);
    }
    reader
}

#[test]
fn a_session_goes_on_until_a_step_stops() {
    let step =
        |reason: &str| json!({"type": "step_finish", "part": {"reason": reason, "cost": 0.25}});
    assert!(!read(&[step("tool-calls")]).is_done());
    assert!(read(&[step("tool-calls"), step("stop")]).is_done());
    let reader = read(&[step("stop"), json!({"type": "step_start"})]);
    assert!(!reader.is_done());
    let reading = read(&[step("tool-calls"), step("stop")]).finish();
    assert_eq!(reading.reported.cost_usd, Some(0.5));
}

#[test]
fn a_tool_that_failed_says_why_and_how_long_it_took() {
    let reading = read(&[json!({"type": "tool_use", "part": {"tool": "bash", "callID": "c", "state":
        {"status": "error", "input": {"command": "ls"}, "error": "denied", "time": {"start": 1000, "end": 1250}}}})])
    .finish();
    let call = &reading.messages[0].tool_calls.as_ref().unwrap()[0];
    assert_eq!(call.output, Some("denied".into()));
    assert_eq!(call.timestamp.as_deref(), Some("1970-01-01T00:00:01.000Z"));
    assert_eq!(call.duration_ms, Some(250.0));
}

#[test]
fn a_log_line_says_what_an_event_is_about() {
    let check =
        |event: Value, expected: &str| assert_eq!(OpenCodeReader::summary(&event), expected);
    check(json!({"type": "text", "part": {"text": "a\nb"}}), "text: a b");
    check(json!({"type": "tool_use", "part": {"tool": "bash"}}), "tool_use: bash");
    check(json!({"type": "error", "error": {"name": "APIError"}}), "error: APIError");
    check(json!({"type": "step_start", "part": {}}), "step_start");
}

proptest! {
    #[test]
    fn any_bytes_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read_all::<OpenCodeReader>(&bytes);
    }

    #[test]
    fn any_shape_can_be_read(
        kind in prop::sample::select(vec!["step_start", "text", "tool_use", "step_finish", "error"]),
        odd in prop::sample::select(vec![json!(null), json!(i64::MAX), json!([]), json!({}), json!([1]), json!("x")]),
    ) {
        let event = json!({"type": kind, "sessionID": odd, "error": odd,
            "part": {"text": odd, "tokens": {"cache": odd}, "state": {"time": {"start": odd, "end": -1}}}});
        OpenCodeReader::summary(&event);
        read(&[event, json!({"type": kind, "part": odd})]).finish();
    }
}
