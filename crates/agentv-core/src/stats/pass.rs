//! Several trials of one case: how often it passes.

use super::{Interval, float, normal_quantile};

/// pass@k: the chance that at least one of `k` trials passes, estimated without bias from `passed` of `trials`:
/// `1 − C(n−c, k) / C(n, k)`. `None` where there are fewer trials than `k`, or `k` is 0.
pub fn any_of_k(trials: usize, passed: usize, k: usize) -> Option<f64> {
    let failed = trials.checked_sub(passed)?;
    Some(1.0 - all_of_k(trials, failed, k)?)
}

/// pass^k: the chance that all of `k` trials pass, estimated without bias: `C(c, k) / C(n, k)`.
pub fn all_of_k(trials: usize, passed: usize, k: usize) -> Option<f64> {
    if k == 0 || k > trials || passed > trials {
        return None;
    }
    if passed < k {
        return Some(0.0);
    }
    Some((0..k).map(|drawn| float(passed - drawn) / float(trials - drawn)).product())
}

/// Wilson's interval of a rate: of the share of passes, or of any mean of values from 0 to 1. `size` is the number of
/// values, or the effective size of a sample whose values are not independent.
///
/// It stays in `[0, 1]` and is sensible at 0 and at 1. No values of the same mean scatter more than zeros and ones, so for
/// other values it is wider than necessary. `None` without any value, and for what is not a rate.
pub fn wilson_interval_of_sample(rate: f64, size: f64, confidence: f64) -> Option<Interval> {
    if size <= 0.0 || !(0.0..=1.0).contains(&rate) || !(0.0..1.0).contains(&confidence) {
        return None;
    }
    let z = normal_quantile(f64::midpoint(1.0, confidence));
    let shrink = 1.0 + z * z / size;
    let centre = (rate + z * z / (2.0 * size)) / shrink;
    let reach = z * (rate * (1.0 - rate) / size + z * z / (4.0 * size * size)).sqrt() / shrink;
    // Rounding must not leave the rate itself outside.
    Some(Interval {
        low: (centre - reach).clamp(0.0, rate),
        high: (centre + reach).clamp(rate, 1.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(found: Option<f64>, expected: f64) {
        assert!((found.unwrap() - expected).abs() < 1e-12, "{found:?} is not {expected}");
    }

    #[test]
    fn any_of_k_is_the_published_estimator() {
        check(any_of_k(5, 2, 1), 0.4);
        check(any_of_k(5, 2, 2), 1.0 - 3.0 / 10.0);
        check(any_of_k(10, 3, 5), 1.0 - 21.0 / 252.0);
        check(any_of_k(5, 3, 3), 1.0);
        check(any_of_k(5, 0, 5), 0.0);
    }

    #[test]
    fn all_of_k_is_its_counterpart() {
        check(all_of_k(5, 2, 1), 0.4);
        check(all_of_k(5, 3, 2), 3.0 / 10.0);
        check(all_of_k(5, 3, 4), 0.0);
        check(all_of_k(8, 8, 8), 1.0);
    }

    #[test]
    fn what_cannot_be_known_is_not_told() {
        for (trials, passed, k) in [(0, 0, 1), (3, 1, 4), (3, 1, 0), (3, 4, 1)] {
            assert_eq!(any_of_k(trials, passed, k), None);
            assert_eq!(all_of_k(trials, passed, k), None);
        }
        for (rate, size) in [(0.5, 0.0), (-0.1, 5.0), (1.1, 5.0), (f64::NAN, 5.0)] {
            assert_eq!(wilson_interval_of_sample(rate, size, 0.95), None);
        }
        assert_eq!(wilson_interval_of_sample(1.0 / 3.0, 3.0, 1.0), None);
    }

    #[test]
    fn wilson_gives_the_textbook_numbers() {
        let interval = wilson_interval_of_sample(0.8, 10.0, 0.95).unwrap();
        check(Some(interval.low), 0.490_162_471_536_642_1);
        check(Some(interval.high), 0.943_317_848_545_624_7);
        // Without any pass the lower end is 0 and the upper z² / (n + z²).
        let interval = wilson_interval_of_sample(0.0, 10.0, 0.95).unwrap();
        let square = 1.959_963_984_540_054_f64.powi(2);
        check(Some(interval.low), 0.0);
        check(Some(interval.high), square / (10.0 + square));
    }

    proptest! {
        #[test]
        fn chances_are_chances(trials in 1_usize..60, passed in 0_usize..60, k in 1_usize..60) {
            prop_assume!(passed <= trials && k <= trials);
            let (any, all) = (any_of_k(trials, passed, k).unwrap(), all_of_k(trials, passed, k).unwrap());
            prop_assert!((0.0..=1.0).contains(&any) && (0.0..=1.0).contains(&all));
            prop_assert!(all <= any + 1e-12);
        }

        #[test]
        fn an_interval_holds_its_rate_and_is_inside_0_and_1(
            rate in 0.0..=1.0_f64, size in 0.5..400.0_f64,
        ) {
            let Interval { low, high } = wilson_interval_of_sample(rate, size, 0.95).unwrap();
            prop_assert!(0.0 <= low && low <= rate && rate <= high && high <= 1.0);
        }
    }
}
