//! Waiting for an answer, but not for ever.

use agentv_core::ProviderError;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long a provider may take to end after it was told to; it stops its children in that time.
const GRACE: Duration = Duration::from_secs(10);

/// Waits for an answer, but not for longer than `limit`. Told to stop by `cancel`, a provider ends what it started;
/// whatever it then says is too late.
pub(crate) async fn within<T>(
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
