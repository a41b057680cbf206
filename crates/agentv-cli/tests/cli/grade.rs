//! `agentv grade`: the answers of an earlier run, graded by the evaluators of now.

use crate::runs::{folder, folders, info};
use crate::{context, eval};
use agentv_test_support::{
    FakeLlm, FakeReply, GRADER, Ran, TestContext, cases, cli_target, mock_target, openai_target,
    suite, targets,
};
use serde_json::{Value, json};
use std::fs;

/// A target that writes down each of its calls in `calls`, and says `ok <id>`.
fn counting() -> String {
    cli_target("default", "echo {EVAL_ID} >> calls; echo ok {EVAL_ID}")
}

/// A run of `a`, `b` and `c` on a target that counts its calls.
#[track_caller]
fn answered() -> TestContext {
    let cx = context();
    cx.write("targets.yaml", &targets(&[counting()]));
    cx.write("suite.yaml", &cases(&["a", "b", "c"]));
    eval(&cx, &[]).success();
    cx
}

/// Grades into `graded.jsonl`.
#[track_caller]
fn grade(cx: &TestContext, more: &[&str]) -> Ran {
    cx.agentv(["grade", "--out", "graded.jsonl"].iter().chain(more)).run()
}

#[track_caller]
fn calls(cx: &TestContext) -> usize {
    cx.read("calls").lines().count()
}

/// Changes the evaluators of all cases.
#[track_caller]
fn regrade_by(cx: &TestContext, evaluator: &str) {
    cx.write("suite.yaml", &cx.read("suite.yaml").replace(GRADER, evaluator));
}

/// A record without its time.
fn timeless(mut record: Value) -> Value {
    record.as_object_mut().unwrap().remove("timestamp");
    record
}

/// The newest run's id.
#[track_caller]
fn newest(cx: &TestContext) -> String {
    folders(cx).last().unwrap().file_name().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn quiet_shows_what_did_not_pass_and_the_totals() {
    let cx = answered();
    regrade_by(&cx, "{name: says-b, type: contains, value: ok b}");
    let ran = grade(&cx, &["latest", "--quiet"]);
    ran.success()
        .stdout_has("✗ 0.000  a  default  says-b")
        .stdout_has("✓ 1 passed  ✗ 2 failed")
        .stdout_lacks("  b  default")
        .stdout_lacks("Target  ");
    cx.agentv(["grade", "latest", "--quiet", "--verbose"]).run().code(2);
}

#[test]
fn other_evaluators_grade_the_answers_of_then_and_nobody_is_asked() {
    let cx = answered();
    let run = newest(&cx);
    regrade_by(&cx, "{name: says-b, type: contains, value: ok b}");
    let ran = grade(&cx, &["latest", "--workers", "2"]);
    ran.success().stdout_has(&format!("Grading 3 answers of {run}; no target is asked"));
    ran.stdout_has("✓ 1 passed  ✗ 2 failed");
    assert_eq!(calls(&cx), 3);
    let record = ran.record_of("b");
    assert_eq!((&record["score"], &record["candidate_answer"]), (&json!(1), &json!("ok b")));
    assert_eq!(ran.record_of("a")["score"], 0);

    let graded = info(folders(&cx).last().unwrap());
    assert_eq!((&graded["graded"], &graded["ending"]), (&json!(run), &json!("complete")));
    cx.agentv(["runs", "list"]).run().success().stdout_has("3/3");
    cx.agentv(["runs", "show"]).run().success().stdout_has(&format!("Graded    {run}"));
    let compared = cx.agentv(["compare", &run, &newest(&cx)]).run();
    compared.success().stdout_has("-0.667");
    // Whichever is graded, the same comes of it; and what was graded can be graded again.
    let again = newest(&cx);
    for name in ["out.jsonl", &run, &format!(".agentv/runs/{run}"), &again] {
        let ran = grade(&cx, &[name]);
        ran.success().stdout_has("✓ 1 passed  ✗ 2 failed");
    }
    assert_eq!(calls(&cx), 3);
}

#[test]
fn the_same_evaluators_give_the_same_records() {
    let cx = answered();
    let before = eval(&cx, &[]).success().records();
    let graded = grade(&cx, &["latest"]).success().records();
    let timeless = |records: Vec<Value>| records.into_iter().map(timeless).collect::<Vec<_>>();
    assert_eq!(timeless(before), timeless(graded));
}

/// An agent that calls a tool on its way to an answer, and says what that cost.
const TOLD: &str = r#"{"text": "ok", "cost_usd": 0.5, "token_usage": {"input": 10, "output": 5}, "duration_ms": 40,
  "output_messages": [
    {"role": "assistant", "tool_calls": [{"tool": "search", "input": {"q": "x"}}]},
    {"role": "assistant", "content": "ok"}]}"#;

const TOOLS: &str =
    "{name: tools, type: tool_trajectory, mode: in_order, expected: [{tool: search}]}";

#[test]
fn a_run_has_the_messages_and_bare_results_do_not() {
    let cx = context();
    cx.write("targets.yaml", &targets(&[cx.cli_target_answering("default", TOLD)]));
    cx.write("suite.yaml", &cases(&["a"]));
    let judge = cx.judge_dump("judge", r#"{"score": 1}"#);
    let first = eval(&cx, &[]).success().record();
    let code = format!("{{name: code, type: code_judge, script: [{}]}}", judge.script.display());
    let cost = "{name: cheap, type: cost, budget: 1}";
    regrade_by(&cx, &format!("{TOOLS}\n    - {code}\n    - {cost}"));

    let record = grade(&cx, &["latest"]).success().record();
    assert_eq!(record["score"], 1, "{record}");
    assert_eq!(record["trace_summary"], first["trace_summary"]);
    let payload = judge.payload();
    assert_eq!(payload["output_messages"][0]["tool_calls"][0]["tool"], "search");

    // A copy of the results has only what records have.
    cx.write("bare.jsonl", &cx.read("out.jsonl"));
    let refused = grade(&cx, &["bare.jsonl", "suite.yaml"]);
    refused.code(2).stderr_has(
        "the messages that these evaluators need are not in `bare.jsonl`: `code` (1 of 1), `tools` (1 of 1)",
    );
    let ran = grade(&cx, &["bare.jsonl", "suite.yaml", "--skip-invalid"]);
    let record = ran.success().record();
    assert_eq!((&record["score"], &record["status"]), (&json!(1), &json!("pass")), "{record}");
    let tools = &record["evaluator_results"][0];
    assert_eq!((&tools["weight"], &tools["error"]["kind"]), (&json!(0), &json!("provider")));
    assert_eq!(record["execution_metrics"], first["execution_metrics"]);
    assert_eq!(record["trace_summary"], first["trace_summary"]);
}

#[test]
fn a_run_of_a_mock_is_graded_by_evaluators_of_steps_too() {
    let cx = crate::mocked(&["a"]);
    regrade_by(&cx, TOOLS);
    let cassette = ["--record", "calls.jsonl"];
    let before = eval(&cx, &cassette).record();
    let graded = grade(&cx, &["latest"]).success().record();
    assert_eq!(timeless(before.clone()), timeless(graded));
    // What was graded can be graded again, and so can a replayed run.
    let regraded = newest(&cx);
    assert_eq!(timeless(grade(&cx, &[&regraded]).success().record()), timeless(before));
    eval(&cx, &["--replay", "calls.jsonl"]);
    grade(&cx, &["latest"]).success();
}

#[test]
fn bare_results_in_either_format_are_graded_by_files_that_are_named() {
    let cx = answered();
    eval(&cx, &["--output-format", "yaml"]).success();
    fs::rename(cx.path("out.jsonl"), cx.path("out.yaml")).unwrap();
    eval(&cx, &["--no-run-folder"]).success();
    fs::remove_dir_all(cx.path(".agentv/runs")).unwrap();
    let asked = calls(&cx);
    regrade_by(&cx, "{name: says-b, type: contains, value: ok b}");
    for results in ["out.jsonl", "out.yaml"] {
        grade(&cx, &[results]).code(2).stderr_has("results do not name their eval files");
        let ran = grade(&cx, &[results, "suite.yaml", "--no-run-folder"]);
        ran.success().stdout_has("✓ 1 passed  ✗ 2 failed");
        assert_eq!(ran.records().len(), 3);
    }
    assert_eq!(calls(&cx), asked);
    let ran = cx.agentv(["grade", "out.jsonl", "suite.yaml", "--out", "out.jsonl"]).run();
    ran.code(2).stderr_has("`--out` would overwrite the results");
}

#[test]
fn a_case_that_asks_something_else_is_left_out_and_named() {
    let cx = answered();
    let run = newest(&cx);
    let changed = cx.read("suite.yaml").replace("Question b", "Question B");
    cx.write("suite.yaml", &changed.replace("Says ok\n", "Says ok, and more\n"));
    cx.write("bare.jsonl", &cx.read("out.jsonl"));
    for source in [run.as_str(), "bare.jsonl"] {
        let ran = grade(&cx, &[source, "suite.yaml"]);
        ran.success().stdout_has("1 case asks something else now than was answered: left out (b)");
        assert_eq!(ran.records().len(), 2);
    }
    cx.write("suite.yaml", &cases(&["a", "d"]));
    let ran = grade(&cx, &[&run]);
    ran.success().stdout_has("1 case has no recorded answer: left out (d)");
    assert_eq!(ran.records().len(), 1);
    cx.write("suite.yaml", &cases(&["d"]));
    grade(&cx, &[&run]).code(2).stderr_has("has no answer to any of these cases");
    assert_eq!(calls(&cx), 3);
}

#[test]
fn a_file_of_the_question_belongs_to_it() {
    let cx = context();
    cx.write("targets.yaml", &targets(&[counting()]));
    cx.write("notes.md", "Old notes");
    let input =
        "[{role: user, content: [{type: file, value: notes.md}, {type: text, value: Why?}]}]";
    cx.write("suite.yaml", &cases(&["a"]).replace("\"Question a\"", input));
    eval(&cx, &[]).success();
    grade(&cx, &["latest"]).success();
    // An agent is only told the path, so the words are the same.
    cx.write("notes.md", "New notes");
    grade(&cx, &["latest"]).code(2).stdout_has("1 case asks something else now");
}

#[test]
fn an_error_stays_an_error_and_a_failed_grading_is_done_again() {
    let cx = context();
    cx.write(
        "targets.yaml",
        &targets(&[cli_target(
            "default",
            "case {EVAL_ID} in a) echo no >&2; exit 7;; esac; echo ok",
        )]),
    );
    let failing = "{name: code, type: code_judge, script: ./judge.sh, on_judge_error: fail}";
    cx.write("suite.yaml", &cases(&["a", "b"]).replace(GRADER, failing));
    cx.script("judge.sh", "#!/bin/sh\nexit 1\n");
    let first = eval(&cx, &[]).code(3).records();
    assert!(first.iter().all(|record| record["error"].is_string()));
    cx.write("bare.jsonl", &cx.read("out.jsonl"));
    cx.script("judge.sh", "#!/bin/sh\necho '{\"score\": 1}'\n");
    for source in ["latest", "bare.jsonl"] {
        let ran = grade(&cx, &[source, "suite.yaml"]);
        ran.code(3);
        let before = first.iter().find(|record| record["eval_id"] == "a").unwrap().clone();
        assert_eq!(timeless(ran.record_of("a")), timeless(before));
        let graded = ran.record_of("b");
        assert_eq!((&graded["score"], graded.get("error")), (&json!(1), None), "{graded}");
        grade(&cx, &[source, "suite.yaml", "--allow-errors"]).success();
    }
}

const MARKS: &str = r#"{"score": 1, "hits": [], "misses": [], "reasoning": "fine"}"#;

#[test]
fn with_a_cache_an_unchanged_answer_is_graded_again_for_nothing() {
    let (api, judge) = (FakeLlm::answering("ok"), FakeLlm::answering(MARKS));
    let price = "    pricing: {input: 1000, output: 1000}\n";
    let cx = context();
    cx.write(
        "targets.yaml",
        &targets(&[
            openai_target("default", &api.url()) + price + "    judge_target: judge\n",
            openai_target("judge", &judge.url()) + price,
        ]),
    );
    cx.write("suite.yaml", &cases(&["a", "b"]).replace(GRADER, "{name: good, type: llm_judge}"));
    eval(&cx, &["--cache"])
        .success()
        .stdout_has("\ncost $0.4960 (targets $0.2480, judges $0.2480)");
    let asked = || (api.asked().len(), judge.asked().len());
    assert_eq!(asked(), (2, 2));
    // Nothing is paid, so a budget of next to nothing is enough.
    let ran = grade(&cx, &["latest", "--cache", "--max-cost", "0.000001"]);
    ran.success().stdout_has("\ncost $0.00; $0.4960 with cached, replayed and mock answers");
    assert_eq!(asked(), (2, 2));
    assert_eq!(info(folders(&cx).last().unwrap())["totals"].get("spend"), None);
    // What is expected changed, so that the judge is asked once more. The target is not.
    let changed = cx.read("suite.yaml").replace("Says ok", "Says ok, politely");
    cx.write("suite.yaml", &changed);
    let ran = grade(&cx, &["latest", "--cache"]);
    ran.success().stdout_has("\ncost $0.2480 (targets $0.00, judges $0.2480)");
    assert_eq!(asked(), (2, 4));
    let ran = grade(&cx, &["latest", "--max-cost", "0.1"]);
    ran.code(3).stderr_has("$0.1240 of $0.1000; 1 case was not run").stderr_lacks("--resume");
}

#[test]
fn judges_are_recorded_once_and_replayed_without_anybody_to_ask() {
    let judge = FakeLlm::answering(MARKS);
    let cx = context();
    let target = counting() + "    judge_target: judge\n";
    let paid = openai_target("judge", &judge.url()) + "    api_key: ${{ THE_KEY }}\n";
    cx.write("targets.yaml", &targets(&[target, paid]));
    cx.write("suite.yaml", &cases(&["a", "b"]));
    eval(&cx, &[]).success();
    regrade_by(&cx, "{name: good, type: llm_judge}");
    let timeless = |ran: &Ran| ran.records().into_iter().map(timeless).collect::<Vec<_>>();
    let recording = ["grade", "latest", "--out", "graded.jsonl", "--record", "tape.jsonl"];
    let ran = cx.agentv(recording).env("THE_KEY", "canary-123").run();
    ran.success().stdout_has("Cassette written to: tape.jsonl (2 calls)");
    let recorded = timeless(&ran);
    assert_eq!(recorded[0]["score"], 1.0);
    assert!(!cx.read("tape.jsonl").contains("candidate"), "targets are not asked");
    drop(judge);
    let ran = grade(&cx, &["latest", "--replay", "tape.jsonl"]);
    assert_eq!(timeless(ran.success()), recorded);
    assert_eq!(calls(&cx), 2);
    // Another question is not on it.
    cx.write("suite.yaml", &cx.read("suite.yaml").replace("Says ok", "Says ok, politely"));
    let missed = grade(&cx, &["latest", "--replay", "tape.jsonl"]).records();
    let why = missed[0]["evaluator_results"][0]["error"]["message"].as_str().unwrap();
    assert!(why.contains("had another request when it was recorded"), "{why}");
    let ran = grade(&cx, &["latest", "--replay", "tape.jsonl", "--record", "tape.jsonl"]);
    ran.code(2).stderr_has("cannot be used with");
}

#[test]
fn the_cassette_of_a_run_has_its_judges_on_it() {
    let judge = FakeLlm::answering(MARKS);
    let cx = context();
    let target = counting() + "    judge_target: judge\n";
    cx.write("targets.yaml", &targets(&[target, openai_target("judge", &judge.url())]));
    cx.write("suite.yaml", &cases(&["a", "b"]).replace(GRADER, "{name: good, type: llm_judge}"));
    eval(&cx, &["--record", "tape.jsonl"]).success();
    drop(judge);
    let ran = grade(&cx, &["latest", "--replay", "tape.jsonl"]);
    ran.success().stdout_has("2 pass");
}

#[test]
fn the_target_needs_no_key_when_it_is_not_asked() {
    let api = FakeLlm::start(|asked| FakeReply::text(asked, "ok"));
    let cx = context();
    let target = openai_target("default", &api.url()) + "    api_key: ${{ THE_KEY }}\n";
    cx.write("targets.yaml", &targets(&[target]));
    cx.write("suite.yaml", &cases(&["a"]));
    let run = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).env("THE_KEY", "canary-123");
    run.run().success();
    eval(&cx, &[]).code(2);
    grade(&cx, &["latest"]).success();
    assert_eq!(api.asked().len(), 1);
}

#[test]
fn several_targets_are_graded_apart_and_gates_hold_for_each() {
    let cx = context();
    cx.write(
        "targets.yaml",
        &targets(&[mock_target("one", "ok one"), mock_target("two", "ok two")]),
    );
    cx.write("suite.yaml", &cases(&["a", "b"]));
    eval(&cx, &["--target", "one", "--target", "two"]).success();
    regrade_by(&cx, "{name: two, type: contains, value: two}");
    let ran = grade(&cx, &["latest", "--threshold", "0.5"]);
    ran.code(1).stderr_has("target `one` has a mean of 0.000, below --threshold 0.5");
    assert_eq!(ran.records().len(), 4);
    grade(&cx, &["latest", "--case-threshold", "0.5"]).code(1);
    let ran = grade(&cx, &["latest", "--target", "two", "--threshold", "0.5", "--eval-id", "a"]);
    assert_eq!(ran.success().records().len(), 1);
    grade(&cx, &["latest", "--target", "three"]).code(2).stderr_has("it has those of: one, two");
    let ran = grade(&cx, &["latest", "--fail-fast"]);
    ran.code(1).stderr_has("--fail-fast stopped the run").stderr_lacks("--resume");
}

#[test]
fn an_answer_that_was_not_graded_any_more_is_graded_now() {
    let cx = context();
    cx.write("targets.yaml", &targets(&[counting()]));
    // The first judge ends the run while it grades.
    cx.script(
        "judge.sh",
        "#!/bin/sh\npid=$PPID\n\
         while [ \"$(cat /proc/$pid/comm)\" != agentv ]; do pid=$(cut -d' ' -f4 /proc/$pid/stat); done\n\
         kill -9 $pid; exec sleep 600\n",
    );
    cx.write("suite.yaml", &suite("- {name: j, type: code_judge, script: [./judge.sh]}"));
    eval(&cx, &[]).code(137);
    assert_eq!(cx.read("out.jsonl"), "");
    cx.write("suite.yaml", &suite("- {name: c, type: contains, value: ok}"));
    assert_eq!(grade(&cx, &["latest"]).success().record()["score"], 1);
    assert_eq!(calls(&cx), 1);
}

#[test]
fn a_kept_workspace_and_the_changes_in_it_are_there_for_judges() {
    let cx = context();
    let target = cli_target("default", "echo new > made.txt; echo ok");
    cx.write("targets.yaml", &targets(&[target + "    workspace: {keep: always}\n"]));
    cx.write("suite.yaml", &cases(&["a"]));
    let first = eval(&cx, &[]).success().record();
    let judge = cx.judge_dump("judge", r#"{"score": 1}"#);
    let code = format!("{{name: code, type: code_judge, script: [{}]}}", judge.script.display());
    regrade_by(&cx, &code);
    let ran = grade(&cx, &["latest"]);
    ran.success().stdout_has("1 answer was worked out in a workspace");
    let payload = judge.payload();
    assert_eq!(payload["changed_files"], first["file_changes"]["files"]);
    assert_eq!(payload["workspace_path"], first["workspace"]);
    assert_eq!(ran.record()["file_changes"], first["file_changes"]);
    fs::remove_dir_all(first["workspace"].as_str().unwrap()).unwrap();
}

#[test]
fn a_grading_is_no_run_to_resume() {
    let cx = answered();
    grade(&cx, &["latest"]).success();
    let graded = newest(&cx);
    let ran = cx.agentv(["eval", "--resume", &graded]).run();
    ran.code(2).stderr_has("graded the answers of").stderr_has("cannot be resumed");
    // The last run that asked its targets is meant.
    cx.agentv(["eval", "--resume"]).run().success().stdout_has("3 of 3 cases are done");
    assert_eq!(calls(&cx), 3);
}

#[test]
fn what_is_no_run_is_refused() {
    let cx = context();
    grade(&cx, &["latest"]).code(2).stderr_has("no run to grade");
    grade(&cx, &["nothing"]).code(2).stderr_has("no such file, folder or run");
    cx.write("bad.jsonl", "{}\n");
    cx.write("suite.yaml", &cases(&["a"]));
    grade(&cx, &["bad.jsonl", "suite.yaml"]).code(2).stderr_has("bad.jsonl:1: not a result");
    cx.write("empty.jsonl", "");
    grade(&cx, &["empty.jsonl", "suite.yaml"]).code(2).stderr_has("`empty.jsonl` has no answers");
    assert!(!cx.path("graded.jsonl").exists() && folders(&cx).is_empty());
    let cx = answered();
    let run = folder(&cx);
    fs::remove_file(run.join("results.jsonl")).unwrap();
    grade(&cx, &["latest"]).code(2).stderr_has("no `results.jsonl`");
}

#[test]
fn every_trial_is_graded() {
    let cx = context();
    // Says `ok 1`, then `ok 2`, and so on.
    let command = "echo {EVAL_ID} >> calls; echo ok $(grep -c {EVAL_ID} calls)";
    cx.write("targets.yaml", &targets(&[cli_target("default", command)]));
    cx.write("suite.yaml", &cases(&["a", "b"]));
    eval(&cx, &["--trials", "3"]).success();
    regrade_by(&cx, "{name: two, type: contains, value: ok 2}");
    cx.write("bare.jsonl", &cx.read("out.jsonl"));
    for source in ["latest", "bare.jsonl"] {
        let records = grade(&cx, &[source, "suite.yaml"]).success().records();
        assert_eq!(records.len(), 6);
        for record in records {
            let is_second = record["trial"] == 1;
            assert_eq!(record["score"], u8::from(is_second), "{record}");
        }
    }
    assert_eq!(calls(&cx), 6);
}
