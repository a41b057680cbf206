//! One suite on one target.

use super::answer::AnswerSource;
use crate::load::{Labels, LoadedSuite, Ordinals};
use crate::targets::JudgeTargets;
use crate::workspace::Workshop;
use agentv_core::cause::Requirement;
use agentv_core::event::Place;
use agentv_core::{EvalCase, Provider, TargetName, Trial, Trials, WorkspaceSpec};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The cases of one eval file that one target answers.
#[derive(Debug)]
pub struct SuiteOnTarget {
    pub suite: Arc<LoadedSuite>,
    pub target: PlannedTarget,
    pub takes: CaseFilter,
    /// How many cases that is.
    pub cases: usize,
    /// How often each is asked.
    pub trials: Trials,
    /// The place of the file's first case among all cases of the run.
    pub first_position: usize,
    pub past: PriorWork,
}

/// What an earlier session, or another run, has left.
#[derive(Debug, Default)]
pub struct PriorWork {
    /// By trial, the cases that have their record.
    done: BTreeMap<u32, Ordinals>,
    /// Answers that are not graded yet.
    pub(super) answers: Answers,
}

/// Answers that need not be asked for, by the place of their case in the file and the number of the trial.
pub(super) type Answers = HashMap<(usize, u32), Box<dyn AnswerSource>>;

impl SuiteOnTarget {
    /// Where the records of a case belong.
    pub(super) fn place(&self, case: &EvalCase) -> Place {
        Place {
            position: self.first_position + case.ordinal,
            label: Arc::clone(&self.target.label),
            trials: self.trials,
            requirement: Requirement::of(case),
        }
    }

    /// What a worker must have to get these cases.
    pub fn needs(&self) -> Labels {
        self.suite.suite.needs.union(&self.target.labels).cloned().collect()
    }

    /// How many records there will be.
    pub fn records(&self) -> usize {
        self.cases.saturating_mul(self.trials.count() as usize)
    }
}

impl PriorWork {
    pub(super) fn set_done(&mut self, ordinal: usize, trial: Trial) {
        self.done.entry(trial.number()).or_default().insert(ordinal);
    }

    /// Whether this trial of a case has its record.
    pub(super) fn is_done(&self, ordinal: usize, trial: Trial) -> bool {
        self.done.get(&trial.number()).is_some_and(|done| done.contains(ordinal))
    }

    /// Whether it needs no answer any more.
    pub(super) fn covers(&self, ordinal: usize, trial: Trial) -> bool {
        self.is_done(ordinal, trial) || self.answers.contains_key(&(ordinal, trial.number()))
    }
}

/// A target, ready to be asked.
#[derive(Debug)]
pub struct PlannedTarget {
    /// As records show it.
    pub name: TargetName,
    /// As the display shows it: `<name> [provider=<kind>]`.
    pub label: Arc<str>,
    /// The kind of its provider, as the display shows it.
    pub kind: String,
    pub provider: Arc<dyn Provider>,
    /// Whether all cases go out in one call, if the provider can.
    pub batching: bool,
    pub judges: JudgeTargets,
    /// What the target says of workspaces.
    pub workspace: Option<WorkspaceSpec>,
    /// Who makes them; `None` in a dry run, which runs nothing.
    pub workshop: Option<Workshop>,
    /// What a worker must have to get its cases.
    pub labels: Labels,
}

/// Which cases of the file are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CaseFilter {
    /// All, whatever they ask for: the user named the target on the command line.
    All,
    /// Those that ask for no target or for this one.
    UndecidedOr(TargetName),
    /// Those that insist on this target.
    Only(TargetName),
}

impl CaseFilter {
    /// Whether a case that insists on `wanted` belongs here.
    pub fn accepts(&self, wanted: Option<&TargetName>) -> bool {
        match self {
            Self::All => true,
            Self::UndecidedOr(name) => wanted.is_none_or(|wanted| wanted == name),
            Self::Only(name) => wanted == Some(name),
        }
    }

    pub(super) fn takes(&self, case: &EvalCase) -> bool {
        self.accepts(case.target.as_ref())
    }
}
