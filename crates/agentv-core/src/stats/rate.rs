//! The interval of a rate: of any mean of values from 0 to 1.

use super::distribution::incomplete_beta;
use super::{Interval, wilson_interval_of_sample};

/// How much the coverage of [`rate_interval`] may be below its confidence.
const TOLERANCE: f64 = 0.02;

/// The interval of a mean of values from 0 to 1, by the number of independent values that it is as precise as.
///
/// It is Wilson's interval, made wider where that covers the true mean too rarely. Wilson's interval for 95 % falls to
/// 84 % near 0 and 1, and to 82 % with two values. The exact interval of Clopper and Pearson for 93 % holds at least 93 %
/// of the time for every rate and every number of zeros and ones, so each end is the outer one of the two. From about a
/// hundred values on, that is Wilson's unless the rate is near 0 or 1.
///
/// No values of the same mean scatter more than zeros and ones, so it is never too narrow for others. `None` without any
/// value, and for what is not a rate.
pub fn rate_interval(rate: f64, size: f64, confidence: f64) -> Option<Interval> {
    let wilson = wilson_interval_of_sample(rate, size, confidence)?;
    let tail = f64::midpoint(1.0 - confidence, TOLERANCE);
    Some(Interval {
        low: 1.0 - outer_end(1.0 - rate, size, tail, 1.0 - wilson.low),
        high: outer_end(rate, size, tail, wilson.high),
    })
}

/// The upper end of the exact interval, or `end` where that is further out. With a rate above the exact end, a sample would
/// have as few successes as this one less often than `tail`.
fn outer_end(rate: f64, size: f64, tail: f64, end: f64) -> f64 {
    let (successes, failures) = (rate * size, (1.0 - rate) * size);
    // Without any failure, the rate may be 1.
    if failures < 1e-9 || end >= 1.0 {
        return 1.0;
    }
    let lower_tail = |high: f64| incomplete_beta(1.0 - high, failures, successes + 1.0);
    if lower_tail(end) <= tail {
        return end;
    }
    let (mut low, mut high) = (end, 1.0);
    while high - low > 1e-12 {
        let middle = f64::midpoint(low, high);
        if lower_tail(middle) > tail { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{CONFIDENCE, ClusterSums, Random, float, wilson_interval_of_mean};
    use proptest::prelude::*;
    use std::collections::HashMap;

    #[track_caller]
    fn check(passed: u8, of: u8, (low, high): (f64, f64)) {
        let rate = f64::from(passed) / f64::from(of);
        let found = rate_interval(rate, f64::from(of), CONFIDENCE).unwrap();
        let is_near = |one: f64, other: f64| (one - other).abs() < 1e-9;
        assert!(
            is_near(found.low, low) && is_near(found.high, high),
            "{passed} of {of}: {found:?}"
        );
    }

    #[test]
    fn many_values_have_wilsons_interval() {
        for (passed, of) in [(100, 200), (120, 200), (150, 250)] {
            let Interval { low, high } =
                wilson_interval_of_mean(f64::from(passed) / f64::from(of), of.into(), CONFIDENCE)
                    .unwrap();
            check(passed, of, (low, high));
        }
    }

    #[test]
    fn few_values_have_an_exact_interval() {
        // All of n passed: the rate may be as low as the n-th root of 0.035.
        check(1, 1, (0.035, 1.0));
        check(2, 2, (0.035_f64.sqrt(), 1.0));
        check(0, 2, (0.0, 1.0 - 0.035_f64.sqrt()));
        // One of two: 1 − √(1 − 0.035) passes at least once that rarely.
        check(1, 2, (1.0 - 0.965_f64.sqrt(), 0.965_f64.sqrt()));
        // Five of six: a rate above the sixth root of 0.965 would pass all six more often. Wilson's end is 0.970.
        let high = rate_interval(5.0 / 6.0, 6.0, CONFIDENCE).unwrap().high;
        assert!((high - 0.965_f64.powf(1.0 / 6.0)).abs() < 1e-9, "{high}");
    }

    #[test]
    fn what_is_not_a_rate_has_none() {
        for (rate, size) in [(0.5, 0.0), (-0.1, 5.0), (1.1, 5.0), (f64::NAN, 5.0)] {
            assert_eq!(rate_interval(rate, size, CONFIDENCE), None);
        }
    }

    proptest! {
        #[test]
        fn an_interval_is_wilsons_or_wider_and_inside_0_and_1(
            rate in 0.0..=1.0_f64, size in 0.5..400.0_f64,
        ) {
            let found = rate_interval(rate, size, CONFIDENCE).unwrap();
            let wilson = wilson_interval_of_sample(rate, size, CONFIDENCE).unwrap();
            prop_assert!(0.0 <= found.low && found.low <= wilson.low + 1e-12);
            prop_assert!(wilson.high <= found.high + 1e-12 && found.high <= 1.0);
            prop_assert!(found.low <= rate && rate <= found.high);
        }
    }

    /// How values come about: each case has a rate of its own, and each of its trials passes by it.
    #[derive(Debug, Clone, Copy)]
    enum Source {
        /// The mean over all cases. This share of the cases always or never passes, the others are all alike.
        Binary(f64, f64),
        /// Scores between 0 and 1, each as likely as the others: the case's own and the trial's own half of it.
        Uniform,
    }

    impl Source {
        fn mean(self) -> f64 {
            if let Self::Binary(mean, _) = self { mean } else { 0.5 }
        }

        /// The sum of a case's trials.
        fn case(self, trials: usize, random: &mut Random) -> f64 {
            match self {
                Self::Binary(mean, settled) => {
                    let is_settled = random.unit() < settled;
                    let always = f64::from(u8::from(random.unit() < mean));
                    let rate = if is_settled { always } else { mean };
                    (0..trials).map(|_| f64::from(u8::from(random.unit() < rate))).sum()
                }
                Self::Uniform => {
                    let own = random.unit();
                    (0..trials).map(|_| f64::midpoint(own, random.unit())).sum()
                }
            }
        }
    }

    /// How often the interval of a mean holds the true one.
    fn coverage(source: Source, cases: usize, trials: usize) -> f64 {
        const DRAWS: usize = 2000;
        let mut random = Random::new(7);
        // Zeros and ones give the same sums again and again.
        let mut known = HashMap::new();
        let is_covered = |_: &usize| {
            let mut sums = ClusterSums::default();
            for _ in 0..cases {
                sums.add(source.case(trials, &mut random), trials);
            }
            let key = (sums.sum().to_bits(), sums.standard_error().map(f64::to_bits));
            *known.entry(key).or_insert_with(|| {
                let Interval { low, high } = sums.rate_interval(CONFIDENCE).unwrap();
                low <= source.mean() && source.mean() <= high
            })
        };
        float((0..DRAWS).filter(is_covered).count()) / float(DRAWS)
    }

    #[track_caller]
    fn check_coverage(sources: &[Source]) {
        for source in sources {
            for (cases, trials) in [6, 20, 60, 200].into_iter().flat_map(|n| [(n, 1), (n, 5)]) {
                let found = coverage(*source, cases, trials);
                let cell = format!("{source:?}, {cases} cases, {trials} trials");
                assert!(found >= 0.93, "{cell}: {found}");
            }
        }
    }

    #[test]
    fn intervals_of_rates_hold_the_truth_as_often_as_they_say() {
        check_coverage(&[0.0, 0.2, 0.8].map(|settled| Source::Binary(0.5, settled)));
        check_coverage(&[0.0, 0.2, 0.8].map(|settled| Source::Binary(0.9, settled)));
        check_coverage(&[0.0, 0.2, 0.8].map(|settled| Source::Binary(0.98, settled)));
    }

    #[test]
    fn intervals_of_scores_hold_the_truth_as_often_as_they_say() {
        check_coverage(&[Source::Uniform]);
    }
}
