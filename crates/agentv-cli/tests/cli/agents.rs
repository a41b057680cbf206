//! What all agent programs have in common, with stand-ins that misbehave.

use crate::context;
use agentv_test_support::{FakeAgent, Ran, TestContext, cases, is_alive, suite, targets};
use serde_json::{Value, json};
use std::fs;

const RESULT: &str =
    r#"echo '{"type":"result","subtype":"success","is_error":false,"result":"all ok"}'"#;

/// One case on a stand-in for `claude` that does this.
#[track_caller]
fn run(then: &str, more: &Value) -> (TestContext, FakeAgent, Ran) {
    let cx = context();
    cx.write("suite.yaml", &cases(&["one"]));
    let claude = cx.fake_agent("claude", then);
    cx.write("targets.yaml", &targets(&[claude.target("default", "claude-code", more)]));
    let ran = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl", "--max-retries", "0"]).run();
    (cx, claude, ran)
}

#[test]
fn an_agent_that_stays_after_its_result_is_ended_and_its_answer_kept() {
    let then = format!("{RESULT}\nsetsid sleep 600 &\necho $! > \"$here/tool\"\nwait");
    let (cx, _claude, ran) = run(&then, &json!({"exit_grace_seconds": 0.1}));
    assert_eq!(ran.success().record()["candidate_answer"], "all ok");
    assert!(!is_alive(&cx.read("fakes/claude-calls/tool")));
}

#[test]
fn a_turn_after_the_result_is_waited_for() {
    // The first result is taken back at once; the second turn takes longer than the grace time.
    let then = r#"printf '{"type":"result","subtype":"success","result":"too early"}\n{"type":"system","subtype":"init"}\n'
sleep 0.5
echo '{"type":"result","subtype":"success","result":"all ok"}'"#;
    let (_cx, _claude, ran) = run(then, &json!({"exit_grace_seconds": 0.1}));
    assert_eq!(ran.success().record()["candidate_answer"], "all ok");
}

#[test]
fn an_answer_of_megabytes_comes_through_in_pieces() {
    // Three bytes a character, so that reads end inside of one; a separator that is no end of a line; no last newline.
    let then = r#"python3 - <<'END'
import json, sys
text = "日" * 800_000 + "\u2028 ok"
line = json.dumps({"type": "result", "subtype": "success", "result": text}, ensure_ascii=False).encode()
sys.stdout.buffer.write(b"noise\n\xff\xfe\n{\"cut\": \n" + line)
END"#;
    let (_cx, _claude, ran) = run(then, &json!({}));
    let record = ran.success().record();
    let answer = record["candidate_answer"].as_str().unwrap();
    assert_eq!(answer.chars().count(), 800_004);
    assert!(answer.ends_with("日\u{2028} ok"));
}

#[test]
fn a_cut_last_line_is_no_answer() {
    let then = r#"printf '{"type":"assistant","message":{"content":[{"type":"text","text":"ok"}]}}\n{"type":"result","sub'"#;
    let (_cx, _claude, ran) = run(then, &json!({}));
    let record = ran.code(3).record();
    let error = record["error"].as_str().unwrap();
    assert!(error.starts_with("Claude Code CLI ended without a result: "), "{error}");
}

#[test]
fn a_failed_agent_is_reported_with_its_exit_code_stderr_and_stdout() {
    let agents = [
        ("claude-code", "Claude Code CLI"),
        ("codex", "Codex CLI"),
        ("copilot", "Copilot CLI"),
        ("gemini-cli", "Gemini CLI"),
        ("opencode", "OpenCode"),
        ("pi-coding-agent", "Pi coding agent"),
    ];
    for (provider, title) in agents {
        let cx = context();
        cx.write("suite.yaml", &cases(&["one"]));
        let agent =
            cx.fake_agent("agent", "echo 'no space left'; echo 'cannot log in' >&2; exit 7");
        cx.write("targets.yaml", &targets(&[agent.target("default", provider, &json!({}))]));
        let ran = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).run();
        let record = ran.code(3).record();
        let expected = format!("{title} exited with code 7: cannot log in; stdout: no space left");
        assert_eq!(record["error"], expected);
    }
}

#[test]
fn the_log_of_every_agent_has_inputs_and_results_of_tools() {
    let recordings =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../agentv-runtime/src/providers/agent_cli/fixtures");
    let agents = [
        ("codex", "codex-0.166.0", "  command: ", "  aggregated_output: "),
        ("codex", "codex-0.20.0", "  command: ", "  stdout: "),
        ("copilot", "copilot-1.0.102", "  arguments: ", "  result: "),
        ("gemini-cli", "gemini-cli-0.61.0", "  parameters: ", "tool_result: success"),
        ("opencode", "opencode-1.18.33", "  input: ", "  output: "),
        ("pi-coding-agent", "pi-0.73.1", "  args: ", "  result: "),
    ];
    for (provider, recording, input, result) in agents {
        let cx = context();
        cx.write("suite.yaml", &cases(&["one"]));
        let name = if provider == "gemini-cli" { "stream_json.jsonl" } else { "tool.jsonl" };
        let agent = cx.fake_agent("agent", &format!("cat '{recordings}/{recording}/{name}'"));
        cx.write("targets.yaml", &targets(&[agent.target("default", provider, &json!({}))]));
        let ran = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).run();
        let log = cx.read(ran.record()["provider_metadata"]["log_file"].as_str().unwrap());
        for part in [input, result] {
            assert!(log.contains(part), "{recording} has no `{part}`:\n{log}");
        }
    }
}

#[test]
fn an_agent_that_does_not_read_its_prompt_is_no_obstacle() {
    let cx = context();
    let question = "x".repeat(3 << 20);
    let case = json!({"id": "one", "input": question, "expected_outcome": "Says ok",
        "evaluators": [{"name": "g", "type": "contains", "value": "ok"}]});
    cx.write("suite.yaml", &json!({ "evalcases": [case] }).to_string());
    let claude = cx.script("deaf", &format!("#!/bin/sh\n{RESULT}\n"));
    let target = json!({"name": "default", "provider": "claude-code", "executable": claude});
    cx.write("targets.yaml", &json!({ "targets": [target] }).to_string());
    let ran = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).run();
    assert_eq!(ran.success().record()["score"], 1);
}

#[test]
fn a_variable_reaches_the_agent_and_nothing_else() {
    let cx = context();
    cx.write("suite.yaml", &cases(&["one"]));
    let claude = cx.fake_agent("claude", RESULT);
    let more = json!({"env": {"ANTHROPIC_API_KEY": "${{ MY_KEY }}", "CLAUDE_CODE_MAX_RETRIES": 1}});
    cx.write("targets.yaml", &targets(&[claude.target("default", "claude-code", &more)]));
    let ran = cx
        .agentv(["eval", "suite.yaml", "--out", "out.jsonl", "--verbose"])
        .env("MY_KEY", "canary-key")
        .env("CLAUDECODE", "1")
        .run();
    let call = claude.call();
    assert_eq!(call.env["ANTHROPIC_API_KEY"], "canary-key");
    assert_eq!(call.env["CLAUDE_CODE_MAX_RETRIES"], "1");
    assert!(!call.env.contains_key("CLAUDECODE"));
    assert!(!call.args.concat().contains("canary"));
    ran.success().stdout_lacks("canary").stderr_lacks("canary");
    assert!(!cx.read("out.jsonl").contains("canary"));
    let logs = fs::read_dir(cx.path(".agentv/logs/claude-code")).unwrap();
    for log in logs {
        assert!(!fs::read_to_string(log.unwrap().path()).unwrap().contains("canary"));
    }
}

/// One case on a stand-in for `codex` with these keys, in an environment with `MODE` and `MY_AUTH`.
#[track_caller]
fn codex_with(more: &Value, others: &[&str]) -> (TestContext, FakeAgent, Ran) {
    let cx = context();
    cx.write("suite.yaml", &cases(&["one"]));
    let then = r#"echo '{"type":"item.completed","item":{"type":"agent_message","text":"ok"}}'
echo '{"type":"turn.completed"}'"#;
    let codex = cx.fake_agent("codex", then);
    let others = others.iter().map(|entry| format!("  - {entry}\n"));
    let entries: Vec<String> =
        [codex.target("default", "codex", more)].into_iter().chain(others).collect();
    cx.write("targets.yaml", &targets(&entries));
    let eval = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]);
    let ran = eval.env("MODE", "read-only").env("MY_AUTH", "sk-secret").env("GH_TOKEN", "t").run();
    (cx, codex, ran)
}

#[test]
fn variables_in_lists_and_texts_of_a_target_are_replaced() {
    let more = json!({"args": ["--sandbox", "${{ MODE }}", "x-${{ MODE }}"], "system_prompt": "${{ MODE }}"});
    let (_cx, codex, ran) = codex_with(&more, &[]);
    ran.success();
    let call = codex.call();
    assert_eq!(call.value_of("--sandbox"), "read-only");
    assert!(call.args.contains(&"x-${{ MODE }}".to_owned()), "only a whole value is a reference");
    assert!(call.stdin.starts_with("read-only\n"), "{}", call.stdin);

    let (_cx, _, ran) = codex_with(&json!({"args": ["${{ NOT_SET }}"]}), &[]);
    ran.code(2)
        .stderr_has("environment variable `NOT_SET`, required for `args` of target `default`");
    // That concerns only a target that is used.
    let unused =
        "{name: other, provider: codex, args: ['${{ NOT_SET }}'], judge_target: '${{ NOT_SET }}'}";
    codex_with(&json!({}), &[unused]).2.success();
}

#[test]
fn the_provider_and_the_judge_of_a_target_may_be_variables() {
    let cx = context();
    let verdict = r#"{"score": 0.5, "reasoning": "so"}"#;
    let judge = json!({"name": "judge", "provider": "mock", "response": verdict});
    let main = json!({"name": "default", "provider": "${{ KIND }}", "response": "ok", "judge_target": "${{ JUDGE }}"});
    cx.write("targets.yaml", &json!({ "targets": [main, judge] }).to_string());
    cx.write("suite.yaml", &suite("[{name: quality, type: llm_judge}]"));
    let eval = || cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).env("KIND", "mock");
    let ran = eval().env("JUDGE", "judge").run();
    assert_eq!(ran.success().record()["score"], 0.5);
    eval().run().code(2).stderr_has("environment variable `JUDGE`, required for `judge_target`");
    eval().env("JUDGE", "jugde").run().stderr_has("did you mean `judge`?");
}

#[test]
fn a_secret_on_a_command_line_is_refused() {
    let key = "{name: model, provider: openai, model: m, api_key: '${{ MY_AUTH }}'}";
    let cases: [(Value, &[&str], &str); 4] = [
        (
            json!({"args": ["--key", "${{ GH_TOKEN }}"]}),
            &[],
            "`args` of target `default` puts the secret `GH_TOKEN`",
        ),
        (
            json!({"model": "${{ MY_AUTH }}"}),
            &[key],
            "`model` of target `default` puts the secret `MY_AUTH`",
        ),
        (
            json!({}),
            &["{name: other, provider: cli, command: '${{ GH_TOKEN }}'}"],
            "`command` of target `other` puts the secret `GH_TOKEN`",
        ),
        (
            json!({}),
            &[
                "{name: other, provider: cli, command: x, healthcheck: {type: command, command: '${{ GH_TOKEN }}'}}",
            ],
            "`command` of `healthcheck` of target `other` puts the secret `GH_TOKEN`",
        ),
    ];
    for (more, others, message) in cases {
        let (_cx, codex, ran) = codex_with(&more, others);
        ran.code(2)
            .stderr_has("error[config::secret]")
            .stderr_has(message)
            .stderr_lacks("sk-secret");
        assert!(codex.calls().is_empty());
    }
    // `env` is for secrets.
    codex_with(&json!({"env": {"AUTH": "${{ GH_TOKEN }}"}}), &[]).2.success();
}

#[test]
fn an_agent_can_be_the_judge() {
    let cx = context();
    let verdict = r#"{\"score\": 0.75, \"hits\": [], \"misses\": [], \"reasoning\": \"fine\"}"#;
    let then = format!(
        "cat <<'END'\n{{\"type\":\"result\",\"subtype\":\"success\",\"result\":\"{verdict}\"}}\nEND"
    );
    let claude = cx.fake_agent("claude", &then);
    let judge = claude.target("judge", "claude-code", &json!({}));
    let answer = cx.cli_target_answering("default", "forty-two") + "    judge_target: judge\n";
    cx.write("targets.yaml", &targets(&[answer, judge]));
    cx.write("suite.yaml", &suite("[{name: quality, type: llm_judge}]"));
    let ran = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).run();
    assert_eq!(ran.success().record()["score"], 0.75);
    let call = claude.call();
    assert!(call.stdin.contains("forty-two"));
    assert!(!call.value_of("--system-prompt").contains("diff --git"));
}

#[test]
fn a_bad_setting_is_said_with_its_place() {
    let cx = context();
    cx.write("suite.yaml", &cases(&["one"]));
    cx.write(
        "targets.yaml",
        "targets:\n  - name: default\n    provider: claude-code\n    log_format: xml\n    modle: opus\n",
    );
    let ran = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).run();
    ran.code(2)
        .stderr_has("targets.yaml:4:17")
        .stderr_has("`log_format` of target `default` must be `summary` or `json`")
        .stderr_has("did you mean `model`?");
}

#[test]
fn of_too_many_messages_the_middle_is_left_out_and_counted() {
    let then = format!(
        r#"python3 - <<'END'
import json
for number in range(10_020):
    call = {{"type": "tool_use", "id": f"call-{{number}}", "name": "Read", "input": {{"number": number}}}}
    print(json.dumps({{"type": "assistant", "message": {{"content": [call]}}}}))
    result = {{"type": "tool_result", "tool_use_id": f"call-{{number}}", "content": f"result {{number}}"}}
    print(json.dumps({{"type": "user", "message": {{"content": [result]}}}}))
END
{RESULT}"#
    );
    let (_cx, _claude, ran) = run(&then, &json!({}));
    let record = ran.success().record();
    assert_eq!(record["candidate_answer"], "all ok");
    assert_eq!(record["provider_metadata"]["omitted"], json!({"messages": 20, "tool_calls": 20}));
    assert_eq!(record["trace_summary"]["event_count"], 10_000);
    ran.stderr_has("one: printed more than is kept; left out: messages: 20, tool_calls: 20");
}

#[test]
fn of_too_long_an_output_the_middle_is_left_out_and_counted() {
    // A line that is too long, then 72 MiB of messages; each is smaller than what is kept of them.
    let then = format!(
        r#"python3 - <<'END'
import json
print("x" * (17 << 20))
for letter in "abcdefgh":
    text = {{"type": "text", "text": letter * (9 << 20)}}
    print(json.dumps({{"type": "assistant", "message": {{"content": [text]}}}}))
END
{RESULT}"#
    );
    let (cx, _claude, ran) = run(&then, &json!({}));
    let record = ran.success().record();
    assert_eq!(record["candidate_answer"], "all ok");
    let omitted = &record["provider_metadata"]["omitted"];
    assert_eq!((&omitted["lines"], &omitted["messages"]), (&json!(1), &json!(6)));
    assert!(omitted["log_bytes"].as_u64().unwrap() >= 9 << 20, "{omitted}");
    let log = cx.path(record["provider_metadata"]["log_file"].as_str().unwrap());
    assert!(fs::metadata(&log).unwrap().len() <= 65 << 20);
    let log = fs::read(log).unwrap();
    let end = String::from_utf8_lossy(&log[log.len() - 300..]);
    assert!(end.contains("bytes left out …\n") && end.contains("result: $0.0000"), "{end}");
}
