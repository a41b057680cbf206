//! An answer that another run has recorded, with what it led to.

use super::{Answer, AnswerSource};
use crate::results_io::RecordedAnswer;
use crate::run::case::CaseContext;
use agentv_core::evaluator::AnswerDetail;
use agentv_core::{Answered, ProviderError, Request};
use async_trait::async_trait;

#[async_trait]
impl AnswerSource for RecordedAnswer {
    async fn answer(self: Box<Self>, request: &mut Request, _cx: &CaseContext<'_>) -> Answer {
        let answered = answered(&self);
        request.attempt = answered.attempt;
        answered.into()
    }

    fn known(self: Box<Self>) -> Option<Answered> {
        Some(answered(&self))
    }
}

/// Where all that the target said is there, this run keeps it too, so that it can be graded once more.
fn answered(recorded: &RecordedAnswer) -> Answered {
    let answered = recorded.read().unwrap_or_else(|error| {
        let message = format!("the recorded answer cannot be read: {error}");
        Answered::failed(ProviderError::failed(message))
    });
    Answered { is_kept: answered.detail != AnswerDetail::Trace, ..answered }
}
