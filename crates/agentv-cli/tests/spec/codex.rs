//! Targets of kind `codex`, with a stand-in for `codex`.

use crate::context;
use agentv_test_support::{FakeAgent, Ran, TestContext, cases, is_alive, targets};
use serde_json::{Value, json};
use std::fs;

/// A short session as 0.166 prints it: a remark, a command, the answer.
const SESSION: &str = r#"cat <<'END'
{"type":"thread.started","thread_id":"t-1"}
{"type":"item.completed","item":{"id":"item_0","type":"error","message":"unknown model"}}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"Let me see."}}
{"type":"item.started","item":{"id":"item_2","type":"command_execution","command":"ls","aggregated_output":"","exit_code":null,"status":"in_progress"}}
this line is no JSON
{"type":"item.completed","item":{"id":"item_2","type":"command_execution","command":"ls","aggregated_output":"a.txt\n","exit_code":0,"status":"completed"}}
{"type":"item.completed","item":{"id":"item_3","type":"agent_message","text":"all ok ✓"}}
{"type":"turn.completed","usage":{"input_tokens":100,"cached_input_tokens":40,"output_tokens":20}}
END"#;

/// What is run, up to the target's own arguments and `-`.
const ARGUMENTS: [&str; 7] =
    ["--ask-for-approval", "never", "exec", "--json", "--color", "never", "--skip-git-repo-check"];

/// One case on a stand-in that does this, with more keys in the target.
#[track_caller]
fn run(then: &str, more: &Value) -> (TestContext, FakeAgent, Ran) {
    run_with_env(then, more, &[])
}

#[track_caller]
fn run_with_env(then: &str, more: &Value, env: &[(&str, &str)]) -> (TestContext, FakeAgent, Ran) {
    let cx = context();
    cx.write("suite.yaml", &cases(&["one"]));
    let codex = cx.fake_agent("codex", then);
    cx.write("targets.yaml", &targets(&[codex.target("default", "codex", more)]));
    let mut eval = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl", "--max-retries", "0"]);
    for (name, value) in env {
        eval = eval.env(name, value);
    }
    let ran = eval.run();
    (cx, codex, ran)
}

/// The lines of the log that a record names, without their times.
#[track_caller]
fn log_lines(record: &Value) -> Vec<String> {
    let path = record["provider_metadata"]["log_file"].as_str().unwrap();
    let text = fs::read_to_string(path).unwrap();
    let (_, lines) = text.split_once("\n\n").unwrap();
    lines.lines().map(|line| line.split_once("] ").map_or(line, |pair| pair.1).to_owned()).collect()
}

#[test]
fn s017_s073_codex_is_asked_in_a_workspace_of_its_own() {
    let then = format!("cp prompt.md \"$here/prompt.md\"\n{SESSION}");
    let (cx, codex, ran) = run(&then, &json!({}));
    ran.success();
    let call = codex.call();
    assert_eq!(call.args[..7], ARGUMENTS);
    assert_eq!(call.args[7..], ["-"]);
    let (rules, query) = call.stdin.split_once("\n\n").unwrap();
    assert!(rules.contains("Do not create") && rules.contains("diff --git"), "{rules}");
    assert_eq!(query, "[[ ## user_query ## ]]\n\nQuestion one");
    assert_eq!(cx.read("fakes/codex-calls/prompt.md"), call.stdin);
    assert_eq!(call.files, ["prompt.md"]);
    assert!(call.cwd.file_name().unwrap().to_string_lossy().starts_with("agentv-codex-"));
    assert!(!call.cwd.exists());
    assert_eq!(fs::read_dir(cx.temp()).unwrap().count(), 0);
}

#[test]
fn s017_s073_the_targets_arguments_come_before_the_dash() {
    let more =
        json!({"model": "gpt-x", "args": ["--sandbox", "read-only"], "system_prompt": "Be brief."});
    let (_cx, codex, ran) = run(SESSION, &more);
    ran.success();
    let call = codex.call();
    assert_eq!(call.args[7..], ["--model", "gpt-x", "--sandbox", "read-only", "-"]);
    assert!(call.stdin.starts_with("Be brief.\n\n[[ ## user_query"), "{}", call.stdin);
}

#[test]
fn s017_s073_in_a_workspace_files_may_be_changed() {
    let allowed = |args: Value| {
        let cx = context();
        cx.write("suite.yaml", &cases(&["one"]));
        cx.write("project/a.txt", "a");
        let codex = cx.fake_agent("codex", SESSION);
        let more = json!({"workspace": {"template": "project"}, "args": args});
        cx.write("targets.yaml", &targets(&[codex.target("default", "codex", &more)]));
        cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).run().success();
        let call = codex.call();
        assert_eq!(call.stdin, "[[ ## user_query ## ]]\n\nQuestion one");
        assert!(call.files.contains(&"a.txt".to_owned()), "{:?}", call.files);
        call.args[7..].join(" ")
    };
    assert_eq!(allowed(json!([])), "--sandbox workspace-write -");
    assert_eq!(allowed(json!(["-s", "read-only"])), "-s read-only -");
    assert_eq!(allowed(json!(["-c", "sandbox_mode=read-only"])), "-c sandbox_mode=read-only -");
}

#[test]
fn s017_s073_the_last_message_is_the_answer() {
    let (_cx, _codex, ran) = run(SESSION, &json!({}));
    let record = ran.success().record();
    assert_eq!(record["candidate_answer"], "all ok ✓");
    assert_eq!(record["trace_summary"]["tool_calls_by_name"], json!({"command_execution": 1}));
    let usage = json!({"input": 100, "output": 20, "cached": 40});
    assert_eq!(record["execution_metrics"]["token_usage"], usage);
    assert_eq!(record["provider_metadata"]["thread_id"], "t-1");
    assert_eq!(record["provider_metadata"]["warnings"], json!(["unknown model"]));

    let document = r#"echo '{"messages": [{"role": "assistant", "content": "it is ok"}]}'"#;
    assert_eq!(run(document, &json!({})).2.success().record()["candidate_answer"], "it is ok");
}

#[test]
fn s017_s073_a_failure_says_why() {
    let (_cx, _codex, ran) = run("echo some output; echo boom >&2; exit 3", &json!({}));
    let record = ran.code(3).record();
    assert_eq!(record["error"], "Codex CLI exited with code 3: boom; stdout: some output");
    let metadata = &record["provider_metadata"];
    assert_eq!(metadata["exit_code"], 3);
    assert_eq!(metadata["stderr"], "boom");
    assert_eq!(metadata["stdout"], "some output");
    let mut lines = log_lines(&record);
    lines.sort();
    assert_eq!(lines, ["[stderr] stderr: boom", "[stdout] some output"]);

    // An API error is told on stdout; what is on stderr comes after it.
    let then = r#"echo noise >&2
echo '{"type":"turn.started"}'
echo '{"type":"turn.failed","error":{"message":"no such model"}}'
exit 1"#;
    let record = run(then, &json!({})).2.code(3).record();
    assert_eq!(record["error"], "Codex CLI exited with code 1: no such model; stderr: noise");

    // Version 0.39 ends with 0 even so.
    let then = r#"echo '{"id":"1","msg":{"type":"error","message":"no key"}}'"#;
    let record = run(then, &json!({})).2.code(3).record();
    assert_eq!(record["error"], "Codex CLI reported an error: no key");

    let record = run("echo '{\"type\":\"turn.completed\"}'", &json!({})).2.code(3).record();
    let error = record["error"].as_str().unwrap();
    assert!(error.starts_with("Codex CLI did not include an assistant message"), "{error}");
}

#[test]
fn s017_s073_what_the_real_one_says_of_its_arguments_is_the_error() {
    let recordings = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../agentv-runtime/src/providers/agent_cli/fixtures/codex-0.166.0"
    );
    let names = fs::read_dir(recordings).unwrap().map(|file| file.unwrap().file_name());
    let names = names.map(|name| name.into_string().unwrap());
    let mut seen = 0;
    for name in names.filter(|name| name.starts_with("err_") && name.ends_with(".stderr.txt")) {
        let case = name.trim_end_matches(".stderr.txt");
        let meta = fs::read_to_string(format!("{recordings}/{case}.meta.json")).unwrap();
        let code = serde_json::from_str::<Value>(&meta).unwrap()["exit_code"].clone();
        let then = format!("cat '{recordings}/{name}' >&2; exit {code}");
        let record = run(&then, &json!({})).2.code(3).record();
        let said = fs::read_to_string(format!("{recordings}/{name}")).unwrap();
        let expected = format!("Codex CLI exited with code {code}: {}", said.trim());
        assert_eq!(record["error"], expected, "{case}");
        seen += 1;
    }
    assert_eq!(seen, 7);
}

#[test]
fn s017_s073_an_executable_that_is_not_there_is_named() {
    let cx = context();
    cx.write("suite.yaml", &cases(&["one"]));
    let target = json!({"name": "default", "provider": "codex", "executable": "no-such-codex"});
    cx.write("targets.yaml", &json!({ "targets": [target] }).to_string());
    let record = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).run().code(3).record();
    let error = record["error"].as_str().unwrap();
    let expected = "Codex CLI executable 'no-such-codex' was not found on PATH";
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn s017_s073_a_session_that_takes_too_long_is_interrupted_first() {
    // As the real one does: it ends its tools on an interrupt, and on nothing else. A shell leaves interrupts to the program
    // that it waits for, so that the stand-in waits with `wait`.
    let then = r#"trap 'echo interrupted > "$here/signal"; exit 1' INT
trap 'echo terminated > "$here/signal"; exit 1' TERM
echo '{"type":"turn.started"}'
echo '{"type":"error","message":"Reconnecting... 2/5"}'
setsid sleep 600 &
echo $! > "$here/tool"
wait"#;
    let (cx, _codex, ran) = run(then, &json!({"timeout_seconds": 1}));
    let record = ran.code(3).record();
    assert_eq!(record["error"], "Codex CLI timed out after 1s (last: Reconnecting... 2/5)");
    assert_eq!(cx.read("fakes/codex-calls/signal"), "interrupted\n");
    assert!(!is_alive(&cx.read("fakes/codex-calls/tool")), "the tool is alive");
}

#[test]
fn s017_s073_the_log_has_the_session_or_its_events_or_is_off() {
    let (_cx, _codex, ran) = run(SESSION, &json!({}));
    let expected = [
        "[stdout] thread.started",
        "[stdout] item.completed:error",
        "[stdout]   message: \"unknown model\"",
        "[stdout] turn.started",
        "[stdout] item.completed: Let me see.",
        "[stdout] item.started:command_execution",
        "[stdout]   command: \"ls\"",
        "[stdout] this line is no JSON",
        "[stdout] item.completed:command_execution",
        "[stdout]   command: \"ls\"",
        "[stdout]   aggregated_output: \"a.txt\\n\"",
        "[stdout]   exit_code: 0",
        "[stdout] item.completed: all ok ✓",
        "[stdout] turn.completed",
    ];
    assert_eq!(log_lines(&ran.success().record()), expected);

    let whole = [("AGENTV_CODEX_LOG_FORMAT", "json")];
    let (_cx, _codex, ran) = run_with_env(SESSION, &json!({}), &whole);
    let lines = log_lines(&ran.success().record());
    assert!(lines.iter().any(|line| line == "  \"thread_id\": \"t-1\""), "{lines:#?}");

    let none = [("AGENTV_CODEX_STREAM_LOGS", "off")];
    let (cx, _codex, ran) = run_with_env(SESSION, &json!({}), &none);
    assert_eq!(ran.success().record()["provider_metadata"]["log_file"], Value::Null);
    assert!(!cx.path(".agentv/logs").exists());
}
