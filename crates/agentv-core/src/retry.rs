//! When a failed call is worth another: errors state facts, the policy decides, the caller sleeps.

use crate::provider::{ProviderError, ProviderErrorKind};
use std::time::Duration;

/// How often and after which waits a call is repeated.
#[derive(Debug, Clone, PartialEq)]
pub struct RetryPolicy {
    /// Calls after the first one.
    pub max_retries: u32,
    /// The wait before the first of them.
    pub initial_delay: Duration,
    /// No wait is longer, even if the server asks for more. Jitter is included.
    pub max_delay: Duration,
    /// By how much each wait is longer than the one before.
    pub backoff_factor: f64,
    /// Statuses of servers that may answer later.
    pub status_codes: Vec<u16>,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_retries: 3,
            initial_delay: Duration::from_secs(1),
            max_delay: Duration::from_mins(1),
            backoff_factor: 2.0,
            status_codes: vec![500, 408, 429, 502, 503, 504, 529],
        }
    }
}

impl RetryPolicy {
    /// Statuses that are never retried, even if they are listed: a refused key is refused again, and repeated tries can
    /// lock an account.
    pub const NEVER_RETRIED: [u16; 2] = [401, 403];

    /// How long to wait after the `failed`-th failure, from 1; `None` means give up. `jitter` is anything from 0 to 1.
    pub fn next_delay(&self, failed: u32, error: &ProviderError, jitter: f64) -> Option<Duration> {
        if failed > self.max_retries || !self.covers(error) {
            return None;
        }
        // Not earlier than the server asked for, but not all workers at the same moment either. A `Retry-After` of 0 does
        // not say when to retry.
        let delay = match error.retry_after().filter(|asked| !asked.is_zero()) {
            Some(asked) => asked.min(self.max_delay).mul_f64(1.0 + jitter / 4.0),
            // Up to a quarter more or less, so that workers do not retry in lockstep.
            None => self.backoff(failed).mul_f64(0.75 + jitter / 2.0),
        };
        Some(delay.min(self.max_delay))
    }

    /// Whether asking again may help. A refused key will be refused again, a cancelled call is not wanted any more, and a
    /// timeout has used up its time: whether there is another attempt is the run's business.
    fn covers(&self, error: &ProviderError) -> bool {
        match error.kind {
            ProviderErrorKind::Http { status, .. } => {
                !Self::NEVER_RETRIED.contains(&status) && self.status_codes.contains(&status)
            }
            ProviderErrorKind::Network | ProviderErrorKind::Unreachable => true,
            ProviderErrorKind::Timeout
            | ProviderErrorKind::Cancelled
            | ProviderErrorKind::NotStarted
            | ProviderErrorKind::Failed => false,
        }
    }

    fn backoff(&self, failed: u32) -> Duration {
        let exponent = i32::try_from(failed.saturating_sub(1)).unwrap_or(i32::MAX);
        let seconds = self.initial_delay.as_secs_f64() * self.backoff_factor.powi(exponent);
        // A product too large for a `Duration`, or infinite, is beyond any cap.
        Duration::try_from_secs_f64(seconds)
            .map_or(self.max_delay, |delay| delay.min(self.max_delay))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn http(status: u16) -> ProviderError {
        ProviderError::http(status, None, "no")
    }

    #[track_caller]
    fn check(failed: u32, error: &ProviderError, jitter: f64, expected_ms: Option<u64>) {
        let got = RetryPolicy::default().next_delay(failed, error, jitter);
        assert_eq!(got, expected_ms.map(Duration::from_millis));
    }

    #[test]
    fn waits_double_and_are_spread_by_a_quarter() {
        check(1, &http(503), 0.5, Some(1000));
        check(2, &http(503), 0.5, Some(2000));
        check(3, &http(503), 0.5, Some(4000));
        check(1, &http(503), 0.0, Some(750));
        check(1, &http(503), 1.0, Some(1250));
    }

    #[test]
    fn the_fourth_failure_is_the_last() {
        check(4, &http(503), 0.5, None);
    }

    #[test]
    fn no_wait_is_longer_than_the_cap() {
        let policy = RetryPolicy { max_retries: u32::MAX, ..RetryPolicy::default() };
        for failed in [8, 2000, u32::MAX] {
            for jitter in [0.5, 1.0] {
                let wait = policy.next_delay(failed, &http(503), jitter);
                assert_eq!(wait, Some(Duration::from_mins(1)));
            }
        }
    }

    #[test]
    fn the_listed_statuses_are_worth_another_call() {
        for status in [500, 408, 429, 502, 503, 504, 529] {
            check(1, &http(status), 0.5, Some(1000));
        }
    }

    #[test]
    fn a_refused_key_is_final() {
        for status in [400, 401, 403, 404, 418, 501] {
            check(1, &http(status), 0.5, None);
        }
        let listed = RetryPolicy { status_codes: vec![401, 403, 418], ..RetryPolicy::default() };
        let waits = [401, 403, 418].map(|status| listed.next_delay(1, &http(status), 0.5));
        assert_eq!(waits, [None, None, Some(Duration::from_secs(1))]);
    }

    #[test]
    fn broken_connections_are_worth_another_call_but_timeouts_and_stops_are_not() {
        check(1, &ProviderError::network("reset"), 0.5, Some(1000));
        check(1, &ProviderError::failed("nonsense"), 0.5, None);
        check(1, &ProviderError::cancelled(), 0.5, None);
        check(1, &ProviderError::timed_out("it", Duration::from_secs(1)), 0.5, None);
    }

    #[test]
    fn the_server_is_obeyed_up_to_the_cap() {
        let asks =
            |seconds| ProviderError::http(429, Some(Duration::from_secs(seconds)), "slow down");
        check(1, &asks(7), 0.0, Some(7000));
        check(1, &asks(8), 1.0, Some(10_000));
        check(1, &asks(3600), 0.0, Some(60_000));
        check(1, &asks(3600), 1.0, Some(60_000));
        check(1, &asks(0), 0.5, Some(1000));
    }
}
