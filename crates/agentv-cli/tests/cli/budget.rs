//! What a run may spend: counted over targets and judges, and never passed by more than one call for each worker.

use crate::runs::{folder, folders, info};
use crate::{context, eval};
use agentv_test_support::{
    FakeLlm, FakeReply, GRADER, Ran, TestContext, cases, cli_target, mock_target, openai_target,
    suite, targets,
};
use serde_json::json;
use std::time::Duration;

/// Each call of the fake API uses 101 + 23 tokens: with this, an eighth of a dollar, or nearly.
const PRICE: &str = "    pricing: {input: 1000, output: 1000}\n";

/// A model at this address that costs $0.124 for each call.
fn priced(name: &str, api: &FakeLlm) -> String {
    openai_target(name, &api.url()) + PRICE
}

#[track_caller]
fn with_targets(entries: &[String]) -> TestContext {
    let cx = context();
    cx.write("targets.yaml", &targets(entries));
    cx
}

/// The cases `a` to `e` on a model that costs $0.124 for each call.
#[track_caller]
fn five(api: &FakeLlm) -> TestContext {
    let cx = with_targets(&[priced("default", api)]);
    cx.write("suite.yaml", &cases(&["a", "b", "c", "d", "e"]));
    cx
}

#[track_caller]
fn resume(cx: &TestContext, more: &[&str]) -> Ran {
    cx.agentv(["eval", "--resume"].iter().chain(more)).run()
}

fn lines(cx: &TestContext) -> usize {
    cx.read("out.jsonl").lines().count()
}

#[test]
fn a_spent_budget_starts_no_more_cases_and_a_larger_one_goes_on() {
    let api = FakeLlm::answering("ok");
    let cx = five(&api);
    let ran = eval(&cx, &["--max-cost", "0.3"]);
    ran.code(3).stderr_has(
        "the budget of `--max-cost` is spent: $0.3720 of $0.3000; 2 cases were not run",
    );
    let run = folder(&cx).file_name().unwrap().to_str().unwrap().to_owned();
    ran.stderr_has(&format!("`agentv eval --resume {run} --max-cost USD`"));
    ran.stdout_has("\ncost $0.3720; 372 tokens");
    assert_eq!((api.asked().len(), lines(&cx)), (3, 3));
    assert_eq!(info(&folder(&cx))["ending"], "stopped");

    // The same budget is spent already: what earlier sessions spent counts.
    resume(&cx, &[]).code(3).stderr_has("$0.3720 of $0.3000; 2 cases were not run");
    assert_eq!(api.asked().len(), 3);

    resume(&cx, &["--max-cost", "10"]).success().stdout_has("\ncost $0.6200; 620 tokens");
    assert_eq!((api.asked().len(), lines(&cx)), (5, 5));
    let spend = &info(&folder(&cx))["totals"]["spend"];
    assert_eq!(spend["targets"], json!({ "calls": 5, "cost_usd": 0.62, "tokens": 620 }));
    assert_eq!(spend.get("judges"), None);
}

#[test]
fn a_budget_that_is_spent_with_the_last_case_stops_nothing() {
    let api = FakeLlm::answering("ok");
    let cx = five(&api);
    eval(&cx, &["--max-tokens", "600"]).success();
    assert_eq!(lines(&cx), 5);
}

#[test]
fn however_many_workers_ask_the_budget_is_passed_by_one_call() {
    let api = FakeLlm::start(|asked| FakeReply::text(asked, "ok").after(Duration::from_millis(5)));
    let cx = with_targets(&[priced("default", &api)]);
    let ids: Vec<String> = (0..40).map(|number| format!("case-{number}")).collect();
    cx.write("suite.yaml", &cases(&ids.iter().map(String::as_str).collect::<Vec<_>>()));
    let ran = eval(&cx, &["--max-tokens", "1000", "--workers", "8"]);
    ran.code(3).stderr_has("1.1k of 1.0k tokens; 31 cases were not run");
    assert_eq!((api.asked().len(), lines(&cx)), (9, 9));
}

/// A judge that gives full marks.
const MARKS: &str = r#"{"score": 1, "hits": [], "misses": [], "reasoning": "fine"}"#;

#[test]
fn judges_count_and_a_case_that_could_not_be_graded_is_only_graded_later() {
    let (api, judge) = (FakeLlm::answering("ok"), FakeLlm::answering(MARKS));
    let cx = with_targets(&[
        priced("default", &api) + "    judge_target: judge\n",
        priced("judge", &judge),
    ]);
    let judged = cases(&["a", "b", "c"]).replace(GRADER, "{name: good, type: llm_judge}");
    cx.write("suite.yaml", &judged);
    let ran = eval(&cx, &["--max-cost", "0.3"]);
    ran.code(3).stderr_has("$0.3720 of $0.3000; 2 cases were not run");
    ran.stdout_has("\ncost $0.3720 (targets $0.2480, judges $0.1240); 372 tokens");
    // The answer of `b` was paid for; its judge was not asked any more.
    assert_eq!((api.asked().len(), judge.asked().len(), lines(&cx)), (2, 1, 1));
    let ran = resume(&cx, &["--max-cost", "1"]);
    ran.success().stdout_has("1 answered before, and only graded now");
    assert_eq!((api.asked().len(), judge.asked().len(), lines(&cx)), (3, 3, 3));
}

/// A script that asks this through the proxy, and gives full marks if it was answered.
fn asking(question: &str) -> String {
    let script = r#"#!/usr/bin/env python3
import http.client, json, os, urllib.parse
url = urllib.parse.urlparse(os.environ["AGENTV_TARGET_PROXY_URL"])
connection = http.client.HTTPConnection(url.hostname, url.port)
headers = {"Authorization": "Bearer " + os.environ["AGENTV_TARGET_PROXY_TOKEN"]}
connection.request("POST", "/invoke", '[QUESTION]', headers)
print(json.dumps({"score": 1 if connection.getresponse().status == 200 else 0}))
"#;
    script.replace("[QUESTION]", question)
}

#[test]
fn panels_and_scripts_that_ask_a_target_count_as_judges() {
    let api = FakeLlm::answering(MARKS);
    let cx = with_targets(&[
        mock_target("default", "ok") + "    judge_target: j1\n",
        priced("j1", &api),
        priced("j2", &api),
    ]);
    cx.script("judge.py", &asking("{\"question\": \"Is it?\"}"));
    cx.write(
        "suite.yaml",
        &suite(
            "- {name: panel, type: llm_judge, judges: [j1, j2]}\n\
             - {name: script, type: code_judge, script: [./judge.py], target: true}",
        ),
    );
    let ran = eval(&cx, &["--max-cost", "1"]);
    ran.success().stdout_has("\ncost $0.3720 (targets $0.00, judges $0.3720); 372 tokens");
    assert_eq!(ran.record()["score"], 1);
    // The third call is the script's, and it is refused: then there is no record, and nobody takes it for a bad answer.
    let ran = eval(&cx, &["--max-cost", "0.2"]);
    ran.code(3).stderr_has("$0.2480 of $0.2000; 1 case was not run");
    assert_eq!((ran.records().len(), api.asked().len()), (0, 5));
}

#[test]
fn what_nobody_can_price_is_refused_before_anything_is_called() {
    let api = FakeLlm::answering("ok");
    let unpriced = openai_target("default", &api.url());
    let judge = openai_target("judge", &api.url());
    let mock = mock_target("default", "ok") + "    judge_target: judge\n";
    let plain = cases(&["a"]);
    let check = |entries: &[&String], suite: &str, flag: &str, refused: Option<&str>| {
        let cx = with_targets(&entries.iter().map(ToString::to_string).collect::<Vec<_>>());
        cx.write("suite.yaml", suite);
        let before = api.asked().len();
        let ran = eval(&cx, &[flag]);
        let Some(text) = refused else {
            ran.success();
            return;
        };
        ran.code(2).stderr_has(text).stderr_has("is not known, so");
        assert_eq!(api.asked().len(), before, "{text}");
        assert!(!cx.path("out.jsonl").exists() && !cx.path(".agentv/runs").exists(), "{text}");
    };
    check(&[&unpriced], &plain, "--max-cost=1", Some("`default` (openai)"));
    for evaluator in [
        "{name: j, type: llm_judge}",
        "{name: j, type: llm_judge, judges: [judge]}",
        "{name: j, type: code_judge, script: [cat], target: true}",
        "{name: c, type: composite, aggregator: {type: weighted_average}, \
         evaluators: [{name: j, type: llm_judge, target: judge}]}",
    ] {
        let judged = suite(format!("- {evaluator}"));
        check(&[&mock, &judge], &judged, "--max-cost=1", Some("`judge` (openai)"));
    }
    let codex = "  - {name: default, provider: codex}\n".to_owned();
    let told = "`codex` reports only its tokens: use `--max-tokens`";
    check(&[&codex], &plain, "--max-cost=1", Some(told));
    let vscode = "  - {name: default, provider: vscode}\n".to_owned();
    check(&[&vscode], &plain, "--max-tokens=1", Some("reports neither cost nor tokens"));
    // A judge that nobody asks needs no price, and tokens need none either.
    check(&[&mock, &judge], &plain, "--max-cost=1", None);
    check(&[&unpriced], &plain, "--max-tokens=1000", None);
    let cx = five(&api);
    eval(&cx, &["--max-cost", "0"]).code(2).stderr_has("`--max-cost` must be above 0, got 0");
}

#[test]
fn a_known_model_has_its_price_from_the_table() {
    let api = FakeLlm::start(|_| FakeReply::completion("gpt-4o", "ok"));
    let target = openai_target("default", &api.url()).replace("fake-model", "gpt-4o");
    let cx = with_targets(&[target]);
    cx.write("suite.yaml", &cases(&["a", "b"]));
    eval(&cx, &["--max-cost", "1"]).success().stdout_has("\ncost $0.00");
}

/// A command that answers with these keys beside its text.
fn telling(keys: &str) -> String {
    let answer = format!(r#"{{"text": "ok"{keys}}}"#);
    cli_target("default", &format!("echo {{EVAL_ID}} >> calls; echo '{answer}' > {{OUTPUT_FILE}}"))
}

#[test]
fn a_command_is_believed_until_it_does_not_say_what_it_cost() {
    let cx = with_targets(&[telling(r#", "cost_usd": 0.5"#)]);
    cx.write("suite.yaml", &cases(&["a", "b", "c"]));
    eval(&cx, &["--max-cost", "0.9"]).code(3).stderr_has("$1.00 of $0.9000; 1 case was not run");

    let cx = with_targets(&[telling("")]);
    cx.write("suite.yaml", &cases(&["a", "b", "c"]));
    let ran = eval(&cx, &["--max-cost", "5"]);
    ran.code(3).stderr_has(
        "the cost of a call of target `default` is not known, which `--max-cost` needs; 2 cases were not run",
    );
    assert_eq!((cx.read("calls").as_str(), ran.records().len()), ("a\n", 1));
    let ran = eval(&cx, &["--max-tokens", "5000"]);
    ran.code(3).stderr_has("the tokens of a call of target `default` are not known");
    eval(&cx, &[]).success().stdout_lacks("\ncost ");
}

#[test]
fn a_batch_is_one_call_of_many_costs() {
    let answers =
        ["a", "b"].map(|id| json!({ "id": id, "text": "ok", "cost_usd": 0.25 }).to_string());
    let command = format!("printf '%s\\n' '{}' > {{OUTPUT_FILE}}", answers.join("' '"));
    let cx = with_targets(&[cli_target("default", &command) + "    provider_batching: true\n"]);
    cx.write("suite.yaml", &cases(&["a", "b"]));
    eval(&cx, &["--max-cost", "5"]).success().stdout_has("\ncost $0.5000\n");
    let spend = &info(&folder(&cx))["totals"]["spend"];
    assert_eq!(
        (&spend["targets"]["calls"], &spend["targets"]["cost_usd"]),
        (&json!(1), &json!(0.5))
    );
}

/// An agent that fails, but says what it has cost.
const FAILS: &str = r#"cat <<'END'
{"type":"result","subtype":"error_during_execution","is_error":true,"result":"no","total_cost_usd":0.25,"usage":{"input_tokens":100,"output_tokens":20}}
END"#;

#[test]
fn an_agent_that_fails_is_paid_for_and_a_server_that_refuses_is_not() {
    let cx = context();
    let claude = cx.fake_agent("claude", FAILS);
    cx.write("targets.yaml", &targets(&[claude.target("default", "claude-code", &json!({}))]));
    cx.write("suite.yaml", &cases(&["a", "b", "c"]));
    let ran = eval(&cx, &["--max-cost", "0.5", "--max-retries", "0"]);
    ran.code(3).stderr_has("$0.5000 of $0.5000; 1 case was not run");
    assert_eq!((claude.calls().len(), ran.records().len()), (2, 2));

    let api = FakeLlm::start(|_| FakeReply::error(400, "no"));
    let cx = five(&api);
    let ran = eval(&cx, &["--max-cost", "0.01"]);
    ran.code(3).stderr_lacks("--max-cost").stdout_lacks("\ncost ");
    assert_eq!(ran.records().len(), 5);
}

#[test]
fn an_estimate_is_held_for_a_connection_that_breaks_and_not_shown_as_used() {
    let api = FakeLlm::start(|_| FakeReply::dropped());
    let cx = with_targets(&[priced("default", &api) + "    max_retries: 0\n"]);
    cx.write("suite.yaml", &cases(&["a", "b", "c"]));
    // A prompt of a few tokens, and a thousand for the answer: a dollar.
    let ran = eval(&cx, &["--max-cost", "1.5"]);
    ran.code(3).stdout_lacks("\ncost ").stderr_has(
        "$0.00 of $1.50, and an estimate of $2.00 for 2 failed calls that did not report their use; 1 case was not run",
    );
    assert_eq!(api.asked().len(), 2);
    let used = json!({ "calls": 2, "cost_usd": 0, "tokens": 0, "unreported": 2 });
    assert_eq!(info(&folder(&cx))["totals"]["spend"]["targets"], used);
    let ran = resume(&cx, &["--max-cost", "1.5"]);
    ran.code(3).stderr_has(
        "2 earlier calls failed without a report of what was used, and the budget does not count them",
    );
}

#[test]
fn commands_that_fail_show_no_tokens() {
    let cx = with_targets(&[cli_target("default", "exit 1")]);
    cx.write("suite.yaml", &cases(&["a", "b", "c"]));
    let ran = eval(&cx, &[]);
    ran.code(3).stdout_lacks("\ncost ").stdout_lacks("tokens");
    let used = json!({ "calls": 3, "cost_usd": 0, "tokens": 0, "unreported": 3 });
    assert_eq!(info(&folder(&cx))["totals"]["spend"]["targets"], used);
}

/// An address that refuses connections.
fn closed() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

#[test]
fn what_never_left_uses_nothing_of_a_budget() {
    for target in [
        openai_target("default", &closed()) + "    max_retries: 0\n" + PRICE,
        "  - {name: default, provider: claude-code, executable: /no/such/claude}\n".to_owned(),
    ] {
        let cx = with_targets(&[target]);
        cx.write("suite.yaml", &cases(&["a", "b", "c"]));
        for budget in ["--max-tokens=1500", "--max-cost=0.5"] {
            let ran = eval(&cx, &[budget]);
            ran.code(3).stderr_lacks("budget").stdout_lacks("\ncost ");
            assert_eq!(ran.records().len(), 3, "{budget}");
        }
    }
}

#[test]
fn a_failed_call_that_cannot_even_be_estimated_ends_the_run() {
    let cx = with_targets(&[cli_target("default", "echo {EVAL_ID} >> calls; exit 1")]);
    cx.write("suite.yaml", &cases(&["a", "b", "c"]));
    let ran = eval(&cx, &["--max-cost", "5"]);
    ran.code(3)
        .stderr_has("the cost of a call of target `default`")
        .stderr_has("2 cases were not run");
    assert_eq!(cx.read("calls"), "a\n");
}

#[test]
fn what_is_remembered_costs_nothing() {
    let api = FakeLlm::answering("ok");
    let cx = five(&api);
    eval(&cx, &["--cache", "--record", "calls.jsonl"]).success();
    assert_eq!(api.asked().len(), 5);
    for more in [["--cache", "--max-tokens=1"], ["--replay=calls.jsonl", "--max-cost=0.000001"]] {
        let ran = eval(&cx, &more);
        ran.success().stdout_has("\ncost $0.00; $0.6200 with cached, replayed and mock answers");
        assert_eq!((ran.records().len(), api.asked().len()), (5, 5));
        assert_eq!(info(folders(&cx).last().unwrap())["totals"].get("spend"), None);
    }
    eval(&cx, &["--dry-run", "--max-cost", "0.1"]).success();
}

#[test]
fn a_script_that_asks_somebody_without_a_price_ends_the_run() {
    let api = FakeLlm::answering("ok");
    let cx = with_targets(&[
        mock_target("default", "ok") + "    judge_target: default\n",
        openai_target("other", &api.url()),
    ]);
    cx.script("judge.py", &asking("{\"question\": \"Is it?\", \"target\": \"other\"}"));
    cx.write(
        "suite.yaml",
        &cases(&["a", "b"]).replace(
            GRADER,
            "{name: script, type: code_judge, script: [./judge.py], target: true}",
        ),
    );
    let ran = eval(&cx, &["--max-cost", "1"]);
    ran.code(3).stderr_has("the cost of a call of target `other` is not known");
    assert_eq!((ran.records().len(), api.asked().len()), (0, 0));
}
