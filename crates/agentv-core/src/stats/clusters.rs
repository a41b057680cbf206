//! Values that come in groups: trials of one case, or one case on several targets, are more alike than others.

use super::{ClusterSums, Interval, Random, Resampling, float, student_quantile};

/// An interval may cost about this many draws of a case; with very many cases it is drawn less often.
const WORK: usize = 200_000_000;
/// But no less often than this.
const FEWEST_DRAWS: usize = 1000;

/// Values in groups. The groups are independent of each other, the values in one group need not be.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Clusters {
    /// Of each group the sum of its values and their number; none is empty.
    groups: Vec<(f64, f64)>,
    values: f64,
    sum: f64,
}

impl Clusters {
    /// Values that are not finite are left out, and so are groups without any.
    pub fn new<G: IntoIterator<Item = f64>>(groups: impl IntoIterator<Item = G>) -> Self {
        let mut clusters = Self::default();
        for group in groups {
            let finite = group.into_iter().filter(|value| value.is_finite());
            let (sum, count) =
                finite.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
            if count > 0.0 {
                clusters.groups.push((sum, count));
                clusters.values += count;
                clusters.sum += sum;
            }
        }
        clusters
    }

    /// The number of groups.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Each group's sum, which is what a sign flip turns around.
    pub fn sums(&self) -> Vec<f64> {
        self.groups.iter().map(|(sum, _)| *sum).collect()
    }

    /// The mean of all values.
    pub fn mean(&self) -> Option<f64> {
        (self.values > 0.0).then(|| self.sum / self.values)
    }

    /// How far the mean would scatter if other cases had been chosen; needs two groups.
    pub fn standard_error(&self) -> Option<f64> {
        let mean = self.mean().filter(|_| self.len() > 1)?;
        let squares: f64 =
            self.groups.iter().map(|(sum, count)| (sum - mean * count).powi(2)).sum();
        let count = float(self.len());
        Some((squares * count / (count - 1.0)).sqrt() / self.values)
    }

    /// Student's interval of the mean. `None` with fewer than two groups: one has no spread.
    pub fn student_interval(&self, confidence: f64) -> Option<Interval> {
        let (mean, error) = (self.mean()?, self.standard_error()?);
        let reach = error * student_quantile(f64::midpoint(1.0, confidence), float(self.len() - 1));
        Some(Interval { low: mean - reach, high: mean + reach })
    }

    /// The bootstrap-t interval of the mean: whole groups are drawn with replacement, and the mean of each draw is measured in
    /// its own standard errors. How these scatter says how far the true mean may be, on each side (Efron and Tibshirani,
    /// 1993). `None` with fewer than two groups, or where they do not scatter.
    pub fn bootstrap_t_interval(
        &self,
        confidence: f64,
        resampling: Resampling,
    ) -> Option<Interval> {
        let mean = self.mean()?;
        let error = self.standard_error().filter(|error| *error > 0.0)?;
        let mut distances = self.drawn_distances(mean, resampling);
        distances.sort_by(f64::total_cmp);
        let Interval { low, high } = middle(&distances, confidence)?;
        // The mean is what the interval is about; no chance may leave it outside.
        Some(Interval { low: mean - high.max(0.0) * error, high: mean - low.min(0.0) * error })
    }

    /// How far the means of random draws of groups are from the mean, in their own standard errors.
    fn drawn_distances(&self, mean: f64, Resampling { draws, seed, .. }: Resampling) -> Vec<f64> {
        let affordable = (WORK / self.len()).max(FEWEST_DRAWS);
        let draws = usize::try_from(draws).unwrap_or(affordable).clamp(1, affordable);
        let mut random = Random::new(seed);
        let draw = |_| {
            let mut drawn = ClusterSums::default();
            for _ in 0..self.len() {
                let (sum, count) = self.groups[random.below(self.len())];
                drawn.add_known(1, sum, count);
            }
            let error = drawn.standard_error().filter(|error| *error > 0.0)?;
            Some((drawn.mean()? - mean) / error)
        };
        (0..draws).filter_map(draw).collect()
    }
}

/// The middle part of sorted values. `None` without any.
pub(crate) fn middle(sorted: &[f64], share: f64) -> Option<Interval> {
    let tail = (1.0 - share) / 2.0;
    (!sorted.is_empty()).then(|| Interval { low: at(sorted, tail), high: at(sorted, 1.0 - tail) })
}

/// The value below which this share of sorted values lies.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of the length is an index"
)]
fn at(sorted: &[f64], share: f64) -> f64 {
    let place = share * float(sorted.len().saturating_sub(1));
    let below = place.floor() as usize;
    let (low, high) = (sorted[below], sorted[(below + 1).min(sorted.len() - 1)]);
    low + (high - low) * (place - place.floor())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn singles(values: &[f64]) -> Clusters {
        Clusters::new(values.iter().map(|value| [*value]))
    }

    #[track_caller]
    fn near(found: Option<f64>, expected: f64) {
        assert!((found.unwrap() - expected).abs() < 1e-9, "{found:?} is not {expected}");
    }

    #[test]
    fn single_values_have_the_textbook_standard_error() {
        // Variance 2.5 of five values.
        near(singles(&[1.0, 2.0, 3.0, 4.0, 5.0]).standard_error(), (2.5_f64 / 5.0).sqrt());
        near(singles(&[1.0, 2.0, 3.0, 4.0, 5.0]).mean(), 3.0);
    }

    #[test]
    fn students_interval_is_that_of_the_book() {
        let interval = singles(&[1.0, 2.0, 3.0, 4.0, 5.0]).student_interval(0.95).unwrap();
        near(Some(interval.low), 3.0 - 2.776_445_105_197_793 * 0.5_f64.sqrt());
        near(Some(interval.high), 3.0 + 2.776_445_105_197_793 * 0.5_f64.sqrt());
    }

    #[test]
    fn values_of_one_group_are_no_new_evidence() {
        let once = singles(&[0.0, 1.0, 1.0]);
        let thrice = Clusters::new([vec![0.0; 3], vec![1.0; 3], vec![1.0; 3]]);
        near(thrice.standard_error(), once.standard_error().unwrap());
        near(thrice.mean(), once.mean().unwrap());
    }

    #[test]
    fn the_bootstrap_agrees_with_theory_where_theory_is_simple() {
        // 200 values of 0 and 1: the mean scatters like a binomial, nearly normally.
        let values: Vec<f64> = (0..200).map(|index| f64::from(index % 4 == 0)).collect();
        let interval = singles(&values).bootstrap_t_interval(0.95, Resampling::default()).unwrap();
        let reach = 1.96 * (0.25 * 0.75 / 200.0_f64).sqrt();
        assert!((interval.low - (0.25 - reach)).abs() < 0.01, "{interval:?}");
        assert!((interval.high - (0.25 + reach)).abs() < 0.01, "{interval:?}");
    }

    #[test]
    fn one_group_has_no_interval_and_none_no_mean() {
        let one = Clusters::new([vec![0.1, 0.9]]);
        assert_eq!(one.mean(), Some(0.5));
        assert_eq!(one.standard_error(), None);
        assert_eq!(one.student_interval(0.95), None);
        assert_eq!(one.bootstrap_t_interval(0.95, Resampling::default()), None);
        let none = Clusters::new([vec![], vec![f64::NAN, f64::INFINITY]]);
        assert!(none.is_empty());
        assert_eq!(none.mean(), None);
    }

    #[test]
    fn the_interval_covers_the_truth_as_often_as_it_says() {
        // 1000 samples of 40 uniform values around 0.5; 95 % less 3 standard errors is 92.9 %.
        let resampling = Resampling { draws: 400, ..Resampling::default() };
        let mut random = Random::new(11);
        let covered = (0..1000).filter(|_| {
            let values: [f64; 40] = std::array::from_fn(|_| random.unit());
            let interval = singles(&values).bootstrap_t_interval(0.95, resampling).unwrap();
            interval.low <= 0.5 && 0.5 <= interval.high
        });
        let covered = covered.count();
        assert!((929..=971).contains(&covered), "{covered} of 1000");
    }

    proptest! {
        #[test]
        fn an_interval_holds_its_mean(
            groups in prop::collection::vec(prop::collection::vec(-1.0..1.0_f64, 0..4), 0..12),
            seed in any::<u64>(),
        ) {
            let clusters = Clusters::new(groups);
            let resampling = Resampling { draws: 50, seed, ..Resampling::default() };
            prop_assert_eq!(clusters.student_interval(0.95).is_some(), clusters.len() > 1);
            let drawn = clusters.bootstrap_t_interval(0.95, resampling);
            for Interval { low, high } in drawn.into_iter().chain(clusters.student_interval(0.95)) {
                let mean = clusters.mean().unwrap();
                prop_assert!(low <= mean && mean <= high && low.is_finite() && high.is_finite());
            }
        }
    }
}
