//! A case that no evaluator graded is not a bad answer, regardless of weights and policies.

use crate::{context, eval};
use agentv_test_support::{TestContext, mock_target, suite, targets};
use serde_json::{Value, json};

#[track_caller]
fn mocked() -> TestContext {
    let cx = context();
    cx.write("targets.yaml", &targets(&[mock_target("default", "ok")]));
    cx
}

/// A judge that fails, with more keys.
fn broken(more: &Value) -> Value {
    let mut judge = json!({ "name": "broken", "type": "code_judge", "script": "exit 3" });
    for (key, value) in more.as_object().unwrap() {
        judge[key] = value.clone();
    }
    judge
}

/// A check that holds, with this weight.
fn good(weight: f64) -> Value {
    json!({ "name": "good", "type": "contains", "value": "ok", "weight": weight })
}

fn composite(members: &Value, weights: &Value) -> Value {
    let aggregator = json!({ "type": "weighted_average", "weights": weights });
    json!({ "name": "all", "type": "composite", "evaluators": members, "aggregator": aggregator })
}

#[track_caller]
fn check(evaluators: &Value, code: i32, outcome: &str) {
    let cx = mocked();
    cx.write("suite.yaml", &suite(evaluators));
    let ran = eval(&cx, &[]);
    assert_eq!((ran.code(code).record()["outcome"].as_str(), code), (Some(outcome), code));
}

#[test]
fn without_a_grade_that_counts_the_run_exits_with_3() {
    let exclude = json!({ "on_judge_error": "exclude" });
    let member = |more: &Value| {
        let mut member = broken(more);
        member["name"] = json!("member");
        member
    };
    for evaluators in [
        json!([broken(&json!({}))]),
        json!([broken(&json!({ "weight": 0 }))]),
        json!([broken(&exclude)]),
        json!([broken(&exclude), good(0.0)]),
        json!([broken(&exclude), { "name": "other", "type": "code_judge", "script": "exit 3", "weight": 0 }]),
        json!([composite(&json!([member(&json!({}))]), &json!({ "member": 0 }))]),
        json!([composite(&json!([member(&exclude), good(1.0)]), &json!({ "good": 0 }))]),
        json!([composite(&json!([member(&exclude)]), &json!({}))]),
    ] {
        check(&evaluators, 3, "ungraded");
    }
}

/// A script looks at all members, regardless of their weights.
#[test]
fn a_member_of_weight_0_counts_where_a_script_aggregates() {
    let mut member = broken(&json!({ "weight": 0 }));
    member["name"] = json!("member");
    let aggregator = json!({ "type": "code_judge", "path": "echo '{\"score\": 1}'" });
    let whole = json!({ "name": "all", "type": "composite", "evaluators": [member, good(1.0)], "aggregator": aggregator });
    check(&json!([whole]), 3, "ungraded");
}

#[test]
fn where_another_grades_a_failure_that_does_not_count_changes_nothing() {
    check(&json!([broken(&json!({ "weight": 0 })), good(1.0)]), 0, "pass");
    check(&json!([broken(&json!({ "on_judge_error": "exclude" })), good(1.0)]), 0, "pass");
    // A written `zero` is the user's choice.
    check(&json!([broken(&json!({ "on_judge_error": "zero" }))]), 0, "fail");
}
