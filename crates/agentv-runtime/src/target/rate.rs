//! A bucket of requests or tokens that fills at a steady rate.

use std::num::NonZeroU32;
use std::time::Duration;
use tokio::time::Instant;

/// So much of a minute's worth may be used at once after a pause. A whole minute's would double the rate of the first
/// minute, which servers refuse.
const BURST: f64 = 1.0 / 6.0;

/// May go below empty: who comes then waits until it has filled up to nothing, so everybody is served in turn and even a
/// call larger than the bucket is served.
#[derive(Debug)]
pub(super) struct Bucket {
    per_second: f64,
    capacity: f64,
    level: f64,
    filled: Instant,
}

impl Bucket {
    pub(super) fn new(per_minute: NonZeroU32, now: Instant) -> Self {
        let per_minute = f64::from(per_minute.get());
        let capacity = (per_minute * BURST).max(1.0);
        Self { per_second: per_minute / 60.0, capacity, level: capacity, filled: now }
    }

    /// Takes an amount, and says how long to wait before it may be used.
    pub(super) fn take(&mut self, amount: f64, now: Instant) -> Duration {
        self.fill(now);
        // A single unit must be there; of many, what is missing is made up for afterwards.
        let needed = amount.min(1.0);
        let missing = (needed - self.level).max(0.0);
        self.level -= amount;
        Duration::try_from_secs_f64(missing / self.per_second).unwrap_or(Duration::MAX)
    }

    /// Gives back what was not used, or takes what was used beyond it.
    pub(super) fn settle(&mut self, taken: f64, used: f64) {
        self.level = (self.level + taken - used).min(self.capacity);
    }

    fn fill(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.filled).as_secs_f64();
        self.level = (self.level + passed * self.per_second).min(self.capacity);
        self.filled = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(per_minute: u32) -> (Bucket, Instant) {
        let now = Instant::now();
        (Bucket::new(NonZeroU32::new(per_minute).unwrap(), now), now)
    }

    #[track_caller]
    fn check(wait: Duration, expected_ms: u64) {
        let ms = u64::try_from(wait.as_micros().div_ceil(1000)).unwrap();
        assert!(ms.abs_diff(expected_ms) <= 1, "{ms} ms instead of {expected_ms} ms");
    }

    #[test]
    fn after_a_burst_calls_follow_at_the_rate() {
        let (mut bucket, now) = bucket(60);
        for _ in 0..10 {
            check(bucket.take(1.0, now), 0);
        }
        check(bucket.take(1.0, now), 1000);
        check(bucket.take(1.0, now), 2000);
        check(bucket.take(1.0, now + Duration::from_secs(3)), 0);
    }

    #[test]
    fn a_slow_target_still_takes_its_first_call() {
        let (mut bucket, now) = bucket(1);
        check(bucket.take(1.0, now), 0);
        check(bucket.take(1.0, now), 60_000);
    }

    #[test]
    fn a_call_larger_than_the_bucket_goes_out_and_the_next_pays() {
        let (mut bucket, now) = bucket(6000);
        check(bucket.take(3000.0, now), 0);
        check(bucket.take(100.0, now), 20_010);
    }

    #[test]
    fn what_was_not_used_is_given_back() {
        let (mut bucket, now) = bucket(6000);
        bucket.take(3000.0, now);
        bucket.settle(3000.0, 500.0);
        check(bucket.take(100.0, now), 0);
        bucket.settle(100.0, 1100.0);
        check(bucket.take(1.0, now), 6010);
    }

    #[test]
    fn a_pause_saves_up_no_more_than_a_burst() {
        let (mut bucket, now) = bucket(60);
        let later = now + Duration::from_hours(1);
        for _ in 0..10 {
            check(bucket.take(1.0, later), 0);
        }
        check(bucket.take(1.0, later), 1000);
    }
}
