//! What the doctor says of one thing.

use agentv_core::Redactor;
use serde::Serialize;

/// A look at one thing.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Finding {
    pub area: Area,
    /// What was looked at.
    pub subject: String,
    pub state: FindingState,
    /// What was seen; never a secret.
    pub message: String,
    /// The one command or edit that puts it right.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// Where it belongs, in the order of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Area {
    Files,
    Targets,
    Judges,
    Machine,
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FindingState {
    Good,
    /// A run works, but not everything that the files speak of.
    Warning,
    /// A run does not work.
    Problem,
}

impl Finding {
    pub(super) fn good(area: Area, subject: impl Into<String>, message: impl Into<String>) -> Self {
        let (subject, message) = (subject.into(), message.into());
        Self { area, subject, state: FindingState::Good, message, fix: None }
    }

    pub(super) fn mask(&mut self, redactor: &Redactor) {
        self.message = redactor.text(&self.message).into_owned();
    }

    /// Something to be put right, by `fix`.
    pub(super) fn bad(self, state: FindingState, fix: impl Into<String>) -> Self {
        Self { state, fix: Some(fix.into()), ..self }
    }
}
