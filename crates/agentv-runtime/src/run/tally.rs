//! What a run came to, in numbers. Scores and the extremes are kept, records are not.

use agentv_core::event::Finished;
use agentv_wire::{EvaluatorResult, ResultRecord, Status};
use std::collections::BTreeMap;

/// The numbers of a run so far.
#[derive(Debug, Default)]
pub struct Tally {
    pub scores: Vec<f64>,
    pub passed: usize,
    /// Cases that ended in an error.
    pub errors: usize,
    /// Gradings that went wrong, though their case has a record.
    pub judge_errors: usize,
    /// Errors with their texts, as far as anybody reads them.
    pub error_texts: Vec<(String, String)>,
    pub targets: BTreeMap<String, TargetTally>,
    /// The best cases, best first; earlier cases before later ones of the same score.
    pub top: Vec<Placed>,
    /// The worst cases in the same order, so the worst is last.
    pub bottom: Vec<Placed>,
    /// How many workspaces were kept, and where the first of them are.
    pub kept: usize,
    pub kept_paths: Vec<(String, String)>,
    /// The lowest score of any case.
    pub lowest: Option<f64>,
}

/// The numbers of one target.
#[derive(Debug, Default, Clone, Copy)]
pub struct TargetTally {
    pub cases: usize,
    pub passed: usize,
    pub errors: usize,
    pub score_sum: f64,
}

/// A case by its score.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    pub score: f64,
    pub position: usize,
    pub eval_id: String,
}

/// How many error texts are kept.
const ERROR_TEXTS: usize = 100;
/// How many paths of workspaces are kept.
const KEPT_PATHS: usize = 5;
/// How many of the best and of the worst are kept.
const EXTREMES: usize = 3;

impl Tally {
    pub(super) fn add(&mut self, finished: &Finished) {
        let record = &finished.record;
        self.scores.push(record.score);
        self.lowest = Some(self.lowest.map_or(record.score, |lowest| lowest.min(record.score)));
        let target = self.targets.entry(record.target.clone()).or_default();
        target.cases += 1;
        target.score_sum += record.score;
        if record.status == Status::Pass {
            self.passed += 1;
            target.passed += 1;
        }
        if let Some(error) = &record.error {
            self.errors += 1;
            target.errors += 1;
            if self.error_texts.len() < ERROR_TEXTS {
                self.error_texts.push((record.eval_id.clone(), error.clone()));
            }
        }
        if let Some(workspace) = &record.workspace {
            self.kept += 1;
            if self.kept_paths.len() < KEPT_PATHS {
                self.kept_paths.push((record.eval_id.clone(), workspace.clone()));
            }
        }
        self.judge_errors += judge_errors(record);
        self.place(finished);
    }

    fn place(&mut self, Finished { position, record, .. }: &Finished) {
        let (score, position) = (record.score, *position);
        let before = |placed: &Placed| {
            (score, placed.position).partial_cmp(&(placed.score, position))
                == Some(std::cmp::Ordering::Less)
        };
        let placed = || Placed { score, position, eval_id: record.eval_id.clone() };
        let at = self.top.iter().take_while(|known| before(known)).count();
        if at < EXTREMES {
            self.top.insert(at, placed());
            self.top.truncate(EXTREMES);
        }
        let at = self.bottom.iter().take_while(|known| before(known)).count();
        if at > 0 || self.bottom.len() < EXTREMES {
            self.bottom.insert(at, placed());
            if self.bottom.len() > EXTREMES {
                self.bottom.remove(0);
            }
        }
    }
}

fn judge_errors(record: &ResultRecord) -> usize {
    record.evaluator_results.iter().flatten().map(errors_in).sum()
}

/// The members of a composite count, unless the composite itself failed, most likely by one of them.
fn errors_in(result: &EvaluatorResult) -> usize {
    if result.error.is_some() {
        return 1;
    }
    result.evaluator_results.iter().flatten().map(errors_in).sum()
}

impl TargetTally {
    /// The mean score.
    #[expect(clippy::cast_precision_loss, reason = "numbers of cases are far below 2^52")]
    pub fn mean(&self) -> f64 {
        if self.cases == 0 { 0.0 } else { self.score_sum / self.cases as f64 }
    }
}
