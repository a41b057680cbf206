//! Two cases of a suite may not have the same id: results could not be told apart.

use crate::config::{Cost, Node, Notes, Span};
use agentv_core::EvalCase;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// Leaves out each case whose id an earlier case has. `items` is the list that the cases were read from, in `text`.
pub(super) fn leave_out(
    cases: Vec<Arc<EvalCase>>,
    items: &[Node<'_>],
    text: &str,
    notes: &mut Notes,
) -> Vec<Arc<EvalCase>> {
    let mut first = HashMap::with_capacity(cases.len());
    let place = |ordinal: usize| {
        let item = items.get(ordinal);
        item.map(|item| item.get("id").map_or(item.span, |id| id.span))
    };
    let is_new = |case: &Arc<EvalCase>| match first.entry(case.id.clone()) {
        Entry::Vacant(entry) => {
            entry.insert(case.ordinal);
            true
        }
        Entry::Occupied(entry) => {
            let line = place(*entry.get()).map_or(1, |span| line_of(span, text));
            refuse(case.id.as_str(), line, place(case.ordinal), notes);
            false
        }
    };
    cases.into_iter().filter(is_new).collect()
}

/// Notes that an id was used before.
pub(in crate::load) fn refuse(id: &str, first_line: usize, at: Option<Span>, notes: &mut Notes) {
    let message = format!("duplicate id {id:?} (first used at line {first_line})");
    notes
        .error("case::duplicate-id", at, message)
        .help("give each case an id of its own")
        .costs(Cost::Case);
}

fn line_of(span: Span, text: &str) -> usize {
    let before = text.as_bytes().get(..span.start as usize).unwrap_or_default();
    1 + memchr::memchr_iter(b'\n', before).count()
}
