//! What the cases of one eval file are checked against.

use super::criteria::are_deterministic;
use super::defaults::Defaults;
use super::evaluators::{EvaluatorBuilder, SharedEvaluators};
use super::files::Files;
use super::{case, workspace};
use crate::config::{Cost, Env, Fields, Node, Notes, Presence};
use crate::evaluators::CaseDigest;
use crate::load::select::selection::Selection;
use agentv_core::{EvalId, EvaluatorEntry, Suite, WorkspaceSpec};
use std::collections::BTreeSet;
use std::sync::Arc;

/// All that it takes to check a case of one file.
#[derive(Debug)]
pub(in crate::load) struct CaseScope {
    pub given: SuiteScope,
    pub builder: EvaluatorBuilder,
    pub files: Arc<Files>,
    pub env: Env,
    pub filter: CaseFilter,
}

/// What a suite gives to its cases.
#[derive(Debug)]
pub(in crate::load) struct SuiteScope {
    pub suite: Arc<Suite>,
    /// Vars and texts for cases that have none of their own.
    pub defaults: Defaults,
    /// The suite's evaluators, for cases that name none.
    pub evaluators: Option<SharedEvaluators>,
    /// Grades where neither the case nor the suite names an evaluator.
    pub default_judge: Arc<[EvaluatorEntry]>,
    pub workspace: Option<Arc<WorkspaceSpec>>,
}

/// Which cases of a file are wanted.
#[derive(Debug)]
pub(in crate::load) struct CaseFilter {
    pub selection: Selection,
    /// The cases of this file, where the run names them one by one.
    pub only: Option<BTreeSet<EvalId>>,
    /// Whether the eval file itself was changed, so that all of its cases were.
    pub is_touched: bool,
}

impl CaseFilter {
    /// Whether a case is wanted, by what is written of it.
    pub(in crate::load) fn wants(&self, node: &Node<'_>) -> bool {
        let is_named = |ids: &BTreeSet<EvalId>| {
            case::id(node).is_some_and(|id| ids.contains(&EvalId::from(id)))
        };
        self.selection.wants(node) && self.only.as_ref().is_none_or(is_named)
    }

    /// Whether only cases that depend on changed files are wanted.
    pub(super) fn is_watching(&self) -> bool {
        self.selection.changed.is_some()
    }

    /// An empty fingerprint, which notices dependencies on changed files.
    pub(super) fn new_digest(&self) -> CaseDigest {
        CaseDigest::watching(self.selection.changed.clone())
    }

    /// Whether a case with this fingerprint is wanted, by the files it depends on.
    pub(super) fn wants_changed(&self, fingerprint: &CaseDigest) -> bool {
        !self.is_watching() || self.is_touched || fingerprint.is_touched()
    }
}

impl SuiteScope {
    /// Whether cases without evaluators of their own need `criteria`.
    pub(super) fn criteria(&self) -> Presence {
        let shared = self.evaluators.as_ref();
        if shared.is_some_and(|shared| are_deterministic(&shared.entries)) {
            Presence::Optional
        } else {
            Presence::Required
        }
    }

    /// The case's own workspace over the suite's.
    pub(super) fn workspace_with(&self, own: Option<WorkspaceSpec>) -> Option<Arc<WorkspaceSpec>> {
        match (own, &self.workspace) {
            (None, shared) => shared.clone(),
            (Some(own), Some(shared)) => Some(Arc::new(own.over(shared))),
            (Some(own), None) => Some(Arc::new(own)),
        }
    }
}

impl CaseScope {
    /// Reads what the suite says of workspaces. Where that is wrong, no case can be run as it was meant.
    pub(super) fn share_workspace(
        &mut self,
        node: Option<&Node<'_>>,
        root: &Node<'_>,
        notes: &mut Notes,
    ) {
        let Some(node) = node else { return };
        let dir = &self.given.suite.dir;
        let fields = Fields::of(root, "the eval file", Cost::Command, notes, &self.env);
        let spec = fields.and_then(|mut fields| workspace::read(node, &mut fields, dir));
        self.given.workspace = spec.map(Arc::new);
    }

    /// Builds the suite's own evaluators.
    pub(super) fn share_evaluators(&mut self, list: Option<&Node<'_>>, notes: &mut Notes) {
        let Some(list) = list else { return };
        self.given.evaluators = self.builder.shared(list, self.filter.new_digest(), notes);
    }
}
