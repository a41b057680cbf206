//! Targets of kind `claude-code`, with a stand-in for `claude`.

use crate::context;
use agentv_test_support::{FakeAgent, Ran, TestContext, cases, is_alive, targets};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

/// A short session: a call, its result, the answer.
const SESSION: &str = r#"cat <<'END'
{"type":"system","subtype":"init","session_id":"s-1","model":"claude-x","apiKeySource":"ANTHROPIC_API_KEY"}
{"type":"assistant","timestamp":"2026-01-01T00:00:00.000Z","message":{"content":[{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"a.txt"}}]},"parent_tool_use_id":null}
warming up: this line is no JSON
{"type":"user","timestamp":"2026-01-01T00:00:00.250Z","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"the file"}]}}
{"type":"assistant","message":{"content":[{"type":"text","text":"all ok ✓"}]},"parent_tool_use_id":null}
{"type":"result","subtype":"success","is_error":false,"result":"all ok ✓","num_turns":2,"duration_ms":1234,"duration_api_ms":900,"total_cost_usd":0.25,"session_id":"s-1","usage":{"input_tokens":100,"output_tokens":20,"cache_read_input_tokens":40,"cache_creation_input_tokens":7}}
END"#;

/// One case on a stand-in that does this, with more keys in the target.
#[track_caller]
fn run(then: &str, more: &Value) -> (TestContext, FakeAgent, Ran) {
    let cx = context();
    cx.write("suite.yaml", &cases(&["one"]));
    run_in(cx, then, more)
}

#[track_caller]
fn run_in(cx: TestContext, then: &str, more: &Value) -> (TestContext, FakeAgent, Ran) {
    let claude = cx.fake_agent("claude", then);
    cx.write("targets.yaml", &targets(&[claude.target("default", "claude-code", more)]));
    let ran = eval(&cx);
    (cx, claude, ran)
}

#[track_caller]
fn eval(cx: &TestContext) -> Ran {
    cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl", "--max-retries", "0"]).run()
}

#[test]
fn s130_claude_is_asked_on_stdin_and_its_stream_is_the_answer() {
    let (_cx, claude, ran) = run(SESSION, &json!({}));
    let record = ran.success().record();
    assert_eq!(record["candidate_answer"], "all ok ✓");
    assert_eq!(record["score"], 1);
    let call = claude.call();
    assert_eq!(call.args[..4], ["-p", "--output-format", "stream-json", "--verbose"]);
    assert_eq!(call.stdin, "[[ ## user_query ## ]]\n\nQuestion one");
    assert!(!call.args.iter().any(|arg| arg.contains("Question")), "the prompt is an argument");
    assert_eq!(record["agent_provider_request"]["question"], "Question one");
}

#[test]
fn s130_an_executable_that_is_not_there_is_named() {
    let cx = context();
    cx.write("suite.yaml", &cases(&["one"]));
    cx.write("targets.yaml", "targets:\n  - {name: default, provider: claude-code}\n");
    let record = eval(&cx).code(3).record();
    let error = record["error"].as_str().unwrap();
    assert!(
        error.starts_with("Claude Code CLI executable 'claude' was not found on PATH"),
        "{error}"
    );
}

#[test]
fn s130_an_executable_may_bring_arguments() {
    let cx = context();
    cx.write("suite.yaml", &cases(&["one"]));
    let claude = cx.fake_agent("claude", SESSION);
    let executable = format!("sh {}", claude.executable.display());
    let target = json!({"name": "default", "provider": "claude-code", "executable": executable});
    cx.write("targets.yaml", &json!({ "targets": [target] }).to_string());
    eval(&cx).success();
    assert_eq!(claude.call().args[0], "-p");
}

#[test]
fn s131_the_model_is_passed_on() {
    for model in ["sonnet", "claude-sonnet-4-5-20250929"] {
        let (_cx, claude, ran) = run(SESSION, &json!({ "model": model }));
        ran.success();
        assert_eq!(claude.call().value_of("--model"), model);
    }
}

#[test]
fn s132_the_system_prompt_is_an_argument_of_its_own() {
    let (_cx, claude, _) = run(SESSION, &json!({"system_prompt": "Be brief."}));
    assert_eq!(claude.call().value_of("--system-prompt"), "Be brief.");
    let (_cx, claude, _) = run(SESSION, &json!({}));
    let default = claude.call().value_of("--system-prompt").to_owned();
    assert!(default.contains("Do not create") && default.contains("diff --git"), "{default}");
}

#[test]
fn s133_it_runs_where_the_target_says_or_in_a_directory_of_its_own() {
    let cx = context();
    cx.write("suite.yaml", &cases(&["one"]));
    cx.write("project/mine.txt", "");
    let (cx, claude, _) = run_in(cx, SESSION, &json!({"cwd": "project"}));
    let call = claude.call();
    assert_eq!(call.cwd.canonicalize().unwrap(), cx.path("project").canonicalize().unwrap());
    assert_eq!(call.files, ["mine.txt"]);

    let (cx, claude, _) = run(SESSION, &json!({}));
    let call = claude.call();
    assert!(call.cwd.file_name().unwrap().to_string_lossy().starts_with("agentv-claude-code-"));
    assert!(call.files.is_empty(), "{:?}", call.files);
    assert!(!call.cwd.exists());
    assert_eq!(fs::read_dir(cx.temp()).unwrap().count(), 0);
}

#[test]
fn s134_a_session_that_takes_too_long_is_ended_with_its_tools() {
    // As the real one does: the tool in a session of its own, ended when `claude` is asked to end.
    let then = r#"echo '{"type":"system","subtype":"init"}'
echo '{"type":"system","subtype":"api_retry","attempt":2,"max_retries":10,"error_status":529,"error":"overloaded"}'
setsid sleep 600 &
echo $! > "$here/tool"
echo $$ > "$here/agent"
wait"#;
    let (cx, _claude, ran) = run(then, &json!({"timeout_seconds": 1}));
    let record = ran.code(3).record();
    assert_eq!(
        record["error"],
        "Claude Code CLI timed out after 1s (last: API retry 2 of 10 (529 overloaded))"
    );
    for who in ["tool", "agent"] {
        assert!(!is_alive(&cx.read(format!("fakes/claude-calls/{who}"))), "{who} is alive");
    }
    assert!(log_of(&record).1.contains("system: api_retry"));
}

#[test]
fn s135_arguments_come_after_the_built_in_ones() {
    let more = json!({"model": "opus", "args": ["--allowedTools", "Bash(ls:*),Read"]});
    let (_cx, claude, _) = run(SESSION, &more);
    let args = claude.call().args;
    assert_eq!(args[args.len() - 2..], ["--allowedTools", "Bash(ls:*),Read"]);
    assert!(args.iter().position(|arg| arg == "--model") < Some(args.len() - 2));
}

/// The log file that a record names, and what is in it.
#[track_caller]
fn log_of(record: &Value) -> (PathBuf, String) {
    let path = PathBuf::from(record["provider_metadata"]["log_file"].as_str().unwrap());
    let text = fs::read_to_string(&path).unwrap();
    (path, text)
}

#[test]
fn s136_all_that_it_prints_is_in_a_log() {
    let (cx, _claude, ran) = run(&format!("echo oops >&2\n{SESSION}"), &json!({}));
    let (path, text) = log_of(&ran.success().record());
    assert!(path.starts_with(cx.path(".agentv/logs/claude-code")), "{}", path.display());
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    assert!(name.contains("_default_one_"), "{name}");
    assert_eq!(path.extension().unwrap(), "log");
    let (header, lines) = text.split_once("\n\n").unwrap();
    let header: Vec<&str> = header.lines().collect();
    assert_eq!(
        header[..4],
        ["# Claude Code CLI stream log", "# target: default", "# eval: one", "# attempt: 1"]
    );
    let lines: Vec<&str> = lines.lines().map(|line| line.split_once("] ").unwrap().1).collect();
    for line in [
        "[stderr] stderr: oops",
        "[stdout] system: init",
        "[stdout] assistant: tool_use (Read)",
        "[stdout] warming up: this line is no JSON",
        "[stdout] user: tool_result (t1)",
        "[stdout] assistant: all ok ✓",
        "[stdout] result: $0.2500, 1234ms",
    ] {
        assert!(lines.contains(&line), "{line} is not in {lines:#?}");
    }
}

#[test]
fn s136_s138_the_log_has_all_blocks_of_a_message_with_inputs_and_results() {
    let long = "word ".repeat(40);
    let then = format!(
        r#"cat <<'END'
{{"type":"assistant","message":{{"content":[{{"type":"text","text":"{long}end"}},{{"type":"tool_use","id":"t1","name":"Read","input":{{"file_path":"a.txt"}}}},{{"type":"tool_use","id":"t2","name":"Bash","input":{{"command":"ls"}}}}]}}}}
{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"t1","content":"one\ntwo"}},{{"type":"tool_result","tool_use_id":"t2","content":"denied","is_error":true}}]}}}}
END
echo 'connection lost' >&2
exit 1"#
    );
    let (_cx, _claude, ran) = run(&then, &json!({}));
    let (_, text) = log_of(&ran.code(3).record());
    let lines: Vec<&str> =
        text.lines().filter_map(|line| Some(line.split_once("[stdout] ")?.1)).collect();
    let expected = [
        &format!("assistant: {long}end"),
        "assistant: tool_use (Read)",
        r#"  input: {"file_path":"a.txt"}"#,
        "assistant: tool_use (Bash)",
        r#"  input: {"command":"ls"}"#,
        "user: tool_result (t1)",
        r#"  content: "one\ntwo""#,
        "user: tool_result (t2)",
        r#"  content: "denied""#,
    ];
    assert_eq!(lines, expected);
    assert!(text.contains("[stderr] stderr: connection lost"), "{text}");
}

#[test]
fn s136_the_log_may_hold_the_events_themselves() {
    let (_cx, _claude, ran) = run(SESSION, &json!({"log_format": "json", "log_dir": "my logs"}));
    let (path, text) = log_of(&ran.success().record());
    assert_eq!(path.parent().unwrap().file_name().unwrap(), "my logs");
    assert!(text.contains("\"result\": \"all ok ✓\","), "{text}");
}

#[test]
fn s136_the_log_can_be_switched_off_and_may_fail() {
    let cx = context();
    cx.write("suite.yaml", &cases(&["one"]));
    let claude = cx.fake_agent("claude", SESSION);
    let target = |more: &Value| targets(&[claude.target("default", "claude-code", more)]);
    cx.write("targets.yaml", &target(&json!({})));
    let ran = cx
        .agentv(["eval", "suite.yaml", "--out", "out.jsonl"])
        .env("AGENTV_CLAUDE_CODE_STREAM_LOGS", "false")
        .run();
    assert_eq!(ran.success().record()["provider_metadata"]["log_file"], Value::Null);
    assert!(!cx.path(".agentv/logs").exists());

    cx.write("in-the-way", "");
    cx.write("targets.yaml", &target(&json!({"log_dir": "in-the-way/logs"})));
    eval(&cx).success().stderr_has("no stream log");
}

#[test]
fn s137_calls_tokens_cost_and_durations_are_kept() {
    let (_cx, _claude, ran) = run(SESSION, &json!({}));
    let record = ran.success().record();
    let summary = &record["trace_summary"];
    assert_eq!(summary["tool_calls_by_name"], json!({"Read": 1}));
    let metrics = &record["execution_metrics"];
    assert_eq!(metrics["token_usage"], json!({"input": 147, "output": 20, "cached": 40}));
    assert_eq!(metrics["cost_usd"], 0.25);
    assert_eq!(metrics["duration_ms"], 1234);
    assert_eq!(metrics["tool_durations"], json!({"Read": [250]}));
    let metadata = &record["provider_metadata"];
    assert_eq!(metadata["session_id"], "s-1");
    assert_eq!(metadata["model"], "claude-x");
    assert_eq!(metadata["num_turns"], 2);
    assert_eq!(metadata["duration_api_ms"], 900);
}

#[test]
fn s138_a_failed_session_says_why() {
    let (_cx, _claude, ran) = run("echo 'unknown option --foo' >&2; exit 2", &json!({}));
    let record = ran.code(3).record();
    assert_eq!(record["error"], "Claude Code CLI exited with code 2: unknown option --foo");
    assert_eq!(record["provider_metadata"]["exit_code"], 2);
    assert_eq!(record["provider_metadata"]["stderr"], "unknown option --foo");
    assert!(log_of(&record).1.contains("[stderr] stderr: unknown option --foo"));

    // An API error: `success` and yet an error, on stdout only.
    let then = r#"echo '{"type":"result","subtype":"success","is_error":true,"result":"API Error: 500 oh"}'; exit 1"#;
    let record = run(then, &json!({})).2.code(3).record();
    assert_eq!(record["error"], "Claude Code CLI exited with code 1: API Error: 500 oh");
    assert!(record["provider_metadata"]["stdout"].as_str().unwrap().contains("is_error"));

    // An interrupt: exit code 0 and yet an error.
    let then = r#"echo '{"type":"result","subtype":"error_during_execution","is_error":true}'"#;
    let record = run(then, &json!({})).2.code(3).record();
    assert_eq!(record["error"], "Claude Code CLI reported an error: error_during_execution");

    let record = run("exit 0", &json!({})).2.code(3).record();
    assert_eq!(record["error"], "Claude Code CLI printed nothing");
}

#[test]
fn s139_texts_of_input_files_follow_the_preread_block() {
    let cx = context();
    cx.write("project/notes.txt", "the notes");
    cx.write("outside.md", "from elsewhere");
    fs::write(cx.path("picture.png"), b"\x89PNG\r\n\x1a\n\0\0").unwrap();
    cx.write("house.instructions.md", "be kind");
    let file = |name: &str| json!({"type": "file", "value": name});
    let content = json!([file("project/notes.txt"), file("outside.md"), file("picture.png"),
        file("house.instructions.md"), {"type": "text", "value": "What is it?"}]);
    let suite = json!({"evalcases": [{"id": "one", "expected_outcome": "Says ok",
        "input_messages": [{"role": "user", "content": content}],
        "evaluators": [{"name": "g", "type": "contains", "value": "ok"}]}]});
    cx.write("suite.yaml", &suite.to_string());
    let (cx, claude, _) = run_in(cx, SESSION, &json!({"cwd": "project"}));
    let call = claude.call();
    let (links, rest) = call.stdin.split_once("[[ ## user_query ## ]]").unwrap();
    let dir = cx.dir().display();
    for link in [
        format!("* [house.instructions.md](file://{dir}/house.instructions.md)."),
        format!("* [notes.txt](file://{dir}/project/notes.txt)"),
        format!("* [picture.png](file://{dir}/picture.png)."),
    ] {
        assert!(links.contains(&link), "{link} is not in {links}");
    }
    for text in [
        "\n\n<file path=\"notes.txt\">\nthe notes\n</file>".to_owned(),
        format!("\n\n<file path=\"{dir}/outside.md\">\nfrom elsewhere\n</file>"),
        format!("\n\n<file path=\"{dir}/house.instructions.md\">\nbe kind\n</file>"),
    ] {
        assert!(rest.contains(&text), "{text} is not in {rest}");
    }
    assert!(!rest.contains("PNG"));
    assert_eq!(call.value_of("--add-dir"), cx.dir().to_string_lossy());
}
