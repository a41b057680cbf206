//! A list of evaluators as written → evaluators that are ready to grade.

use super::scope::Scope;
use crate::config::{Cost, Entry, Fields, Kind, Node, Notes};
use crate::evaluators::{Build, CaseDigest, entry};
use agentv_core::EvaluatorEntry;

/// Builds every evaluator of a list. One that cannot be built is noted and left out.
pub(super) fn build(
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
