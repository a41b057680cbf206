//! Answers that are kept from run to run: what is asked again and what is not.

use crate::{context, eval};
use agentv_test_support::{
    FakeLlm, FakeReply, Ran, TestContext, cases, cli_target, mock_target, openai_target, suite,
    targets,
};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

const KEY: &str = "canary-0123456789-from-the-environment";

/// A repository with the cases `one` and `two` on a model at this address.
#[track_caller]
fn asking(api: &FakeLlm) -> TestContext {
    let cx = context();
    cx.write("targets.yaml", &targets(&[openai_target("default", &api.url())]));
    cx.write("suite.yaml", &cases(&["one", "two"]));
    cx
}

/// Every file in a folder and below.
fn files(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// How many answers are kept; each of them is whole.
#[track_caller]
fn kept(cx: &TestContext) -> usize {
    let answers = files(&cx.path(".agentv/cache")).into_iter();
    let answers = answers.filter(|path| path.extension().is_some_and(|end| end == "json"));
    let whole = answers
        .map(|path| -> Value { serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap() });
    whole.filter(|entry| entry["agentv_cache"] == 1).count()
}

/// A record without what differs from run to run.
fn settled(mut record: Value) -> Value {
    let record_keys = record.as_object_mut().unwrap();
    record_keys.remove("timestamp");
    for timed in ["execution_metrics", "trace_summary"] {
        if let Some(timed) = record_keys.get_mut(timed) {
            timed.as_object_mut().unwrap().remove("duration_ms");
        }
    }
    if let Some(metadata) = record_keys.get_mut("provider_metadata") {
        metadata.as_object_mut().unwrap().remove("cached");
    }
    record
}

#[test]
fn a_second_run_asks_nobody_and_finds_the_same() {
    let api = FakeLlm::answering("ok");
    let cx = asking(&api);
    let first = eval(&cx, &["--cache"]).success().records();
    assert_eq!(api.asked().len(), 2);
    let second = eval(&cx, &["--cache"]).success().records();
    assert_eq!(api.asked().len(), 2);
    for record in &second {
        assert_eq!(record["provider_metadata"]["cached"], true, "{record}");
    }
    let settled = |records: Vec<Value>| records.into_iter().map(settled).collect::<Vec<_>>();
    assert_eq!(settled(first), settled(second));
    assert_eq!(cx.read(".agentv/cache/.gitignore"), "*\n");
}

#[test]
fn without_the_flag_everything_is_asked() {
    let api = FakeLlm::answering("ok");
    let cx = asking(&api);
    eval(&cx, &["--cache"]).success();
    let record = eval(&cx, &[]).success().records().remove(0);
    assert_eq!(api.asked().len(), 4);
    assert_eq!(record["provider_metadata"].get("cached"), None);
    eval(&cx, &["--cache", "--no-cache"]).code(2);
}

#[test]
fn files_say_what_is_kept_and_flags_say_more() {
    let api = FakeLlm::answering("ok");
    let cx = context();
    // What the suite says, what the target says, the flag, and how many of two runs asked.
    let table: [(&str, &str, &[&str], usize); 8] = [
        ("", "", &[], 2),
        ("cache: true", "", &[], 1),
        ("", "cache: true", &[], 1),
        ("", "cache: true", &["--no-cache"], 2),
        ("cache: true", "", &["--no-cache"], 2),
        ("cache: true", "cache: false", &[], 2),
        ("cache: false", "cache: true", &[], 2),
        ("cache: false", "", &["--cache"], 1),
    ];
    for (row, (of_suite, of_target, flags, expected)) in table.into_iter().enumerate() {
        // Another prompt for each row, so that they do not know each other.
        let (id, before) = (format!("row-{row}"), api.asked().len());
        let suite =
            cases(&[&id]).replacen("execution:\n", &format!("execution:\n  {of_suite}\n"), 1);
        cx.write("suite.yaml", &suite);
        let target = openai_target("default", &api.url());
        cx.write("targets.yaml", &targets(&[format!("{target}    {of_target}\n")]));
        eval(&cx, flags).success();
        eval(&cx, flags).success();
        assert_eq!(api.asked().len() - before, expected, "{of_suite}, {of_target}, {flags:?}");
    }
}

/// Runs the case with `--cache`, with these variables.
#[track_caller]
fn run(cx: &TestContext, variables: &[(&str, &str)]) -> Ran {
    let mut command = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl", "--cache"]);
    for (name, value) in variables {
        command = command.env(name, value);
    }
    command.run()
}

#[test]
fn whatever_shapes_the_answer_is_asked_again() {
    let (api, elsewhere) = (FakeLlm::answering("ok"), FakeLlm::answering("ok"));
    let cx = context();
    let target = |keys: &str| {
        let head = "targets:\n  - name: default\n    provider: openai\n    base_url: ${{ BASE }}\n";
        cx.write("targets.yaml", &format!("{head}    model: ${{{{ MODEL }}}}\n{keys}"));
    };
    let case = |question: &str| {
        let input = json!([{ "role": "user", "content": [
            { "type": "text", "value": question }, { "type": "file", "value": "notes.md" },
        ] }]);
        let case = json!({ "id": "one", "expected_outcome": "x", "input_messages": input });
        let execution = json!({ "evaluators": [{ "type": "contains", "value": "ok" }] });
        cx.write("suite.yaml", &json!({ "execution": execution, "evalcases": [case] }).to_string());
    };
    let asked = |base: &FakeLlm, model: &str| {
        let before = api.asked().len() + elsewhere.asked().len();
        run(&cx, &[("BASE", &base.url()), ("MODEL", model)]).success();
        api.asked().len() + elsewhere.asked().len() - before
    };
    target("");
    case("What?");
    cx.write("notes.md", "old");
    assert_eq!([asked(&api, "small"), asked(&api, "small")], [1, 0]);
    assert_eq!([asked(&api, "large"), asked(&api, "large")], [1, 0]);
    assert_eq!([asked(&elsewhere, "small"), asked(&elsewhere, "small")], [1, 0]);
    target("    temperature: 0.5\n");
    assert_eq!([asked(&api, "small"), asked(&api, "small")], [1, 0]);
    target("    temperature: 0.7\n");
    assert_eq!([asked(&api, "small"), asked(&api, "small")], [1, 0]);
    cx.write("notes.md", "new");
    assert_eq!([asked(&api, "small"), asked(&api, "small")], [1, 0]);
    case("What else?");
    assert_eq!([asked(&api, "small"), asked(&api, "small")], [1, 0]);
    // Back to the beginning: that is known.
    target("");
    case("What?");
    cx.write("notes.md", "old");
    assert_eq!(asked(&api, "small"), 0);
}

#[test]
fn a_name_a_pace_and_a_key_shape_nothing_and_no_key_is_kept() {
    let api = FakeLlm::answering("ok");
    let cx = asking(&api);
    let target = |name: &str, more: &str| {
        let entry = openai_target(name, &api.url());
        let judge = "    api_key: ${{ KEY }}\n";
        cx.write("targets.yaml", &targets(&[format!("{entry}{judge}{more}")]));
    };
    target("default", "");
    run(&cx, &[("KEY", KEY)]).success();
    assert_eq!(
        (api.asked().len(), api.asked()[0].header("authorization").contains(KEY)),
        (2, true)
    );
    run(&cx, &[("KEY", "another-key")]).success();
    target("default", "    rpm: 600\n    max_retries: 7\n");
    run(&cx, &[("KEY", KEY)]).success();
    target("renamed", "");
    let args = ["eval", "suite.yaml", "--cache", "--target", "renamed", "--out", "out.jsonl"];
    cx.agentv(args).env("KEY", KEY).run().success();
    assert_eq!(api.asked().len(), 2);
    for file in files(&cx.path(".agentv")) {
        assert!(!fs::read_to_string(&file).unwrap().contains("canary"), "{}", file.display());
    }
}

#[test]
fn errors_are_not_kept() {
    let refusals = [FakeReply::error(400, "no"), FakeReply::error(400, "no")];
    let api = FakeLlm::after(refusals, "ok");
    let cx = asking(&api);
    eval(&cx, &["--cache"]).code(3);
    assert_eq!((api.asked().len(), kept(&cx)), (2, 0));
    eval(&cx, &["--cache"]).success();
    assert_eq!((api.asked().len(), kept(&cx)), (4, 2));
}

#[test]
fn a_torn_file_is_asked_for_again_and_replaced() {
    let api = FakeLlm::answering("ok");
    let cx = asking(&api);
    eval(&cx, &["--cache"]).success();
    let answers = files(&cx.path(".agentv/cache")).into_iter();
    for path in answers.filter(|path| path.extension().is_some_and(|end| end == "json")) {
        let whole = fs::read_to_string(&path).unwrap();
        fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    }
    eval(&cx, &["--cache"]).success();
    assert_eq!((api.asked().len(), kept(&cx)), (4, 2));
}

/// The case of [`suite`] with a judge, whose reply is kept or not.
#[track_caller]
fn judged(api: &FakeLlm) -> TestContext {
    let cx = context();
    let candidate = mock_target("default", "Done") + "    judge_target: judge\n";
    cx.write("targets.yaml", &targets(&[candidate, openai_target("judge", &api.url())]));
    cx.write("suite.yaml", &suite(json!([{ "name": "good", "type": "llm_judge" }])));
    cx
}

const GOOD: &str = r#"{"score": 0.75, "hits": ["done"], "misses": [], "reasoning": "fine"}"#;

#[test]
fn a_judge_is_asked_once_about_the_same_answer() {
    let api = FakeLlm::answering(GOOD);
    let cx = judged(&api);
    let first = eval(&cx, &["--cache"]).success().record();
    let second = eval(&cx, &["--cache"]).success().record();
    assert_eq!(api.asked().len(), 1);
    assert_eq!(settled(first.clone()), settled(second));
    assert_eq!(first["score"], 0.75);
    let candidate = mock_target("default", "Another answer") + "    judge_target: judge\n";
    cx.write("targets.yaml", &targets(&[candidate, openai_target("judge", &api.url())]));
    eval(&cx, &["--cache"]).success();
    assert_eq!(api.asked().len(), 2);
}

#[test]
fn a_reply_that_cannot_be_read_is_not_kept() {
    let nonsense = [FakeReply::completion("m", "Well, …"), FakeReply::completion("m", "Hm.")];
    let api = FakeLlm::after(nonsense, GOOD);
    let cx = judged(&api);
    let first = eval(&cx, &["--cache"]).success().record();
    // The third ask could be read, and only that is kept.
    assert_eq!((api.asked().len(), kept(&cx), &first["score"]), (3, 1, &json!(0.75)));
    eval(&cx, &["--cache"]).success();
    // The first ask is made again, and its reply is kept now.
    assert_eq!((api.asked().len(), kept(&cx)), (4, 2));
    eval(&cx, &["--cache"]).success();
    assert_eq!(api.asked().len(), 4);
}

#[test]
fn a_script_that_asks_the_same_twice_gets_two_answers_again() {
    let api = FakeLlm::start(|asked| FakeReply::text(asked, &format!("answer {}", asked.number)));
    let cx = context();
    let candidate = mock_target("default", "Done") + "    judge_target: judge\n";
    cx.write("targets.yaml", &targets(&[candidate, openai_target("judge", &api.url())]));
    cx.write("judge.py", TWICE);
    let judge = json!({ "name": "j", "type": "code_judge", "script": ["python3", "judge.py"], "target": {} });
    cx.write("suite.yaml", &suite(json!([judge])));
    let said = |ran: &Ran| ran.success().record()["evaluator_results"][0]["reasoning"].clone();
    let first = said(&eval(&cx, &["--cache"]));
    assert_eq!(first, "answer 0, answer 1");
    assert_eq!(said(&eval(&cx, &["--cache"])), first);
    assert_eq!(api.asked().len(), 2);
}

/// Asks the proxy the same question twice and tells both answers.
const TWICE: &str = r#"
import json, os, urllib.request
def ask():
    request = urllib.request.Request(os.environ["AGENTV_TARGET_PROXY_URL"] + "/invoke",
        json.dumps({"question": "Same?"}).encode(),
        {"Authorization": "Bearer " + os.environ["AGENTV_TARGET_PROXY_TOKEN"]})
    return json.load(urllib.request.urlopen(request))["rawText"]
print(json.dumps({"score": 1, "reasoning": ask() + ", " + ask()}))
"#;

#[test]
fn a_command_is_kept_only_where_its_target_says_so() {
    let cx = context();
    cx.write("suite.yaml", &cases(&["one", "two"]));
    let count = cx.path("count");
    let command = format!("echo x >> '{}'; echo ok for {{EVAL_ID}}", count.display());
    let calls = |more: &str| {
        fs::write(&count, "").unwrap();
        cx.write("targets.yaml", &targets(&[cli_target("default", &command) + more]));
        let runs = [eval(&cx, &["--cache"]), eval(&cx, &["--cache"])];
        // The id is in the command, so each case has an answer of its own.
        assert_eq!(runs[1].success().record_of("two")["candidate_answer"], "ok for two");
        cx.read("count").lines().count()
    };
    assert_eq!(calls(""), 4);
    assert_eq!(calls("    cache: true\n"), 2);
}

#[test]
fn an_agent_with_a_workspace_is_never_kept() {
    let cx = context();
    cx.write("suite.yaml", &cases(&["one"]));
    cx.write("template/a.txt", "a\n");
    let target = cli_target("default", "echo ok > made.txt; echo ok");
    let more = "    cache: true\n    workspace: template\n";
    cx.write("targets.yaml", &targets(&[target + more]));
    for _ in 0..2 {
        let ran = eval(&cx, &["--cache", "--verbose"]);
        ran.success().stdout_has("one: not cached, since it has a workspace");
        assert_eq!(ran.record()["file_changes"]["files"][0]["path"], "made.txt");
    }
    assert_eq!(kept(&cx), 0);
}

#[test]
fn a_batch_asks_only_for_what_is_not_known() {
    let cx = context();
    let line = |id: &str| format!("'{{\"id\":\"{id}\",\"text\":\"ok\"}}'");
    let lines = ["a", "b", "c"].map(line).join(" ");
    cx.script("agent.sh", &format!("#!/bin/sh\necho x >> runs\nprintf '%s\\n' {lines} > \"$1\"\n"));
    let more = "    cache: true\n    provider_batching: true\n";
    cx.write("targets.yaml", &targets(&[cli_target("default", "./agent.sh {OUTPUT_FILE}") + more]));
    let runs = |ids: &[&str]| {
        cx.write("suite.yaml", &cases(ids));
        let records = eval(&cx, &[]).success().records();
        let cached = |record: &Value| record["provider_metadata"]["cached"] == true;
        let known = records.iter().filter(|record| cached(record)).count();
        (cx.read("runs").lines().count(), known)
    };
    assert_eq!(runs(&["a", "b"]), (1, 0));
    assert_eq!(runs(&["a", "b"]), (1, 2));
    assert_eq!(runs(&["a", "b", "c"]), (2, 2));
}

#[test]
fn two_processes_share_a_cache() {
    let api = FakeLlm::answering("ok");
    let cx = context();
    cx.write("targets.yaml", &targets(&[openai_target("default", &api.url())]));
    let ids: Vec<String> = (0..200).map(|id| format!("case-{id}")).collect();
    cx.write("suite.yaml", &cases(&ids.iter().map(String::as_str).collect::<Vec<_>>()));
    let start = |out: &str| {
        cx.agentv(["eval", "suite.yaml", "--cache", "--workers", "8", "--out", out]).start()
    };
    let both = [start("a.jsonl"), start("b.jsonl")];
    for running in both {
        running.finish().success();
    }
    for out in ["a.jsonl", "b.jsonl"] {
        assert_eq!(cx.read(out).lines().count(), 200);
    }
    assert_eq!(kept(&cx), 200);
    let asked = api.asked().len();
    eval(&cx, &["--cache", "--workers", "8"]).success();
    assert_eq!(api.asked().len(), asked);
}

#[test]
fn stats_and_clear_tell_what_is_there() {
    let api = FakeLlm::answering("ok");
    let cx = asking(&api);
    cx.agentv(["cache", "stats"]).run().success().stdout_has("Answers: 0 (0 bytes)");
    eval(&cx, &["--cache"]).success();
    let ran = cx.agentv(["cache", "stats", "--format", "json"]).run();
    let stats: Value = serde_json::from_str(&ran.success().stdout).unwrap();
    assert_eq!((&stats["answers"], stats["oldest"].is_string()), (&json!(2), true));
    assert!(stats["bytes"].as_u64().unwrap() > 100, "{stats}");
    let clear = |more: &[&str]| cx.agentv(["cache", "clear"].iter().chain(more)).run();
    clear(&["--older-than", "1"]).success().stdout_has("Removed 0 answers");
    clear(&[]).success().stdout_has("Removed 2 answers");
    assert_eq!(kept(&cx), 0);
    eval(&cx, &["--cache"]).success();
    assert_eq!(api.asked().len(), 4);
}

#[test]
fn a_cache_that_cannot_be_written_costs_a_warning_and_no_answer() {
    let api = FakeLlm::answering("ok");
    let cx = asking(&api);
    cx.write(".agentv/cache", "a file where the folder should be");
    let ran = eval(&cx, &["--cache"]);
    ran.success();
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert_eq!(said.matches("cannot cache answers in").count(), 1, "{said}");
}
