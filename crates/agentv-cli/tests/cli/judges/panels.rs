//! Several judges on one answer.

use super::result;
use crate::context;
use crate::eval;
use agentv_test_support::{
    FakeLlm, FakeReply, mock_target, openai_target, result_of, suite, targets,
};
use serde_json::{Value, json};

/// What a panel comes to whose judges, `a`, `b` and so on, say these things. `null` refuses to answer.
#[track_caller]
fn panel(replies: &[Value], more: &Value) -> Value {
    let letters = ["a", "b", "c", "d"];
    let (replies, names) = (replies.to_vec(), &letters[..replies.len()]);
    let api = FakeLlm::start(move |asked| {
        let model = asked.body["model"].as_str().unwrap();
        let reply = &replies[letters.iter().position(|letter| *letter == model).unwrap()];
        if reply.is_null() {
            FakeReply::error(400, "no")
        } else {
            FakeReply::completion(model, &reply.to_string())
        }
    });
    let judges =
        names.iter().map(|name| openai_target(name, &api.url()).replace("fake-model", name));
    let entries: Vec<String> = judges.chain([mock_target("default", "x")]).collect();
    let cx = context();
    cx.write("targets.yaml", &targets(&entries));
    let mut evaluator = json!({ "name": "panel", "type": "llm_judge", "judges": names });
    evaluator.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    result(&cx, &evaluator)
}

fn scores(scores: &[f64]) -> Vec<Value> {
    scores.iter().map(|score| json!({ "score": score })).collect()
}

#[track_caller]
fn check(votes: &[f64], vote: &str, expected: f64) {
    let result = panel(&scores(votes), &json!({ "vote": vote }));
    assert_eq!(result["score"].as_f64(), Some(expected), "{vote} of {votes:?}");
    let cast: Vec<f64> = result["votes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|vote| vote["score"].as_f64().unwrap())
        .collect();
    assert_eq!(cast, votes);
}

#[test]
fn votes_are_put_together_as_it_is_said() {
    check(&[0.25, 0.5, 0.75], "mean", 0.5);
    check(&[0.9, 0.1, 0.4], "median", 0.4);
    check(&[0.0, 0.25, 0.75, 1.0], "median", 0.5);
    check(&[0.8, 1.0, 0.0], "majority", 1.0);
    check(&[0.79, 1.0, 0.0], "majority", 0.0);
    // Half is no majority.
    check(&[1.0, 0.0], "majority", 0.0);
}

#[test]
fn every_vote_is_recorded_with_their_spread() {
    let replies = [
        json!({ "score": 1, "hits": ["good"], "reasoning": "yes" }),
        json!({ "score": 0.25, "misses": ["bad"] }),
    ];
    let result = panel(&replies, &json!({}));
    assert_eq!(result["score"], 0.625);
    let votes = json!([
        { "target": "a", "score": 1, "verdict": "pass", "reasoning": "yes" },
        { "target": "b", "score": 0.25, "verdict": "fail" },
    ]);
    assert_eq!((&result["votes"], &result["spread"]), (&votes, &json!(0.75)));
    assert_eq!((&result["hits"], &result["misses"]), (&json!(["[a] good"]), &json!(["[b] bad"])));
    assert_eq!(result["reasoning"], "a: yes");
    let tokens = json!({ "input": 202, "output": 46, "cached": 80 });
    assert_eq!(result["usage"]["token_usage"], tokens);
}

#[test]
fn a_vote_that_was_clamped_keeps_what_was_written() {
    let replies = [json!({ "score": 7 }), json!({ "score": 0.5 })];
    let result = panel(&replies, &json!({}));
    assert_eq!((&result["score"], result.get("raw_score")), (&json!(0.75), None));
    let votes = &result["votes"];
    assert_eq!((&votes[0]["score"], &votes[0]["raw_score"]), (&json!(1), &json!(7)));
    assert_eq!(votes[1].get("raw_score"), None);
}

#[test]
fn a_judge_that_cannot_vote_does_not_count() {
    let replies = [json!({ "score": 0.5 }), Value::Null, json!("no object")];
    let result = panel(&replies, &json!({ "max_asks": 1 }));
    assert_eq!((&result["score"], result.get("error")), (&json!(0.5), None));
    let kinds: Vec<&Value> =
        result["votes"].as_array().unwrap().iter().map(|vote| &vote["error"]["kind"]).collect();
    assert_eq!(kinds, [&Value::Null, &json!("provider"), &json!("parse")]);
    assert_eq!((&result["votes"][1].get("score"), &result["spread"]), (&None, &json!(0)));
}

#[test]
fn a_panel_without_a_vote_is_a_failed_grading() {
    let result = panel(&[json!("no"), Value::Null], &json!({ "max_asks": 1 }));
    assert_eq!((&result["score"], &result["error"]["kind"]), (&json!(0), &json!("provider")));
    let message = result["error"]["message"].as_str().unwrap();
    assert!(message.contains("no judge of the panel could vote"), "{message}");
    assert_eq!(result["votes"].as_array().unwrap().len(), 2);
    assert_eq!(result.get("spread"), None);
    // The one that answered wants to be paid.
    assert_eq!(result["usage"]["token_usage"]["input"], 101);
}

#[test]
fn a_panel_checks_rubrics_and_keeps_what_is_required() {
    let met =
        json!({ "checks": [{ "id": "a", "satisfied": true }, { "id": "b", "satisfied": true }] });
    let unmet =
        json!({ "checks": [{ "id": "a", "satisfied": true }, { "id": "b", "satisfied": false }] });
    let rubrics = json!([
        { "id": "a", "expected_outcome": "A", "weight": 9 },
        { "id": "b", "expected_outcome": "B" },
    ]);
    let more = |vote: &str| json!({ "rubrics": rubrics, "vote": vote });
    // Nine tenths would be a pass, if `b` were not required.
    let replies = [met, unmet.clone(), unmet];
    assert_eq!(panel(&replies, &more("majority"))["score"], 0);
    let result = panel(&replies, &more("mean"));
    assert_eq!(result["votes"][1]["verdict"], "fail");
    assert_eq!(result["verdict"], "fail");
}

#[test]
fn a_panel_of_nobody_is_refused() {
    for (keys, place, why) in [
        ("judges: []", "suite.yaml:8:17", "is empty"),
        ("judges: a", "suite.yaml:8:17", "`judges`"),
        ("judges: [a]\n  vote: loudest", "suite.yaml:9:15", "`mean`, `median` or `majority`"),
    ] {
        let cx = context();
        cx.write("targets.yaml", &targets(&[mock_target("default", "x")]));
        cx.write("suite.yaml", &suite(format!("- name: panel\n  type: llm_judge\n  {keys}")));
        eval(&cx, &[]).code(2).stderr_has(place).stderr_has(why);
    }
}

#[test]
fn a_judge_that_does_not_exist_has_no_vote() {
    let api = FakeLlm::answering(r#"{"score": 1}"#);
    let cx = context();
    let entries = [mock_target("default", "x"), openai_target("a", &api.url())];
    cx.write("targets.yaml", &targets(&entries));
    cx.write("suite.yaml", &suite(json!([{ "type": "llm_judge", "judges": ["a", "nobody"] }])));
    let record = eval(&cx, &[]).success().record();
    let votes = &result_of(&record, "llm_judge")["votes"];
    assert_eq!((&votes[0]["score"], &votes[1]["error"]["kind"]), (&json!(1), &json!("provider")));
}
