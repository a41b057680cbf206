//! The significance level, and how several tests share it.

/// A significance level that several tests share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// How often at least one of the tests may call a difference that is not there.
    pub alpha: f64,
    /// How many tests share it.
    pub tests: usize,
}

impl Level {
    /// The level of a test that is alone.
    pub fn alone(alpha: f64) -> Self {
        Self { alpha, tests: 1 }
    }

    /// Whether one of the p-values at which Holm's method may decide lies in this range.
    pub(super) fn is_within(self, low: f64, high: f64) -> bool {
        let thresholds = (1..=self.tests.max(1)).map(|rank| self.alpha / super::float(rank));
        thresholds.into_iter().any(|threshold| low <= threshold && threshold <= high)
    }
}

/// Adjusts p-values that share a level by Holm's method: a test is significant if its adjusted p-value is not above the
/// level of all together.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|one, other| p_values[*one].total_cmp(&p_values[*other]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut largest = 0.0_f64;
    for (rank, index) in order.into_iter().enumerate() {
        let factor = super::float(p_values.len() - rank);
        largest = largest.max(p_values[index] * factor).min(1.0);
        adjusted[index] = largest;
    }
    adjusted
}

/// The smallest number of differing cases that can be significant: if all of `n` change in one direction, the p-value is
/// `2 / 2^n`.
pub fn fewest_cases(level: f64) -> usize {
    (1..1075)
        .find(|cases| 2.0 * 0.5_f64.powi(*cases) <= level)
        .map_or(usize::MAX, |cases| usize::try_from(cases).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holm_gives_the_textbook_numbers() {
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        let expected = [0.03, 0.06, 0.06, 0.02];
        for (found, expected) in adjusted.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{adjusted:?}");
        }
        assert_eq!(holm(&[]), Vec::<f64>::new());
        assert_eq!(holm(&[0.7, 0.9]), [1.0, 1.0]);
    }

    #[test]
    fn six_cases_are_enough_for_the_usual_level() {
        assert_eq!(fewest_cases(0.05), 6);
        assert_eq!(fewest_cases(0.025), 7);
        assert_eq!(fewest_cases(0.01), 8);
    }

    #[test]
    fn a_shared_level_has_a_threshold_for_each_rank() {
        let level = Level { alpha: 0.05, tests: 2 };
        assert!(level.is_within(0.02, 0.03) && level.is_within(0.049, 0.06));
        assert!(!level.is_within(0.03, 0.04));
        assert!(!Level::alone(0.05).is_within(0.02, 0.03));
    }
}
