//! An answer that this run has in its journal, from a batch call or from an earlier session.

use super::{Answer, AnswerSource};
use crate::run::case::CaseContext;
use crate::run_dir::KeptAnswer;
use agentv_core::{Answered, Request};
use async_trait::async_trait;

#[async_trait]
impl AnswerSource for KeptAnswer {
    async fn answer(self: Box<Self>, request: &mut Request, _cx: &CaseContext<'_>) -> Answer {
        request.attempt = self.attempt;
        answered(*self).into()
    }

    fn known(self: Box<Self>) -> Option<Answered> {
        Some(answered(*self))
    }
}

fn answered(KeptAnswer { response, wall, attempt }: KeptAnswer) -> Answered {
    Answered { is_kept: true, ..Answered::whole(Ok(response), wall, attempt) }
}
