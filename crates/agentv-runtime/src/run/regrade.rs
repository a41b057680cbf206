//! A run whose answers are there already: for each case of a plan, what another run was answered.

use super::plan::Plan;
use super::suite_on_target::SuiteOnTarget;
use crate::load::SourceError;
use crate::results_io::{Recall, Recorded};
use agentv_core::evaluator::AnswerDetail;
use agentv_core::{EvalCase, Trials};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// What there is to grade, and what there is not.
#[derive(Debug, Default)]
pub struct Regraded {
    /// Answers that will be graded.
    pub answers: usize,
    /// Cases that ask something else than what was answered.
    pub changed: BTreeSet<String>,
    /// Cases without an answer.
    pub missing: BTreeSet<String>,
    /// Evaluators that look at messages which are not there, and of how many answers.
    pub blind: BTreeMap<String, usize>,
    /// Answers that were worked out in a directory which is gone.
    pub lost_workspaces: usize,
}

/// Why answers cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum RegradeError {
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error("the recorded answers cannot be read: {0}")]
    Io(#[from] io::Error),
}

/// Finds the recorded answer of each case of the plan, and leaves only those that have one in it.
pub fn regrade(plan: &mut Plan, recorded: &mut Recorded) -> Result<Regraded, RegradeError> {
    let mut regraded = Regraded::default();
    // A case may be answered by some of the targets only, and that is as it was.
    let (mut found, mut wanted) = (BTreeSet::new(), BTreeMap::new());
    for lane in plan.pools.iter_mut().flat_map(|pool| &mut pool.lanes) {
        lane.trials = trials(lane, recorded)?;
        let target = (lane.target.name.as_str(), lane.target.provider.info());
        for case in lane.suite.cases.open()? {
            let case = case?;
            let position = lane.first_position + case.ordinal;
            wanted.entry(position).or_insert_with(|| case.id.to_string());
            for trial in lane.trials.each() {
                match recorded.claim(&case, target, trial)? {
                    Recall::Found(answer) => {
                        found.insert(position);
                        regraded.answers += 1;
                        regraded.look(&case, answer.detail());
                        regraded.lost_workspaces += usize::from(answer.had_workspace());
                        lane.past.answers.insert((case.ordinal, trial.number()), answer);
                    }
                    Recall::OtherQuestion => {
                        found.insert(position);
                        regraded.changed.insert(case.id.to_string());
                        lane.past.set_done(case.ordinal, trial);
                    }
                    Recall::Nothing => lane.past.set_done(case.ordinal, trial),
                }
            }
        }
    }
    wanted.retain(|position, _| !found.contains(position));
    regraded.missing = wanted.into_values().collect();
    plan.total = regraded.answers;
    Ok(regraded)
}

/// As many as were recorded, whatever the suite says now.
fn trials(lane: &SuiteOnTarget, recorded: &Recorded) -> Result<Trials, SourceError> {
    let mut most = Trials::ONE;
    for case in lane.suite.cases.open()? {
        let known = recorded.trials(&case?.id, &lane.target.name);
        if known.count() > most.count() {
            most = known;
        }
    }
    Ok(most)
}

impl Regraded {
    fn look(&mut self, case: &EvalCase, detail: AnswerDetail) {
        for entry in case.evaluators.iter().filter(|entry| entry.evaluator.needs().detail > detail)
        {
            *self.blind.entry(entry.name.to_string()).or_default() += 1;
        }
    }
}
