//! Where answers come from: the target, a batch call, the journal of this run, or the records of another one. Once an
//! answer is there, nothing depends on its origin.

mod batch;
mod kept;
mod live;
mod recorded;

pub use batch::Batch;
pub(super) use batch::ask as ask_batch;
pub use live::LiveTarget;

use super::case::CaseContext;
use crate::workspace::Workspace;
use agentv_core::{Answered, Request};
use async_trait::async_trait;
use std::fmt;

/// A place where the answer to one piece of work comes from.
#[async_trait]
pub trait AnswerSource: fmt::Debug + Send + Sync {
    /// Brings the answer, and says in the request how it was asked for.
    async fn answer(self: Box<Self>, request: &mut Request, cx: &CaseContext<'_>) -> Answer;

    /// The answer, if it is there without asking anyone.
    fn known(self: Box<Self>) -> Option<Answered>;
}

/// An answer that came with a job.
#[async_trait]
impl AnswerSource for Answered {
    async fn answer(self: Box<Self>, request: &mut Request, _cx: &CaseContext<'_>) -> Answer {
        request.attempt = self.attempt;
        (*self).into()
    }

    fn known(self: Box<Self>) -> Option<Answered> {
        Some(*self)
    }
}

/// What a source brought.
#[derive(Debug)]
pub struct Answer {
    pub answered: Answered,
    /// Where the target has just worked. It is kept or removed once the answer is graded.
    pub workspace: Option<Workspace>,
}

impl From<Answered> for Answer {
    fn from(answered: Answered) -> Self {
        Self { answered, workspace: None }
    }
}
