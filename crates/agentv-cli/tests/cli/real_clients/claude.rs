//! `provider: claude-code` with the real `claude`.

use super::{ANSWER, Asked, Client, ESCAPES, check_sandbox, check_secrets, timed_out_in_a_tool};
use serde_json::{Value, json};

/// Its tools run without a question.
const UNASKED: &str = "    args: [--dangerously-skip-permissions]\n";

#[track_caller]
fn asked(steps: &Value, more: &str) -> Option<Asked> {
    Asked::new(Client::Claude, steps, more)
}

fn bash(command: &str) -> Value {
    json!({"name": "Bash", "input": {"command": command, "description": "as asked"}})
}

#[test]
fn claude_answers_with_text() {
    let Some(asked) = asked(&json!([{"text": "Hello from the stub."}]), "") else { return };
    let record = asked.record();
    assert_eq!(record["candidate_answer"], "Hello from the stub.");
    // The prompt, what came from its cache and what went into it.
    let usage = json!({"input": 148, "output": 23, "cached": 40});
    assert_eq!(record["execution_metrics"]["token_usage"], usage);
    assert_eq!(record["trace_summary"]["event_count"], 0);
    asked.check_prompt();
}

#[test]
fn claude_uses_a_tool() {
    let steps = json!([{"text": "I will look.", "tools": [bash("ls -1")]}, {"text": ANSWER}]);
    let Some(asked) = asked(&steps, "") else { return };
    let record = asked.record();
    assert_eq!(record["candidate_answer"], ANSWER);
    assert_eq!(record["trace_summary"]["tool_calls_by_name"], json!({"Bash": 1}));
    let input = json!({"command": "ls -1", "description": "as asked"});
    assert_eq!(asked.calls(), [json!({"tool": "Bash", "input": input, "output": "hello.txt"})]);
    let metrics = &record["execution_metrics"];
    assert_eq!(metrics["token_usage"], json!({"input": 296, "output": 46, "cached": 80}));
    assert!(metrics["cost_usd"].as_f64().unwrap() > 0.0, "{metrics}");
    assert!(metrics["duration_ms"].as_f64().unwrap() > 0.0, "{metrics}");
    assert!(metrics["tool_durations"]["Bash"][0].is_number(), "{metrics}");
    asked.check_prompt();
    asked.check_replay(".claude/projects");
}

#[test]
fn claude_tells_of_an_api_error() {
    let steps = json!([{"status": 500, "message": "the stub is broken", "times": 9}]);
    let Some(asked) = asked(&steps, "") else { return };
    let error = asked.error();
    assert!(error.contains("the stub is broken"), "{error}");
    assert!(!error.contains("dummy-"), "{error}");
    assert!(asked.sandbox.requests().len() > 1, "it did not try again");
}

#[test]
fn claude_waits_and_asks_again() {
    let steps = json!([{"status": 429, "retry_after": 1}, {"text": ANSWER}]);
    let Some(asked) = asked(&steps, "") else { return };
    assert_eq!(asked.record()["candidate_answer"], ANSWER);
    assert_eq!(asked.sandbox.requests().len(), 2);
}

/// `claude` runs each tool in a session of its own.
#[test]
fn claude_is_out_of_time_during_a_tool() {
    let tool = bash("echo yes > started; tail -f /dev/null & tail -f /dev/null");
    let steps = json!([{"tools": [tool]}, {"text": "too late"}]);
    let Some(asked) = timed_out_in_a_tool(Client::Claude, &steps, UNASKED) else { return };
    let error = asked.error();
    assert!(error.contains("timed out after"), "{error}");
}

#[test]
fn claude_edits_its_workspace() {
    let write = json!({"name": "Write", "input": {"file_path": "made.txt", "content": "made by the agent\n"}});
    let steps = json!([{"tools": [write]}, {"text": ANSWER}]);
    let Some(asked) = asked(&steps, "    workspace: place\n") else { return };
    let arguments = asked.sandbox.arguments();
    assert!(arguments.contains(&"acceptEdits".to_owned()), "{arguments:?}");
    assert!(!arguments.contains(&"--system-prompt".to_owned()), "{arguments:?}");
    asked.check_edit();
}

/// It answers and edits its workspace, and its tools reach neither other files nor other ports.
#[test]
fn claude_works_in_a_sandbox() {
    let write = json!({"name": "Write", "input": {"file_path": "made.txt", "content": "made by the agent\n"}});
    let steps = json!([{"tools": [write]}, {"tools": [bash(ESCAPES)]}, {"text": ANSWER}]);
    check_sandbox(Client::Claude, &steps, &[], UNASKED);
}

#[test]
fn claude_shows_no_secrets() {
    check_secrets(Client::Claude, bash, UNASKED);
}
