//! Records as far as a comparison needs them.

use super::{Reader, ResultsError};
use agentv_core::compare::{Grade, Scored};
use agentv_wire::Status;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

/// What was read of a results file.
#[derive(Debug)]
pub struct ScoredRun {
    pub records: Vec<Scored>,
    /// The line of a last record that was cut off.
    pub torn: Option<usize>,
}

/// Reads a file whole, but keeps only names and numbers of each record.
pub fn read_scored(path: &Path, name: &str) -> Result<ScoredRun, ResultsError> {
    let mut reader = Reader::open(path, name)?;
    let mut names = Names::default();
    let mut records = Vec::new();
    while let Some(line) = reader.read::<Line>()? {
        records.push(line.scored(&mut names));
    }
    Ok(ScoredRun { records, torn: reader.torn() })
}

/// Of a record only what 2.x had too is needed. Everything else is passed over without being kept.
#[derive(Deserialize)]
struct Line {
    eval_id: String,
    score: f64,
    #[serde(default)]
    dataset: Option<String>,
    #[serde(default)]
    target: Option<String>,
    #[serde(default)]
    trial: Option<u64>,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    tags: Option<Vec<String>>,
    #[serde(default)]
    evaluator_results: Option<Vec<LineGrade>>,
    #[serde(default)]
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct LineGrade {
    name: String,
    score: f64,
    #[serde(default)]
    error: Option<IgnoredAny>,
}

impl Line {
    fn scored(self, names: &mut Names) -> Scored {
        let status = match self.status.as_deref() {
            Some("pass") => Some(Status::Pass),
            Some("fail") => Some(Status::Fail),
            _ => None,
        };
        let grade = |grade: LineGrade, names: &mut Names| Grade {
            evaluator: names.shared(&grade.name),
            score: grade.error.is_none().then_some(grade.score),
        };
        let grades = self.evaluator_results.unwrap_or_default().into_iter();
        Scored {
            eval_id: names.shared(&self.eval_id),
            dataset: names.shared(&self.dataset.unwrap_or_default()),
            target: names.shared(&self.target.unwrap_or_default()),
            trial: self.trial,
            score: self.score,
            status,
            failed: self.error.is_some(),
            tags: self.tags.unwrap_or_default().iter().map(|tag| names.shared(tag)).collect(),
            grades: grades.map(|one| grade(one, names)).collect(),
        }
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
