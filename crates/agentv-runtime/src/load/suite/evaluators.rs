//! A list of evaluators as written → evaluators that are ready to grade.

use super::scope::Scope;
use crate::config::{Cost, Entry, Fields, Kind, Node, Notes, Span};
use crate::evaluators::{Build, CaseDigest, entry};
use agentv_core::EvaluatorEntry;
use std::sync::{Arc, Mutex, PoisonError};

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

/// The evaluators of a case's own list, built anew only where it says something else than the case before.
pub(super) fn of_case(
    list: &Node<'_>,
    scope: &Scope,
    fingerprint: &mut CaseDigest,
    notes: &mut Notes,
) -> Arc<[EvaluatorEntry]> {
    if let Some(entries) = scope.last_built.find(list) {
        return entries;
    }
    let (mark, files) = (notes.mark(), fingerprint.files());
    let entries: Arc<[EvaluatorEntry]> = build(list, scope, fingerprint, notes).into();
    // What is wrong, and the files that they depend on, are to be told of every case.
    if notes.mark() == mark && fingerprint.files() == files {
        scope.last_built.keep(list, &entries);
    }
    entries
}

/// Builds every evaluator of a list. One that cannot be built is noted and left out.
pub(in crate::load) fn build(
    node: &Node<'_>,
    scope: &Scope,
    fingerprint: &mut CaseDigest,
    notes: &mut Notes,
) -> Vec<EvaluatorEntry> {
    let Some(items) = node.as_list() else {
        let message = format!("`evaluators` must be a list, not {}", node.describe());
        notes.error("evaluator::list", Some(node.span), message).costs(Cost::Case);
        return Vec::new();
    };
    let mut build = scope.build(fingerprint);
    items.iter().filter_map(|item| one(item, scope, &mut build, notes)).collect()
}

fn one(
    node: &Node<'_>,
    scope: &Scope,
    build: &mut Build<'_>,
    notes: &mut Notes,
) -> Option<EvaluatorEntry> {
    let mut fields = Fields::of(node, entry::owner(node), Cost::Evaluator, notes, &scope.env)?;
    entry::read(&mut fields, build)
}

/// The `rubrics` of a case are short for an LLM judge of that name.
pub(super) fn rubric(
    rubrics: &Node<'_>,
    scope: &Scope,
    fingerprint: &mut CaseDigest,
    notes: &mut Notes,
) -> Option<EvaluatorEntry> {
    let text = |text: &'static str| Node::new(Kind::Text(text.into()), rubrics.span);
    let entry = |key: &'static str, value| Entry { key: key.into(), key_span: rubrics.span, value };
    let entries = vec![
        entry("name", text("rubric")),
        entry("type", text("rubric")),
        entry("rubrics", rubrics.clone()),
    ];
    one(&Node::new(Kind::Map(entries), rubrics.span), scope, &mut scope.build(fingerprint), notes)
}
