//! The numbers of a run: the only fold over records.
//!
//! ```text
//! record made ──► Totals::add ─────────┐
//! record read ──► RecordedTotals::add ─┴► Totals ──► RunTotals: terminal, events, run.json, runs, reports
//! ```
//!
//! Means are over graded cases. What has no grade is counted, never averaged as 0; only the gates and the lines that
//! scripts of 2.x read take it as 0, and their numbers are here, too. Memory is bounded: 8 bytes for each record, the
//! first reasons and the extremes. Records are not kept.

mod causes;
mod evaluators;
mod group;
mod highlights;
mod record;
mod recorded;
mod scores;
mod trials;

pub use causes::{CauseGroup, CauseGroups, Example, NamedCase, Shortfall};
pub use group::{Counts, GroupTotals};
pub use highlights::{Failure, Highlights, KeptError, KeptGradingError, Placed};
pub use record::{GradingError, RecordUsage, grading_errors, usage};
pub use recorded::RecordedTotals;
pub use scores::{ScoreStatistics, Scores};

use crate::Trials;
use crate::outcome::outcome;
use crate::stats::float;
use crate::trials::CaseTrials;
use agentv_wire::{Outcome, OutcomeTotals, RecordSummary, RunSpend, RunTotals, TrialTotals};
use evaluators::{CaseGradings, Evaluators};
use group::pooled;
use std::collections::BTreeMap;
use trials::OpenTrials;

/// The numbers of a run so far.
#[derive(Debug, Default)]
pub struct Totals {
    /// All records. Their intervals are made of those of the targets.
    pub all: GroupTotals,
    /// The records of each target, by name.
    pub targets: BTreeMap<String, GroupTotals>,
    /// All scores, and those of graded cases.
    pub scores: Scores,
    /// Gradings that failed, members of composites included.
    pub grading_errors: usize,
    /// Records whose answers were made up.
    pub simulated: usize,
    /// Attempts that followed a failed one, of this session: records do not tell.
    pub retries: usize,
    /// What people read of single cases.
    pub highlights: Highlights,
    /// What the calls really used, once the run is over: answers from a cache cost nothing, and a call may have cost
    /// something though its case has no record.
    pub paid: RunSpend,
    evaluators: Evaluators,
    trials: OpenTrials,
}

/// A case with all of its trials.
#[derive(Debug, Clone, Copy)]
struct ClosedCase<'a> {
    position: usize,
    eval_id: &'a str,
    target: &'a str,
    sums: &'a CaseSums,
}

/// The records of one case on one target so far.
#[derive(Debug, Default)]
struct CaseSums {
    trials: CaseTrials,
    gradings: CaseGradings,
}

/// What a record counts as.
#[derive(Debug)]
struct Counted {
    score: f64,
    outcome: Outcome,
    gradings: CaseGradings,
}

impl CaseSums {
    fn add(&mut self, record: &Counted) {
        self.trials.add(record.score, record.outcome);
        self.gradings.extend(&record.gradings);
    }
}

impl Totals {
    /// Takes a record. `position` is that of its case among all cases of the run, and `trials` is how many records the case
    /// is to have on its target.
    pub fn add<T: AsRef<str>>(
        &mut self,
        position: usize,
        trials: Trials,
        record: &RecordSummary<T>,
    ) {
        let counted = self.count(record);
        self.highlights.add_failure(position, trials, record, counted.outcome);
        self.highlights.add_case(position, record, counted.outcome);
        let closed = if trials == Trials::ONE {
            let mut only = CaseSums::default();
            only.add(&counted);
            Some(only)
        } else {
            self.trials.add(position, trials, record, &counted)
        };
        if let Some(sums) = &closed {
            let (eval_id, target) = (&*record.eval_id, &*record.target);
            self.close_case(ClosedCase { position, eval_id, target, sums });
        }
    }

    /// Counts cases that lack some of their trials, as there will be no more records.
    pub fn close(&mut self) {
        for case in self.trials.close() {
            let (eval_id, target) = (&*case.eval_id, &*case.target);
            let sums = &case.sums;
            self.close_case(ClosedCase { position: case.position, eval_id, target, sums });
        }
    }

    /// How many records there are.
    pub fn recorded(&self) -> usize {
        self.all.counts.recorded()
    }

    /// What the trials came to, by suite and target; nothing where no case has several.
    pub fn trials(&self) -> Vec<TrialTotals> {
        self.trials.totals()
    }

    /// All numbers, as every view shows them. `planned` is how many records there were to be, where that is known.
    pub fn wire(&self, planned: Option<usize>) -> RunTotals {
        let targets: BTreeMap<String, OutcomeTotals> =
            self.targets.iter().map(|(name, target)| (name.clone(), target.wire())).collect();
        RunTotals {
            all: self.all_of(&targets),
            not_run: planned.map(|planned| planned.saturating_sub(self.recorded())),
            grading_errors: self.grading_errors,
            histogram: self.scores.histogram(),
            simulated: self.simulated,
            retries: self.retries,
            targets,
            evaluators: self.evaluators.wire(),
            trials: self.trials(),
            spend: (!self.paid.is_nothing()).then_some(self.paid),
        }
    }

    /// All records, with the intervals of all targets.
    fn all_of(&self, targets: &BTreeMap<String, OutcomeTotals>) -> OutcomeTotals {
        let of = |target: &OutcomeTotals| (float(target.graded), target.mean_interval);
        let mean_interval = pooled(targets.values().map(of));
        let of = |target: &OutcomeTotals| (float(target.recorded), target.pass_interval);
        let pass_interval = pooled(targets.values().map(of));
        OutcomeTotals { mean_interval, pass_interval, ..self.all.wire() }
    }

    /// Everything that a record says by itself, whichever case it is of.
    fn count<T: AsRef<str>>(&mut self, record: &RecordSummary<T>) -> Counted {
        let outcome = outcome(record);
        let usage = usage(record);
        self.all.add(record, outcome, &usage);
        // Not `entry`, which wants a name of its own for every record.
        match self.targets.get_mut(&record.target) {
            Some(target) => target.add(record, outcome, &usage),
            None => {
                self.targets.entry(record.target.clone()).or_default().add(record, outcome, &usage);
            }
        }
        self.scores.add(record.score, outcome);
        self.simulated += usize::from(record.simulated);
        let gradings = self.evaluators.add(&record.evaluators);
        let errors = grading_errors(record);
        self.grading_errors += errors.len();
        self.highlights.add_errors(record, outcome, &errors);
        Counted { score: record.score, outcome, gradings }
    }

    fn close_case(&mut self, case: ClosedCase<'_>) {
        let CaseSums { trials, gradings } = case.sums;
        if let Some(target) = self.targets.get_mut(case.target) {
            target.close_case(trials);
        }
        self.evaluators.close_case(case.target, gradings);
        self.highlights.place(trials.mean_of_all(), case.position, case.eval_id);
    }
}

#[cfg(test)]
mod tests;
