//! Asks, and asks again when the answer took too long. Each attempt has its own deadline.

use super::case::CaseContext;
use crate::deadline;
use agentv_core::{CallContext, ProviderError, Request, Response};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What came of asking.
pub(super) struct Answer {
    pub outcome: Result<Response, ProviderError>,
    /// How long the last attempt took.
    pub wall: Duration,
}

/// Asks until there is an answer or an error that is worth no other attempt.
pub(super) async fn ask(
    request: &mut Request,
    answered: Option<Response>,
    cx: &CaseContext<'_>,
) -> Answer {
    if let Some(response) = answered {
        return Answer { outcome: Ok(response), wall: Duration::ZERO };
    }
    loop {
        let started = Instant::now();
        let outcome = once(request, cx).await;
        let again = matches!(&outcome, Err(error) if error.is_timeout())
            && request.attempt < cx.settings.max_retries;
        if !again || cx.cancel.is_cancelled() {
            return Answer { outcome, wall: started.elapsed() };
        }
        request.attempt += 1;
        cx.log.verbose(|| {
            format!("{}: timed out, attempt {} follows", request.eval_id, request.attempt + 1)
        });
    }
}

async fn once(request: &Request, cx: &CaseContext<'_>) -> Result<Response, ProviderError> {
    let call =
        CallContext::new(cx.cancel.child_token(), cx.settings.agent_timeout, Arc::clone(cx.log));
    let provider = &*cx.target.provider;
    let answering = async {
        provider.prepare(&call).await?;
        provider.invoke(request, &call).await
    };
    deadline::within(cx.settings.agent_timeout, answering, &call, "the target").await
}
