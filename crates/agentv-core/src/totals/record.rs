//! What one record comes to.

use agentv_wire::{EvaluatorSummary, RecordSummary, Usage};

/// What a record used, the answer apart from its grading.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct RecordUsage {
    pub target: Usage,
    /// Judges, those that are members of composites included.
    pub grading: Usage,
}

/// A grading that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GradingError<'a> {
    pub evaluator: &'a str,
    pub message: &'a str,
}

/// What a record used.
pub fn usage<T>(record: &RecordSummary<T>) -> RecordUsage {
    let metrics = &record.metrics;
    let target = Usage { token_usage: metrics.token_usage, cost_usd: metrics.cost_usd };
    let mut grading = record.evaluator_usage.unwrap_or_default();
    for evaluator in &record.evaluators {
        grading.add(&grading_usage(evaluator));
    }
    RecordUsage { target, grading }
}

/// What an evaluator used. A composite's own usage does not hold that of its members.
pub(super) fn grading_usage(evaluator: &EvaluatorSummary) -> Usage {
    let mut usage = evaluator.usage.unwrap_or_default();
    for member in &evaluator.members {
        usage.add(&grading_usage(member));
    }
    usage
}

/// The gradings of a record that failed. Of a composite these are its members; the composite itself counts only if it
/// failed for another reason than one of them.
pub fn grading_errors<T>(record: &RecordSummary<T>) -> Vec<GradingError<'_>> {
    let mut errors = Vec::new();
    for evaluator in &record.evaluators {
        gather(evaluator, &mut errors);
    }
    errors
}

fn gather<'a>(evaluator: &'a EvaluatorSummary, errors: &mut Vec<GradingError<'a>>) {
    let before = errors.len();
    for member in &evaluator.members {
        gather(member, errors);
    }
    if let Some(error) = evaluator.error.as_ref().filter(|_| errors.len() == before) {
        errors.push(GradingError { evaluator: &evaluator.name, message: &error.message });
    }
}
