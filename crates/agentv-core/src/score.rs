//! Grades and how they are put together.

use agentv_wire::VerdictWord;

/// A grade in `[0, 1]`. Never NaN, so it can be ordered and averaged freely.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Score(f64);

/// How far a score may be outside of its range, as a sum of fractions may be.
const ROUNDING: f64 = 1e-6;

impl Score {
    pub const ZERO: Self = Self(0.0);
    pub const ONE: Self = Self(1.0);

    /// Accepts what a judge said, however wild: out of range is clamped, NaN and infinity are zero.
    pub fn clamped(raw: f64) -> Self {
        // Adding zero turns -0 into 0.
        if raw.is_finite() { Self(raw.clamp(0.0, 1.0) + 0.0) } else { Self::ZERO }
    }

    /// A score that a program gave, which should know the range. `None` outside of it, but for what rounding adds.
    pub fn checked(raw: f64) -> Option<Self> {
        (-ROUNDING..=1.0 + ROUNDING).contains(&raw).then(|| Self::clamped(raw))
    }

    /// `part` of `whole` things held; all of nothing is everything.
    pub fn ratio(part: usize, whole: usize) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "counts of checks are far below 2^52")]
        if whole == 0 { Self::ONE } else { Self::clamped(part as f64 / whole as f64) }
    }

    /// 1 or 0.
    pub fn all_or_nothing(holds: bool) -> Self {
        if holds { Self::ONE } else { Self::ZERO }
    }

    pub fn value(self) -> f64 {
        self.0
    }

    /// Whether this is the bar or above. Three times 0.7 over three is a little less than 0.7, which is not what is meant.
    pub fn reaches(self, bar: Self) -> bool {
        self.0 + 1e-9 >= bar.0
    }

    /// The label of a score.
    pub fn verdict(self) -> VerdictWord {
        if self.0 >= 0.8 {
            VerdictWord::Pass
        } else if self.0 >= 0.6 {
            VerdictWord::Borderline
        } else {
            VerdictWord::Fail
        }
    }
}

/// How much an evaluator counts: finite, not negative.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Weight(f64);

impl Weight {
    pub const ONE: Self = Self(1.0);

    /// `None` if this is no weight.
    pub fn new(raw: f64) -> Option<Self> {
        (raw.is_finite() && raw >= 0.0).then_some(Self(raw))
    }

    pub fn value(self) -> f64 {
        self.0
    }
}

/// The weighted mean. Spec: "All weights are zero" gives 0.
pub fn aggregate(parts: impl IntoIterator<Item = (Score, Weight)>) -> Score {
    let (sum, weights) = parts.into_iter().fold((0.0, 0.0), |(sum, weights), (score, weight)| {
        (sum + score.0 * weight.0, weights + weight.0)
    });
    if weights > 0.0 { Score::clamped(sum / weights) } else { Score::ZERO }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(parts: &[(f64, f64)], expected: f64) {
        let parts = parts
            .iter()
            .map(|(score, weight)| (Score::clamped(*score), Weight::new(*weight).unwrap()));
        assert!((aggregate(parts).value() - expected).abs() < 1e-12);
    }

    #[test]
    fn weights_shift_the_mean() {
        check(&[(0.8, 1.0), (0.4, 1.0)], 0.6);
        check(&[(0.8, 3.0), (0.4, 1.0)], 0.7);
        check(&[(0.8, 1.0), (0.0, 0.0)], 0.8);
    }

    #[test]
    fn without_any_weight_the_score_is_zero() {
        check(&[(1.0, 0.0), (1.0, 0.0)], 0.0);
        check(&[], 0.0);
    }

    #[test]
    fn wild_scores_are_tamed() {
        assert_eq!(Score::clamped(1.7), Score::ONE);
        assert_eq!(Score::clamped(-2.0), Score::ZERO);
        assert_eq!(Score::clamped(f64::NAN), Score::ZERO);
        assert_eq!(Score::clamped(f64::INFINITY), Score::ZERO);
        assert!(Score::clamped(-0.0).value().is_sign_positive());
    }

    #[test]
    fn a_checked_score_is_in_range_but_for_rounding() {
        for (raw, expected) in
            [(0.5, 0.5), (1.0, 1.0), (1.000_000_5, 1.0), (-0.000_000_5, 0.0), (-0.0, 0.0)]
        {
            assert_eq!(Score::checked(raw).map(Score::value), Some(expected), "{raw}");
        }
        for raw in [95.0, 1.000_01, -0.000_01, f64::NAN, f64::INFINITY] {
            assert_eq!(Score::checked(raw), None, "{raw}");
        }
    }

    #[test]
    fn rounding_does_not_miss_a_bar() {
        let bar = Score::clamped(0.7);
        assert!(aggregate([(bar, Weight::ONE); 3]).reaches(bar));
        assert!(!Score::clamped(0.699).reaches(bar));
    }

    proptest! {
        #[test]
        fn a_mean_stays_in_range(parts in prop::collection::vec((any::<f64>(), 0.0..1e300), 0..8)) {
            let mean = aggregate(parts.iter().map(|(s, w)| (Score::clamped(*s), Weight::new(*w).unwrap())));
            prop_assert!((0.0..=1.0).contains(&mean.value()));
        }
    }
}
