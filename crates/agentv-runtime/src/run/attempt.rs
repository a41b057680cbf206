//! Asks, and asks again when the answer took too long. Each attempt has its own deadline and its own workspace.

use super::case::CaseContext;
use super::suite_on_target::PriorAnswer;
use super::workspace::{self, Unready};
use crate::deadline;
use crate::results_io::{Recalled, RecordedAnswer, RecordedExtras};
use crate::run_dir::KeptAnswer;
use crate::workspace::Workspace;
use agentv_core::{EvalCase, ProviderError, Request, Response};
use std::time::{Duration, Instant};

/// What came of asking.
pub(super) struct Answer {
    pub outcome: Result<Response, ProviderError>,
    /// How long the last attempt took, without the making of its workspace.
    pub wall: Duration,
    /// Where the last attempt was made.
    pub workspace: Option<Workspace>,
    /// Where it was answered by another run: what that knows besides.
    pub left: Option<Box<RecordedExtras>>,
}

/// Asks until there is an answer or an error that is worth no other attempt. An answer is kept before anybody grades it.
pub(super) async fn ask(
    case: &EvalCase,
    request: &mut Request,
    answered: Option<PriorAnswer>,
    cx: &CaseContext<'_>,
) -> Answer {
    match answered {
        None => {}
        Some(PriorAnswer::Kept(kept)) => {
            let KeptAnswer { response, wall, attempt } = *kept;
            request.attempt = attempt;
            return Answer { outcome: Ok(response), wall, workspace: None, left: None };
        }
        Some(PriorAnswer::Recorded(recorded)) => return recall(case, request, &recorded, cx),
    }
    loop {
        let answer = once(case, request, cx).await;
        let again = matches!(&answer.outcome, Err(error) if error.is_timeout())
            && request.attempt < cx.settings.max_retries;
        if !again || cx.cancel.is_cancelled() {
            if let Ok(response) = &answer.outcome {
                cx.keep(case, request, (response, answer.wall));
            }
            return answer;
        }
        if let Some(workspace) = answer.workspace {
            workspace.remove().await;
        }
        request.attempt += 1;
        cx.log.verbose(|| {
            format!("{}: timed out, attempt {} follows", request.eval_id, request.attempt + 1)
        });
    }
}

/// Looks up what was answered then. Where all of it is there, this run keeps it too, so that it can be graded once more.
fn recall(
    case: &EvalCase,
    request: &mut Request,
    recorded: &RecordedAnswer,
    cx: &CaseContext<'_>,
) -> Answer {
    let (outcome, wall, left) = match recorded.read() {
        Ok(Recalled { outcome, wall, attempt, extras: left }) => {
            request.attempt = attempt;
            (outcome, wall, left)
        }
        Err(error) => {
            let error =
                ProviderError::failed(format!("the recorded answer cannot be read: {error}"));
            (Err(error), Duration::ZERO, RecordedExtras::default())
        }
    };
    if let Some(response) = outcome.as_ref().ok().filter(|_| left.is_whole()) {
        cx.keep(case, request, (response, wall));
    }
    Answer { outcome, wall, workspace: None, left: Some(Box::new(left)) }
}

async fn once(case: &EvalCase, request: &mut Request, cx: &CaseContext<'_>) -> Answer {
    let workspace = match workspace::make(case, cx).await {
        Ok(workspace) => workspace,
        Err(unready) => {
            let Unready { error, workspace } = *unready;
            return Answer { outcome: Err(error), wall: Duration::ZERO, workspace, left: None };
        }
    };
    request.workspace = workspace.as_ref().map(|workspace| workspace.path().to_owned());
    let started = Instant::now();
    let outcome = call(request, cx).await;
    Answer { outcome, wall: started.elapsed(), workspace, left: None }
}

async fn call(request: &Request, cx: &CaseContext<'_>) -> Result<Response, ProviderError> {
    let call = cx.call(cx.cancel.child_token());
    let provider = &*cx.target.provider;
    let answering = async {
        provider.prepare(&call).await?;
        provider.invoke(request, &call).await
    };
    deadline::within(cx.settings.agent_timeout, answering, &call, "the target").await
}
