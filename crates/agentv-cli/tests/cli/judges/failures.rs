//! Judges that fail, what that does to the score, who judges, and what judging costs.

use super::{grade, judged, result};
use crate::{context, eval};
use agentv_test_support::{
    FakeLlm, FakeReply, TestContext, mock_target, openai_target, result_of, suite, targets,
};
use serde_json::{Value, json};
use std::time::Duration;

fn judge() -> Value {
    json!({ "name": "judge", "type": "llm_judge" })
}

/// How often a judge that never says anything of use is asked.
#[track_caller]
fn check_asks(evaluator: &Value, expected: usize) {
    let api = FakeLlm::answering("no JSON");
    let result = result(&judged("x", &api), evaluator);
    assert_eq!(result["error"]["kind"], "parse");
    assert_eq!(api.asked().len(), expected, "{evaluator}");
}

#[test]
fn a_judge_is_asked_three_times_or_as_often_as_it_is_said() {
    check_asks(&judge(), 3);
    check_asks(&json!({ "type": "llm_judge", "max_asks": 1 }), 1);
    check_asks(&json!({ "type": "llm_judge", "maxAsks": 5 }), 5);
    check_asks(&json!({ "type": "rubric", "rubrics": ["a"], "max_asks": 2 }), 2);
}

#[test]
fn a_judge_is_not_asked_again_once_it_can_be_read() {
    let api = FakeLlm::after([FakeReply::completion("m", "let me think")], r#"{"score": 1}"#);
    let result = result(&judged("x", &api), &judge());
    assert_eq!((&result["score"], result.get("error")), (&json!(1), None));
    assert_eq!(api.asked().len(), 2);
    // Both asks are paid for.
    let tokens = json!({ "input": 202, "output": 46, "cached": 80 });
    assert_eq!(result["usage"]["token_usage"], tokens);
}

#[test]
fn asks_must_be_at_least_one() {
    let api = FakeLlm::answering("{}");
    let cx = judged("x", &api);
    cx.write("suite.yaml", &suite("- type: llm_judge\n  max_asks: 0"));
    eval(&cx, &[]).code(2).stderr_has("suite.yaml:7:19").stderr_has("`max_asks`");
}

#[test]
fn a_judge_that_refuses_is_an_error_of_its_kind() {
    let api = FakeLlm::start(|_| FakeReply::error(401, "wrong key"));
    let cx = judged("x", &api);
    let ran = grade(&cx, &json!([judge()]));
    let record = ran.code(3).stdout_has("1 grading error").record();
    let result = result_of(&record, "judge");
    assert_eq!(api.asked().len(), 1);
    assert_eq!(result["error"]["kind"], "provider");
    let message = result["error"]["message"].as_str().unwrap();
    assert!(message.contains("`judge`") && message.contains("401"), "{message}");
    assert_eq!(result["misses"], json!([format!("Evaluator 'judge' failed: {message}")]));
    assert_eq!((&result["score"], &result["weight"]), (&json!(0), &json!(1)));
    assert_eq!(result["evaluator_provider_request"]["target"], "judge");
    assert_eq!(record.get("error"), None);
}

#[test]
fn a_judge_that_takes_too_long_is_an_error_of_its_kind() {
    let never = Duration::from_mins(5);
    let api = FakeLlm::start(move |asked| FakeReply::text(asked, "{}").after(never));
    let cx = judged("x", &api);
    cx.write("suite.yaml", &suite(json!([judge()])));
    let record = eval(&cx, &["--agent-timeout", "0.3"]).code(3).record();
    let error = &result_of(&record, "judge")["error"];
    assert_eq!(error["kind"], "timeout");
    assert!(error["message"].as_str().unwrap().contains("`judge`"), "{error}");
    // On a busy machine the time may be over before the request is out.
    assert!(api.asked().len() <= 1, "a time-out is asked again");
}

const PRICES: &str = "    pricing: {input: 1, output: 10, cached: 0.5}\n";

/// A candidate and a judge behind one API, each with a price.
#[track_caller]
fn priced(api: &FakeLlm) -> TestContext {
    let cx = context();
    let [default, judge] =
        ["default", "judge"].map(|name| openai_target(name, &api.url()) + PRICES);
    let default = default.replace("input: 1,", "input: 2,") + "    judge_target: judge\n";
    cx.write("targets.yaml", &targets(&[default, judge]));
    cx
}

#[test]
fn judging_is_paid_for_apart_from_the_candidate() {
    let api = FakeLlm::answering(r#"{"score": 1}"#);
    let cx = priced(&api);
    let record = grade(&cx, &json!([judge()])).success().record();
    let tokens = json!({ "input": 101, "output": 23, "cached": 40 });
    let metrics = &record["execution_metrics"];
    // 61 × 2 + 40 × 0.5 + 23 × 10, and 61 × 1 + 40 × 0.5 + 23 × 10, in millionths of a dollar.
    assert_eq!((&metrics["token_usage"], &metrics["cost_usd"]), (&tokens, &json!(0.000_372)));
    let usage = json!({ "token_usage": tokens, "cost_usd": 0.000_311 });
    assert_eq!(result_of(&record, "judge")["usage"], usage);
}

#[test]
fn what_the_default_judge_costs_stands_beside_what_it_was_asked() {
    let case = "evalcases:\n  - {id: one, input: q, expected_outcome: x}\n";
    for (reply, tokens, cost) in [(r#"{"score": 1}"#, 101, 0.000_311), ("no", 303, 0.000_933)] {
        let api = FakeLlm::answering(reply);
        let cx = priced(&api);
        cx.write("suite.yaml", case);
        let record = eval(&cx, &[]).code(if reply == "no" { 3 } else { 0 }).record();
        assert!(record["evaluator_provider_request"].is_object(), "{record:#}");
        let usage = &record["evaluator_usage"];
        assert_eq!(
            (&usage["token_usage"]["input"], &usage["cost_usd"]),
            (&json!(tokens), &json!(cost))
        );
        assert_eq!(record["execution_metrics"]["token_usage"]["input"], 101);
    }
}

#[test]
fn a_judge_that_fails_is_paid_for_all_the_same() {
    let api = FakeLlm::answering("no JSON");
    let cx = priced(&api);
    let record = grade(&cx, &json!([judge()])).code(3).record();
    let usage = json!({
        "token_usage": { "input": 303, "output": 69, "cached": 120 },
        "cost_usd": 0.000_933,
    });
    assert_eq!(result_of(&record, "judge")["usage"], usage);
}

#[test]
fn a_judge_that_is_not_needed_needs_no_key() {
    let cx = context();
    let candidate = mock_target("default", "ok") + "    judge_target: judge\n";
    let judge = openai_target("judge", "http://127.0.0.1:9") + "    api_key: ${{ JUDGE_KEY }}\n";
    cx.write("targets.yaml", &targets(&[candidate, judge]));
    let plain = json!([{ "type": "contains", "value": "ok" }]);
    let ran = grade(&cx, &plain);
    assert_eq!(ran.success().record()["score"], 1);
    assert_eq!(ran.stderr, "");

    let error = &result(&cx, &self::judge())["error"];
    assert_eq!(error["kind"], "provider");
    assert!(error["message"].as_str().unwrap().contains("`JUDGE_KEY`"), "{error}");
}

#[test]
fn nobody_judges_in_the_place_of_a_judge_that_is_not_there() {
    let api = FakeLlm::answering(r#"{"score": 1}"#);
    let cx = context();
    let candidate = openai_target("default", &api.url()) + "    judge_target: nobody\n";
    cx.write("targets.yaml", &targets(&[candidate]));
    for evaluator in [judge(), json!({ "name": "judge", "type": "llm_judge", "target": "none" })] {
        let before = api.asked().len();
        let ran = grade(&cx, &json!([evaluator]));
        let record = ran.record();
        let error = &result_of(&record, "judge")["error"];
        assert_eq!((&record["score"], &error["kind"]), (&json!(0), &json!("provider")));
        let name = evaluator["target"].as_str().unwrap_or("nobody");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(&format!("unknown target `{name}`")), "{message}");
        assert_eq!(api.asked().len(), before + 1, "only the candidate is asked");
    }
}

#[test]
fn without_a_judge_the_target_judges_itself() {
    let api = FakeLlm::answering(r#"{"score": 1}"#);
    let cx = context();
    cx.write("targets.yaml", &targets(&[openai_target("default", &api.url())]));
    let result = result(&cx, &judge());
    assert_eq!(result["evaluator_provider_request"]["target"], "default");
    assert_eq!((&result["score"], api.asked().len()), (&json!(1), 2));
}

#[test]
fn an_evaluator_may_have_a_judge_of_its_own() {
    let (usual, other) = (FakeLlm::answering("{}"), FakeLlm::answering(r#"{"score": 1}"#));
    let cx = judged("x", &usual);
    cx.write("targets.yaml", &(cx.read("targets.yaml") + &openai_target("other", &other.url())));
    let result = result(&cx, &json!({ "type": "llm_judge", "target": "other" }));
    assert_eq!((&result["score"], usual.asked().len()), (&json!(1), 0));
    assert_eq!(result["evaluator_provider_request"]["target"], "other");
    assert_eq!(other.only().body["model"], "fake-model");
}

/// A case with one plain check, which holds, and a judge three times as heavy, which fails.
#[track_caller]
fn with_policies(suite_wide: Option<&str>, own: Option<&str>) -> (i32, Value) {
    let api = FakeLlm::answering("no JSON");
    let cx = judged("ok", &api);
    let mut judge = judge();
    judge["weight"] = json!(3);
    if let Some(own) = own {
        judge["on_judge_error"] = json!(own);
    }
    let case = suite(json!([{ "type": "contains", "value": "ok" }, judge]));
    let top = suite_wide.map(|policy| format!("execution:\n  on_judge_error: {policy}\n"));
    cx.write("suite.yaml", &(top.unwrap_or_default() + &case));
    let ran = eval(&cx, &[]);
    ran.stdout_has("1 grading error");
    (ran.code, ran.record())
}

#[track_caller]
fn check_policy(suite_wide: Option<&str>, own: Option<&str>, expected: &str) {
    let (code, record) = with_policies(suite_wide, own);
    let judge = result_of(&record, "judge");
    assert_eq!((&judge["score"], &judge["error"]["kind"]), (&json!(0), &json!("parse")));
    let (score, weight, status) = match expected {
        "exclude" => (1.0, 0, "pass"),
        _ => (0.25, 3, "fail"),
    };
    assert_eq!((record["score"].as_f64(), &judge["weight"]), (Some(score), &json!(weight)));
    assert_eq!(record["status"], status);
    // Only a written policy is a way to grade without the judge.
    let is_ungraded = expected == "fail" || (suite_wide, own) == (None, None);
    assert_eq!(code, if is_ungraded { 3 } else { 0 });
    assert_eq!(record["outcome"], if is_ungraded { "ungraded" } else { status });
    assert_eq!(judge["error"].get("on_judge_error").cloned(), own.or(suite_wide).map(Value::from));
    assert_eq!(record["error"].is_string(), expected == "fail");
}

#[test]
fn a_failed_grading_is_zero_excluded_or_an_error_as_it_is_said() {
    check_policy(None, None, "zero");
    for policy in ["zero", "exclude", "fail"] {
        check_policy(Some(policy), None, policy);
        check_policy(None, Some(policy), policy);
        // The evaluator's own word wins.
        check_policy(Some("fail"), Some(policy), policy);
        check_policy(Some("exclude"), Some(policy), policy);
    }
}

#[test]
fn an_error_of_the_judge_is_the_error_of_the_case_if_that_is_wanted() {
    let (_, record) = with_policies(None, Some("fail"));
    let error = record["error"].as_str().unwrap();
    assert!(
        error.starts_with("evaluator 'judge' failed: the judge `judge` gave no valid"),
        "{error}"
    );
    assert_eq!(record["candidate_answer"], "ok");
}

#[test]
fn a_case_that_nobody_could_grade_is_no_zero() {
    let api = FakeLlm::answering("no JSON");
    let cx = judged("x", &api);
    let judge = |name: &str| json!({ "name": name, "type": "llm_judge", "max_asks": 1 });
    let case = suite(json!([judge("a"), judge("b")]));
    cx.write("suite.yaml", &format!("execution:\n  on_judge_error: exclude\n{case}"));
    let ran = eval(&cx, &[]);
    ran.code(3).stdout_has("2 grading errors").stdout_has("no evaluator could grade");
    let record = ran.record();
    assert!(record["error"].as_str().unwrap().contains("'a' failed"), "{record:#}");
    assert_eq!(record["status"], "fail");
    eval(&cx, &["--allow-errors"]).success();
}

#[test]
fn the_default_judge_follows_the_suites_policy() {
    let api = FakeLlm::answering("no JSON");
    let cx = judged("x", &api);
    let case = "evalcases:\n  - {id: one, input: q, expected_outcome: x}\n";
    for (policy, code) in [("zero", 0), ("exclude", 3), ("fail", 3)] {
        cx.write("suite.yaml", &format!("execution:\n  on_judge_error: {policy}\n{case}"));
        let record = eval(&cx, &[]).code(code).record();
        assert_eq!(result_of(&record, "llm_judge")["error"]["kind"], "parse", "{policy}");
    }
}

#[test]
fn a_policy_that_is_none_is_refused() {
    let api = FakeLlm::answering("{}");
    let cx = judged("x", &api);
    cx.write("suite.yaml", &suite("- type: llm_judge\n  on_judge_error: ignore"));
    let ran = eval(&cx, &[]);
    ran.code(2).stderr_has("suite.yaml:7:25").stderr_has("`zero`, `exclude`, `fail`");
}

#[test]
fn without_failed_gradings_there_is_no_word_of_them() {
    let api = FakeLlm::answering(r#"{"score": 0}"#);
    let cx = judged("x", &api);
    grade(&cx, &json!([judge()])).success().stdout_lacks("grading error");
}

#[test]
fn a_dry_run_asks_nobody_and_still_has_a_verdict() {
    let api = FakeLlm::answering(r#"{"score": 1}"#);
    let cx = judged("x", &api);
    for evaluator in [judge(), json!({ "name": "judge", "type": "llm_judge", "target": "judge" })] {
        cx.write("suite.yaml", &suite(json!([evaluator])));
        let ran = eval(&cx, &["--dry-run"]);
        let record = ran.success().record();
        assert_eq!(api.asked().len(), 0, "{evaluator}");
        let result = result_of(&record, "judge");
        assert_eq!((&result["score"], result.get("error")), (&json!(0), None), "{record:#}");
        assert_eq!(result["reasoning"], "Dry run: no judge was asked.");
    }
}
