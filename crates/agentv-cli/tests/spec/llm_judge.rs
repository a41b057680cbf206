//! Models that grade: what they are told, what is made of what they say, and what the record keeps of it.

use crate::context;
use agentv_test_support::{
    FakeLlm, Ran, TestContext, mock_target, openai_target, result_of, suite, targets,
};
use serde_json::{Value, json};

/// One case with no evaluators, so that the default judge grades.
const PLAIN: &str = "
evalcases:
  - id: one
    expected_outcome: Names the return window
    input: How long do I have?
    expected_messages:
      - {role: assistant, content: Thirty days}
";

/// Runs `suite.yaml` on this candidate, judged by the API.
#[track_caller]
fn run(cx: &TestContext, candidate: &str, api: &FakeLlm, suite: &str) -> Ran {
    let candidate = candidate.to_owned() + "    judge_target: judge\n";
    cx.write("targets.yaml", &targets(&[candidate, openai_target("judge", &api.url())]));
    cx.write("suite.yaml", suite);
    cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).run()
}

/// The result of an `llm_judge` that says this.
#[track_caller]
fn said(reply: &str) -> Value {
    let api = FakeLlm::answering(reply);
    let evaluators = json!([{ "name": "judge", "type": "llm_judge" }]);
    let cx = context();
    let ran = run(&cx, &mock_target("default", "x"), &api, &suite(evaluators));
    let record = ran.record();
    ran.code(if record["outcome"] == "ungraded" { 3 } else { 0 });
    let result = result_of(&record, "judge");
    assert_eq!(record["score"], result["score"]);
    assert_eq!((&record["hits"], &record["misses"]), (&result["hits"], &result["misses"]));
    result.clone()
}

/// What a readable reply comes to: score, hits and misses.
#[track_caller]
fn check(reply: &str, score: f64, hits: &[&str], misses: &[&str]) {
    let result = said(reply);
    assert_eq!(result.get("error"), None, "{reply}");
    assert_eq!(result["score"].as_f64(), Some(score), "{reply}");
    assert_eq!((&result["hits"], &result["misses"]), (&json!(hits), &json!(misses)), "{reply}");
}

/// An unreadable reply is a quiet 0 that says what it is.
#[track_caller]
fn check_unreadable(reply: &str) {
    let result = said(reply);
    assert_eq!((&result["score"], &result["verdict"]), (&json!(0), &json!("fail")), "{reply}");
    assert_eq!((&result["hits"], &result["misses"]), (&json!([]), &json!([])), "{reply}");
    assert_eq!(result["error"]["kind"], "parse", "{reply}");
}

/// The messages of the only request: what the system says, and what the user says.
#[track_caller]
fn told(api: &FakeLlm) -> (String, String) {
    let messages = api.only().body["messages"].take();
    let text = |index: usize, role: &str| {
        assert_eq!(messages[index]["role"], role, "{messages:#}");
        messages[index]["content"].as_str().unwrap().to_owned()
    };
    assert_eq!(messages.as_array().unwrap().len(), 2, "{messages:#}");
    (text(0, "system"), text(1, "user"))
}

#[test]
fn s010_s066_the_judge_is_told_what_to_grade_and_how_to_say_it() {
    let api = FakeLlm::answering(r#"{"score": 1}"#);
    run(&context(), &mock_target("default", " within 30 days\n"), &api, PLAIN).success();
    let (system, user) = told(&api);
    let sections = [
        "[[ ## expected_outcome ## ]]\nNames the return window\n",
        "[[ ## question ## ]]\nHow long do I have?\n",
        "[[ ## reference_answer ## ]]\nThirty days\n",
        "[[ ## candidate_answer ## ]]\nwithin 30 days",
    ];
    let places: Vec<Option<usize>> = sections.iter().map(|text| user.find(text)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{user}");
    for word in ["single JSON object", "\"score\"", "\"hits\"", "\"misses\"", "\"reasoning\""] {
        assert!(system.contains(word), "`{word}` is not in: {system}");
    }
    assert_eq!(system.matches("at most 4").count(), 2, "{system}");
}

#[test]
fn s010_s066_the_rules_of_the_reply_hold_for_prompts_of_ones_own() {
    let api = FakeLlm::answering(r#"{"score": 1}"#);
    let evaluators = json!([{ "type": "llm_judge", "prompt": "Is {{ candidate_answer }} right?" }]);
    run(&context(), &mock_target("default", "42"), &api, &suite(evaluators)).success();
    let (system, user) = told(&api);
    assert_eq!(user, "Is 42 right?");
    assert!(system.contains("single JSON object"), "{system}");
}

#[test]
fn s011_s067_the_first_valid_object_is_found() {
    check(r#"{"score": 0.5, "hits": ["a"], "misses": ["b"]}"#, 0.5, &["a"], &["b"]);
    check(
        "```json\n{\"score\": 0.25, \"hits\": [\"a ```json b\"]}\n```",
        0.25,
        &["a ```json b"],
        &[],
    );
    check(
        "I think {so} far:\n{\"score\": 0.75, \"misses\": [\"}\"]} That is it.",
        0.75,
        &[],
        &["}"],
    );
    check(
        r#"{"score": 0.5, "hits": ["first"]} {"score": 1, "hits": ["second"]}"#,
        0.5,
        &["first"],
        &[],
    );
    check(r#"{"thoughts": {"score": null}} {"score": 1}"#, 1.0, &[], &[]);
}

#[test]
fn s011_s067_scores_are_clamped() {
    check(r#"{"score": 1.7}"#, 1.0, &[], &[]);
    check(r#"{"score": -2}"#, 0.0, &[], &[]);
    check(r#"{"score": 1e300}"#, 1.0, &[], &[]);
}

#[test]
fn s011_s067_what_a_judge_wrote_is_kept_if_it_was_clamped() {
    for (score, kept) in [("1.7", json!(1.7)), ("-2", json!(-2)), ("1", Value::Null)] {
        let result = said(&format!(r#"{{"score": {score}}}"#));
        assert_eq!(result["raw_score"], kept, "{result:#}");
    }
}

#[test]
fn s011_s067_lists_are_trimmed_to_four_texts() {
    let six = r#"{"score": 1, "hits": [" a ", "", "b", "  ", "c\n", 7, "d", "e", "f"], "misses": [null, "x"]}"#;
    check(six, 1.0, &["a", "b", "c", "d"], &["x"]);
    check(r#"{"score": 1, "hits": "all of it", "misses": {"a": "b"}}"#, 1.0, &[], &[]);
}

#[test]
fn s011_s067_no_valid_json_is_zero_and_empty() {
    for reply in
        ["", "I would say 0.9.", r#"{"score": "high"}"#, r#"{"hits": ["a"]}"#, r#"{"score": 0.9"#]
    {
        check_unreadable(reply);
    }
}

#[test]
fn s012_s068_the_default_judges_prompts_are_recorded_at_the_top() {
    let api = FakeLlm::answering(r#"{"score": 0.5, "hits": ["a"], "reasoning": " why "}"#);
    let cx = context();
    let ran = run(&cx, &mock_target("default", "x"), &api, PLAIN);
    let record = ran.success().record();
    let (system, user) = told(&api);
    let request = json!({ "user_prompt": user, "system_prompt": system, "target": "judge" });
    assert_eq!(record["evaluator_provider_request"], request);
    assert_eq!(record.get("evaluator_results"), None);
    assert_eq!((&record["score"], &record["hits"]), (&json!(0.5), &json!(["a"])));
    assert_eq!(record["reasoning"], "why");
    assert_eq!(ran.stderr, "");
}

#[test]
fn s012_s068_a_listed_judges_prompts_are_recorded_in_its_result() {
    let api = FakeLlm::answering(r#"{"score": 0.5}"#);
    let evaluators = json!([{ "name": "listed", "type": "llm_judge" }]);
    let cx = context();
    let ran = run(&cx, &mock_target("default", "x"), &api, &suite(evaluators));
    let record = ran.success().record();
    let (system, user) = told(&api);
    let request = json!({ "user_prompt": user, "system_prompt": system, "target": "judge" });
    assert_eq!(result_of(&record, "listed")["evaluator_provider_request"], request);
    assert_eq!(result_of(&record, "listed")["type"], "llm_judge");
    assert_eq!(record.get("evaluator_provider_request"), None);
}

#[test]
fn s012_s068_an_unreadable_reply_is_silent_and_still_no_bad_answer() {
    for suite in [PLAIN.to_owned(), suite(json!([{ "type": "llm_judge" }]))] {
        let api = FakeLlm::answering("I would rather not say.");
        let cx = context();
        let ran = run(&cx, &mock_target("default", "x"), &api, &suite);
        assert_eq!(ran.stderr, "");
        // The score stays 0, as in 2.x; but an ungraded case leaves the run incomplete.
        ran.code(3).stdout_has("1 grading error");
        let record = ran.record();
        assert_eq!((&record["score"], &record["outcome"]), (&json!(0), &json!("ungraded")));
        assert_eq!((&record["hits"], &record["misses"]), (&json!([]), &json!([])));
        assert_eq!(record.get("error"), None);
        let result = result_of(&record, "llm_judge");
        assert_eq!(result["error"]["kind"], "parse");
        let message = result["error"]["message"].as_str().unwrap();
        assert!(message.contains("`judge`") && message.contains("rather not say"), "{message}");
        let top = &record["evaluator_provider_request"]["user_prompt"];
        let own = &result["evaluator_provider_request"]["user_prompt"];
        assert!(top.is_string() != own.is_string(), "{record:#}");
    }
}

/// What the judge is told of an agent that read a file, or of a mock that did nothing.
#[track_caller]
fn told_of_trace(traced: bool, evaluator: &Value) -> String {
    let cx = context();
    let output = json!({ "duration_ms": 5, "output_messages": [{
        "role": "assistant",
        "content": "done",
        "tool_calls": [{ "tool": "readFile", "input": {} }],
    }] });
    let candidate = if traced {
        cx.cli_target_answering("default", &output.to_string())
    } else {
        mock_target("default", "done")
    };
    let api = FakeLlm::answering(r#"{"score": 1}"#);
    let ran = run(&cx, &candidate, &api, &suite(json!([evaluator])));
    assert_eq!(ran.success().record()["score"], 1);
    told(&api).1
}

#[test]
fn s024_s080_the_trace_is_shown_only_when_asked_for() {
    let silent = told_of_trace(true, &json!({ "type": "llm_judge" }));
    assert!(!silent.contains("trace") && !silent.contains("readFile"), "{silent}");

    let by_key = told_of_trace(true, &json!({ "type": "llm_judge", "include_trace": true }));
    let section = by_key.split_once("\n\n[[ ## trace_summary ## ]]\n").unwrap().1;
    let summary: Value = serde_json::from_str(section).unwrap();
    assert_eq!(summary["tool_calls_by_name"], json!({ "readFile": 1 }));
    assert_eq!(by_key.replace(&format!("\n\n[[ ## trace_summary ## ]]\n{section}"), ""), silent);

    let prompt = "{{candidate_answer}} by {{ trace_summary }}.";
    for include_trace in [false, true] {
        let judge =
            json!({ "type": "llm_judge", "prompt": prompt, "include_trace": include_trace });
        assert_eq!(told_of_trace(true, &judge), format!("done by {section}."));
    }
}

#[test]
fn s024_s080_a_prompt_with_a_trace_is_valid_without_one() {
    let by_key = told_of_trace(false, &json!({ "type": "llm_judge", "include_trace": true }));
    assert!(by_key.ends_with("\n\n[[ ## trace_summary ## ]]\nNo trace available."), "{by_key}");
    let prompt = "{{candidate_answer}} by {{ trace_summary }}";
    let by_name = told_of_trace(false, &json!({ "type": "llm_judge", "prompt": prompt }));
    assert_eq!(by_name, "done by No trace available.");
}
