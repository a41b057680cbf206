//! [`Clusters`](super::Clusters) of which only sums are kept: a million of them take no more space than two.

use super::{Interval, float, student_quantile};

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
        if values > 0 && sum.is_finite() {
            self.add_weighted(sum, float(values));
        }
    }

    /// The same for a group that is known to have values.
    pub(super) fn add_weighted(&mut self, sum: f64, size: f64) {
        if self.groups == 0 {
            self.start = sum / size;
        }
        let distance = sum - self.start * size;
        self.groups += 1;
        self.values += size;
        self.sum += sum;
        self.squares += distance * distance;
        self.size_squares += size * size;
        self.products += distance * size;
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

    /// The mean of all values.
    pub fn mean(&self) -> Option<f64> {
        (self.groups > 0).then(|| self.sum / self.values)
    }

    /// How far the mean would scatter if other groups had been chosen; needs two of them.
    pub fn standard_error(&self) -> Option<f64> {
        let mean = self.mean().filter(|_| self.groups > 1)? - self.start;
        // Σ (distance − mean · size)², multiplied out. Rounding must not make it negative.
        let squares = self.squares - 2.0 * mean * self.products + mean * mean * self.size_squares;
        let count = float(self.groups);
        Some((squares.max(0.0) * count / (count - 1.0)).sqrt() / self.values)
    }

    /// Student's interval of the mean. `None` with fewer than two groups: one has no spread.
    pub fn student_interval(&self, confidence: f64) -> Option<Interval> {
        let (mean, error) = (self.mean()?, self.standard_error()?);
        let reach =
            error * student_quantile(f64::midpoint(1.0, confidence), float(self.groups - 1));
        Some(Interval { low: mean - reach, high: mean + reach })
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
    fn what_is_no_number_is_left_out() {
        let mut sums = ClusterSums::default();
        sums.add(f64::NAN, 1);
        sums.add(1.0, 0);
        sums.add(f64::INFINITY, 2);
        assert!(sums.is_empty());
        assert_eq!(sums.mean(), None);
    }
}
