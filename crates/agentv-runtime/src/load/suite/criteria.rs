//! What a good answer of a case does. Only judges read it, so a case without judges may leave it out.

use super::case::text_of;
use super::defaults::{OUTCOME, TEXTS};
use crate::config::{Cost, Fields, Notes, Span};
use agentv_core::EvaluatorEntry;

const HELP: &str = "say in a sentence what a good answer does";

/// The `criteria` of a case, before it is known whether they are needed.
pub(super) enum Criteria {
    Given(String),
    /// Not usable, which is noted.
    Wrong,
    /// Where the note belongs if they are needed, and what it says.
    Absent(Span, String),
}

impl Criteria {
    pub(super) fn read(fields: &mut Fields<'_, '_>) -> Self {
        let Some(node) = fields.node_of(TEXTS[OUTCOME]) else {
            let message = format!("{} has no `{}`", fields.owner(), TEXTS[OUTCOME][0]);
            return Self::Absent(fields.span_of("id"), message);
        };
        text_of(node, TEXTS[OUTCOME], HELP, fields).map_or(Self::Wrong, Self::Given)
    }

    /// The text for these evaluators: empty if it is absent and none of them is a judge. `None` if the case cannot be
    /// used, which is noted.
    pub(super) fn for_evaluators(
        self,
        evaluators: &[EvaluatorEntry],
        notes: &mut Notes,
    ) -> Option<String> {
        match self {
            Self::Given(text) => Some(text),
            Self::Wrong => None,
            Self::Absent(..) if are_deterministic(evaluators) => Some(String::new()),
            Self::Absent(span, message) => {
                notes.error("case::missing", Some(span), message).help(HELP).costs(Cost::Case);
                None
            }
        }
    }
}

/// Whether none of these evaluators is a judge.
pub(super) fn are_deterministic(evaluators: &[EvaluatorEntry]) -> bool {
    evaluators.iter().all(|entry| entry.evaluator.needs().is_deterministic())
}
