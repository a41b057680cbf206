//! Waiting for an answer, but not for ever.

use agentv_core::call::QueueTime;
use agentv_core::{CallContext, ProviderError};
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};

/// How long a provider may take to end after it was told to; it stops its children in that time.
const GRACE: Duration = Duration::from_secs(10);

/// How often it is checked whether a waiting call has come to its turn.
const LOOK: Duration = Duration::from_millis(50);

/// Waits for an answer, but not for longer than `limit`, in which time spent in line does not count. Told to stop by
/// `call.cancel`, a provider ends what it started; whatever it then says is too late.
pub(crate) async fn within<T>(
    limit: Option<Duration>,
    answering: impl Future<Output = Result<T, ProviderError>>,
    call: &CallContext,
    who: &str,
) -> Result<T, ProviderError> {
    let Some(limit) = limit else { return answering.await };
    let mut answering = std::pin::pin!(answering);
    let started = Instant::now();
    loop {
        let end = started + limit + call.queue_time.waited();
        let outcome = if call.queue_time.is_waiting() {
            timeout(LOOK, &mut answering).await
        } else {
            timeout_at(end, &mut answering).await
        };
        if let Ok(outcome) = outcome {
            return outcome;
        }
        // Looked at in this order: who leaves the line counts its time first.
        let waiting = call.queue_time.is_waiting();
        if !waiting && Instant::now() >= started + limit + call.queue_time.waited() {
            break;
        }
    }
    call.cancel.cancel();
    let _ = timeout(GRACE, answering).await;
    Err(ProviderError::timed_out(who, limit))
}

/// Keeps the time that a call spends in line, however its wait ends.
pub(crate) struct QueueTimer<'a> {
    line: &'a QueueTime,
    since: Instant,
}

impl<'a> QueueTimer<'a> {
    pub(crate) fn enter(line: &'a QueueTime) -> Self {
        line.enter();
        Self { line, since: Instant::now() }
    }
}

impl Drop for QueueTimer<'_> {
    fn drop(&mut self) {
        self.line.leave(self.since.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentv_core::provider::ProviderErrorKind;

    /// Waits in line for the first number of seconds, then works for the second.
    async fn ask(in_line: u64, work: u64) -> Result<Duration, ProviderError> {
        let (call, started) = (CallContext::quiet(), Instant::now());
        let answering = async {
            call.queue_time.enter();
            tokio::time::sleep(Duration::from_secs(in_line)).await;
            call.queue_time.leave(Duration::from_secs(in_line));
            tokio::select! {
                () = call.cancel.cancelled() => Err(ProviderError::cancelled()),
                () = tokio::time::sleep(Duration::from_secs(work)) => Ok(started.elapsed()),
            }
        };
        within(Some(Duration::from_secs(10)), answering, &call, "it").await
    }

    #[tokio::test(start_paused = true)]
    async fn a_limit_is_for_the_work_and_not_for_the_line() {
        assert_eq!(ask(0, 9).await.unwrap().as_secs(), 9);
        assert_eq!(ask(100, 9).await.unwrap().as_secs(), 109);
        for in_line in [0, 5, 100] {
            let error = ask(in_line, 11).await.unwrap_err();
            assert_eq!(error.kind, ProviderErrorKind::Timeout);
            assert_eq!(error.message, "it timed out after 10s");
        }
    }
}
