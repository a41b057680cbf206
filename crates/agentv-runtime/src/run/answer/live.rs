//! Asks the target, and asks again when the answer took too long. Each attempt has a deadline and a workspace of its own.

use super::{Answer, AnswerSource};
use crate::deadline;
use crate::run::case::CaseContext;
use crate::run::workspace::{self, Unready};
use agentv_core::call::Waiting;
use agentv_core::{Answered, ProviderError, Request, Response};
use agentv_wire::event::WaitReason;
use async_trait::async_trait;
use std::time::{Duration, Instant};

/// The target itself.
#[derive(Debug)]
pub struct LiveTarget;

#[async_trait]
impl AnswerSource for LiveTarget {
    /// Asks until there is an answer, or an error that another attempt would not mend.
    async fn answer(self: Box<Self>, request: &mut Request, cx: &CaseContext<'_>) -> Answer {
        loop {
            let answer = attempt(request, cx).await;
            let is_retried = matches!(&answer.answered.outcome, Err(error) if error.is_timeout())
                && request.attempt < cx.settings.max_retries;
            if !is_retried || cx.cancel.is_cancelled() {
                return answer;
            }
            if let Some(workspace) = answer.workspace {
                workspace.remove().await;
            }
            request.attempt += 1;
            let wait = Waiting {
                target: cx.work.on.target.name.clone(),
                reason: WaitReason::Retry,
                is_throttled: false,
                attempt: request.attempt + 1,
                delay: Duration::ZERO,
            };
            cx.log.waiting(&cx.work.id, wait);
            cx.log.verbose(|| {
                format!("{}: timed out, attempt {} follows", request.eval_id, request.attempt + 1)
            });
        }
    }

    fn known(self: Box<Self>) -> Option<Answered> {
        None
    }
}

async fn attempt(request: &mut Request, cx: &CaseContext<'_>) -> Answer {
    let workspace = match workspace::make(cx).await {
        Ok(workspace) => workspace,
        Err(unready) => {
            let Unready { error, workspace } = *unready;
            return Answer {
                workspace,
                ..Answered::whole(Err(error), Duration::ZERO, request.attempt).into()
            };
        }
    };
    request.workspace = workspace.as_ref().map(|workspace| workspace.path().to_owned());
    let started = Instant::now();
    let outcome = call(request, cx).await;
    let wall = started.elapsed();
    let (outcome, file_changes) = match workspace::changes(workspace.as_ref(), cx).await {
        Ok(changes) => (outcome, changes),
        Err(error) => (outcome.and(Err(error)), None),
    };
    let dir = workspace.as_ref().and_then(|workspace| Some(workspace.dir()?.to_owned()));
    let answered = Answered::whole(outcome, wall, request.attempt);
    Answer { answered: Answered { file_changes, workspace: dir, ..answered }, workspace }
}

async fn call(request: &Request, cx: &CaseContext<'_>) -> Result<Response, ProviderError> {
    let call = cx.call(cx.cancel.child_token());
    let provider = &*cx.work.on.target.provider;
    let answering = async {
        provider.prepare(&call).await?;
        provider.invoke(request, &call).await
    };
    deadline::within(cx.settings.agent_timeout, answering, &call, "the target").await
}
