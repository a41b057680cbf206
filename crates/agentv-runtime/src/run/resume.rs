//! A run that ended early → what is left of it to do.

use super::plan::Plan;
use crate::load::SourceError;
use crate::run_dir::{Claim, Past, Rewritten, RunFolder};
use agentv_core::event::summarize;
use agentv_core::totals::Totals;
use agentv_wire::RunSpend;
use std::io;

/// What was found, and what is left to do.
#[derive(Debug, Default)]
pub struct Resumed {
    pub rewritten: Rewritten,
    /// Answers that only have to be graded.
    pub answered: usize,
    /// Answers whose workspaces are gone: they are asked for again.
    pub lost_workspaces: usize,
    /// What the records that stay came to.
    pub totals: Totals,
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

/// Finds for each trial of each case of the plan what an earlier run has left of it, and leaves only that in the results.
/// With `retry`, those that ended in an error are run again. There may be more trials now than there were, or fewer.
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
            for trial in lane.trials.each() {
                let work = case.work_id(&lane.target.name, trial);
                match past.claim((work, &case), lane.place(&case), retry)? {
                    Claim::Done => lane.past.set_done(case.ordinal, trial),
                    Claim::Answered(answer) => {
                        resumed.answered += 1;
                        lane.past.answers.insert((case.ordinal, trial.number()), answer);
                    }
                    Claim::Open => {}
                }
            }
        }
    }
    resumed.lost_workspaces = past.lost_workspaces;
    resumed.spent = past.spent;
    let totals = &mut resumed.totals;
    resumed.rewritten = past.settle(folder, |record, place| {
        let (_, record) = summarize(record, &place.requirement);
        totals.add(place.position, place.trials, &record);
    })?;
    Ok(resumed)
}
