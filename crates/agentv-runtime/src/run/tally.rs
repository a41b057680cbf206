//! What a run came to, in numbers. Scores, the extremes and the first reasons are kept, records are not.

use super::trials::TrialTally;
use agentv_core::Trials;
use agentv_core::event::{Consumption, Finished, JudgeError, Mark, Why};
use agentv_wire::{RunSpend, Status, VerdictWord};
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
    /// Cases that were answered and graded, but did not pass: the worst of them, worst first.
    pub failures: Vec<Failure>,
    /// How many of these there are, kept or not.
    pub failed: usize,
    /// Gradings that went wrong, with the ids of their cases; the first of them.
    pub judge_failures: Vec<(String, JudgeError)>,
    pub targets: BTreeMap<String, TargetTally>,
    pub evaluators: BTreeMap<String, EvaluatorTally>,
    /// What targets and judges cost together.
    pub used: Consumption,
    /// The best cases, best first; earlier cases before later ones of the same score.
    pub top: Vec<Placed>,
    /// The worst cases in the same order, so the worst is last.
    pub bottom: Vec<Placed>,
    /// How many workspaces were kept, and where the first of them are.
    pub kept: usize,
    pub kept_paths: Vec<(String, String)>,
    /// The lowest score of any record.
    pub lowest: Option<f64>,
    /// Cases that are asked several times.
    pub trials: TrialTally,
    /// What calls really used, once the run is over: answers from a cache cost nothing, and a call may have cost something
    /// though its case has no record.
    pub paid: RunSpend,
}

/// The numbers of one target.
#[derive(Debug, Default, Clone, Copy)]
pub struct TargetTally {
    pub cases: usize,
    pub passed: usize,
    pub errors: usize,
    pub score_sum: f64,
    pub used: Consumption,
    /// The sum over the cases that say how long they took, and how many these are.
    pub duration_ms: f64,
    pub timed: usize,
}

/// The numbers of one evaluator.
#[derive(Debug, Clone)]
pub struct EvaluatorTally {
    pub kind: String,
    pub cases: usize,
    pub passed: usize,
    pub errors: usize,
    pub score_sum: f64,
    /// The lowest and the highest that it had.
    pub weights: (f64, f64),
}

/// A case that did not pass, and why.
#[derive(Debug, Clone)]
pub struct Failure {
    pub placed: Placed,
    pub target: String,
    pub why: Why,
}

/// A case by its score, which is the mean of its trials.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    pub score: f64,
    pub position: usize,
    pub eval_id: String,
}

/// How many error texts are kept.
const ERROR_TEXTS: usize = 100;
/// How many failures are kept with their reasons, and how many gradings that went wrong.
const REASONS: usize = 20;
/// How many evaluators are told apart: who names them by the case gets no table of ten thousand lines.
const EVALUATORS: usize = 100;
/// How many paths of workspaces are kept.
const KEPT_PATHS: usize = 5;
/// How many of the best and of the worst are kept.
const EXTREMES: usize = 3;

impl Tally {
    pub(super) fn add(&mut self, mut finished: Finished) {
        let score = finished.score;
        self.scores.push(score);
        self.lowest = Some(self.lowest.map_or(score, |lowest| lowest.min(score)));
        self.used.add(finished.used);
        self.passed += usize::from(finished.status == Status::Pass);
        // Not `entry`, which wants a name of its own for every case.
        match self.targets.get_mut(&finished.target) {
            Some(target) => target.add(&finished),
            None => self.targets.entry(finished.target.clone()).or_default().add(&finished),
        }
        for mark in finished.marks.drain(..) {
            self.add_mark(mark);
        }
        if let Some(error) = &finished.error {
            self.errors += 1;
            if self.error_texts.len() < ERROR_TEXTS {
                self.error_texts.push((finished.eval_id.clone(), error.clone()));
            }
        }
        if let Some(workspace) = finished.workspace.take() {
            self.kept += 1;
            if self.kept_paths.len() < KEPT_PATHS {
                self.kept_paths.push((finished.eval_id.clone(), workspace));
            }
        }
        if finished.trials == Trials::ONE {
            self.place(score, finished.position, &finished.eval_id);
        } else if let Some(case) = self.trials.add(&finished) {
            self.place(case.score, case.position, &case.eval_id);
        }
        self.add_reasons(finished);
    }

    /// Counts cases that lack some of their trials, as there will be no more.
    pub(super) fn close(&mut self) {
        for case in self.trials.close() {
            self.place(case.score, case.position, &case.eval_id);
        }
    }

    fn add_mark(&mut self, mark: Mark) {
        if let Some(evaluator) = self.evaluators.get_mut(&mark.name) {
            evaluator.add(&mark);
        } else if self.evaluators.len() < EVALUATORS {
            let evaluator = EvaluatorTally::new(&mark);
            self.evaluators.insert(mark.name, evaluator);
        }
    }

    fn place(&mut self, score: f64, position: usize, eval_id: &str) {
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

    /// A case whose grading went wrong is no failure of the target's: it is told apart.
    fn add_reasons(&mut self, finished: Finished) {
        let Finished { eval_id, position, score, target, why, judge_errors, trials, .. } = finished;
        self.judge_errors += judge_errors.len();
        let room = REASONS - self.judge_failures.len();
        let is_ungraded = !judge_errors.is_empty();
        self.judge_failures
            .extend(judge_errors.into_iter().take(room).map(|error| (eval_id.clone(), error)));
        let Some(why) = why.filter(|_| !is_ungraded) else { return };
        self.failed += 1;
        let is_known =
            |known: &Failure| known.placed.position == position && known.target == target;
        if trials != Trials::ONE && self.failures.iter().any(is_known) {
            // One trial of a case says enough.
            return;
        }
        let is_worse =
            |known: &Failure| (known.placed.score, known.placed.position) <= (score, position);
        let at = self.failures.partition_point(is_worse);
        if at < REASONS {
            self.failures.truncate(REASONS - 1);
            let placed = Placed { score, position, eval_id };
            self.failures.insert(at, Failure { placed, target, why });
        }
    }
}

impl EvaluatorTally {
    fn new(mark: &Mark) -> Self {
        let mut evaluator = Self {
            kind: mark.kind.clone(),
            cases: 0,
            passed: 0,
            errors: 0,
            score_sum: 0.0,
            weights: (mark.weight, mark.weight),
        };
        evaluator.add(mark);
        evaluator
    }

    fn add(&mut self, mark: &Mark) {
        self.cases += 1;
        self.passed += usize::from(mark.verdict == VerdictWord::Pass && !mark.is_error);
        self.errors += usize::from(mark.is_error);
        self.score_sum += mark.score;
        self.weights = (self.weights.0.min(mark.weight), self.weights.1.max(mark.weight));
    }

    /// The mean score.
    #[expect(clippy::cast_precision_loss, reason = "numbers of cases are far below 2^52")]
    pub fn mean(&self) -> f64 {
        self.score_sum / self.cases.max(1) as f64
    }
}

impl TargetTally {
    fn add(&mut self, finished: &Finished) {
        self.cases += 1;
        self.passed += usize::from(finished.status == Status::Pass);
        self.errors += usize::from(finished.error.is_some());
        self.score_sum += finished.score;
        self.used.add(finished.used);
        if let Some(duration_ms) = finished.duration_ms {
            self.duration_ms += duration_ms;
            self.timed += 1;
        }
    }

    /// The mean score.
    #[expect(clippy::cast_precision_loss, reason = "numbers of cases are far below 2^52")]
    pub fn mean(&self) -> f64 {
        if self.cases == 0 { 0.0 } else { self.score_sum / self.cases as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn failed(position: usize, score: f64) -> Finished {
        Finished {
            position,
            eval_id: format!("case-{position}"),
            dataset: "suite".to_owned(),
            target: "default".to_owned(),
            trial: None,
            trials: Trials::ONE,
            label: Arc::from("default [provider=mock]"),
            score,
            status: Status::Fail,
            error: None,
            duration_ms: None,
            used: Consumption::default(),
            marks: Vec::new(),
            judge_errors: Vec::new(),
            workspace: None,
            why: Some(Why::default()),
        }
    }

    #[test]
    fn the_worst_failures_are_kept_and_all_are_counted() {
        let mut tally = Tally::default();
        for position in 0..1000_u16 {
            let score = f64::from(999 - position) / 1000.0;
            tally.add(failed(position.into(), score));
        }
        tally.add(failed(2000, 0.0));
        assert_eq!((tally.failed, tally.failures.len()), (1001, REASONS));
        let first: Vec<usize> =
            tally.failures.iter().take(3).map(|failure| failure.placed.position).collect();
        assert_eq!(first, [999, 2000, 998], "the worst first, and of equals the earlier");
    }

    #[test]
    fn a_grading_that_went_wrong_is_no_failure() {
        let mut tally = Tally::default();
        let error = JudgeError { evaluator: "judge".to_owned(), message: "no JSON".to_owned() };
        let judge_errors = vec![error.clone(); 30];
        tally.add(Finished { judge_errors, ..failed(0, 0.0) });
        assert_eq!((tally.failed, tally.judge_errors), (0, 30));
        assert_eq!(tally.judge_failures.len(), REASONS);
        tally.add(Finished { judge_errors: vec![error], ..failed(1, 0.0) });
        assert_eq!(tally.judge_errors, 31);
    }

    #[test]
    fn a_weight_that_differs_from_case_to_case_is_a_range() {
        let mut tally = Tally::default();
        let mark = |weight, is_error| Mark {
            name: "judge".to_owned(),
            kind: "llm_judge".to_owned(),
            score: 1.0,
            weight,
            verdict: VerdictWord::Pass,
            is_error,
        };
        tally.add(Finished { marks: vec![mark(2.0, false)], ..failed(0, 1.0) });
        tally.add(Finished { marks: vec![mark(1.0, true)], ..failed(1, 0.0) });
        let judge = &tally.evaluators["judge"];
        assert_eq!((judge.cases, judge.passed, judge.errors), (2, 1, 1));
        assert_eq!(judge.weights, (1.0, 2.0));
    }
}
