//! Evaluators inside an evaluator.

use super::{grade, judged, prompt, prompts, result};
use crate::eval;
use agentv_test_support::{FakeLlm, FakeReply, TestContext, result_of, suite};
use serde_json::{Value, json};

/// A member that finds what it looks for, and one that does not, in the answer `ok`.
fn members() -> Value {
    json!([
        { "name": "good", "type": "contains", "value": "ok" },
        { "name": "bad", "type": "contains", "value": "never" },
    ])
}

fn composite(members: &Value, aggregator: &Value) -> Value {
    json!({ "name": "all", "type": "composite", "evaluators": members, "aggregator": aggregator })
}

/// A repository without a judge that answers.
#[track_caller]
fn quiet() -> TestContext {
    judged("ok", &FakeLlm::answering(""))
}

#[test]
fn members_are_weighed_by_the_aggregator() {
    let weights = json!({ "type": "weighted_average", "weights": { "good": 3 } });
    let result = result(&quiet(), &composite(&members(), &weights));
    assert_eq!((&result["score"], &result["type"]), (&json!(0.75), &json!("composite")));
    assert!(result["hits"][0].as_str().unwrap().starts_with("[good] "), "{result:#}");
    assert!(result["misses"][0].as_str().unwrap().starts_with("[bad] "), "{result:#}");
    let request = json!({ "aggregator": "weighted_average", "weights": { "good": 3 } });
    assert_eq!(result["evaluator_provider_request"], request);
    let inner = &result["evaluator_results"];
    assert_eq!(json!([inner[0]["name"], inner[0]["weight"]]), json!(["good", 3]));
    assert_eq!(json!([inner[1]["name"], inner[1]["weight"]]), json!(["bad", 1]));
    assert_eq!(inner[1]["type"], "contains");
}

#[test]
fn weights_that_are_all_zero_are_a_zero() {
    let weights = json!({ "type": "weighted_average", "weights": { "good": 0, "bad": 0 } });
    assert_eq!(result(&quiet(), &composite(&members(), &weights))["score"], 0);
}

#[test]
fn a_weight_of_nobody_is_told() {
    let cx = quiet();
    let text = "- {name: safe, type: contains, value: ok}\n";
    let aggregator = "{type: weighted_average, weights: {sfae: 3}}";
    let evaluator =
        format!("- type: composite\n  evaluators:\n    {text}  aggregator: {aggregator}");
    cx.write("suite.yaml", &suite(evaluator));
    let ran = eval(&cx, &[]);
    ran.success().stderr_has("suite.yaml:9:56").stderr_has("has no member `sfae` to weigh");
    ran.stderr_has("did you mean `safe`?");
}

#[test]
fn judges_inside_keep_their_own_prompts_and_rubrics() {
    let api = FakeLlm::start(|asked| {
        let rubric = asked.body.to_string().contains("[[ ## rubrics ## ]]");
        let checks = r#"{"checks": [{"id": "rubric-1", "satisfied": true}]}"#;
        FakeReply::text(asked, if rubric { checks } else { r#"{"score": 0.5, "reasoning": "so"}"# })
    });
    let cx = judged("ok", &api);
    let members = json!([
        { "name": "own", "type": "llm_judge", "prompt": "Own: {{ candidate_answer }}" },
        { "name": "list", "type": "rubric", "rubrics": ["Is short"] },
    ]);
    let result = result(&cx, &composite(&members, &json!({ "type": "weighted_average" })));
    assert_eq!((&result["score"], &result["reasoning"]), (&json!(0.75), &json!("own: so")));
    let mut told = prompts(&api);
    told.sort();
    assert_eq!(told[0], "Own: ok");
    assert!(told[1].contains("- [rubric-1] (REQUIRED): Is short"), "{}", told[1]);
    let inner = &result["evaluator_results"];
    assert_eq!(inner[0]["evaluator_provider_request"]["user_prompt"], "Own: ok");
    assert_eq!(inner[1]["type"], "llm_judge");
    assert_eq!(inner[0]["usage"]["token_usage"]["input"], 101);
}

#[test]
fn a_script_gets_the_results_as_those_of_old_read_them() {
    let cx = quiet();
    let printed = r#"{"score": 0.9, "verdict": "fail", "hits": ["a", " "], "misses": ["b"], "reasoning": "c"}"#;
    let aggregate = cx.judge_dump("aggregate", printed);
    let inner =
        cx.judge_dump("inner", r#"{"score": 0.5, "reasoning": "r", "details": {"a_b": 1}}"#);
    let members = json!([inner.evaluator(), members()[1]]);
    let aggregator = json!({ "type": "code_judge", "path": aggregate.script });
    let result = result(&cx, &composite(&members, &aggregator));
    let payload = aggregate.payload();
    assert_eq!(payload.as_object().unwrap().len(), 1);
    let given = &payload["results"];
    assert_eq!(given["inner"]["score"], 0.5);
    assert_eq!((&given["inner"]["verdict"], &given["inner"]["hits"]), (&json!("fail"), &json!([])));
    assert_eq!(
        (&given["inner"]["reasoning"], &given["inner"]["details"]),
        (&json!("r"), &json!({ "a_b": 1 }))
    );
    assert!(given["inner"]["evaluatorRawRequest"]["script"].is_array(), "{given:#}");
    assert_eq!(given["bad"]["expectedAspectCount"], 1);
    assert_eq!(given["bad"]["misses"].as_array().unwrap().len(), 1);

    assert_eq!((&result["score"], &result["verdict"]), (&json!(0.9), &json!("fail")));
    assert_eq!((&result["hits"], &result["misses"]), (&json!(["a"]), &json!(["b"])));
    assert_eq!(result["reasoning"], "c");
    let request = json!({ "aggregator": "code_judge", "script": aggregate.script });
    assert_eq!(result["evaluator_provider_request"], request);
    assert_eq!(result["evaluator_results"][0]["type"], "code_judge");
}

#[test]
fn a_script_runs_where_it_is_told() {
    let cx = quiet();
    cx.write("here/agg.sh", "cat > given; echo '{\"score\": 1}'\n");
    let aggregator = json!({ "type": "code_judge", "path": "sh agg.sh", "cwd": "here" });
    assert_eq!(result(&cx, &composite(&members(), &aggregator))["score"], 1);
    assert!(cx.path("here/given").exists());
    cx.write("agg.sh", "cat > given; echo '{\"score\": 0.25}'\n");
    let aggregator = json!({ "type": "code_judge", "path": "sh agg.sh" });
    assert_eq!(result(&cx, &composite(&members(), &aggregator))["score"], 0.25);
}

/// A script that fails costs the score, says so, and is no bad answer. The members' results stay.
#[track_caller]
fn check_script_fails(aggregator: &Value, kind: &str, why: &str) {
    let cx = quiet();
    let ran = grade(&cx, &json!([composite(&members(), aggregator)]));
    let record = ran.code(3).stdout_has("1 grading error").record();
    let result = result_of(&record, "all");
    assert_eq!((&result["score"], &result["verdict"]), (&json!(0), &json!("fail")));
    let reason = result["evaluator_provider_request"]["error"].as_str().unwrap();
    assert!(reason.contains(why), "{reason}");
    assert_eq!(result["misses"], json!([format!("Code aggregator failed: {reason}")]));
    assert_eq!(result["error"], json!({ "kind": kind, "message": reason }));
    assert_eq!(result["evaluator_results"][0]["score"], 1);
}

#[test]
fn a_script_that_fails_is_a_failed_grading() {
    let script = |path: &str| json!({ "type": "code_judge", "path": path });
    check_script_fails(&script("echo oops >&2; exit 3"), "provider", "oops");
    check_script_fails(&script("echo no JSON"), "parse", "the script printed: no JSON");
    check_script_fails(&script("echo '{\"score\": \"high\"}'"), "parse", "high");
    let range = "scores are between 0 and 1; got 95";
    check_script_fails(&script("echo '{\"score\": 95}'"), "score_range", range);
    let slow = json!({ "type": "code_judge", "path": "sleep 600", "timeout_seconds": 0.3 });
    check_script_fails(&slow, "timeout", "timed out after 300ms");
}

#[test]
fn a_model_may_aggregate() {
    let api = FakeLlm::answering(r#"So: {"score": 0.25, "hits": ["h"], "reasoning": "why"}"#);
    let cx = judged("ok", &api);
    cx.write("prompts/sum up.md", "Sum up: {{EVALUATOR_RESULTS_JSON}}");
    for prompt in
        [json!("prompts/sum up.md"), json!("Sum up: {{ EVALUATOR_RESULTS_JSON }}"), Value::Null]
    {
        let mut aggregator = json!({ "type": "llm_judge", "prompt": prompt });
        if prompt.is_null() {
            aggregator.as_object_mut().unwrap().remove("prompt");
        }
        let result = result(&cx, &composite(&members(), &aggregator));
        assert_eq!((&result["score"], &result["reasoning"]), (&json!(0.25), &json!("why")));
        assert_eq!(result["hits"], json!(["h"]));
        let told = prompts(&api).pop().unwrap();
        let request = &result["evaluator_provider_request"];
        assert_eq!(
            (&request["aggregator"], &request["target"]),
            (&json!("llm_judge"), &json!("judge"))
        );
        assert_eq!(request["user_prompt"], told);
        assert!(request["system_prompt"].as_str().unwrap().contains("single JSON object"));
        assert!(prompt.is_null() || told.starts_with("Sum up: {\n  \""), "{told}");
        let given: Value = serde_json::from_str(&told[told.find('{').unwrap()..]).unwrap();
        assert_eq!((&given["good"]["score"], &given["bad"]["score"]), (&json!(1), &json!(0)));
        assert_eq!(result["usage"]["token_usage"]["output"], 23);
    }
}

#[test]
fn a_model_that_cannot_aggregate_is_a_failed_grading() {
    let api = FakeLlm::answering("no JSON");
    let cx = judged("ok", &api);
    let result = result(&cx, &composite(&members(), &json!({ "type": "llm_judge" })));
    assert_eq!((&result["score"], &result["error"]["kind"]), (&json!(0), &json!("parse")));
    assert_eq!(result["evaluator_results"][0]["score"], 1);
    assert_eq!(
        result["usage"]["token_usage"]["output"].as_u64(),
        Some(23 * api.asked().len() as u64)
    );
}

#[test]
fn the_model_may_be_named() {
    let api = FakeLlm::answering("no JSON");
    let cx = judged("ok", &api);
    let aggregator = json!({ "type": "llm_judge", "target": "nobody" });
    let result = result(&cx, &composite(&members(), &aggregator));
    assert_eq!(result["error"]["kind"], "provider");
    assert!(result["error"]["message"].as_str().unwrap().contains("`nobody`"), "{result:#}");
    assert_eq!(api.asked().len(), 0);
}

#[test]
fn a_composite_may_hold_composites() {
    let inner = composite(&members(), &json!({ "type": "weighted_average" }));
    let mut outer = members();
    outer[1] = inner;
    let mut outer = composite(&outer, &json!({ "type": "weighted_average" }));
    outer["name"] = json!("outer");
    let result = result(&quiet(), &outer);
    assert_eq!(result["score"], 0.75);
    let nested = &result["evaluator_results"][1]["evaluator_results"];
    assert_eq!((&nested[0]["name"], &nested[1]["score"]), (&json!("good"), &json!(0)));
    assert!(result["misses"][0].as_str().unwrap().starts_with("[all] [bad] "), "{result:#}");
}

/// A composite of a check that holds and a judge that fails under this policy.
#[track_caller]
fn with_failing_member(policy: &str) -> (i32, Value) {
    let api = FakeLlm::answering("no JSON");
    let cx = judged("ok", &api);
    let judge = json!({ "name": "judge", "type": "llm_judge", "on_judge_error": policy });
    let members = json!([members()[0], judge]);
    let ran = grade(&cx, &json!([composite(&members, &json!({ "type": "weighted_average" }))]));
    ran.stdout_has("1 grading error");
    (ran.code, result_of(&ran.record(), "all").clone())
}

#[test]
fn a_member_that_fails_counts_as_it_says() {
    for (policy, score, weight) in [("zero", 0.5, 1), ("exclude", 1.0, 0)] {
        let (code, result) = with_failing_member(policy);
        assert_eq!((code, result["score"].as_f64()), (0, Some(score)), "{policy}");
        assert_eq!(result.get("error"), None, "{policy}");
        let member = &result["evaluator_results"][1];
        assert_eq!(
            (&member["error"]["kind"], &member["weight"]),
            (&json!("parse"), &json!(weight))
        );
    }
    let (code, result) = with_failing_member("fail");
    assert_eq!((code, &result["score"], &result["error"]["kind"]), (3, &json!(0), &json!("parse")));
    let message = result["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("member 'judge' failed: "), "{message}");
    // What the others found, and what the failed one cost, is not lost.
    let inner = &result["evaluator_results"];
    assert_eq!((&inner[0]["score"], &inner[1]["error"]["kind"]), (&json!(1), &json!("parse")));
    assert_eq!(inner[1]["usage"]["token_usage"]["output"], 69);
}

#[test]
fn a_composite_without_a_member_that_counts_is_no_zero() {
    for aggregator in ["weighted_average", "llm_judge"] {
        let api = FakeLlm::answering("no JSON");
        let cx = judged("ok", &api);
        let judge = json!([{ "name": "judge", "type": "llm_judge", "on_judge_error": "exclude", "max_asks": 1 }]);
        let result = result(&cx, &composite(&judge, &json!({ "type": aggregator })));
        assert_eq!((&result["score"], &result["error"]["kind"]), (&json!(0), &json!("parse")));
        let message = result["error"]["message"].as_str().unwrap();
        assert!(message.starts_with("no member could grade; 'judge' failed: "), "{message}");
        assert_eq!(result["evaluator_results"][0]["error"]["kind"], "parse");
        // There is nothing to aggregate, so nobody is asked to.
        assert_eq!(api.asked().len(), 1);
        assert!(prompt(&api).contains("candidate_answer"));
    }
}

#[test]
fn a_policy_of_the_suite_reaches_members_and_composite() {
    let api = FakeLlm::answering("no JSON");
    let cx = judged("ok", &api);
    let judge = json!([{ "name": "judge", "type": "llm_judge" }]);
    let case = suite(json!([composite(&judge, &json!({ "type": "weighted_average" }))]));
    for policy in ["exclude", "fail"] {
        cx.write("suite.yaml", &format!("execution:\n  on_judge_error: {policy}\n{case}"));
        let record = eval(&cx, &[]).code(3).record();
        assert!(record["error"].as_str().unwrap().contains("'judge' failed"), "{record:#}");
    }
}

#[test]
fn what_is_wrong_inside_is_shown_with_its_place() {
    let text = "\
- name: all
  type: composite
  evaluators:
    - {name: a, type: contians, value: x}
    - {name: b, type: contains, value: x, weight: 2}
  aggregator: {type: llm_judge, prompt: 7}";
    let cx = quiet();
    cx.write("suite.yaml", &suite(text));
    let ran = eval(&cx, &[]);
    ran.code(2).stderr_has("suite.yaml:9:29").stderr_has("did you mean `contains`?");
    ran.stderr_has("suite.yaml:11:47").stderr_has("`prompt` must be text");
}

#[test]
fn programs_of_a_composite_run_one_after_the_other() {
    let cx = quiet();
    let member = |name: &str| {
        let script = format!(
            "echo {name} starts >> order; sleep 0.2; echo {name} ends >> order; echo '{{\"score\": 1}}'"
        );
        json!({ "name": name, "type": "code_judge", "script": ["sh", "-c", script] })
    };
    let members = json!([member("first"), member("second")]);
    let result = result(&cx, &composite(&members, &json!({ "type": "weighted_average" })));
    assert_eq!(result["score"], 1);
    assert_eq!(cx.read("order"), "first starts\nfirst ends\nsecond starts\nsecond ends\n");
}
