//! A bucket of requests or tokens that fills at a steady rate.

use std::num::NonZeroU32;
use std::time::Duration;
use tokio::time::Instant;

/// How much of a minute's worth may be used at once after a pause.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Burst {
    /// Ten seconds' worth. A whole minute's would double the rate of the first minute, which servers refuse.
    #[default]
    Usual,
    /// Half a second's worth: where many machines call, a burst of all of them is larger than one may expect.
    Small,
}

impl Burst {
    fn of_minute(self) -> f64 {
        match self {
            Self::Usual => 1.0 / 6.0,
            Self::Small => 1.0 / 120.0,
        }
    }
}

/// May go below empty: a call larger than the bucket goes out as soon as there is anything in it, and those after it pay.
#[derive(Debug)]
pub(super) struct Bucket {
    per_second: f64,
    capacity: f64,
    level: f64,
    filled: Instant,
}

impl Bucket {
    pub(super) fn new(per_minute: NonZeroU32, burst: Burst, now: Instant) -> Self {
        let per_minute = f64::from(per_minute.get());
        let capacity = (per_minute * burst.of_minute()).max(1.0);
        Self { per_second: per_minute / 60.0, capacity, level: capacity, filled: now }
    }

    /// How long it takes until something can be taken, if nothing is given back before.
    pub(super) fn wait(&mut self, now: Instant) -> Duration {
        self.fill(now);
        let missing = (1.0 - self.level).max(0.0);
        // A hair more, so that rounding does not make anybody wait a second time.
        let seconds = if missing > 0.0 { missing / self.per_second + 1e-6 } else { 0.0 };
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }

    pub(super) fn take(&mut self, amount: f64) {
        self.level -= amount;
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
        (Bucket::new(NonZeroU32::new(per_minute).unwrap(), Burst::Usual, now), now)
    }

    #[test]
    fn a_small_burst_keeps_the_rate_of_every_ten_seconds() {
        let start = Instant::now();
        let mut bucket = Bucket::new(NonZeroU32::new(600).unwrap(), Burst::Small, start);
        let (mut now, mut calls) = (start, 0);
        while now < start + Duration::from_secs(10) {
            bucket.take(1.0);
            calls += 1;
            now += bucket.wait(now);
        }
        assert!((100..=105).contains(&calls), "{calls}");
    }

    /// Takes so much when it can, and says how long that took to come.
    #[track_caller]
    fn check(bucket: &mut Bucket, amount: f64, now: Instant, expected_ms: u64) -> Instant {
        let wait = bucket.wait(now);
        let ms = u64::try_from(wait.as_micros().div_ceil(1000)).unwrap();
        assert!(ms.abs_diff(expected_ms) <= 1, "{ms} ms instead of {expected_ms} ms");
        let then = now + wait;
        assert_eq!(bucket.wait(then), Duration::ZERO);
        bucket.take(amount);
        then
    }

    #[test]
    fn after_a_burst_calls_follow_at_the_rate() {
        let (mut bucket, mut now) = bucket(60);
        for _ in 0..10 {
            now = check(&mut bucket, 1.0, now, 0);
        }
        now = check(&mut bucket, 1.0, now, 1000);
        now = check(&mut bucket, 1.0, now, 1000);
        check(&mut bucket, 1.0, now + Duration::from_secs(3), 0);
    }

    #[test]
    fn a_slow_target_still_takes_its_first_call() {
        let (mut bucket, now) = bucket(1);
        let now = check(&mut bucket, 1.0, now, 0);
        check(&mut bucket, 1.0, now, 60_000);
    }

    #[test]
    fn a_call_larger_than_the_bucket_goes_out_and_the_next_pays() {
        let (mut bucket, now) = bucket(6000);
        let now = check(&mut bucket, 3000.0, now, 0);
        check(&mut bucket, 100.0, now, 20_010);
    }

    #[test]
    fn what_was_not_used_is_given_back() {
        let (mut bucket, now) = bucket(6000);
        bucket.take(3000.0);
        bucket.settle(3000.0, 500.0);
        let now = check(&mut bucket, 100.0, now, 0);
        bucket.settle(100.0, 1100.0);
        check(&mut bucket, 1.0, now, 6010);
    }

    #[test]
    fn a_pause_saves_up_no_more_than_a_burst() {
        let (mut bucket, now) = bucket(60);
        let mut later = now + Duration::from_hours(1);
        for _ in 0..10 {
            later = check(&mut bucket, 1.0, later, 0);
        }
        check(&mut bucket, 1.0, later, 1000);
    }
}
