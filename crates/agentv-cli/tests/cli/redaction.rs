//! Secrets are planted wherever a run can meet them, and looked for wherever it writes.

use crate::{context, eval};
use agentv_test_support::{
    FakeLlm, FakeReply, Ran, TestContext, cases, cli_target, mock_target, openai_target, result_of,
    suite, targets,
};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// In the environment, and the key of a target.
pub(crate) const SECRET: &str = "canary/7f3a+Zq\"9~x=?";
/// In a `.env` file, and used by no target.
pub(crate) const FILE_SECRET: &str = "canary-of-the-file-55";
/// The secret as it is, in a URL, in JSON, and in base64 at three places.
pub(crate) const LEAK: &str = "say canary/7f3a+Zq\"9~x=? or canary%2F7f3a%2BZq%229~x%3D%3F or canary%2f7f3a%2bZq%229~x%3d%3f \
     or {\"a\":\"canary\\/7f3a+Zq\\\"9~x=?\"} or Y2FuYXJ5LzdmM2ErWnEiOX54PT8= or dTpjYW5hcnkvN2YzYStacSI5fng9Pw== \
     or eHl6MWNhbmFyeS83ZjNhK1pxIjl-eD0_ or canary-of-the-file-55 ok";
/// What all of these are found by.
const TRACES: [&str; 7] = [
    "canary/7f3a",
    "canary\\/7f3a",
    "canary%2F7f3a",
    "Y2FuYXJ5Lzdm",
    "YW5hcnkvN2Yz",
    "bmFyeS83ZjNh",
    "canary-of-the-file",
];

/// A repository with the secrets. What the tests themselves write is in `given`, `fakes` and the eval files.
#[track_caller]
fn planted() -> TestContext {
    let cx = context();
    cx.write(".env", &format!("SERVICE_TOKEN={FILE_SECRET}\n"));
    cx.write("given/leak", LEAK);
    // Byte by byte, so that every secret is cut somewhere.
    cx.script(
        "given/drip",
        "#!/usr/bin/env python3\nimport os, sys\nfor byte in open(sys.argv[1], 'rb').read(): os.write(int(sys.argv[2]), bytes([byte]))\n",
    );
    cx
}

/// A target that nobody calls, whose key is the secret.
fn key_holder() -> String {
    openai_target("unused", "http://127.0.0.1:9") + "    api_key: ${{ TEAM_ACCESS }}\n"
}

#[track_caller]
fn run(cx: &TestContext, more: &[&str]) -> Ran {
    let args = ["eval", "suite.yaml", "--out", "out.jsonl", "--max-retries", "0"];
    let args = args.iter().copied().chain(more.iter().copied());
    cx.agentv(args).env("TEAM_ACCESS", SECRET).run()
}

/// Fails if a secret is in what the program printed or in a file that it wrote.
#[track_caller]
fn check_clean(cx: &TestContext, ran: &Ran) {
    check_clean_but(cx, ran, &["given", "fakes", ".env", "suite.yaml", "targets.yaml"]);
}

/// The same, but files of these names are not looked at: the test itself or the programs that it runs have written them.
#[track_caller]
pub(crate) fn check_clean_but(cx: &TestContext, ran: &Ran, others: &[&str]) {
    check_text("stdout", &ran.stdout);
    check_text("stderr", &ran.stderr);
    check_files(cx.dir(), others);
}

#[track_caller]
fn check_files(dir: &Path, others: &[&str]) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if others.contains(&&*name) {
            continue;
        }
        if path.is_dir() {
            check_files(&path, others);
        } else {
            let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
            check_text(&path.display().to_string(), &text);
        }
    }
}

#[track_caller]
fn check_text(place: &str, text: &str) {
    for trace in TRACES {
        let Some(at) = text.find(trace) else { continue };
        let start = text[..at].char_indices().rev().nth(80).map_or(0, |(start, _)| start);
        assert_eq!("", &text[start..(at + trace.len())], "a secret is in {place}");
    }
}

#[track_caller]
fn answer(record: &Value) -> &str {
    record["candidate_answer"].as_str().unwrap()
}

#[test]
fn answers_of_models_have_no_secrets() {
    for provider in ["openai", "azure", "anthropic", "gemini"] {
        let api = FakeLlm::start(|asked| FakeReply::text(asked, LEAK));
        let cx = planted();
        let target = json!({
            "name": "default", "provider": provider, "model": "m", "base_url": api.url(),
            "endpoint": api.url(), "api_key": "${{ TEAM_ACCESS }}",
        });
        cx.write("targets.yaml", &targets(&[format!("  - {target}\n")]));
        cx.write("suite.yaml", &cases(&["one"]));
        let more = ["--cache", "--record", "tape.jsonl", "--report", "html=out.html", "--verbose"];
        let ran = run(&cx, &more);
        assert_eq!(api.only().header("host"), api.url().trim_start_matches("http://"));
        assert!(answer(&ran.success().record()).contains("say [redacted] or [redacted]"));
        assert!(cx.path("tape.jsonl").is_file() && cx.path(".agentv/cache").is_dir());
        check_clean(&cx, &ran);
    }
}

#[test]
fn errors_of_servers_have_no_secrets() {
    // Cut inside of a secret, an error would show the first half.
    for before in [0, 270, 280, 285, 295] {
        let body = format!("{} {LEAK}", "x".repeat(before));
        let api = FakeLlm::start(move |_| FakeReply::error(400, &body));
        let cx = planted();
        let target = openai_target("default", &api.url());
        cx.write("targets.yaml", &targets(&[target, key_holder()]));
        cx.write("suite.yaml", &cases(&["one"]));
        let ran = run(&cx, &["--verbose"]);
        let error = ran.code(3).record()["error"].as_str().unwrap().to_owned();
        for half in ["canary", "Y2FuYX", "dTpjYW5hcn"] {
            assert!(!error.contains(half), "{error}");
        }
        check_clean(&cx, &ran);
    }
}

#[test]
fn commands_show_no_secrets() {
    let cx = planted();
    let drip = |stream: u8| format!("{0}/drip {0}/leak {stream}", cx.path("given").display());
    let file = format!("cp {}/leak {{OUTPUT_FILE}}", cx.path("given").display());
    cx.write(
        "targets.yaml",
        &targets(&[
            cli_target("default", &drip(1)),
            cli_target("by-file", &file),
            cli_target("failing", &format!("{}; {}; exit 3", drip(1), drip(2))),
            key_holder(),
        ]),
    );
    cx.write("suite.yaml", &cases(&["one"]));
    let more = ["--target", "default", "--target", "by-file", "--target", "failing", "--verbose"];
    let ran = run(&cx, &more);
    assert_eq!(ran.code(3).records().len(), 3);
    assert!(ran.records().iter().all(|record| answer(record).contains("[redacted]")));
    check_clean(&cx, &ran);
}

/// What each agent prints when it answers with a text; some after a tool call that has it, too.
fn stream_of(provider: &str, text: &str) -> String {
    let lines = match provider {
        "claude-code" => vec![
            json!({"type": "assistant", "message": {"content": [
                {"type": "tool_use", "id": "1", "name": "Bash", "input": {"command": text}}]}}),
            json!({"type": "user", "message": {"content": [
                {"type": "tool_result", "tool_use_id": "1", "content": text}]}}),
            json!({"type": "result", "subtype": "success", "is_error": false, "result": text}),
        ],
        "codex" => vec![
            json!({"type": "thread.started", "thread_id": "t"}),
            json!({"type": "item.completed", "item": {"id": "0", "type": "command_execution",
                "command": text, "aggregated_output": text, "exit_code": 0, "status": "completed"}}),
            json!({"type": "item.completed", "item": {"id": "1", "type": "agent_message", "text": text}}),
            json!({"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 1}}),
        ],
        "copilot" => vec![
            json!({"type": "assistant.message", "data": {"content": text}}),
            json!({"type": "result", "exitCode": 0}),
        ],
        "gemini-cli" => vec![
            json!({"type": "message", "role": "assistant", "content": text}),
            json!({"type": "result", "status": "success"}),
        ],
        "opencode" => vec![
            json!({"type": "text", "part": {"type": "text", "text": text}}),
            json!({"type": "step_finish", "part": {"reason": "stop"}}),
        ],
        _ => {
            let message = json!({"role": "assistant", "content": [{"type": "text", "text": text}]});
            vec![
                json!({"type": "message_end", "message": message}),
                json!({"type": "agent_end", "messages": [message]}),
            ]
        }
    };
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    lines.join("\n") + "\n"
}

const AGENTS: [&str; 6] =
    ["claude-code", "codex", "copilot", "gemini-cli", "opencode", "pi-coding-agent"];

/// One case on an agent that prints this file byte by byte, after the leak on its standard error.
#[track_caller]
fn run_agent(provider: &str, format: &str, file: &str, ends: &str) -> Ran {
    let cx = planted();
    cx.write("given/stream", &stream_of(provider, LEAK));
    // With a letter that JSON may escape, though nobody does.
    let escaped = stream_of(provider, LEAK).replace("canary", "\\u0063anary");
    cx.write("given/escaped", &escaped);
    let given = cx.path("given").display().to_string();
    let then = format!("{given}/drip {given}/leak 2; {given}/drip {given}/{file} 1; {ends}");
    let agent = cx.fake_agent("agent", &then);
    let target = agent.target("default", provider, &json!({ "log_format": format }));
    cx.write("targets.yaml", &targets(&[target, key_holder()]));
    cx.write("suite.yaml", &cases(&["one"]));
    let ran = run(&cx, &["--format", "json", "--verbose"]);
    assert!(cx.path(".agentv/logs").is_dir(), "{provider} has a log");
    assert!(answer(&ran.record()).contains("[redacted]"), "{:?}", ran.record());
    check_clean(&cx, &ran);
    ran
}

#[test]
fn answers_and_logs_of_agents_have_no_secrets() {
    for provider in AGENTS {
        run_agent(provider, "summary", "stream", "").success();
    }
    for provider in ["claude-code", "codex"] {
        run_agent(provider, "json", "stream", "").success();
        run_agent(provider, "json", "escaped", "").success();
    }
}

#[test]
fn errors_of_agents_have_no_secrets() {
    for provider in AGENTS {
        run_agent(provider, "summary", "leak", "exit 7").code(3);
    }
}

#[test]
fn vs_code_shows_no_secrets() {
    let cx = planted();
    let code = cx.fake_code("fakes/code");
    code.set_answer(LEAK);
    let target = json!({"name": "default", "provider": "vscode", "vscode_cmd": code.program(),
        "subagent_root": "fakes/subagents"});
    cx.write("targets.yaml", &targets(&[format!("  - {target}\n"), key_holder()]));
    cx.write("suite.yaml", &cases(&["one"]));
    cx.agentv(["provision", "vscode", "--root", "fakes/subagents", "--count", "1"]).run().success();
    let ran = run(&cx, &["--verbose"]);
    assert!(answer(&ran.success().record()).contains("say [redacted] or"));
    check_clean(&cx, &ran);
    code.set_mode("fail");
    let ran = run(&cx, &["--verbose"]);
    let error = ran.code(3).record()["error"].to_string();
    assert!(error.contains("strike") && error.contains("[redacted]"), "{error}");
    check_clean(&cx, &ran);
}

#[test]
fn imported_sessions_have_no_secrets() {
    for (provider, format) in [("claude-code", "claude-stream"), ("codex", "codex-stream")] {
        let cx = planted();
        cx.write("given/session.jsonl", &stream_of(provider, LEAK));
        let import = |more: &[&str]| {
            let args = ["import", "given/session.jsonl", "--out", "past", "--format", format];
            let ran = cx.agentv(args.iter().chain(more)).env("SERVICE_KEY", SECRET).run();
            ran.success();
            ran
        };
        check_clean(&cx, &import(&[]));
        assert!(cx.read("past/imported.recordings.ndjson").contains("say [redacted] or"));
        import(&["--force", "--no-redact"]);
        assert!(cx.read("past/imported.recordings.ndjson").contains(FILE_SECRET));
    }
}

#[test]
fn checks_before_a_run_show_no_secrets() {
    let cx = planted();
    let given = cx.path("given").display().to_string();
    let probe = format!("cat {given}/leak >&2; exit 1");
    let target = cli_target("default", "echo ok")
        + &format!("    healthcheck: {{type: command, command_template: '{probe}'}}\n");
    cx.write("targets.yaml", &targets(&[target, key_holder()]));
    cx.write("suite.yaml", &cases(&["one"]));
    let with_secret = |command: &[&str]| cx.agentv(command).env("TEAM_ACCESS", SECRET).run();
    let checked = with_secret(&["doctor", "suite.yaml"]);
    assert!(checked.stdout.contains("[redacted]"), "{}", checked.stdout);
    check_clean(&cx, &checked);
    check_clean(&cx, &with_secret(&["doctor", "suite.yaml", "--env"]));
    check_clean(&cx, &run(&cx, &["--verbose"]));
}

#[test]
fn judges_show_no_secrets() {
    let cx = planted();
    let given = cx.path("given").display().to_string();
    let graded = json!({"score": 0.5, "hits": [LEAK], "misses": [LEAK], "reasoning": LEAK,
        "details": {LEAK: [LEAK]}});
    cx.write("given/verdict", &graded.to_string());
    let good = cx.script("given/good.sh", &format!("#!/bin/sh\n{given}/drip {given}/verdict 1\n"));
    let bad =
        cx.script("given/bad.sh", &format!("#!/bin/sh\n{given}/drip {given}/leak 2; exit 1\n"));
    let model = json!({"score": 0.5, "reasoning": LEAK, "hits": [LEAK]}).to_string();
    cx.write(
        "targets.yaml",
        &targets(&[
            mock_target("default", "ok") + "    judge_target: judge\n",
            mock_target("judge", &model),
            key_holder(),
        ]),
    );
    let evaluators = json!([
        {"name": "good", "type": "code_judge", "script": [good]},
        {"name": "bad", "type": "code_judge", "script": [bad]},
        {"name": "model", "type": "llm_judge", "prompt": "grade"},
    ]);
    cx.write("suite.yaml", &suite(evaluators));
    let reports =
        ["--report", "html=r.html", "--report", "junit=r.xml", "--report", "markdown=r.md"];
    let ran = run(&cx, &[&reports[..], &["--report", "csv=r.csv"]].concat());
    let record = ran.code(3).record();
    assert_eq!(result_of(&record, "good")["score"], 0.5);
    assert!(result_of(&record, "bad")["error"]["message"].to_string().contains("[redacted]"));
    check_clean(&cx, &ran);
    for command in [&["runs", "show", "latest"][..], &["report", "out.jsonl"]] {
        check_clean(&cx, &cx.agentv(command).env("TEAM_ACCESS", SECRET).run());
    }
}

#[test]
fn files_that_an_agent_writes_are_shown_without_secrets() {
    let cx = planted();
    let given = cx.path("given").display().to_string();
    cx.write("given/template/readme.md", "hello\n");
    let target = cli_target("default", &format!("cp {given}/leak ./new.txt; echo ok"))
        + "    workspace: {template: given/template}\n";
    cx.write("targets.yaml", &targets(&[target, key_holder()]));
    cx.write("suite.yaml", &cases(&["one"]));
    let ran = run(&cx, &[]);
    let diff = ran.success().record()["file_changes"]["diff"].to_string();
    assert!(diff.contains("+say [redacted] or"), "{diff}");
    check_clean(&cx, &ran);
}

#[test]
fn a_replay_and_a_resume_see_the_same_text() {
    let cx = planted();
    let api = FakeLlm::start(|asked| FakeReply::text(asked, LEAK));
    let target = openai_target("default", &api.url()) + "    api_key: ${{ TEAM_ACCESS }}\n";
    cx.write("targets.yaml", &targets(&[target]));
    cx.write(
        "suite.yaml",
        &suite(json!([{"name": "j", "type": "llm_judge", "prompt": "{{ candidate_answer }}"}])),
    );
    run(&cx, &["--record", "tape.jsonl"]);
    let first = cx.read("out.jsonl");
    // Without the secret in the environment: what was recorded has none.
    cx.write(".env", "");
    let replayed =
        cx.agentv(["eval", "suite.yaml", "--out", "again.jsonl", "--replay", "tape.jsonl"]);
    replayed.run();
    let texts =
        |text: &str| serde_json::from_str::<Value>(text).unwrap()["candidate_answer"].clone();
    assert_eq!(texts(&first), texts(&cx.read("again.jsonl")));
    cx.write(".env", &format!("SERVICE_TOKEN={FILE_SECRET}\n"));
    let graded = cx.agentv(["grade", "latest", "--out", "graded.jsonl"]).env("TEAM_ACCESS", SECRET);
    check_clean(&cx, &graded.run());
}

#[test]
fn the_command_line_in_the_run_folder_has_no_secrets() {
    let cx = planted();
    cx.write("targets.yaml", &targets(&[mock_target("default", "ok"), key_holder()]));
    cx.write("suite.yaml", &cases(&["one"]));
    run(&cx, &["--report", &format!("csv={FILE_SECRET}.csv"), "--tag", SECRET]);
    run(&cx, &["--filter", SECRET, "--filter", "one"]).success();
    for run in fs::read_dir(cx.path(".agentv/runs")).unwrap() {
        check_text("run.json", &fs::read_to_string(run.unwrap().path().join("run.json")).unwrap());
    }
}

#[test]
fn well_known_keys_and_patterns_of_the_user_are_masked_without_any_secret() {
    let cx = context();
    let answer = "ok sk-proj-0123456789abcdefghij and EMP-4711";
    cx.write("targets.yaml", &targets(&[mock_target("default", answer)]));
    cx.write("suite.yaml", &cases(&["one"]));
    cx.write(".agentv.yaml", "redact: ['EMP-[0-9]+']\n");
    let record = eval(&cx, &[]).success().record();
    assert_eq!(record["candidate_answer"], "ok [redacted] and [redacted]");
    assert_eq!(record.get("redacted"), None);
}

#[test]
fn no_redact_keeps_everything_and_says_so() {
    let cx = planted();
    cx.write("targets.yaml", &targets(&[mock_target("default", LEAK), key_holder()]));
    cx.write("suite.yaml", &cases(&["one"]));
    let record = run(&cx, &["--no-redact"]).success().record();
    assert_eq!(answer(&record), LEAK);
    assert_eq!(record["redacted"], false);
}

#[test]
fn a_pattern_that_cannot_be_used_stops_the_run() {
    for (pattern, reason) in [("(a", "unclosed group"), ("a*", "matches the empty text")] {
        let cx = context();
        cx.write("targets.yaml", &targets(&[mock_target("default", "ok")]));
        cx.write("suite.yaml", &cases(&["one"]));
        cx.write(".agentv.yaml", &format!("redact: ['{pattern}']\n"));
        eval(&cx, &[]).code(2).stderr_has(reason).stderr_has(".agentv.yaml:1");
    }
}

#[test]
fn names_of_cases_stay_as_they_are() {
    let cx = planted();
    cx.write("targets.yaml", &targets(&[mock_target("default", "ok"), key_holder()]));
    cx.write("suite.yaml", &cases(&[FILE_SECRET]));
    assert_eq!(run(&cx, &[]).success().record()["eval_id"], FILE_SECRET);
    run(&cx, &["--resume"]).success();
}

#[test]
fn passwords_and_keys_in_addresses_are_secrets() {
    let cx = context();
    let answer = "ok hunter-of-snakes and key-of-the-query and in-the-file-77";
    let address = "http://127.0.0.1:9/v1?api_key=in-the-file-77";
    let unused = openai_target("unused", address);
    cx.write("targets.yaml", &targets(&[mock_target("default", answer), unused]));
    cx.write("suite.yaml", &cases(&["one"]));
    let ran = cx
        .agentv(["eval", "suite.yaml", "--out", "out.jsonl"])
        .env("DATABASE_URL", "postgres://me:hunter-of-snakes@host/db")
        .env("SEARCH", "https://host/?api_key=key-of-the-query")
        .run();
    let expected = "ok [redacted] and [redacted] and [redacted]";
    assert_eq!(ran.success().record()["candidate_answer"], expected);
}

#[test]
fn what_is_wrong_in_files_is_said_without_secrets() {
    let cx = planted();
    let broken = "  - {name: broken, provider: openai, model: m, base_url: '${{ TEAM_ACCESS }}', api_key: '${{ TEAM_ACCESS }}'}\n";
    cx.write("targets.yaml", &targets(&[mock_target("default", "ok"), broken.to_owned()]));
    cx.write("suite.yaml", &cases(&["one"]));
    check_clean(&cx, &run(&cx, &["--target", "broken"]));
    for command in [&["validate", "targets.yaml"][..], &["doctor", "suite.yaml"]] {
        check_clean(&cx, &cx.agentv(command).env("TEAM_ACCESS", SECRET).run());
    }
}
