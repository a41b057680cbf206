//! A record → the event of its case.

use crate::Trials;
use crate::cause::{Requirement, cause};
use crate::outcome::outcome_of_result;
use crate::totals::{grading_errors, usage};
use agentv_wire::event::CaseFinished;
use agentv_wire::{Outcome, RecordSummary, ResultRecord, Status, WorkId};
use std::sync::Arc;

/// Where a record belongs.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// The place of its case among all cases of the run.
    pub position: usize,
    /// `<target> [provider=<kind>]`
    pub label: Arc<str>,
    /// How many records its case is to have on its target.
    pub trials: Trials,
    /// What its case needs to pass.
    pub requirement: Requirement,
}

/// Takes apart a record that is written already. How many records there are is filled in by whoever counts them.
pub fn finished(work: Arc<WorkId>, place: Place, record: ResultRecord) -> CaseFinished {
    let (outcome, record) = summarize(record, &place.requirement);
    let used = usage(&record).total();
    CaseFinished {
        work,
        label: place.label,
        position: place.position,
        trials: place.trials.count(),
        done: 0,
        total: 0,
        outcome,
        status: if outcome == Outcome::Pass { Status::Pass } else { Status::Fail },
        cost_usd: used.cost_usd,
        tokens: used.tokens(),
        grading_errors: grading_errors(&record).len(),
        record,
    }
}

/// What displays and totals need of a record that is written already. Its texts are cut.
pub fn summarize(mut record: ResultRecord, requirement: &Requirement) -> (Outcome, RecordSummary) {
    let outcome = outcome_of_result(&record);
    // Before texts are cut, since those of old records decide it.
    record.outcome = Some(outcome);
    let cause = (outcome == Outcome::Fail).then(|| cause(&record, requirement));
    (outcome, RecordSummary::excerpt(record, cause))
}
