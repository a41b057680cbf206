//! What an earlier run tells a plan: scores, cost and time, case by case.

use super::{Reader, ResultsError};
use agentv_core::outcome::outcome;
use agentv_core::totals::usage;
use agentv_wire::{Outcome, RecordSummary, Skipped};
use std::collections::HashMap;
use std::path::Path;

/// A case of an earlier run, on one target.
#[derive(Debug, Default)]
pub struct CaseHistory {
    /// Of graded trials.
    pub scores: Vec<f64>,
    /// Whether each graded trial has its score from passing: 1 for a pass, else 0.
    pub scores_are_passes: bool,
    /// What each trial cost that says so, judges included.
    pub costs: Vec<f64>,
    /// How long the answer of each trial took, where it says so.
    pub durations_ms: Vec<f64>,
}

/// The cases of an earlier run by suite, id and target.
pub type History = HashMap<(String, String, String), CaseHistory>;

/// Reads a file record by record, and keeps only numbers.
pub fn read_history(path: &Path, name: &str) -> Result<History, ResultsError> {
    let mut reader = Reader::open(path, name)?;
    let mut history = History::new();
    while let Some(record) = reader.read::<RecordSummary<Skipped>>()? {
        let suite = record.suite.as_ref().map_or(&*record.dataset, |suite| suite.as_str());
        let key = (suite.to_owned(), record.eval_id.clone(), record.target.clone());
        let case = history
            .entry(key)
            .or_insert_with(|| CaseHistory { scores_are_passes: true, ..CaseHistory::default() });
        let outcome = outcome(&record);
        if outcome.is_graded() {
            case.scores.push(record.score);
            let pass = f64::from(u8::from(outcome == Outcome::Pass));
            case.scores_are_passes &= (record.score - pass).abs() < f64::EPSILON;
        }
        case.costs.extend(usage(&record).total().cost_usd);
        case.durations_ms.extend(record.metrics.duration_ms);
    }
    Ok(history)
}
