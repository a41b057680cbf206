//! Runs that are recorded once and replayed without anybody to ask.

use crate::{context, eval};
use agentv_test_support::{
    FakeLlm, FakeReply, Ran, TestContext, cases, cli_target, mock_target, openai_target, suite,
    targets,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

const KEY: &str = "canary-0123456789-from-the-environment";

/// The results as lines, without their clock times.
#[track_caller]
fn lines(cx: &TestContext) -> Vec<String> {
    let without_time = |line: &str| {
        let (before, rest) = line.split_once("\"timestamp\":\"").unwrap();
        let (time, after) = rest.split_once('"').unwrap();
        assert!(time.ends_with('Z'), "{time}");
        format!("{before}{after}")
    };
    cx.read("out.jsonl").lines().map(without_time).collect()
}

/// Records, then replays: the same, byte for byte but for the times.
#[track_caller]
fn there_and_back(cx: &TestContext) -> (Ran, Ran) {
    let recorded = eval(cx, &["--record", "tape.jsonl"]);
    let first = lines(cx);
    let replayed = eval(cx, &["--replay", "tape.jsonl"]);
    assert_eq!(first, lines(cx));
    assert_eq!(recorded.code, replayed.code);
    (recorded, replayed)
}

/// The lines of the cassette behind its head.
#[track_caller]
fn calls(cx: &TestContext) -> Vec<Value> {
    let text = cx.read("tape.jsonl");
    let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    assert_eq!(lines.next().unwrap(), json!({ "agentv_cassette": 2 }));
    lines.collect()
}

const GOOD: &str = r#"{"score": 0.75, "hits": ["done"], "misses": [], "reasoning": "fine"}"#;

#[test]
fn a_replay_needs_no_server_and_no_key() {
    let api = FakeLlm::start(|asked| FakeReply::text(asked, &format!("ok {}", asked.number)));
    let cx = context();
    let target = openai_target("default", &api.url()) + "    api_key: ${{ KEY }}\n";
    cx.write("targets.yaml", &targets(&[target]));
    cx.write("suite.yaml", &cases(&["b", "a", "c"]));
    let args = ["eval", "suite.yaml", "--out", "out.jsonl", "--record", "tape.jsonl"];
    let ran = cx.agentv(args).env("KEY", KEY).run();
    ran.success().stdout_has("tape.jsonl (3 calls)");
    let recorded = lines(&cx);
    assert!(recorded[0].contains("ok 0"), "{recorded:?}");
    drop(api);
    eval(&cx, &["--replay", "tape.jsonl"]).success();
    assert_eq!(recorded, lines(&cx));
    let tape = cx.read("tape.jsonl");
    assert!(!tape.contains("canary"), "{tape}");
    assert!(!tape.contains(&cx.dir().display().to_string()), "{tape}");
    // By case, and not in the order in which they were asked.
    let works: Vec<Value> = calls(&cx).iter().map(|line| line["call"]["work"].clone()).collect();
    assert_eq!(works, ["suite.yaml#a@default", "suite.yaml#b@default", "suite.yaml#c@default"]);
}

#[test]
fn judges_of_one_name_are_told_apart_by_their_position() {
    let score = |score: f64| json!({"score": score, "reasoning": "so"}).to_string();
    let judge = FakeLlm::start(move |asked| {
        let text = match asked.number {
            0 => "no score at all".to_owned(),
            1 => score(0.25),
            _ => score(0.75),
        };
        FakeReply::text(asked, &text)
    });
    let cx = context();
    let main = cli_target("default", "echo ok") + "    judge_target: judge\n";
    cx.write("targets.yaml", &targets(&[main, openai_target("judge", &judge.url())]));
    cx.write(
        "suite.yaml",
        &suite(json!([{"name": "quality", "type": "llm_judge"}, {"name": "quality", "type": "llm_judge"}])),
    );
    let (recorded, _) = there_and_back(&cx);
    recorded.stderr_has("duplicate evaluator name \"quality\"");
    let mut names: Vec<Value> =
        calls(&cx).iter().map(|line| line["call"]["evaluator"].clone()).collect();
    names.retain(|name| !name.is_null());
    names.dedup();
    assert_eq!(names, ["quality", "quality#2"]);
}

#[test]
fn a_replay_asks_for_no_key_that_its_targets_do_not_even_name() {
    let api = FakeLlm::answering("ok");
    let cx = context();
    cx.write("targets.yaml", &targets(&[openai_target("default", "${{ BASE }}")]));
    cx.write("suite.yaml", &cases(&["a"]));
    let args = ["eval", "suite.yaml", "--out", "out.jsonl", "--record", "tape.jsonl"];
    cx.agentv(args).env("BASE", api.url()).run().success();
    let recorded = lines(&cx);
    // Without an address it would be OpenAI itself, which wants a key.
    eval(&cx, &[]).code(2).stderr_has("target `default` needs `api_key`");
    eval(&cx, &["--replay", "tape.jsonl"]).success();
    assert_eq!(recorded, lines(&cx));
    for provider in ["openai", "anthropic", "gemini"] {
        cx.write(
            "targets.yaml",
            &targets(&[format!("  - name: default\n    provider: {provider}\n    model: m\n")]),
        );
        eval(&cx, &[]).code(2).stderr_has("target `default` needs `api_key`");
        eval(&cx, &["--replay", "tape.jsonl"]).success();
    }
    // A key in the file is a mistake all the same.
    let literal = openai_target("default", &api.url()) + "    api_key: sk-very-secret\n";
    cx.write("targets.yaml", &targets(&[literal]));
    let ran = eval(&cx, &["--replay", "tape.jsonl"]);
    ran.code(2).stderr_has("is written in the file").stderr_lacks("very-secret");
}

#[test]
fn candidates_judges_and_scripts_are_all_on_it() {
    let nonsense = FakeReply::completion("m", "Hm.");
    let api = FakeLlm::after([nonsense], GOOD);
    let cx = context();
    let candidate = cli_target("default", "echo Done") + "    judge_target: judge\n";
    cx.write("targets.yaml", &targets(&[candidate, openai_target("judge", &api.url())]));
    cx.write("judge.py", ASKS);
    let script = json!({ "name": "script", "type": "code_judge", "script": ["python3", "judge.py"], "target": {} });
    let members = json!([{ "name": "inner", "type": "llm_judge" }]);
    let evaluators = json!([
        { "name": "good", "type": "llm_judge" },
        script,
        { "name": "both", "type": "composite", "evaluators": members, "aggregator": { "type": "weighted_average" } },
    ]);
    cx.write("suite.yaml", &suite(evaluators));
    let (recorded, _) = there_and_back(&cx);
    recorded.success();
    let asked = api.asked().len();
    // One of each judge, a second one of the judge whose first reply could not be read, and three of the script.
    assert_eq!(asked, 6);
    let call = |line: &Value| {
        let call = &line["call"];
        let word = |key: &str| call[key].as_str().unwrap_or("-").to_owned();
        format!("{} {} {} {}", word("target"), word("role"), word("evaluator"), call["ask"])
    };
    let mut calls: Vec<String> = calls(&cx).iter().map(call).collect();
    // The judges are asked at the same time, so it may be either of them that got the first reply.
    let repeated =
        calls.extract_if(.., |call| call.starts_with("judge judge") && call.ends_with(" 2"));
    assert_eq!(repeated.count(), 1);
    let expected = [
        "default candidate - 1",
        "judge judge both/inner 1",
        "judge judge good 1",
        "judge proxy script 1",
        "judge proxy script 1",
        "judge proxy script 2",
    ];
    assert_eq!(calls, expected);
}

/// Asks the proxy one question twice and another once.
const ASKS: &str = r#"
import json, os, urllib.request
def ask(question):
    request = urllib.request.Request(os.environ["AGENTV_TARGET_PROXY_URL"] + "/invoke",
        json.dumps({"question": question}).encode(),
        {"Authorization": "Bearer " + os.environ["AGENTV_TARGET_PROXY_TOKEN"]})
    return json.load(urllib.request.urlopen(request))["rawText"]
print(json.dumps({"score": 1, "reasoning": ask("Same?") + ask("Other?") + ask("Same?")}))
"#;

#[test]
fn errors_and_time_outs_are_replayed_too() {
    let cx = context();
    let command = "case {EVAL_ID} in slow) sleep 60;; bad) echo broken >&2; exit 3;; esac; echo ok";
    cx.write("targets.yaml", &targets(&[cli_target("default", command)]));
    cx.write("suite.yaml", &cases(&["fine", "bad", "slow"]));
    let limits = ["--agent-timeout", "1", "--max-retries", "1"];
    let with = |more: [&str; 2]| eval(&cx, &[&limits[..], &more[..]].concat());
    with(["--record", "tape.jsonl"]).code(3);
    let recorded = lines(&cx);
    // Both attempts of the slow one.
    assert_eq!(calls(&cx).len(), 4);
    cx.write("targets.yaml", &targets(&[cli_target("default", "echo called >> called")]));
    with(["--replay", "tape.jsonl"]).code(3);
    assert_eq!(recorded, lines(&cx));
    assert!(recorded[2].contains("the target timed out after 1s"), "{recorded:?}");
    assert!(!cx.path("called").exists());
}

#[test]
fn a_batch_is_recorded_case_by_case() {
    let cx = context();
    let line = |id: &str| format!("'{{\"id\":\"{id}\",\"text\":\"ok\"}}'");
    let lines = ["a", "b"].map(line).join(" ");
    cx.script("agent.sh", &format!("#!/bin/sh\nprintf '%s\\n' {lines} > \"$1\"\n"));
    let target =
        cli_target("default", "./agent.sh {OUTPUT_FILE}") + "    provider_batching: true\n";
    cx.write("targets.yaml", &targets(&[target]));
    cx.write("suite.yaml", &cases(&["a", "b"]));
    let (recorded, _) = there_and_back(&cx);
    recorded.success().stdout_has("(2 calls)");
}

#[test]
fn an_agent_is_replayed_without_its_program_and_its_log() {
    let cx = context();
    let events = [
        json!({ "type": "system", "subtype": "init", "session_id": "s-1" }),
        json!({ "type": "assistant", "message": { "content": [
            { "type": "tool_use", "id": "t", "name": "Read", "input": { "z": 1, "a": 2 } },
        ] } }),
        json!({ "type": "result", "subtype": "success", "result": "ok", "total_cost_usd": 0.25 }),
    ];
    let events = events.map(|event| format!("echo '{event}'")).join("\n");
    let claude = cx.fake_agent("claude", &events);
    cx.write("targets.yaml", &targets(&[claude.target("default", "claude-code", &json!({}))]));
    cx.write("suite.yaml", &cases(&["one"]));
    let first = eval(&cx, &["--record", "tape.jsonl"]).success().record();
    let calls = claude.calls().len();
    let mut second = eval(&cx, &["--replay", "tape.jsonl"]).success().record();
    let log = first["provider_metadata"]["log_file"].clone();
    assert!(log.is_string(), "{first}");
    second["provider_metadata"]["log_file"] = log;
    second["timestamp"] = first["timestamp"].clone();
    assert_eq!(first, second);
    assert_eq!((calls, claude.calls().len()), (1, 1));
    let tape = cx.read("tape.jsonl");
    assert!(!tape.contains(&cx.dir().display().to_string()), "{tape}");
    assert!(tape.contains(r#""input":{"z":1,"a":2}"#), "{tape}");
}

#[test]
fn many_workers_leave_the_same_file_and_the_same_records() {
    let api = FakeLlm::start(|asked| {
        let question = asked.body["messages"].to_string();
        FakeReply::text(asked, &format!("ok {}", question.len()))
            .after(Duration::from_millis(u64::try_from(asked.number % 7).unwrap()))
    });
    let cx = context();
    cx.write("targets.yaml", &targets(&[openai_target("default", &api.url())]));
    let ids: Vec<String> = (0..60).map(|id| format!("case-{id}")).collect();
    cx.write("suite.yaml", &cases(&ids.iter().map(String::as_str).collect::<Vec<_>>()));
    let set = |cx: &TestContext| lines(cx).into_iter().collect::<BTreeSet<String>>();
    eval(&cx, &["--workers", "8", "--record", "tape.jsonl"]).success();
    let recorded = set(&cx);
    eval(&cx, &["--workers", "8", "--replay", "tape.jsonl"]).success();
    assert_eq!(recorded, set(&cx));
    // Only how long it took is different if it is recorded again.
    let without_times = || {
        let mut calls = calls(&cx);
        for line in &mut calls {
            line["response"]["reported"].as_object_mut().unwrap().remove("duration_ms");
        }
        calls
    };
    let many = without_times();
    eval(&cx, &["--record", "tape.jsonl"]).success();
    assert_eq!(many, without_times());
}

#[test]
fn a_repository_may_be_somewhere_else() {
    let here = context();
    here.write("evals/notes.md", "Remember this.");
    let input = json!([{ "role": "user", "content": [
        { "type": "text", "value": "What?" }, { "type": "file", "value": "notes.md" },
    ] }]);
    let case = json!({ "id": "one", "expected_outcome": "x", "input_messages": input });
    let execution = json!({ "evaluators": [{ "type": "contains", "value": "ok" }] });
    here.write(
        "evals/suite.yaml",
        &json!({ "execution": execution, "evalcases": [case] }).to_string(),
    );
    // The prompt of a command names its files.
    here.write("targets.yaml", &targets(&[cli_target("default", "echo {PROMPT} > seen; echo ok")]));
    let run = |cx: &TestContext, more: [&str; 2]| {
        cx.agentv(["eval", "evals/suite.yaml", "--out", "out.jsonl"].iter().chain(&more)).run()
    };
    run(&here, ["--record", "tape.jsonl"]).success();
    assert!(here.read("evals/seen").contains("notes.md"));
    let there = context();
    for file in ["evals/notes.md", "evals/suite.yaml", "targets.yaml", "tape.jsonl"] {
        there.write(file, &here.read(file));
    }
    run(&there, ["--replay", "tape.jsonl"]).success();
    there.write("evals/notes.md", "Remember that.");
    run(&there, ["--replay", "tape.jsonl"]).code(3);
}

#[test]
fn a_call_that_is_not_on_it_is_an_error_that_names_it() {
    let api = FakeLlm::answering(GOOD);
    let cx = context();
    let candidate = mock_target("default", "Done") + "    judge_target: judge\n";
    cx.write("targets.yaml", &targets(&[candidate, openai_target("judge", &api.url())]));
    cx.write("suite.yaml", &suite(json!([{ "name": "good", "type": "llm_judge" }])));
    eval(&cx, &["--record", "tape.jsonl"]).success();

    // Another prompt, for the target and so for its judge.
    let changed = cx.read("suite.yaml").replace("Do it", "Do it now");
    cx.write("suite.yaml", &changed);
    let record = eval(&cx, &["--replay", "tape.jsonl"]).code(3).record();
    let error = record["error"].as_str().unwrap();
    let expected = "target `default` for case `one`, ask 1 had another request when it was recorded; \
        record it with `--record tape.jsonl`";
    assert_eq!(error, expected);

    // Another evaluator.
    cx.write("suite.yaml", &suite(json!([{ "name": "new", "type": "llm_judge" }])));
    let record = eval(&cx, &["--replay", "tape.jsonl"]).record();
    let error = record["evaluator_results"][0]["error"]["message"].as_str().unwrap();
    let expected =
        "target `judge` for case `one` as the judge of `new`, ask 1 is not on the cassette";
    assert!(error.contains(expected), "{error}");
    assert_eq!(api.asked().len(), 1);
}

#[test]
fn a_workspace_is_neither_recorded_nor_replayed() {
    let cx = context();
    cx.write("suite.yaml", &cases(&["one"]));
    cx.write("template/a.txt", "a\n");
    let target = cli_target("default", "echo ok") + "    workspace: template\n";
    cx.write("targets.yaml", &targets(&[target]));
    let ran = eval(&cx, &["--record", "tape.jsonl"]);
    ran.success().stdout_has("(0 calls)");
    assert!(format!("{}{}", ran.stdout, ran.stderr).contains("one: not recorded, since"));
    let record = eval(&cx, &["--replay", "tape.jsonl"]).code(3).record();
    assert!(record["error"].as_str().unwrap().contains("cannot be replayed"), "{record}");
}

#[test]
fn a_file_that_is_no_cassette_stops_the_command() {
    let cx = context();
    cx.write("suite.yaml", &cases(&["one"]));
    cx.write("targets.yaml", &targets(&[mock_target("default", "ok")]));
    let replay = |text: &str| {
        cx.write("tape.jsonl", text);
        eval(&cx, &["--replay", "tape.jsonl"])
    };
    replay("{\"some\": \"results\"}\n").code(2).stderr_has("is not a cassette of this version");
    replay("{\"agentv_cassette\":3}\n").code(2).stderr_has("is not a cassette of this version");
    replay("{\"agentv_cassette\":2}\n{\"call\":")
        .code(2)
        .stderr_has("has a line 2 that cannot be read");
    eval(&cx, &["--replay", "nowhere.jsonl"]).code(2).stderr_has("make one with `--record FILE`");
    eval(&cx, &["--record", "suite.yaml/tape.jsonl"]).code(2).stderr_has("cannot be written");
    eval(&cx, &["--record", "a.jsonl", "--replay", "b.jsonl"]).code(2);
    assert!(!cx.path("out.jsonl").exists());
}

#[test]
fn a_run_that_was_stopped_leaves_the_cassette_that_was_there() {
    let cx = context();
    let meeting = cx.meeting("meeting");
    cx.write("targets.yaml", &targets(&[mock_target("default", "ok")]));
    cx.write("suite.yaml", &cases(&["one"]));
    eval(&cx, &["--record", "tape.jsonl"]).success();
    let before = cx.read("tape.jsonl");
    cx.write("targets.yaml", &targets(&[cli_target("default", &meeting.attend("here"))]));
    let running =
        cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl", "--record", "tape.jsonl"]).start();
    meeting.next();
    running.signal("INT");
    let ran = running.finish();
    ran.code(130).stderr_has("was not written");
    assert_eq!(cx.read("tape.jsonl"), before);
    let left = fs::read_dir(cx.dir()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(!left.into_iter().any(|name| name.to_string_lossy().starts_with(".writing-")));

    // Nor does the rest of the run, when it is taken up again.
    cx.write("targets.yaml", &targets(&[mock_target("default", "ok")]));
    let ran = cx.agentv(["eval", "--resume"]).run();
    ran.success().stderr_has("`tape.jsonl` will not be written");
    assert_eq!(cx.read("tape.jsonl"), before);
}
