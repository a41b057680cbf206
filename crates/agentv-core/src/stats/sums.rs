//! [`Clusters`](super::Clusters) of which only sums are kept: a million of them take no more space than two.

use super::{Interval, SMALLEST_DIFFERENCE, float, wilson_interval_of_sample};

/// Sums over groups of values. The groups are independent of each other, the values in one group need not be.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ClusterSums {
    groups: usize,
    values: f64,
    sum: f64,
    /// The mean of the first group. All that follows counts from here, since squares of large numbers that are nearly the
    /// same have nothing exact left when they are taken from each other.
    start: f64,
    /// Of each group's distance from the start, and of its size: square, square, product.
    squares: f64,
    size_squares: f64,
    products: f64,
}

impl ClusterSums {
    /// A group by the sum of its values and their number.
    pub fn add(&mut self, sum: f64, values: usize) {
        self.add_equal(1, sum, values);
    }

    /// Several groups that have the same sum and the same number of values.
    pub fn add_equal(&mut self, groups: usize, sum: f64, values: usize) {
        if groups > 0 && values > 0 && sum.is_finite() {
            self.add_known(groups, sum, float(values));
        }
    }

    /// The same for groups that are known to have finite values.
    pub(super) fn add_known(&mut self, groups: usize, sum: f64, size: f64) {
        let count = float(groups);
        if self.groups == 0 {
            self.start = sum / size;
        }
        let distance = sum - self.start * size;
        self.groups += groups;
        self.values += count * size;
        self.sum += count * sum;
        self.squares += count * distance * distance;
        self.size_squares += count * size * size;
        self.products += count * distance * size;
    }

    /// The number of groups.
    pub fn len(&self) -> usize {
        self.groups
    }

    pub fn is_empty(&self) -> bool {
        self.groups == 0
    }

    /// The sum of all values.
    pub fn sum(&self) -> f64 {
        self.sum
    }

    /// The number of values.
    pub fn values(&self) -> f64 {
        self.values
    }

    /// The mean of all values.
    pub fn mean(&self) -> Option<f64> {
        (self.groups > 0).then(|| self.sum / self.values)
    }

    /// How far the mean would scatter if other groups had been chosen; needs two of them.
    pub fn standard_error(&self) -> Option<f64> {
        let mean = self.mean().filter(|_| self.groups > 1)?;
        let count = float(self.groups);
        Some((self.squares_around(mean) * count / (count - 1.0)).sqrt() / self.values)
    }

    /// The interval of the mean, for values from 0 to 1: Wilson's with the [effective size](Self::effective_size), so many
    /// values of one group are not taken for many groups.
    pub fn rate_interval(&self, confidence: f64) -> Option<Interval> {
        self.rate_interval_of(self.values, confidence)
    }

    /// The same where the values are estimates, which are together as precise as `most` independent values at best.
    pub fn rate_interval_of(&self, most: f64, confidence: f64) -> Option<Interval> {
        // What is further out is not rounding, but not a score.
        let range = -SMALLEST_DIFFERENCE..=1.0 + SMALLEST_DIFFERENCE;
        let mean = self.mean().filter(|mean| range.contains(mean))?.clamp(0.0, 1.0);
        wilson_interval_of_sample(mean, self.effective_size(most), confidence)
    }

    /// How many independent values would have a mean as precise as this one: `m(1 − m) / SE²`, where the standard error
    /// is that of groups. It is `most` at best, and at worst the number of groups, fewer where some are larger than
    /// others.
    ///
    /// One more group of ones and one of zeros are counted in, of the mean size, because a few groups do not show how much
    /// groups differ. Without these two, the interval of a rate of 98 % held the truth in 61 % of simulated runs with 60
    /// groups of 20 values; with them, in 97 %.
    fn effective_size(&self, most: f64) -> f64 {
        let groups = float(self.groups);
        let size = self.values / groups;
        let (all_groups, all_values) = (groups + 2.0, self.values + 2.0 * size);
        let mean = (self.sum + size) / all_values;
        let added = size * size * (mean * mean + (1.0 - mean) * (1.0 - mean));
        let squares = (self.squares_around(mean) + added) * all_groups / (all_groups - 1.0);
        // `m(1 − m) / SE²` for all groups, and the part of it that is not of the added ones.
        let independent = mean * (1.0 - mean) * all_values * all_values / squares;
        let fewest = (self.values * self.values / self.size_squares).min(most);
        (independent * self.values / all_values).clamp(fewest, most)
    }

    /// The sum over all groups of `(sum − mean · size)²`, multiplied out. Rounding must not make it negative.
    fn squares_around(&self, mean: f64) -> f64 {
        let mean = mean - self.start;
        let squares = self.squares - 2.0 * mean * self.products + mean * mean * self.size_squares;
        squares.max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Clusters;

    #[track_caller]
    fn check(groups: &[&[f64]]) {
        let mut sums = ClusterSums::default();
        for group in groups {
            sums.add(group.iter().sum(), group.len());
        }
        let clusters = Clusters::new(groups.iter().map(|group| group.iter().copied()));
        assert_eq!(sums.len(), clusters.len());
        let near = |one: Option<f64>, other: Option<f64>| match (one, other) {
            (Some(one), Some(other)) => (one - other).abs() < 1e-9,
            (one, other) => one == other,
        };
        assert!(near(sums.mean(), clusters.mean()), "{groups:?}");
        assert!(near(sums.standard_error(), clusters.standard_error()), "{groups:?}");
    }

    #[test]
    fn they_say_the_same_as_the_values() {
        check(&[]);
        check(&[&[0.5]]);
        check(&[&[1.0, 2.0], &[3.0], &[4.0, 5.0, 6.0]]);
        check(&[&[0.1; 3], &[0.1; 3]]);
    }

    #[test]
    fn equal_groups_can_be_added_at_once() {
        let (mut one_by_one, mut at_once) = (ClusterSums::default(), ClusterSums::default());
        for (groups, sum, values) in [(3, 2.0, 4), (0, 1.0, 1), (2, 1.0, 4), (1, 0.0, 2)] {
            (0..groups).for_each(|_| one_by_one.add(sum, values));
            at_once.add_equal(groups, sum, values);
        }
        assert_eq!(one_by_one, at_once);
    }

    /// Groups by how many there are of each, their sum and their number of values.
    #[track_caller]
    fn check_size(groups: &[(usize, f64, usize)], expected: f64) {
        let mut sums = ClusterSums::default();
        for (groups, sum, values) in groups {
            sums.add_equal(*groups, *sum, *values);
        }
        let found = sums.effective_size(sums.values);
        assert!((found - expected).abs() < 1e-9, "{groups:?}: {found} is not {expected}");
    }

    #[test]
    fn values_of_a_group_count_as_far_as_they_differ() {
        // The values of a group agree, or there is only one group: as many values as groups.
        check_size(&[(60, 5.0, 5)], 60.0);
        check_size(&[(30, 5.0, 5), (30, 0.0, 5)], 60.0);
        check_size(&[(1, 3.0, 5)], 1.0);
        // Groups are more alike than independent values would be: all values count.
        check_size(&[(60, 2.0, 5)], 300.0);
        check_size(&[(30, 2.0, 5), (30, 3.0, 5)], 300.0);
        check_size(&[(10, 0.3, 3), (10, 0.1 + 0.2, 3)], 60.0);
        // 82 groups with squares of 100 + 12.5 around 0.5: 410 values count as 0.25 · 410² · 81/82 / 112.5 = 369.
        check_size(
            &[(20, 1.0, 5), (20, 2.0, 5), (20, 3.0, 5), (20, 4.0, 5)],
            369.0 * 400.0 / 410.0,
        );
        // Six groups with squares of 43/9 + 41/9 around 4/9: 18 values count as 20/81 · 18² · 5/6 / (28/3) = 50/7.
        check_size(&[(1, 3.0, 3), (2, 1.0, 3), (1, 0.0, 3)], 50.0 / 7.0 * 12.0 / 18.0);
    }

    #[test]
    fn one_value_for_each_group_is_a_plain_sample() {
        let mut sums = ClusterSums::default();
        for value in [0.0, 1.0, 1.0, 0.25] {
            sums.add(value, 1);
        }
        assert_eq!(sums.rate_interval(0.95), wilson_interval_of_sample(2.25 / 4.0, 4.0, 0.95));
        check_size(&[(8, 1.0, 1), (2, 0.0, 1)], 10.0);
        check_size(&[(7, 0.4, 1), (1, 0.6, 1)], 8.0);
    }

    #[test]
    fn a_group_with_most_of_the_values_makes_the_others_count_less() {
        // Four groups with squares of 29/9 + 5 around 2/3: 12 values count as 2/9 · 12² · 3/4 / (74/9) = 108/37.
        check_size(&[(1, 5.0, 5), (1, 0.0, 1)], 108.0 / 37.0 * 6.0 / 12.0);
        // At worst (5 + 4)² / (25 + 16).
        check_size(&[(1, 5.0, 5), (1, 0.0, 4)], 81.0 / 41.0);
    }

    #[test]
    fn what_is_no_number_is_left_out() {
        let mut sums = ClusterSums::default();
        sums.add(f64::NAN, 1);
        sums.add(1.0, 0);
        sums.add(f64::INFINITY, 2);
        assert!(sums.is_empty());
        assert_eq!(sums.mean(), None);
    }
}
