//! What real sessions of two versions come to, and shapes that were not recorded.

use super::CodexReader;
use crate::providers::agent_cli::testing::{no_cut_is_a_success, table};
use crate::providers::agent_cli::{EventReader, Reading, read_all};
use agentv_wire::TokenUsage;
use proptest::prelude::*;
use serde_json::{Value, json};

#[test]
fn every_recording_of_0_166_is_read_right() {
    insta::assert_snapshot!(table::<CodexReader>("codex-0.166.0"), @r#"
    api_400.jsonl | ! {"error": {"message": "bad thing", "type": "invalid_request_
    api_401.jsonl | ! unexpected status 401 Unauthorized: bad key, url: http://127
    api_404.jsonl | ! unexpected status 404 Not Found: no such model, url: http://
    api_429_final.jsonl | ! exceeded retry limit, last status: 429 Too Many Requests
    api_429_then_ok.jsonl | I see hello.txt. |  | 101/23/40
    api_500_final.jsonl | ! We’re currently experiencing high demand, which may cause te
    arg_and_stdin.jsonl | I see hello.txt. |  | 101/23/40
    context_length.jsonl | ! Codex ran out of room in the model's context window. Start a
    cut_final.jsonl | ! stream disconnected before completion: error sending request
    cut_mid_stream_then_ok.jsonl | recovered |  | 101/23/40
    empty_text.jsonl |  |  | 101/23/40
    file_change.jsonl | I see hello.txt. | file_change=completed | 202/46/80
    incomplete.jsonl | ! Incomplete response returned, reason: max_output_tokens
    no_key.jsonl | ! Missing environment variable: `STUB_API_KEY`.
    response_failed.jsonl | ! stream disconnected before completion: stub failure
    sigint_during_tool.jsonl | … | command_execution
    sigkill_during_tool.jsonl | … | command_execution
    sigterm_during_tool.jsonl | … | command_execution
    stdin_without_dash.jsonl | I see hello.txt. |  | 101/23/40
    text_reasoning.jsonl | Hello from stub. |  | 101/23/40
    three_messages.jsonl | Third and last. | command_execution=hello.txt⏎, command_execution=hello.txt⏎ | 303/69/120
    tool.jsonl | I see hello.txt. | command_execution=hello.txt⏎ | 202/46/80
    tool_failed_utf8.jsonl | Done ✓ 日本語 🎉⏎line two⏎sep | command_execution=hello.txt⏎, command_execution=oops⏎ | 303/69/120
    tool_unknown.jsonl | I see hello.txt. |  | 202/46/80
    utf8_split.jsonl | 日本語 🎉 ünï |  | 101/23/40
    "#);
}

#[test]
fn every_recording_of_0_20_is_read_right() {
    insta::assert_snapshot!(table::<CodexReader>("codex-0.20.0"), @r#"
    text.jsonl | Hello from stub. |  | 101/23/40
    tool.jsonl | I see hello.txt. | command_execution=hello.txt⏎ | 202/46/80
    "#);
}

#[test]
fn a_session_that_is_cut_is_no_success() {
    no_cut_is_a_success::<CodexReader>("codex-0.166.0");
}

fn read(events: &[Value]) -> Reading {
    let mut reader = CodexReader::default();
    for event in events {
        reader.event(event);
    }
    reader.finish()
}

/// The calls that these items come to, as `tool input → output`.
#[track_caller]
fn check_calls(items: &[Value], expected: &str) {
    let events: Vec<Value> =
        items.iter().map(|item| json!({"type": "item.completed", "item": item})).collect();
    assert_eq!(shown_calls(&read(&events)), expected);
}

fn shown_calls(reading: &Reading) -> String {
    let calls = reading.messages.iter().flat_map(|message| message.tool_calls.iter().flatten());
    let show = |value: &Option<Value>| {
        value.as_ref().map_or_else(|| "nothing".to_owned(), Value::to_string)
    };
    let lines =
        calls.map(|call| format!("{} {} → {}", call.tool, show(&call.input), show(&call.output)));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn items_of_all_kinds_are_tool_calls() {
    check_calls(
        &[
            json!({"id": "1", "type": "mcp_tool_call", "server": "docs", "tool": "find", "arguments": {"q": 1},
                "result": {"content": []}, "error": null, "status": "completed"}),
            json!({"id": "2", "type": "mcp_tool_call", "server": "docs", "tool": "find", "arguments": {},
                "result": null, "error": {"message": "no"}, "status": "failed"}),
            json!({"id": "3", "type": "web_search", "query": "rust"}),
            json!({"id": "4", "type": "todo_list", "items": [{"text": "a", "completed": true}]}),
            json!({"id": "5", "type": "collab_tool_call", "tool": "spawn_agent", "prompt": "p", "agents_states": {}}),
            json!({"id": "6", "type": "reasoning", "text": "hm"}),
            json!({"id": "7", "type": "of next year"}),
        ],
        r#"mcp__docs__find {"q":1} → {"content":[]}
mcp__docs__find {} → {"message":"no"}
web_search {"query":"rust"} → nothing
todo_list {"items":[{"text":"a","completed":true}]} → nothing
collab_tool_call {"tool":"spawn_agent","prompt":"p"} → {}"#,
    );
}

#[test]
fn an_item_that_is_updated_is_one_call() {
    let event = |kind: &str, done: bool| {
        json!({"type": kind, "item": {"id": "1", "type": "todo_list",
            "items": [{"text": "a", "completed": done}]}})
    };
    let reading = read(&[
        event("item.started", false),
        event("item.updated", true),
        event("item.completed", true),
    ]);
    assert_eq!(
        shown_calls(&reading),
        r#"todo_list {"items":[{"text":"a","completed":true}]} → nothing"#
    );
}

fn old(message: &Value) -> Value {
    json!({"id": "0", "msg": message})
}

#[test]
fn an_old_version_that_only_reports_an_error_has_failed() {
    let error = old(&json!({"type": "error", "message": "unexpected status 401"}));
    let reading =
        read(&[old(&json!({"type": "stream_error", "message": "retrying 1/5"})), error.clone()]);
    assert_eq!(reading.failure.as_deref(), Some("unexpected status 401"));
    assert_eq!(reading.trouble.as_deref(), Some("retrying 1/5"));
    // One that answers after all has not.
    let answer = old(&json!({"type": "agent_message", "message": "here"}));
    assert_eq!(read(&[error, answer]).failure, None);
}

#[test]
fn old_calls_have_the_new_names() {
    let reading = read(&[
        old(
            &json!({"type": "exec_command_begin", "call_id": "1", "command": ["bash", "-lc", "echo 'a b'"]}),
        ),
        old(
            &json!({"type": "exec_command_end", "call_id": "1", "stdout": "a\n", "stderr": "b\n", "exit_code": 0,
            "duration": {"secs": 1, "nanos": 500_000_000}}),
        ),
        old(
            &json!({"type": "patch_apply_begin", "call_id": "2", "changes": {"a.txt": {"add": {}}}}),
        ),
        old(&json!({"type": "patch_apply_end", "call_id": "2", "stdout": "Done", "stderr": ""})),
        old(&json!({"type": "mcp_tool_call_begin", "call_id": "3",
            "invocation": {"server": "docs", "tool": "find", "arguments": {"q": 1}}})),
        old(&json!({"type": "mcp_tool_call_end", "call_id": "3", "result": {"Ok": {}}})),
        old(&json!({"type": "web_search_end", "call_id": "4", "query": "rust"})),
        old(&json!({"type": "exec_command_end", "call_id": "nobody's", "stdout": "x"})),
        old(&json!({"type": "token_count", "info": {"total_token_usage":
            {"input_tokens": 9, "cached_input_tokens": 4, "output_tokens": 2}}})),
    ]);
    assert_eq!(
        shown_calls(&reading),
        r#"command_execution {"command":"bash -lc 'echo '\\''a b'\\'''"} → "a\nb\n"
file_change {"changes":{"a.txt":{"add":{}}}} → "Done"
mcp__docs__find {"q":1} → {"Ok":{}}
web_search {"query":"rust"} → nothing"#
    );
    let calls = reading.messages[0].tool_calls.as_ref().unwrap();
    assert_eq!(calls[0].duration_ms, Some(1500.0));
    let usage = TokenUsage { input: 9.0, output: 2.0, cached: Some(4.0) };
    assert_eq!(reading.reported.token_usage, Some(usage));
}

#[test]
fn a_duration_beyond_all_numbers_is_none() {
    let reading = read(&[
        old(&json!({"type": "exec_command_begin", "call_id": "1", "command": ["ls"]})),
        old(
            &json!({"type": "exec_command_end", "call_id": "1", "duration": {"secs": 1e308, "nanos": 0}}),
        ),
    ]);
    assert_eq!(reading.messages[0].tool_calls.as_ref().unwrap()[0].duration_ms, None);
}

#[test]
fn an_answer_may_be_in_a_document() {
    let check = |document: &str, expected: Option<&str>| {
        let reading = read_all::<CodexReader>(document.as_bytes());
        assert_eq!(reading.answer.as_deref(), expected, "{document}");
        assert!(!reading.is_cut && reading.failure.is_none());
    };
    check(
        r#"{"messages": [{"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}]}"#,
        Some("a"),
    );
    check(
        "{\n  \"messages\": [\n    {\"role\": \"assistant\",\n \"content\": [{\"text\": \"a\"}, \"b\"]}\n  ]\n}",
        Some("a\nb"),
    );
    check(r#"{"response": {"content": "a"}}"#, Some("a"));
    check(r#"{"output": {"text": "a"}}"#, Some("a"));
    check(
        r#"[{"type": "item.completed", "item": {"type": "response", "content": "a"}}]"#,
        Some("a"),
    );
    check(
        r#"{"type": "item.completed", "item": {"item_type": "assistant_message", "text": "a"}}"#,
        Some("a"),
    );
    check(r#"{"type": "user", "role": "user", "content": "a"}"#, None);
    check("no JSON at all", None);
    check("", None);
}

#[test]
fn a_log_line_says_what_an_event_is_about() {
    let check = |event: Value, expected: &str| assert_eq!(CodexReader::summary(&event), expected);
    check(json!({"type": "thread.started", "thread_id": "t"}), "thread.started");
    check(
        json!({"type": "item.completed", "item": {"type": "agent_message", "text": "a\nb"}}),
        "item.completed: a b",
    );
    check(
        json!({"type": "item.started", "item": {"type": "command_execution"}}),
        "item.started:command_execution",
    );
    check(json!({"type": "turn.failed", "error": {"message": "no"}}), "turn.failed: no");
    check(json!({"type": "error", "message": "Reconnecting"}), "error: Reconnecting");
    check(old(&json!({"type": "agent_message", "message": "a"})), "agent_message: a");
    check(json!({"prompt": "p"}), "event");
}

proptest! {
    #[test]
    fn no_output_makes_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read_all::<CodexReader>(&bytes);
    }
}
