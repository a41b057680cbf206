//! Agent programs that no scenario of the specification is about, with stand-ins that print what the real ones printed.

use crate::context;
use agentv_test_support::{AgentCall, TestContext, cases, targets};
use serde_json::{Value, json};

/// What the agent is told where it has no workspace of the user's: rules, then the question.
const PROMPT_END: &str = "in fenced blocks.\n\n[[ ## user_query ## ]]\n\nQuestion one";

/// One case on a stand-in that prints this recording and ends with this code; what it was given, and the record.
#[track_caller]
fn replay(provider: &str, recording: &str, code: u8, more: &Value) -> (AgentCall, Value) {
    let cx = context();
    cx.write("suite.yaml", &cases(&["one"]));
    let file = format!(
        "{}/../agentv-runtime/src/providers/agent_cli/fixtures/{recording}",
        env!("CARGO_MANIFEST_DIR")
    );
    let agent = cx.fake_agent("agent", &format!("cat '{file}' || exit 99\nexit {code}"));
    cx.write("targets.yaml", &targets(&[agent.target("default", provider, more)]));
    let eval = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl", "--max-retries", "0"]);
    let record = eval.env("MY_KEY", "sk-very-secret").run().record();
    let call = agent.call();
    assert!(call.stdin.starts_with("Do not create"), "{}", call.stdin);
    assert!(call.stdin.ends_with(PROMPT_END), "{}", call.stdin);
    has_no_secret(&cx, &call, &record);
    (call, record)
}

/// No key on a command line, in a record or in a log.
#[track_caller]
fn has_no_secret(cx: &TestContext, call: &AgentCall, record: &Value) {
    let log = record["provider_metadata"]["log_file"].as_str().unwrap();
    let log = cx.read(log);
    for told in [call.args.join(" "), call.stdin.clone(), record.to_string(), log] {
        assert!(!told.contains("very-secret"), "{told}");
    }
}

#[track_caller]
fn check_answer(record: &Value, answer: &str, tool: &str) {
    assert_eq!(record["candidate_answer"], answer, "{record:#}");
    assert_eq!(record["trace_summary"]["tool_calls_by_name"], json!({ tool: 1 }));
}

#[test]
fn copilot_is_asked_on_stdin() {
    let more = json!({"model": "gpt-4.1", "args": ["--no-color"]});
    let (call, record) = replay("copilot", "copilot-1.0.102/tool.jsonl", 0, &more);
    assert_eq!(
        call.args,
        ["--output-format", "json", "-s", "--allow-all-tools", "--model", "gpt-4.1", "--no-color"]
    );
    assert_eq!(call.env["COPILOT_AUTO_UPDATE"], "false");
    check_answer(&record, "Final é.", "bash");
    assert_eq!(record["execution_metrics"]["duration_ms"], 723);
    assert_eq!(record["provider_metadata"]["premium_requests"], 0);

    // Who says which tools are allowed means only those.
    let more = json!({"args": ["--allow-tool=shell(ls)"]});
    let (call, record) = replay("copilot-cli", "copilot-1.0.102/api_401.jsonl", 1, &more);
    assert_eq!(call.args, ["--output-format", "json", "-s", "--allow-tool=shell(ls)"]);
    let error = record["error"].as_str().unwrap();
    let expected = "Copilot CLI exited with code 1: Authentication failed with provider at";
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn gemini_cli_is_asked_on_stdin() {
    let more = json!({"model": "gemini-2.5-flash"});
    let (call, record) = replay("gemini-cli", "gemini-cli-0.61.0/stream_json.jsonl", 0, &more);
    assert_eq!(call.args, ["-o", "stream-json", "-m", "gemini-2.5-flash"]);
    assert_eq!(call.env["GEMINI_CLI_TRUST_WORKSPACE"], "true");
    check_answer(&record, "Gemini final é.", "list_directory");
    let usage = json!({"input": 202, "output": 56, "cached": 80});
    assert_eq!(record["execution_metrics"]["token_usage"], usage);

    let (_, record) = replay("gemini-cli", "gemini-cli-0.61.0/api_400.jsonl", 144, &json!({}));
    let error = record["error"].as_str().unwrap();
    assert!(error.starts_with("Gemini CLI reported an error: [API Error:"), "{error}");
}

#[test]
fn pi_is_asked_on_stdin_and_has_its_key_in_a_variable() {
    let more = json!({"pi_provider": "anthropic", "model": "claude-sonnet-4-5", "api_key": "${{ MY_KEY }}",
        "tools": "read,bash", "thinking": "low", "args": ["--verbose"]});
    let (call, record) = replay("pi-coding-agent", "pi-0.73.1/tool.jsonl", 0, &more);
    let expected = "--provider anthropic --model claude-sonnet-4-5 --mode json --print --no-session \
                    --tools read,bash --thinking low --verbose";
    assert_eq!(call.args.join(" "), expected);
    assert_eq!(call.env["ANTHROPIC_API_KEY"], "sk-very-secret");
    check_answer(&record, "Final é.", "bash");
    let usage = json!({"input": 296, "output": 46, "cached": 80});
    assert_eq!(record["execution_metrics"]["token_usage"], usage);

    // It ends with 0 even then.
    let (_, record) = replay("pi", "pi-0.73.1/api_400.jsonl", 0, &json!({}));
    let error = record["error"].as_str().unwrap();
    assert!(error.starts_with("Pi coding agent reported an error: 400 "), "{error}");
}

#[test]
fn opencode_is_asked_on_stdin() {
    let more = json!({"model": "stub/stub-model"});
    let (call, record) = replay("opencode", "opencode-1.18.33/tool.jsonl", 0, &more);
    assert_eq!(call.args, ["run", "--format", "json", "-m", "stub/stub-model"]);
    assert_eq!(call.env["OPENCODE_DISABLE_AUTOUPDATE"], "1");
    check_answer(&record, "Final é.", "bash");
    let usage = json!({"input": 202, "output": 46, "cached": 80});
    assert_eq!(record["execution_metrics"]["token_usage"], usage);

    let (_, record) = replay("opencode", "opencode-1.18.33/api_400.jsonl", 1, &json!({}));
    assert_eq!(record["error"], "OpenCode exited with code 1: bad req");
}

#[test]
fn a_key_of_pi_does_not_stand_in_the_file() {
    let cx = context();
    cx.write("suite.yaml", &cases(&["one"]));
    let target = json!({"name": "default", "provider": "pi", "pi_provider": "openai", "api_key": "sk-very-secret"});
    cx.write("targets.yaml", &json!({ "targets": [target] }).to_string());
    let ran = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).run();
    ran.code(2).stderr_has("write `api_key: ${{ OPENAI_API_KEY }}`").stderr_lacks("very-secret");
}

#[test]
fn the_sdk_of_pi_is_refused_with_what_to_use_instead() {
    let cx = context();
    cx.write("suite.yaml", &cases(&["one"]));
    cx.write("targets.yaml", "targets:\n  - {name: default, provider: pi-agent-sdk}\n");
    let ran = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).run();
    ran.code(2)
        .stderr_has("has the provider `pi-agent-sdk`, which needs the JS SDK of pi")
        .stderr_has("use `provider: pi-coding-agent`");
}
