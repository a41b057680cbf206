//! All that a run has to say, to whoever shows it.

use crate::call::Waiting;
use crate::outcome::outcome_of_result;
use crate::{LogLevel, Trials, WorkId};
use agentv_wire::{Outcome, RecordSummary, ResultRecord};
use std::sync::Arc;

/// Something happened.
#[derive(Debug)]
pub enum RunEvent {
    /// A piece of work has begun. The label is `<target> [provider=<kind>]`.
    Started { work: Arc<WorkId>, label: Arc<str> },
    /// A call has to wait before it is made.
    Waiting { work: Arc<WorkId>, wait: Waiting },
    /// There is an answer, or an error instead.
    Answered { work: Arc<WorkId> },
    /// The answer is being graded.
    Grading { work: Arc<WorkId> },
    /// A case is done, and its record is in the results file. Boxed, as it is much larger than the rest.
    Finished(Box<Finished>),
    /// A plug-in had something to say.
    Log { level: LogLevel, text: String },
    /// The user wants the run to end: no more cases are started, those under way are being ended.
    Stopping,
}

/// What displays and totals need of a record. The record itself is in the file.
#[derive(Debug)]
pub struct Finished {
    pub place: Place,
    pub outcome: Outcome,
    /// Its texts are cut.
    pub record: RecordSummary,
}

/// Where a record belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The place of its case among all cases of the run.
    pub position: usize,
    /// `<target> [provider=<kind>]`
    pub label: Arc<str>,
    /// How many records its case is to have on its target.
    pub trials: Trials,
}

impl Finished {
    /// Takes apart a record that is written already.
    pub fn new(place: Place, mut record: Box<ResultRecord>) -> Self {
        let outcome = outcome_of_result(&record);
        // Before texts are cut, since those of old records decide it.
        record.outcome = Some(outcome);
        Self { place, outcome, record: RecordSummary::excerpt(*record) }
    }
}
