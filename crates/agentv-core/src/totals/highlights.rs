//! What people read of single cases: the first of each kind, and the extremes.

use super::causes::{CauseGroups, CauseKey, NamedCase};
use super::record::{GradingError, grading_errors};
use crate::Trials;
use agentv_wire::{Outcome, RecordSummary, SuiteId};

/// Cases by name, as far as people read them.
#[derive(Debug, Default)]
pub struct Highlights {
    /// Why records failed, have an error, or have a grading that failed.
    pub failed: CauseGroups,
    pub in_error: CauseGroups,
    pub failed_gradings: CauseGroups,
    /// The first cases of the run that passed.
    pub passed: Vec<NamedCase>,
    /// Failed cases: the worst of them, worst first.
    pub failures: Vec<Failure>,
    /// Records that have an error: the first of them, and how many there are.
    pub errors: Vec<KeptError>,
    pub with_error: usize,
    /// The first gradings that failed.
    pub grading_errors: Vec<KeptGradingError>,
    /// The best cases, best first; earlier cases before later ones of the same score.
    pub top: Vec<Placed>,
    /// The worst cases in the same order, so the worst is last.
    pub bottom: Vec<Placed>,
    /// How many workspaces were kept, and where the first of them are, by case.
    pub kept: usize,
    pub kept_paths: Vec<(String, String)>,
}

/// A failed case, and why it failed. Texts are cut by whoever made the summary.
#[derive(Debug, Clone)]
pub struct Failure {
    pub placed: Placed,
    pub suite: Option<SuiteId>,
    pub target: String,
    pub trial: Option<u32>,
    pub misses: Vec<String>,
    pub reasoning: Option<String>,
    pub answer: String,
}

/// A record that has an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptError {
    pub eval_id: String,
    pub error: String,
    /// `error`, or `ungraded` where the error is one of grading.
    pub outcome: Outcome,
}

/// A grading that failed, with its case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptGradingError {
    pub eval_id: String,
    pub evaluator: String,
    pub message: String,
}

/// A case by its score, which is the mean of its trials.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    pub score: f64,
    pub position: usize,
    pub eval_id: String,
}

/// How many error texts are kept.
const ERRORS: usize = 100;
/// How many failures are kept with their reasons, and how many grading errors.
const REASONS: usize = 20;
/// How many cases that passed are named.
const PASSED: usize = 10;
/// How many paths of workspaces are kept.
const KEPT_PATHS: usize = 5;
/// How many of the best and of the worst are kept.
const EXTREMES: usize = 3;

impl Highlights {
    pub(super) fn add_errors<T>(
        &mut self,
        record: &RecordSummary<T>,
        outcome: Outcome,
        grading_errors: &[GradingError<'_>],
    ) {
        let eval_id = || record.eval_id.clone();
        if let Some(error) = &record.error {
            self.with_error += 1;
            if self.errors.len() < ERRORS {
                let error = error.clone();
                self.errors.push(KeptError { eval_id: eval_id(), error, outcome });
            }
        }
        let room = REASONS - self.grading_errors.len();
        self.grading_errors.extend(grading_errors.iter().take(room).map(|error| {
            KeptGradingError {
                eval_id: eval_id(),
                evaluator: error.evaluator.to_owned(),
                message: error.message.to_owned(),
            }
        }));
        if let Some(workspace) = &record.workspace {
            self.kept += 1;
            if self.kept_paths.len() < KEPT_PATHS {
                self.kept_paths.push((eval_id(), workspace.clone()));
            }
        }
    }

    /// Names a record: by its cause, or as one that passed.
    pub(super) fn add_case<T: AsRef<str>>(
        &mut self,
        position: usize,
        record: &RecordSummary<T>,
        outcome: Outcome,
    ) {
        for GradingError { evaluator, message } in grading_errors(record) {
            let key = CauseKey { evaluator: Some(evaluator), text: message, cause: None };
            self.failed_gradings.add(key, position, record);
        }
        let cause = record.cause.as_deref();
        match outcome {
            Outcome::Pass => self.add_passed(position, record),
            Outcome::Error => {
                let text = record.error.as_deref().unwrap_or_default();
                let key = CauseKey { evaluator: None, text, cause: None };
                self.in_error.add(key, position, record);
            }
            Outcome::Fail => {
                let miss = || record.misses.first().map_or("", AsRef::as_ref);
                let text = cause.map_or_else(miss, |cause| &cause.text);
                let evaluator = cause.map(|cause| cause.evaluator.as_str());
                self.failed.add(CauseKey { evaluator, text, cause }, position, record);
            }
            Outcome::Ungraded => {}
        }
    }

    fn add_passed<T>(&mut self, position: usize, record: &RecordSummary<T>) {
        let is_before =
            |known: &NamedCase| (known.position, known.trial) < (position, record.trial);
        let at = self.passed.partition_point(is_before);
        if at < PASSED {
            self.passed.insert(at, NamedCase::of(position, record));
            self.passed.truncate(PASSED);
        }
    }

    pub(super) fn add_failure<T: AsRef<str>>(
        &mut self,
        position: usize,
        trials: Trials,
        record: &RecordSummary<T>,
        outcome: Outcome,
    ) {
        if outcome != Outcome::Fail {
            return;
        }
        let (score, target) = (record.score, &record.target);
        let is_known =
            |known: &Failure| known.placed.position == position && known.target == *target;
        if trials != Trials::ONE && self.failures.iter().any(is_known) {
            // One trial of a case says enough.
            return;
        }
        let is_worse =
            |known: &Failure| (known.placed.score, known.placed.position) <= (score, position);
        let at = self.failures.partition_point(is_worse);
        if at < REASONS {
            self.failures.truncate(REASONS - 1);
            let owned = |text: &T| text.as_ref().to_owned();
            self.failures.insert(
                at,
                Failure {
                    placed: Placed { score, position, eval_id: record.eval_id.clone() },
                    suite: record.suite.clone(),
                    target: target.clone(),
                    trial: record.trial,
                    misses: record.misses.iter().map(owned).collect(),
                    reasoning: record.reasoning.as_ref().map(owned),
                    answer: owned(&record.candidate_answer),
                },
            );
        }
    }

    pub(super) fn place(&mut self, score: f64, position: usize, eval_id: &str) {
        let before = |placed: &Placed| {
            (score, placed.position).partial_cmp(&(placed.score, position))
                == Some(std::cmp::Ordering::Less)
        };
        let placed = || Placed { score, position, eval_id: eval_id.to_owned() };
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
