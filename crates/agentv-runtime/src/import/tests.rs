use super::{FORMATS, ReadSession, SessionFormat, Turn, files, read};
use crate::providers::replay::RecordedOutcome;
use agentv_core::Response;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const CLAUDE: &str = "claude-code-2.1.325";
const CODEX: &str = "codex-0.166.0";

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/import/fixtures").join(name)
}

#[track_caller]
fn found(client: &str, case: &str) -> ReadSession {
    read(&fixture(&format!("{client}/{case}.jsonl")), None).unwrap()
}

#[track_caller]
fn response(turn: &Turn) -> &Response {
    match &turn.outcome {
        RecordedOutcome::Response(response) => response,
        RecordedOutcome::Error(error) => panic!("{error}"),
    }
}

/// What a turn is for an author of evaluators.
#[track_caller]
fn seen(turn: &Turn) -> Value {
    let response = response(turn);
    let calls = response.messages.iter().flatten().flat_map(|m| m.tool_calls.iter().flatten());
    let calls: Vec<Value> = calls.map(|call| json!([call.tool, call.input, call.output])).collect();
    let usage = response.reported.token_usage.unwrap();
    json!({
        "prompt": turn.prompt,
        "calls": calls,
        "answer": turn.answer(),
        "tokens": [usage.input, usage.output, usage.cached],
    })
}

const ANSWER: &str = "I see hello.txt. ✓ 日本語";

#[test]
fn a_session_of_claude_is_its_prompt_calls_answer_and_cost() {
    let found = found(CLAUDE, "tool.session");
    assert_eq!((found.format, found.remarks.len()), (Some("claude-session"), 0));
    let [turn] = &found.transcript.turns[..] else { panic!("{found:?}") };
    let input = json!({"command": "ls -1", "description": "List files"});
    let expected = json!({
        "prompt": "List the files, then say what you see.",
        "calls": [["Bash", input, "hello.txt"]],
        "answer": ANSWER,
        "tokens": [296.0, 46.0, 80.0],
    });
    assert_eq!(seen(turn), expected);
    assert_eq!(response(turn).reported.cost_usd, Some(0.001_814));
    assert!(response(turn).reported.duration_ms.is_some());
}

#[test]
fn a_rollout_of_codex_is_its_prompt_calls_and_answer() {
    let found = found(CODEX, "tool.session");
    assert_eq!((found.format, found.remarks.len()), (Some("codex-rollout"), 0));
    let [turn] = &found.transcript.turns[..] else { panic!("{found:?}") };
    let input = json!({"command": "/bin/bash -lc 'ls -1'"});
    let expected = json!({
        "prompt": "List the files, then say what you see.",
        "calls": [["command_execution", input, "hello.txt\n"]],
        "answer": ANSWER,
        "tokens": [202.0, 46.0, 80.0],
    });
    assert_eq!(seen(turn), expected);
    assert!(response(turn).reported.duration_ms.is_some());
}

/// What the client printed in the same run gives the same, but for the prompt, which is not in it.
#[track_caller]
fn check_stream(client: &str, case: &str, format: &str) {
    let session = found(client, &format!("{case}.session"));
    let stream = found(client, &format!("{case}.stream"));
    assert_eq!(stream.format, Some(format));
    assert_eq!(session.transcript.session, stream.transcript.session);
    let [printed] = &stream.transcript.turns[..] else { panic!("{stream:?}") };
    let mut kept = seen(&session.transcript.turns[0]);
    kept["prompt"] = Value::Null;
    assert_eq!(seen(printed), kept);
    let cost = |turn| response(turn).reported.cost_usd.map(|cost| format!("{cost:.9}"));
    assert_eq!(cost(printed), cost(&session.transcript.turns[0]));
}

#[test]
fn a_session_and_what_was_printed_agree() {
    for case in ["text", "tool"] {
        check_stream(CLAUDE, case, "claude-stream");
        check_stream(CODEX, case, "codex-stream");
    }
}

#[test]
fn each_turn_is_told_with_its_own_numbers() {
    let found = found(CLAUDE, "two_turns.session");
    let [first, second] = &found.transcript.turns[..] else { panic!("{found:?}") };
    assert_eq!(seen(first)["tokens"], json!([296.0, 46.0, 80.0]));
    let expected = json!({"prompt": "And now?", "calls": [], "answer": "Still one file.",
        "tokens": [148.0, 23.0, 40.0]});
    assert_eq!(seen(second), expected);
    assert_eq!(response(second).reported.cost_usd, Some(0.000_907));

    let found = self::found(CODEX, "two_turns.session");
    let [first, second] = &found.transcript.turns[..] else { panic!("{found:?}") };
    assert_eq!(seen(first)["tokens"], json!([202.0, 46.0, 80.0]));
    let expected = json!({"prompt": "And now?", "calls": [], "answer": "Still one file.",
        "tokens": [101.0, 23.0, 40.0]});
    assert_eq!(seen(second), expected);
}

#[test]
fn a_change_of_files_is_a_call() {
    let found = found(CODEX, "patch.session");
    let [turn] = &found.transcript.turns[..] else { panic!("{found:?}") };
    let changes = json!({"changes": [{"path": "/sandbox/ws/new.txt", "kind": "add"}]});
    assert_eq!(seen(turn)["calls"], json!([["file_change", changes, "completed"]]));
}

#[test]
fn a_run_that_failed_is_recorded_as_failed() {
    for client in [CLAUDE, CODEX] {
        let found = found(client, "api_error.session");
        let [turn] = &found.transcript.turns[..] else { panic!("{found:?}") };
        let RecordedOutcome::Error(error) = &turn.outcome else { panic!("{turn:?}") };
        assert!(error.contains("the stub refuses"), "{error}");
    }
}

/// A file with these lines.
fn of_lines(lines: &str) -> ReadSession {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.jsonl");
    std::fs::write(&path, lines).unwrap();
    read(&path, None).unwrap()
}

#[test]
fn a_cut_session_has_no_answer_and_says_so() {
    let whole = std::fs::read_to_string(fixture(&format!("{CLAUDE}/tool.session.jsonl"))).unwrap();
    let call = whole.find("\"tool_result\"").unwrap();
    let found = of_lines(&format!("no JSON\n{}", &whole[..call]));
    let [turn] = &found.transcript.turns[..] else { panic!("{found:?}") };
    assert_eq!(
        turn.outcome,
        RecordedOutcome::Error("the recording ends before the answer".to_owned())
    );
    assert_eq!(found.remarks, ["1 line without JSON was passed over", "the last line is cut off"]);

    let whole = std::fs::read_to_string(fixture(&format!("{CODEX}/tool.session.jsonl"))).unwrap();
    let end = whole.find("\"task_complete\"").unwrap();
    let found = of_lines(&whole[..end]);
    let [turn] = &found.transcript.turns[..] else { panic!("{found:?}") };
    assert_eq!(
        turn.outcome,
        RecordedOutcome::Error("the recording ends before the answer".to_owned())
    );
}

fn claude_line(kind: &str, content: &Value, more: &str) -> String {
    format!(
        "{{\"type\": \"{kind}\", \"sessionId\": \"s\", \"message\": {{\"role\": \"{kind}\", \"content\": {content}}}{more}}}\n"
    )
}

#[test]
fn words_that_the_client_puts_into_the_users_mouth_are_no_prompts() {
    let text = |said: &str| json!([{ "type": "text", "text": said }]);
    let lines = [
        claude_line("user", &json!("Hint"), ", \"isMeta\": true"),
        claude_line("user", &json!("Do it"), ""),
        claude_line("user", &json!("<local-command-stdout>x</local-command-stdout>"), ""),
        claude_line("assistant", &text("A subagent's"), ", \"isSidechain\": true"),
        claude_line("assistant", &text("Done"), ""),
        claude_line("user", &text("Stop it"), ""),
        claude_line("assistant", &text("I am"), ""),
        claude_line("user", &text("[Request interrupted by user]"), ""),
        claude_line("user", &json!("Nobody answers"), ""),
    ];
    let found = of_lines(&lines.concat());
    let turns: Vec<_> =
        found.transcript.turns.iter().map(|turn| (turn.prompt.as_deref(), turn.answer())).collect();
    assert_eq!(turns, [(Some("Do it"), Some("Done")), (Some("Stop it"), None)]);
    assert_eq!(found.remarks, ["1 prompt without an answer was left out"]);
}

#[test]
fn older_rollouts_tell_calls_in_the_models_words() {
    let event = |kind: &str, payload: Value| json!({"type": kind, "payload": payload}).to_string();
    let total = |input: u64, output: u64| {
        json!({"type": "token_count", "info": {"total_token_usage":
            {"input_tokens": input, "cached_input_tokens": 1, "output_tokens": output}}})
    };
    let lines = [
        event("session_meta", json!({"id": "s"})),
        event("event_msg", json!({"type": "user_message", "message": "Look"})),
        event(
            "response_item",
            json!({"type": "function_call", "name": "shell", "call_id": "c",
            "arguments": "{\"command\": [\"bash\", \"-lc\", \"ls it's\"]}"}),
        ),
        event(
            "response_item",
            json!({"type": "function_call_output", "call_id": "c", "output": "out"}),
        ),
        event("event_msg", json!({"type": "agent_message", "message": "Seen"})),
        event("event_msg", total(10, 2)),
        event("event_msg", json!({"type": "user_message", "message": "Again"})),
        event("event_msg", json!({"type": "agent_message", "message": "Seen"})),
        event("event_msg", total(15, 3)),
    ];
    let found = of_lines(&lines.join("\n"));
    let [first, second] = &found.transcript.turns[..] else { panic!("{found:?}") };
    let call = json!(["command_execution", {"command": "bash -lc \"ls it's\""}, "out"]);
    let expected =
        json!({"prompt": "Look", "calls": [call], "answer": "Seen", "tokens": [10.0, 2.0, 1.0]});
    assert_eq!(seen(first), expected);
    assert_eq!(seen(second)["tokens"], json!([5.0, 1.0, 0.0]));
}

#[test]
fn what_is_no_session_is_not_known() {
    for text in ["", "\n\n", "plain", "{\"id\": 1}\n[1, 2]\n", "\u{0}\u{1}"] {
        let found = of_lines(text);
        assert_eq!((found.format, found.transcript.turns.len()), (None, 0), "{text:?}");
    }
    let many = "{\"a\": 1}\n".repeat(500);
    assert_eq!(of_lines(&many).format, None);
}

#[test]
fn directories_are_searched_and_files_are_taken_once() {
    let dir = tempfile::tempdir().unwrap();
    let make = |name: &str| {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "").unwrap();
        path
    };
    let (b, a) = (make("x/b.jsonl"), make("x/y/a.jsonl"));
    let other = make("x/notes.txt");
    let named = [dir.path().to_owned(), b.clone(), other.clone()];
    assert_eq!(files(&named).unwrap(), [b, a, other]);
    let (path, _) = files(&[dir.path().join("none")]).unwrap_err();
    assert!(path.ends_with("none"));
}

/// Lines that look like ours, with nonsense in every place.
fn nonsense() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "user",
        "assistant",
        "result",
        "session_meta",
        "event_msg",
        "response_item",
        "item_completed",
        "task_started",
        "task_complete",
        "function_call",
        "text",
        "tool_use",
        "thread.started",
        "cost-state",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word.prop_map(Value::from),
    ];
    let key = prop::sample::select(vec![
        "type",
        "payload",
        "item",
        "message",
        "content",
        "sessionId",
        "session_id",
        "usage",
        "id",
        "call_id",
        "arguments",
        "info",
        "text",
        "totalCostUSD",
        "timestamp",
        "command",
        "changes",
        "error",
    ]);
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone().prop_map(str::to_owned), inner), 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_events_are_too_odd(events in prop::collection::vec(nonsense(), 0..8)) {
        for format in FORMATS {
            let mut transcriber = (format.start)();
            for event in &events {
                transcriber.event(event);
            }
            transcriber.finish();
        }
    }

    #[test]
    fn no_bytes_are_too_odd(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.jsonl");
        std::fs::write(&path, bytes).unwrap();
        read(&path, None).unwrap();
        read(&path, SessionFormat::find("claude-session")).unwrap();
    }
}
