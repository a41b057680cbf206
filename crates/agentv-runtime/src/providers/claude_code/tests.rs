//! What real sessions of two versions come to.

use super::ClaudeReader;
use crate::providers::agent_cli::testing::{no_cut_is_a_success, table};
use crate::providers::agent_cli::{EventReader, read_all};
use proptest::prelude::*;
use serde_json::json;

#[test]
fn every_recording_of_2_1_is_read_right() {
    insta::assert_snapshot!(table::<ClaudeReader>("claude-code-2.1.325"), @r#"
    api_400.jsonl | ! API Error: 400 messages: bad thing |  | 0/0/0 | 0.000000
    api_400_too_long.jsonl | ! Prompt is too long · the request is ~210000 tokens (limit 20 |  | 0/0/0 | 0.000000
    api_401_killed.jsonl | … API retry 7 of 10 (401 authentication_failed)
    api_429_final.jsonl | ! API Error: Request rejected (429) · stub error 429 |  | 0/0/0 | 0.000000
    api_429_then_ok.jsonl | after retry |  | 148/23/40 | 0.000907
    api_500_final.jsonl | ! API Error: 500 stub error 500. This is a server-side issue,  |  | 0/0/0 | 0.000000
    api_529_final.jsonl | ! API Error: 529 Overloaded. This is a server-side issue, usua |  | 0/0/0 | 0.000000
    background_bash_killed.jsonl | I see hello.txt. | Bash=Command running in background with ID: bwwabd7s6. Output is  | 296/46/80 | 0.001814
    cut_final.jsonl | ! API Error: Connection dropped (ECONNRESET). Check the gatewa |  | 0/0/0 | 0.000000
    empty_text.jsonl |  |  | 296/46/80 | 0.001814
    max_turns.jsonl | ! Reached maximum number of turns (1) (error_max_turns) | Bash=hello.txt | 148/23/40 | 0.000907
    model_alias.jsonl | x |  | 148/23/40 | 0.000023
    model_bad_404.jsonl | ! There's an issue with the selected model (no-such-model). It |  | 0/0/0 | 0.000000
    no_key.jsonl | ! Not logged in · Please run /login |  | 0/0/0 | 0.000000
    output_json.jsonl | x |  | 148/23/40 | 0.000907
    output_json_verbose.jsonl | x |  | 148/23/40 | 0.000907
    output_text.txt | …
    partial_messages.jsonl | A partial stream. |  | 148/23/40 | 0.000907
    rate_limit_event.jsonl | x |  | 148/23/40 | 0.000453
    session_id.jsonl | x |  | 148/23/40 | 0.000907
    sigkill_during_tool.jsonl | … | Bash
    sigterm_during_api.jsonl | …
    sigterm_during_tool.jsonl | … | Bash=Exit code 137⏎vm
    stop_refusal.jsonl | ! API Error: Opus 5.5's safeguards flagged this message (https |  | 296/46/80 | 0.001814
    stream_error_final.jsonl | ! API Error: Server error mid-response. The response above may |  | 592/4/160 | 0.001868
    text.jsonl | Hello from stub. |  | 148/23/40 | 0.000907
    tool_allowed.jsonl | ok | Bash=(Bash completed with no output) | 296/46/80 | 0.001814
    tool_bad_input.jsonl | ok | Bash=<tool_use_error>InputValidationError: Bash failed due to the | 296/46/80 | 0.001814
    tool_bash.jsonl | I see hello.txt. | Bash=hello.txt | 296/46/80 | 0.001814
    tool_big_output.jsonl | ok | Bash=<persisted-output>⏎Output too large (223.5KB). Full output s | 296/46/80 | 0.001814
    tool_bypass_utf8.jsonl | Done ✓ 日本語 🎉⏎line two⏎sep | Bash=Exit code 3, Write=File created successfully at: /sandbox/ws/w.txt (file state  | 444/69/120 | 0.002721
    tool_denied.jsonl | Not allowed. | Bash=touch in '/sandbox/ws/made.txt' needs approval. The path is  | 296/46/80 | 0.001814
    tool_parallel.jsonl | I see hello.txt. | Bash=hello.txt, Read=1⏎hello from the workspace⏎2⏎, Read=Claude requested permissions to read from /nope, but you hav | 444/69/120 | 0.002721
    tool_unknown.jsonl | ok | NoSuchTool=<tool_use_error>Error: No such tool available: NoSuchTool</t | 296/46/80 | 0.001814
    utf8_split.jsonl | 日本語 🎉 ünï |  | 148/23/40 | 0.000907
    "#);
}

#[test]
fn every_recording_of_1_0_is_read_right() {
    insta::assert_snapshot!(table::<ClaudeReader>("claude-code-1.0.37"), @r#"
    api_400.jsonl | ! API Error: 400 {"type":"error","error":{"type":"invalid_requ |  | 0/0/0 | 0.000000
    text.jsonl | Hello from stub. |  | 296/24/80 | 0.001043
    tool_denied.jsonl | I see hello.txt. | Bash=Claude requested permissions to use Bash, but you haven't gr | 592/48/160 | 0.002363
    "#);
}

#[test]
fn a_session_that_is_cut_is_no_success() {
    no_cut_is_a_success::<ClaudeReader>("claude-code-2.1.325");
}

fn read(events: &[serde_json::Value]) -> ClaudeReader {
    let mut reader = ClaudeReader::default();
    for event in events {
        reader.event(event);
    }
    reader
}

#[test]
fn the_last_result_counts_and_a_new_turn_takes_the_end_back() {
    let result = |text: &str| {
        json!({"type": "result", "subtype": "success", "is_error": false, "result": text,
        "total_cost_usd": 0.5, "usage": {"input_tokens": 1, "output_tokens": 2}})
    };
    let mut events = vec![result("first")];
    assert!(read(&events).is_done());
    events.push(json!({"type": "system", "subtype": "init", "session_id": "s"}));
    assert!(!read(&events).is_done());
    events.push(result("second"));
    let reader = read(&events);
    assert!(reader.is_done());
    assert_eq!(reader.finish().answer.as_deref(), Some("second"));
}

#[test]
fn what_a_subagent_does_is_counted_apart() {
    let said = |text: &str, parent: serde_json::Value| {
        json!({"type": "assistant", "parent_tool_use_id": parent,
        "message": {"content": [{"type": "text", "text": text}, {"type": "tool_use", "id": text, "name": "Read"}]}})
    };
    let reading = read(&[said("main", json!(null)), said("sub", json!("toolu_1"))]).finish();
    assert_eq!(reading.messages.len(), 1);
    assert_eq!(reading.metadata["subagent_tool_calls"], json!({"Read": 1}));
}

#[test]
fn an_interrupt_is_a_failure_though_the_exit_code_is_0() {
    let reading =
        read(&[json!({"type": "result", "subtype": "error_during_execution", "is_error": true})]);
    assert_eq!(reading.finish().failure.as_deref(), Some("error_during_execution"));
}

#[test]
fn results_of_tools_may_be_blocks() {
    let call = json!({"type": "assistant", "timestamp": "2026-01-01T00:00:00.000Z",
        "message": {"content": [{"type": "tool_use", "id": "t", "name": "mcp"}]}});
    let result = json!({"type": "user", "timestamp": "2026-01-01T00:00:01.500Z", "message": {"content": [
        {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"type": "tool_result", "tool_use_id": "nobody's", "content": "x"}]}});
    let messages = read(&[call, result]).finish().messages;
    let call = &messages[0].tool_calls.as_ref().unwrap()[0];
    assert_eq!(call.output, Some("a\nb".into()));
    assert_eq!(call.duration_ms, Some(1500.0));
}

proptest! {
    #[test]
    fn any_bytes_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read_all::<ClaudeReader>(&bytes);
    }

    #[test]
    fn any_shape_can_be_read(
        kind in prop::sample::select(vec!["system", "assistant", "user", "result"]),
        odd in prop::sample::select(vec![json!(null), json!(1), json!([]), json!({}), json!([1]), json!("x")]),
    ) {
        let event = json!({"type": kind, "subtype": odd, "message": {"content": odd}, "result": odd,
            "usage": odd, "modelUsage": odd, "is_error": odd, "errors": odd, "timestamp": odd});
        ClaudeReader::summary(&event);
        read(&[event, json!({"type": kind, "message": odd})]).finish();
    }
}
