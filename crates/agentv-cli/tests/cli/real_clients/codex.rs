//! `provider: codex` with the real `codex`.

use super::{ANSWER, Asked, Client, ESCAPES, check_sandbox, check_secrets, timed_out_in_a_tool};
use serde_json::{Value, json};

/// Its own sandbox would need namespaces inside of ours.
const UNBOXED: &str = "    args: [--sandbox, danger-full-access]\n";

#[track_caller]
fn asked(steps: &Value) -> Option<Asked> {
    Asked::new(Client::Codex, steps, UNBOXED)
}

fn shell(command: &str) -> Value {
    json!({"name": "exec_command", "input": {"cmd": command, "yield_time_ms": 30000}})
}

#[test]
fn codex_answers_with_text() {
    let steps = json!([{"thinking": "not said", "text": "Hello from the stub."}]);
    let Some(asked) = asked(&steps) else { return };
    let record = asked.record();
    assert_eq!(record["candidate_answer"], "Hello from the stub.");
    let usage = json!({"input": 101, "output": 23, "cached": 40});
    assert_eq!(record["execution_metrics"]["token_usage"], usage);
    assert_eq!(record["trace_summary"]["event_count"], 0);
    asked.check_prompt();
}

#[test]
fn codex_uses_a_tool() {
    let steps = json!([{"text": "I will look.", "tools": [shell("ls -1")]}, {"text": ANSWER}]);
    let Some(asked) = asked(&steps) else { return };
    let record = asked.record();
    assert_eq!(record["candidate_answer"], ANSWER);
    assert_eq!(record["trace_summary"]["tool_calls_by_name"], json!({"command_execution": 1}));
    let input = json!({"command": "/bin/bash -lc 'ls -1'"});
    let call = json!({"tool": "command_execution", "input": input, "output": "hello.txt\n"});
    assert_eq!(asked.calls(), [call]);
    let metrics = &record["execution_metrics"];
    assert_eq!(metrics["token_usage"], json!({"input": 202, "output": 46, "cached": 80}));
    asked.check_prompt();
    asked.check_replay(".codex/sessions");
}

#[test]
fn codex_tells_of_an_api_error() {
    let steps = json!([{"status": 400, "message": "the stub is broken", "times": 9}]);
    let Some(asked) = asked(&steps) else { return };
    let error = asked.error();
    assert!(error.contains("the stub is broken"), "{error}");
    assert!(!error.contains("dummy-"), "{error}");
}

#[test]
fn codex_waits_and_asks_again() {
    let steps = json!([{"status": 429, "retry_after": 1}, {"text": ANSWER}]);
    let Some(asked) = asked(&steps) else { return };
    assert_eq!(asked.record()["candidate_answer"], ANSWER);
    assert_eq!(asked.sandbox.requests().len(), 2);
}

/// Without its own sandbox, what a tool's shell started would outlive `codex`.
#[test]
fn codex_is_out_of_time_during_a_tool() {
    let tool = shell("echo yes > started; tail -f /dev/null & tail -f /dev/null");
    let steps = json!([{"tools": [tool]}, {"text": "too late"}]);
    let Some(asked) = timed_out_in_a_tool(Client::Codex, &steps, UNBOXED) else { return };
    let error = asked.error();
    assert!(error.contains("timed out after"), "{error}");
}

/// In its own sandbox, which lets it write to the workspace and nowhere else.
#[test]
fn codex_edits_its_workspace() {
    let patch = "*** Begin Patch\n*** Add File: made.txt\n+made by the agent\n*** End Patch";
    let tool = shell(&format!("apply_patch <<'EOF'\n{patch}\nEOF"));
    let steps = json!([{"tools": [tool]}, {"text": ANSWER}]);
    let Some(asked) = Asked::new(Client::Codex, &steps, "    workspace: place\n") else { return };
    let refused =
        |call: &Value| call["output"].as_str().is_some_and(|said| said.contains("bwrap: "));
    if asked.calls().iter().any(refused) {
        eprintln!("skipped: codex cannot make a sandbox of its own here");
        return;
    }
    let arguments = asked.sandbox.arguments().join(" ");
    assert!(arguments.contains("--sandbox workspace-write"), "{arguments}");
    asked.check_edit();
}

/// In our sandbox, without its own, which would need namespaces.
#[test]
fn codex_works_in_a_sandbox() {
    let patch = "*** Begin Patch\n*** Add File: made.txt\n+made by the agent\n*** End Patch";
    let edit = shell(&format!("apply_patch <<'EOF'\n{patch}\nEOF"));
    let steps = json!([{"tools": [edit]}, {"tools": [shell(ESCAPES)]}, {"text": ANSWER}]);
    check_sandbox(Client::Codex, &steps, &["~/.codex"], UNBOXED);
}

#[test]
fn codex_shows_no_secrets() {
    check_secrets(Client::Codex, shell, UNBOXED);
}
