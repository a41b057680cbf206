//! Why a case failed: the evaluator that decided it, with its score and what was needed.

use crate::{EvalCase, EvaluatorName, Score};
use agentv_wire::{EvaluatorResult, FailureCause, ResultRecord};

/// What a case needs to pass.
#[derive(Debug, Clone, PartialEq)]
pub struct Requirement {
    /// The score of the case.
    pub pass_score: Score,
    /// Required evaluators, each with the score that it must reach.
    pub evaluators: Box<[(EvaluatorName, Score)]>,
}

impl Requirement {
    pub fn of(case: &EvalCase) -> Self {
        let pass_score = case.suite.pass_score;
        let required = case
            .evaluators
            .iter()
            .filter_map(|entry| Some((entry.name.clone(), entry.required.needed(pass_score)?)));
        Self { pass_score, evaluators: required.collect() }
    }

    /// What an evaluator must reach by itself.
    fn of_evaluator(&self, name: &str) -> Option<Score> {
        self.evaluators.iter().find(|(known, _)| known.as_str() == name).map(|(_, score)| *score)
    }
}

/// The evaluator that has no entry in the record: the default judge, whose verdict is the record's own.
const DEFAULT_JUDGE: &str = "llm_judge";

/// Why this record failed: the first required evaluator that was not met, else the one with the lowest score.
pub fn cause(record: &ResultRecord, requirement: &Requirement) -> FailureCause {
    let results = record.evaluator_results.as_deref().unwrap_or_default();
    let unmet = results.iter().find(|result| record.failed_required.contains(&result.name));
    if let Some(result) = unmet {
        let needed = requirement.of_evaluator(&result.name).unwrap_or(requirement.pass_score);
        return of_evaluator(result, needed, None);
    }
    let needed = requirement.pass_score;
    let Some(lowest) = lowest(results) else {
        return FailureCause {
            evaluator: DEFAULT_JUDGE.to_owned(),
            score: record.score,
            case_score: None,
            needed: needed.value(),
            text: text(&record.misses, record.reasoning.as_deref()),
        };
    };
    match results.iter().filter(|result| result.weight > 0.0).count() {
        0 => FailureCause {
            text: "no evaluator has a weight above 0".to_owned(),
            ..of_evaluator(lowest, needed, Some(record.score))
        },
        // Below a pass score of 1 it is the weighted mean that falls short, and no single evaluator.
        2.. if !needed.reaches(Score::ONE) => of_evaluator(lowest, needed, Some(record.score)),
        _ => of_evaluator(lowest, needed, None),
    }
}

/// The evaluator with the lowest score; those that count go first.
fn lowest(results: &[EvaluatorResult]) -> Option<&EvaluatorResult> {
    results.iter().min_by(|one, other| {
        let key = |result: &EvaluatorResult| (result.weight <= 0.0, result.score);
        key(one).partial_cmp(&key(other)).unwrap_or(std::cmp::Ordering::Equal)
    })
}

fn of_evaluator(result: &EvaluatorResult, needed: Score, case_score: Option<f64>) -> FailureCause {
    FailureCause {
        evaluator: result.name.clone(),
        score: result.score,
        case_score,
        needed: needed.value(),
        text: text(&result.misses, result.reasoning.as_deref()),
    }
}

fn text(misses: &[String], reasoning: Option<&str>) -> String {
    misses.first().map(String::as_str).or(reasoning).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// The cause of a record with these evaluators, as `name score [of the case score] needs score: text`.
    #[track_caller]
    fn check(results: &Value, unmet: &[(&str, f64)], pass_score: f64, expected: &str) {
        let names: Vec<&str> = unmet.iter().map(|(name, _)| *name).collect();
        let record: ResultRecord = serde_json::from_value(json!({
            "timestamp": "", "eval_id": "a", "dataset": "d", "conversation_id": null, "score": 0.65,
            "status": "fail", "hits": [], "misses": ["a miss of the record"], "candidate_answer": "",
            "target": "t", "failed_required": names, "evaluator_results": results,
        }))
        .unwrap();
        let evaluators = unmet
            .iter()
            .map(|(name, score)| (EvaluatorName::from(*name), Score::clamped(*score)))
            .collect();
        let needs = Requirement { pass_score: Score::clamped(pass_score), evaluators };
        let FailureCause { evaluator, score, case_score, needed, text } = cause(&record, &needs);
        let case = case_score.map(|score| format!(" of {score}")).unwrap_or_default();
        assert_eq!(format!("{evaluator} {score}{case} needs {needed}: {text}"), expected);
    }

    fn result(name: &str, score: f64, weight: f64, misses: &[&str]) -> Value {
        json!({
            "name": name, "type": "contains", "score": score, "weight": weight, "verdict": "fail",
            "hits": [], "misses": misses, "reasoning": format!("{name} thinks so"),
        })
    }

    #[test]
    fn the_lowest_evaluator_that_counts_is_the_cause() {
        let results = json!([
            result("ignored", 0.0, 0.0, &["x"]),
            result("good", 1.0, 1.0, &[]),
            result("bad", 0.3, 1.0, &["no date", "no name"]),
        ]);
        check(&results, &[], 1.0, "bad 0.3 needs 1: no date");
        // With a lower pass score it is the mean that falls short.
        check(&results, &[], 0.8, "bad 0.3 of 0.65 needs 0.8: no date");
        check(&json!([result("bad", 0.3, 1.0, &[])]), &[], 0.8, "bad 0.3 needs 0.8: bad thinks so");
    }

    #[test]
    fn without_a_weight_no_evaluator_can_pass_the_case() {
        let weightless = "good 1 of 0.65 needs 0.8: no evaluator has a weight above 0";
        check(&json!([result("good", 1.0, 0.0, &[])]), &[], 0.8, weightless);
    }

    #[test]
    fn a_required_evaluator_goes_first_with_its_own_score() {
        let results = json!([result("low", 0.1, 1.0, &[]), result("must", 0.7, 1.0, &["late"])]);
        check(&results, &[("must", 0.9)], 0.5, "must 0.7 needs 0.9: late");
    }

    #[test]
    fn the_default_judge_has_no_entry_of_its_own() {
        check(&Value::Null, &[], 1.0, "llm_judge 0.65 needs 1: a miss of the record");
    }
}
