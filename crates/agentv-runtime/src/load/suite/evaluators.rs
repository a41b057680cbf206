//! A list of evaluators as written → evaluators that are ready to grade.

use super::files::Files;
use super::named_files;
use crate::config::{Cost, Entry, Env, Fields, Kind, Node, Notes, Span};
use crate::evaluators::{Build, CaseDigest, FileDigests, SharedDigest, entry};
use crate::process::Processes;
use crate::process::sandbox::SandboxSettings;
use agentv_core::EvaluatorEntry;
use agentv_core::evaluator::OnError;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Builds the evaluators of one suite and of its cases.
#[derive(Debug)]
pub(in crate::load) struct EvaluatorBuilder {
    /// The directory of the eval file.
    pub eval_dir: PathBuf,
    pub files: Arc<Files>,
    pub env: Env,
    pub processes: Arc<Processes>,
    /// What a failed grading does, unless the evaluator says otherwise.
    pub on_error: OnError,
    pub digests: FileDigests,
    /// The sandbox of judges that have none of their own.
    pub judge_sandbox: Option<SandboxSettings>,
    /// The evaluators of the case that was read last.
    pub last_built: LastBuilt,
}

/// Evaluators that are built once for many cases.
#[derive(Debug, Clone)]
pub(in crate::load) struct SharedEvaluators {
    pub entries: Arc<[EvaluatorEntry]>,
    /// What they add to a case's fingerprint.
    pub digest: SharedDigest,
}

/// The evaluators that were built last, with the list they were built of. Most suites grade all their cases alike, and one
/// evaluator can serve them all.
#[derive(Debug, Default)]
pub(in crate::load) struct LastBuilt(Mutex<Option<(Node<'static>, Arc<[EvaluatorEntry]>)>>);

impl LastBuilt {
    fn find(&self, list: &Node<'_>) -> Option<Arc<[EvaluatorEntry]>> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (known, entries) = last.as_ref()?;
        known.says_same(list).then(|| Arc::clone(entries))
    }

    fn keep(&self, list: &Node<'_>, entries: &Arc<[EvaluatorEntry]>) {
        let last = (list.placed(Span::default()), Arc::clone(entries));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(last);
    }
}

impl EvaluatorBuilder {
    /// What evaluators are given to build themselves.
    pub(super) fn context<'a>(&'a self, fingerprint: &'a mut CaseDigest) -> Build<'a> {
        Build {
            eval_dir: &self.eval_dir,
            search: self.files.search(),
            processes: &self.processes,
            on_error: self.on_error,
            scrub_judges: self.files.guidelines().scrub.judges,
            sandbox: self.judge_sandbox.as_ref(),
            digests: &self.digests,
            fingerprint,
        }
    }

    /// The suite's own evaluators. `None` if its list is empty.
    pub(super) fn shared(
        &self,
        list: &Node<'_>,
        mut fingerprint: CaseDigest,
        notes: &mut Notes,
    ) -> Option<SharedEvaluators> {
        fingerprint.node(list);
        let entries = self.list(list, &mut fingerprint, notes);
        if entries.is_empty() && list.as_list().is_some_and(<[Node<'_>]>::is_empty) {
            warn_of_empty_list(list, notes);
            return None;
        }
        Some(SharedEvaluators { entries: entries.into(), digest: fingerprint.shared() })
    }

    /// The evaluators of a case's own list, built anew only where it says something else than the case before.
    pub(super) fn of_case(
        &self,
        list: &Node<'_>,
        fingerprint: &mut CaseDigest,
        notes: &mut Notes,
    ) -> Arc<[EvaluatorEntry]> {
        if let Some(entries) = self.last_built.find(list) {
            return entries;
        }
        let (mark, files) = (notes.mark(), fingerprint.files());
        let entries: Arc<[EvaluatorEntry]> = self.list(list, fingerprint, notes).into();
        // What is wrong, and the files that they depend on, are to be told of every case.
        if notes.mark() == mark && fingerprint.files() == files {
            self.last_built.keep(list, &entries);
        }
        entries
    }

    /// Builds every evaluator of a list. One that cannot be built is noted and left out.
    fn list(
        &self,
        node: &Node<'_>,
        fingerprint: &mut CaseDigest,
        notes: &mut Notes,
    ) -> Vec<EvaluatorEntry> {
        let Some(items) = node.as_list() else {
            let message = format!("`evaluators` must be a list, not {}", node.describe());
            notes.error("evaluator::list", Some(node.span), message).costs(Cost::Case);
            return Vec::new();
        };
        let mut context = self.context(fingerprint);
        let mut entries: Vec<EvaluatorEntry> = Vec::with_capacity(items.len());
        for item in items {
            let Some(entry) = self.one(item, &mut context, notes) else { continue };
            // Without a name an evaluator goes by its type, and several of one type are usual.
            let is_second = entries.iter().any(|earlier| earlier.name == entry.name);
            if let Some(name) = item.get("name").filter(|_| is_second) {
                let first = named(node, entry.name.as_str());
                warn_of_second_name(entry.name.as_str(), (first, name.span), notes);
            }
            entries.push(entry);
        }
        entries
    }

    fn one(
        &self,
        node: &Node<'_>,
        context: &mut Build<'_>,
        notes: &mut Notes,
    ) -> Option<EvaluatorEntry> {
        named_files::of_evaluator(node, context, notes);
        let owner = entry::owner(node);
        let mut fields = Fields::of(node, owner, Cost::Evaluator, notes, &self.env)?;
        entry::read(&mut fields, context)
    }

    /// The `rubrics` of a case are short for an LLM judge of that name.
    pub(super) fn rubric(
        &self,
        rubrics: &Node<'_>,
        fingerprint: &mut CaseDigest,
        notes: &mut Notes,
    ) -> Option<EvaluatorEntry> {
        let text = |text: &'static str| Node::new(Kind::Text(text.into()), rubrics.span);
        let entry =
            |key: &'static str, value| Entry { key: key.into(), key_span: rubrics.span, value };
        let entries = vec![
            entry("name", text("rubric")),
            entry("type", text("rubric")),
            entry("rubrics", rubrics.clone()),
        ];
        let node = Node::new(Kind::Map(entries), rubrics.span);
        self.one(&node, &mut self.context(fingerprint), notes)
    }
}

/// Where the first evaluator of this name in a list has its name; one without a name goes by its type.
pub(super) fn named(list: &Node<'_>, name: &str) -> Option<Span> {
    let items = list.as_list().unwrap_or_default();
    let mut names = items.iter().filter_map(|item| item.get("name").or_else(|| item.get("type")));
    names.find(|node| node.as_text() == Some(name)).map(|node| node.span)
}

/// Results are told apart by their positions, but people read names.
pub(super) fn warn_of_second_name(
    name: &str,
    (first, second): (Option<Span>, Span),
    notes: &mut Notes,
) {
    notes
        .warning(
            "evaluator::duplicate-name",
            Some(second),
            format!("duplicate evaluator name {name:?}"),
        )
        .first_used(first)
        .help("give each evaluator a `name` of its own, to tell their results apart");
}

/// An empty list is not "no grading": the default judge takes over, as it always did.
pub(super) fn warn_of_empty_list(list: &Node<'_>, notes: &mut Notes) {
    let message = "the list of evaluators is empty, so the default judge grades";
    notes
        .warning("evaluator::empty", Some(list.span), message)
        .help("remove the key, or add an evaluator");
}
