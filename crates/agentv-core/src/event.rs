//! All that a run has to say, to whoever shows it.

use crate::{EvalId, LogLevel};
use agentv_wire::ResultRecord;
use std::sync::Arc;

/// Something happened.
#[derive(Debug)]
pub enum RunEvent {
    /// A case is being asked.
    Started { eval_id: EvalId, target: Arc<str> },
    /// A case is done, and its record is in the results file. Boxed, as it is much larger than the rest.
    Finished(Box<Finished>),
    /// A plug-in had something to say.
    Log { level: LogLevel, text: String },
}

/// A record with what a display needs to place it.
#[derive(Debug)]
pub struct Finished {
    /// The place among all cases of the run, for displays that keep the order of the files.
    pub position: usize,
    /// `<target> [provider=<kind>]`
    pub target: Arc<str>,
    pub record: ResultRecord,
}
