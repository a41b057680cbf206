//! What became of a case: the only place that decides.
//!
//! | outcome | when |
//! | --- | --- |
//! | `error` | there is no answer, or the target reported an error with it |
//! | `ungraded` | an evaluator that counts, or a member of a composite that does, could not grade, and nothing says what to do then; or one could not grade and none that counts did |
//! | `pass`, `fail` | graded: by the suite's `pass_score` and by required evaluators |
//!
//! A written `on_judge_error` of `zero` or `exclude` is the user's choice, so the case is graded by it. With `fail`, or if
//! `exclude` leaves no evaluator, the record has an error that names the evaluator, and the case is ungraded.

use crate::Score;
use agentv_wire::{
    EvaluatorFailure, EvaluatorResult, EvaluatorSummary, JudgeErrorPolicy, Outcome, RecordSummary,
    ResultRecord, Status,
};

/// The outcome of a record that was read. One that is written stays as it is; those of older versions are derived.
pub fn outcome<T>(record: &RecordSummary<T>) -> Outcome {
    decide(&Facts {
        recorded: record.outcome,
        error: record.error.as_deref(),
        has_answer: record.trace.is_some(),
        status: record.status,
        score: record.score,
        failed_required: &record.failed_required,
        gradings: &record.evaluators,
    })
}

/// The outcome of a record that is being made, or that was read whole.
pub fn outcome_of_result(record: &ResultRecord) -> Outcome {
    decide(&Facts {
        recorded: record.outcome,
        error: record.error.as_deref(),
        has_answer: record.trace_summary.is_some(),
        status: Some(record.status),
        score: record.score,
        failed_required: &record.failed_required,
        gradings: record.evaluator_results.as_deref().unwrap_or_default(),
    })
}

/// Whether an evaluator gave a score that says something about the answer. Of a composite that is so if it did not fail,
/// and none of the members that count failed without a written policy.
pub fn is_graded(grading: &EvaluatorSummary) -> bool {
    grading.error.is_none() && !is_ungraded(&grading.members, &[])
}

/// What an outcome depends on.
struct Facts<'a, G> {
    recorded: Option<Outcome>,
    error: Option<&'a str>,
    /// Records of 2.x and of cases without an answer have no summary of a trace.
    has_answer: bool,
    /// Records of 2.x have none.
    status: Option<Status>,
    score: f64,
    failed_required: &'a [String],
    gradings: &'a [G],
}

fn decide<G: Grading>(facts: &Facts<'_, G>) -> Outcome {
    if let Some(recorded) = facts.recorded {
        return recorded;
    }
    if let Some(error) = facts.error {
        let mut failures = facts.gradings.iter().filter_map(Grading::failure);
        let is_of_grading = failures.any(|failure| error.ends_with(&failure.message));
        return if facts.has_answer && is_of_grading { Outcome::Ungraded } else { Outcome::Error };
    }
    if is_ungraded(facts.gradings, facts.failed_required) {
        return Outcome::Ungraded;
    }
    // 2.x had no status; its bar is what ours is unless a suite says otherwise.
    let reaches = || Score::clamped(facts.score).reaches(Score::ONE);
    let passed = facts.status.map_or_else(reaches, |status| status == Status::Pass);
    if passed { Outcome::Pass } else { Outcome::Fail }
}

/// Whether these evaluators together give no score: one is in the way, or one failed and none that counts graded. Without
/// the second rule, a failed evaluator beside one of weight 0 would be a score of 0 that looks like a bad answer.
fn is_ungraded<G: Grading>(gradings: &[G], failed_required: &[String]) -> bool {
    let is_required = |one: &G| failed_required.iter().any(|name| name == one.name());
    let has_failed = |one: &G| one.failure().is_some() || is_ungraded(one.members(), &[]);
    let is_zero =
        |one: &G| one.failure().is_some_and(|it| it.on_judge_error == Some(JudgeErrorPolicy::Zero));
    let is_score = |one: &G| one.weight() > 0.0 && (!has_failed(one) || is_zero(one));
    gradings.iter().any(|one| is_in_the_way(one, is_required(one)))
        || (gradings.iter().any(has_failed) && !gradings.iter().any(is_score))
}

/// Whether a case cannot be graded because of this evaluator, or because of a member of it.
fn is_in_the_way<G: Grading>(grading: &G, is_required: bool) -> bool {
    if grading.weight() <= 0.0 && !is_required {
        return false;
    }
    match grading.failure() {
        Some(failure) => match failure.on_judge_error {
            None | Some(JudgeErrorPolicy::Fail) => true,
            Some(JudgeErrorPolicy::Zero | JudgeErrorPolicy::Exclude) => false,
        },
        None => is_ungraded(grading.members(), &[]),
    }
}

/// What one evaluator found, in either of its shapes.
trait Grading: Sized {
    fn name(&self) -> &str;
    fn weight(&self) -> f64;
    fn failure(&self) -> Option<&EvaluatorFailure>;
    fn members(&self) -> &[Self];
}

impl Grading for EvaluatorSummary {
    fn name(&self) -> &str {
        &self.name
    }

    fn weight(&self) -> f64 {
        self.weight
    }

    fn failure(&self) -> Option<&EvaluatorFailure> {
        self.error.as_ref()
    }

    fn members(&self) -> &[Self] {
        &self.members
    }
}

impl Grading for EvaluatorResult {
    fn name(&self) -> &str {
        &self.name
    }

    fn weight(&self) -> f64 {
        self.weight
    }

    fn failure(&self) -> Option<&EvaluatorFailure> {
        self.error.as_ref()
    }

    fn members(&self) -> &[Self] {
        self.evaluator_results.as_deref().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[track_caller]
    fn check(mut record: Value, expected: Outcome) {
        record["eval_id"] = json!("a");
        let read: RecordSummary = serde_json::from_value(record.clone()).unwrap();
        assert_eq!(outcome(&read), expected, "{record}");
    }

    fn failed(weight: f64, policy: Option<&str>) -> Value {
        let mut error = json!({ "kind": "parse", "message": "no JSON" });
        if let Some(policy) = policy {
            error["on_judge_error"] = json!(policy);
        }
        json!({ "name": "judge", "type": "llm_judge", "score": 0, "weight": weight, "error": error })
    }

    fn good(weight: f64) -> Value {
        json!({ "name": "good", "type": "contains", "score": 1, "weight": weight })
    }

    #[test]
    fn a_case_is_ungraded_if_one_failed_and_none_that_counts_graded() {
        let record = |gradings: &[Value]| json!({ "score": 0, "status": "fail", "evaluator_results": gradings });
        let composite = |weight: f64, members: &[Value]| json!({ "name": "c", "score": 0, "weight": weight, "evaluator_results": members });
        let (light, excluded) = (failed(0.0, None), failed(0.0, Some("exclude")));
        for gradings in [
            vec![light.clone()],
            vec![light.clone(), excluded.clone()],
            vec![excluded.clone(), good(0.0)],
            vec![composite(1.0, std::slice::from_ref(&light))],
            vec![composite(1.0, &[excluded.clone(), good(0.0)])],
            vec![composite(0.0, &[failed(1.0, None)])],
            vec![composite(0.0, &[good(1.0)]), light.clone()],
        ] {
            check(record(&gradings), Outcome::Ungraded);
        }
        for gradings in [
            // Spec: "All weights are zero" gives 0.
            vec![good(0.0)],
            vec![light.clone(), good(1.0)],
            vec![excluded.clone(), good(1.0)],
            // A written `zero` is a grade.
            vec![failed(1.0, Some("zero"))],
            vec![excluded, failed(1.0, Some("zero"))],
            vec![composite(1.0, &[light, good(1.0)])],
        ] {
            check(record(&gradings), Outcome::Fail);
        }
    }

    #[test]
    fn what_is_written_counts() {
        check(json!({ "score": 0, "error": "x", "outcome": "pass" }), Outcome::Pass);
        check(json!({ "score": 1, "status": "pass", "outcome": "ungraded" }), Outcome::Ungraded);
    }

    #[test]
    fn records_of_2x_go_by_their_score() {
        check(json!({ "score": 1 }), Outcome::Pass);
        check(json!({ "score": 0.99 }), Outcome::Fail);
        check(json!({ "score": 0, "error": "timeout" }), Outcome::Error);
        check(json!({ "score": 0.5, "status": "pass" }), Outcome::Pass);
    }

    #[test]
    fn an_error_of_the_target_is_an_error_even_with_an_answer() {
        check(json!({ "score": 1, "error": "exit code 2", "trace_summary": {} }), Outcome::Error);
        let both = json!({
            "score": 0, "error": "evaluator 'judge' failed: no JSON", "trace_summary": {},
            "evaluator_results": [failed(1.0, Some("fail"))],
        });
        check(both, Outcome::Ungraded);
    }

    #[test]
    fn an_evaluator_that_counts_and_cannot_grade_leaves_the_case_ungraded() {
        let one = |grading: Value| json!({ "score": 1, "status": "pass", "evaluator_results": [grading, good(1.0)] });
        check(one(failed(1.0, None)), Outcome::Ungraded);
        check(one(failed(0.0, None)), Outcome::Pass);
        check(one(failed(1.0, Some("zero"))), Outcome::Pass);
        check(one(failed(0.0, Some("exclude"))), Outcome::Pass);
        check(one(failed(1.0, Some("fail"))), Outcome::Ungraded);
        let mut required = one(failed(0.0, None));
        required["failed_required"] = json!(["judge"]);
        check(required, Outcome::Ungraded);
    }

    #[test]
    fn a_member_of_a_composite_counts_like_an_evaluator() {
        let of = |weight: f64, member: Value| {
            let inner = json!({ "name": "in", "score": 0.5, "weight": 1, "evaluator_results": [member, good(1.0)] });
            let outer = json!({ "name": "out", "score": 0.5, "weight": weight, "evaluator_results": [inner] });
            json!({ "score": 0.5, "status": "fail", "evaluator_results": [outer, good(1.0)] })
        };
        check(of(1.0, failed(1.0, None)), Outcome::Ungraded);
        check(of(0.0, failed(1.0, None)), Outcome::Fail);
        check(of(1.0, failed(0.0, None)), Outcome::Fail);
        check(of(1.0, failed(1.0, Some("zero"))), Outcome::Fail);
    }

    #[test]
    fn a_composite_whose_member_failed_did_not_grade() {
        let read = |member: Value| -> EvaluatorSummary {
            serde_json::from_value(
                json!({ "name": "c", "score": 0.5, "evaluator_results": [member, good(1.0)] }),
            )
            .unwrap()
        };
        assert!(!is_graded(&read(failed(1.0, None))));
        assert!(is_graded(&read(failed(1.0, Some("zero")))));
        assert!(is_graded(&read(failed(0.0, None))));
    }
}
