//! Records as far as a comparison needs them.

use super::{Reader, ResultsError};
use agentv_core::compare::{Grade, Scored};
use agentv_core::outcome::outcome;
use agentv_wire::{EvaluatorSummary, RecordSummary, Skipped};
use serde_json::Value;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

/// What was read of a results file.
#[derive(Debug)]
pub struct ScoredRun {
    pub records: Vec<Scored>,
    /// The suite of each record; `None` if one does not say it, as in results of 2.x.
    suites: Option<Vec<Arc<str>>>,
    /// The line of a last record that was cut off.
    pub torn: Option<usize>,
}

impl ScoredRun {
    /// Whether every record says of which suite it is.
    pub fn has_suites(&self) -> bool {
        self.suites.is_some()
    }
}

/// Reads a file whole, but keeps only names and numbers of each record. Cases with the same value of `cluster` in their
/// metadata belong together.
pub fn read_scored(
    path: &Path,
    name: &str,
    cluster: Option<&str>,
) -> Result<ScoredRun, ResultsError> {
    let mut reader = Reader::open(path, name)?;
    let mut names = Names::default();
    let (mut records, mut suites) = (Vec::new(), Some(Vec::new()));
    while let Some(record) = reader.read::<RecordSummary<Skipped>>()? {
        let suite = record.suite.as_ref().map(|suite| names.shared(suite.as_str()));
        suites = suites.zip(suite).map(|(mut suites, suite)| {
            suites.push(suite);
            suites
        });
        let cluster = cluster.and_then(|key| record.metadata.get(key)).and_then(as_name);
        let cluster = cluster.map(|name| names.shared(&name));
        records.push(Scored { cluster, ..scored(&record, &mut names) });
    }
    Ok(ScoredRun { records, suites, torn: reader.torn() })
}

/// Tells the cases of several runs apart by their suites, where every record says its suite. Else they stay known by their
/// datasets, and the answer is `false`.
pub fn match_by_suite<'r>(runs: impl Iterator<Item = &'r mut ScoredRun>) -> bool {
    let mut runs: Vec<&mut ScoredRun> = runs.collect();
    if runs.iter().any(|run| run.suites.is_none()) {
        return false;
    }
    for run in &mut runs {
        for (record, suite) in run.records.iter_mut().zip(run.suites.iter().flatten()) {
            record.dataset = Arc::clone(suite);
        }
    }
    true
}

/// The value of a key in `metadata`, if it can name something.
fn as_name(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(is_true) => Some(is_true.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn scored(record: &RecordSummary<Skipped>, names: &mut Names) -> Scored {
    let grade = |grading: &EvaluatorSummary, names: &mut Names| Grade {
        evaluator: names.shared(&grading.name),
        score: grading.error.is_none().then_some(grading.score),
    };
    Scored {
        eval_id: names.shared(&record.eval_id),
        dataset: names.shared(&record.dataset),
        target: names.shared(&record.target),
        trial: record.trial,
        score: record.score,
        outcome: outcome(record),
        has_status: record.outcome.is_some() || record.status.is_some(),
        cluster: None,
        tags: record.tags.iter().map(|tag| names.shared(tag)).collect(),
        grades: record.evaluators.iter().map(|grading| grade(grading, names)).collect(),
    }
}

/// Each name once.
#[derive(Default)]
struct Names(HashSet<Arc<str>>);

impl Names {
    fn shared(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.0.get(name) {
            return Arc::clone(known);
        }
        let name: Arc<str> = name.into();
        self.0.insert(Arc::clone(&name));
        name
    }
}
