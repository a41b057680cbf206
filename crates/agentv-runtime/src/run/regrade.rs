//! A run whose answers are there already: for each case of a plan, what another run was answered.

use super::plan::Plan;
use super::suite_on_target::{PriorAnswer, SuiteOnTarget};
use crate::load::SourceError;
use crate::results_io::{Recall, Recorded};
use agentv_core::evaluator::{AnswerDetail, OnError};
use agentv_core::{
    EvalCase, EvalContext, Evaluator, EvaluatorEntry, EvaluatorError, Trials, Verdict,
};
use agentv_wire::FailureKind;
use async_trait::async_trait;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// What there is to grade, and what there is not.
#[derive(Debug, Default)]
pub struct Regraded {
    /// Answers that will be graded.
    pub answers: usize,
    /// Cases that ask something else than what was answered.
    pub changed: BTreeSet<String>,
    /// Cases that nobody has answered.
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

/// Finds the recorded answer of each case of the plan, and leaves only those that have one in it. Files are named from
/// `root`.
pub fn regrade(
    plan: &mut Plan,
    recorded: &mut Recorded,
    root: &Path,
) -> Result<Regraded, RegradeError> {
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
                match recorded.claim((&case, root), target, trial)? {
                    Recall::Found(answer) => {
                        found.insert(position);
                        regraded.answers += 1;
                        regraded.look(&case, answer.detail());
                        regraded.lost_workspaces += usize::from(answer.had_workspace());
                        let answer = PriorAnswer::Recorded(answer);
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

/// Who can grade an answer that can be looked at so closely. The others are there, but do not count.
pub(super) fn graders(case: &EvalCase, detail: Option<AnswerDetail>) -> Cow<'_, [EvaluatorEntry]> {
    let can = |entry: &EvaluatorEntry| {
        detail.is_none_or(|detail| entry.evaluator.needs().detail <= detail)
    };
    if detail.is_none() || case.evaluators.iter().all(can) {
        return Cow::Borrowed(&case.evaluators);
    }
    let replaced = case.evaluators.iter().map(|entry| {
        if can(entry) {
            return entry.clone();
        }
        EvaluatorEntry { on_error: OnError::Exclude, evaluator: Arc::new(Blind), ..entry.clone() }
    });
    Cow::Owned(replaced.collect())
}

/// Stands in for an evaluator that has nothing to look at: a score of 0 would be said of an answer that nobody has seen.
#[derive(Debug)]
struct Blind;

#[async_trait]
impl Evaluator for Blind {
    async fn evaluate(&self, _cx: &EvalContext<'_>) -> Result<Verdict, EvaluatorError> {
        let message = "the messages that it looks at are not in the recorded results";
        Err(EvaluatorError::new(FailureKind::Provider, message))
    }
}
