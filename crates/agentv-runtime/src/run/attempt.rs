//! Asks, and asks again when the answer took too long. Each attempt has its own deadline.

use super::case::CaseContext;
use agentv_core::{CallContext, ProviderError, Request, Response};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// How long a provider may take to end after it was told to; it stops its children in that time.
const GRACE: Duration = Duration::from_secs(10);

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
    let call = CallContext {
        cancel: cx.cancel.child_token(),
        time_limit: cx.settings.agent_timeout,
        log: Arc::clone(cx.log),
    };
    let provider = &*cx.target.provider;
    let answering = async {
        provider.prepare(&call).await?;
        provider.invoke(request, &call).await
    };
    within(cx.settings.agent_timeout, answering, &call.cancel, "the target").await
}

/// Waits for an answer, but not for longer than `limit`. Told to stop, a provider ends what it started; whatever it then
/// says is too late.
pub(super) async fn within<T>(
    limit: Option<Duration>,
    answering: impl Future<Output = Result<T, ProviderError>>,
    cancel: &CancellationToken,
    who: &str,
) -> Result<T, ProviderError> {
    let Some(limit) = limit else { return answering.await };
    let mut answering = std::pin::pin!(answering);
    if let Ok(outcome) = tokio::time::timeout(limit, &mut answering).await {
        return outcome;
    }
    cancel.cancel();
    let _ = tokio::time::timeout(GRACE, answering).await;
    Err(ProviderError::timed_out(who, limit))
}
