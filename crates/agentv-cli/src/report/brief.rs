//! A record in a few words.

use super::source::Entry;
use super::{error_line, one_line};
use crate::format::score;
use agentv_core::totals::grading_errors;
use agentv_wire::{EvaluatorSummary, Outcome, RecordSummary, ReportCase, ReportGrade};

/// How long `why` gets.
const WHY: usize = 160;

/// Why a record did not pass, in one line.
pub(super) fn why(record: &RecordSummary, outcome: Outcome) -> Option<String> {
    if outcome == Outcome::Pass {
        return None;
    }
    let grading = || {
        let error = *grading_errors(record).first()?;
        Some(format!("{} could not grade: {}", error.evaluator, error.message))
    };
    let error = record.error.clone().or_else(grading).map(|error| error_line(&error, WHY));
    let lowest = || {
        lowest(record).map(|grading| format!("{} scored {}", grading.name, score(grading.score)))
    };
    let reason = || {
        let given = record.misses.first().or(record.reasoning.as_ref()).cloned();
        given.or_else(lowest).map(|why| one_line(&why, WHY))
    };
    error.or_else(reason).filter(|why| !why.is_empty())
}

fn lowest(record: &RecordSummary) -> Option<&EvaluatorSummary> {
    record.evaluators.iter().min_by(|one, other| one.score.total_cmp(&other.score))
}

/// A record as the report for programs has it.
pub(super) fn brief(entry: &Entry<'_>) -> ReportCase {
    let Entry { record, outcome, usage, .. } = entry;
    let place = entry.place();
    let line = place.as_ref().and_then(|place| place.line);
    let used = usage.total();
    ReportCase {
        eval_id: record.eval_id.clone(),
        dataset: record.dataset.clone(),
        target: record.target.clone(),
        trial: record.trial,
        outcome: *outcome,
        simulated: record.simulated,
        score: record.score,
        why: entry.why(),
        error: record.error.clone(),
        file: place.map(|place| place.file.display().to_string()),
        line,
        tags: record.tags.clone(),
        duration_ms: record.metrics.duration_ms,
        cost_usd: used.cost_usd,
        grading_cost_usd: usage.grading.cost_usd,
        token_usage: used.token_usage,
        grading_token_usage: usage.grading.token_usage,
        tool_calls: record.tool_calls(),
        evaluators: record.evaluators.iter().map(grade).collect(),
    }
}

fn grade(evaluator: &EvaluatorSummary) -> ReportGrade {
    ReportGrade {
        name: evaluator.name.clone(),
        kind: evaluator.kind.clone(),
        score: evaluator.score,
        error: evaluator.error.as_ref().map(|failure| failure.kind),
    }
}
