//! What the cases of one eval file are checked against.

use super::criteria::are_deterministic;
use super::defaults::Defaults;
use super::evaluators::{EvaluatorBuilder, SharedEvaluators};
use super::files::Files;
use super::{case, named_files, workspace};
use crate::config::{Cost, Env, Fields, Node, Notes, Presence};
use crate::evaluators::{CaseDigest, SharedDigest};
use crate::load::select::selection::Selection;
use agentv_core::{EvalId, EvaluatorEntry, Suite, WorkspaceSpec};
use std::collections::BTreeSet;
use std::path::PathBuf;
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
    /// The files that the suite names by `files`.
    pub files: Option<SharedDigest>,
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
    /// Where cases are sent to other machines: the folder that all files they depend on must be below.
    pub portable_root: Option<PathBuf>,
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
    fn is_watching(&self) -> bool {
        self.selection.changed.is_some()
    }

    /// Whether it matters which files a case depends on, before it is run.
    pub(super) fn needs_files(&self) -> bool {
        self.is_watching() || self.portable_root.is_some()
    }

    /// An empty fingerprint, which notices dependencies on changed files.
    pub(super) fn new_digest(&self) -> CaseDigest {
        let digest = CaseDigest::watching(self.selection.changed.clone());
        if self.portable_root.is_some() { digest.keeping_paths() } else { digest }
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

    /// Finds the files that the suite names.
    pub(super) fn share_files(&mut self, patterns: Option<&Node<'_>>, notes: &mut Notes) {
        let Some(node) = patterns else { return };
        let mut fingerprint = self.filter.new_digest();
        let mut build = self.builder.context(&mut fingerprint);
        if let Err(problem) = named_files::depend_on(node, &mut build) {
            notes.error("files::missing", Some(node.span), problem).help(named_files::HELP);
        }
        self.given.files = Some(fingerprint.shared());
    }
}
