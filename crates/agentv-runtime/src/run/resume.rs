//! A run that ended early → what is left of it to do.

use super::lane::Earlier;
use super::plan::Plan;
use super::tally::Tally;
use crate::folder::{Claim, Fate, Past, Rewritten, RunFolder};
use crate::load::SourceError;
use agentv_core::event::Finished;
use agentv_wire::RunSpend;
use std::io;
use std::sync::Arc;

/// What was found, and what is left to do.
#[derive(Debug, Default)]
pub struct Resumed {
    pub rewritten: Rewritten,
    /// Answers that only have to be graded.
    pub answered: usize,
    /// Answers whose workspaces are gone: they are asked for again.
    pub lost_workspaces: usize,
    /// What the records that stay came to.
    pub tally: Tally,
    /// What the earlier sessions have spent.
    pub spent: RunSpend,
}

/// Why a run cannot be taken up again.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error("the run folder cannot be used: {0}")]
    Io(#[from] io::Error),
}

/// Finds for each case of the plan what an earlier run has left of it, and leaves only that in the results. With `retry`,
/// cases that ended in an error are run again.
pub fn resume(
    plan: &mut Plan,
    mut past: Past,
    folder: &RunFolder,
    retry: bool,
) -> Result<Resumed, ResumeError> {
    let mut resumed = Resumed::default();
    for lane in plan.pools.iter_mut().flat_map(|pool| &mut pool.lanes) {
        for case in lane.suite.cases.open()? {
            let case = case?;
            if !lane.takes.takes(&case) {
                continue;
            }
            let position = lane.first_position + case.ordinal;
            let kept = Fate::Kept { position, target: Arc::clone(&lane.target.label) };
            match past.claim((&case, &lane.target.name), kept, retry)? {
                Claim::Done => lane.past.done.insert(case.ordinal),
                Claim::Answered(answer) => {
                    resumed.answered += 1;
                    lane.past.answers.insert(case.ordinal, Earlier::Kept(answer));
                }
                Claim::Open => {}
            }
        }
    }
    resumed.lost_workspaces = past.lost_workspaces;
    resumed.spent = past.spent;
    let tally = &mut resumed.tally;
    resumed.rewritten = past.settle(folder, |record, position, target| {
        tally.add(Finished::new(position, Arc::clone(target), record));
    })?;
    Ok(resumed)
}
