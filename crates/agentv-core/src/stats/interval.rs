//! Intervals for what two runs differ by.

use super::{
    Clusters, Interval, PairedSample, Resampling, SMALLEST_DIFFERENCE, float, normal_quantile,
};

/// With fewer cases an interval would say nothing.
const FEWEST_CASES: usize = 3;
/// From this many differing clusters on, the bootstrap knows more of their distribution than Student's interval assumes.
const ENOUGH_FOR_BOOTSTRAP: usize = 30;
/// Where fewer than half of the clusters differ, at least this many must: else the few that do decide everything, and the
/// simulated coverage falls below 0.93 (`cargo xtask stats`).
const FEWEST_OF_MANY: usize = 30;

impl PairedSample {
    /// Where the true mean difference may lie. `None` where no honest interval can be given: below three cases, without any
    /// scatter, or where few of many cases carry the change.
    pub fn interval(&self, confidence: f64, resampling: Resampling) -> Option<Interval> {
        let clusters = self.differences();
        if clusters.len() < FEWEST_CASES {
            return None;
        }
        if self.is_simple() && self.is_binary() {
            let (wins, losses) = self.wins_and_losses();
            return bonett_price(wins, losses, self.len(), confidence);
        }
        let differing = differing(&clusters);
        let is_sparse = 2 * differing < clusters.len();
        if is_sparse && differing < FEWEST_OF_MANY {
            return None;
        }
        let has_scatter = clusters.standard_error()? > SMALLEST_DIFFERENCE;
        let interval = if differing < ENOUGH_FOR_BOOTSTRAP {
            clusters.student_interval(confidence)
        } else {
            clusters.bootstrap_t_interval(confidence, resampling)
        };
        let interval = interval.filter(|_| has_scatter)?;
        // Results of other programs may have scores beyond 0 and 1.
        let is_usual = clusters.mean().is_some_and(|mean| mean.abs() <= 1.0);
        Some(if is_usual { interval.of_differences() } else { interval })
    }
}

/// How many clusters differ.
pub(super) fn differing(clusters: &Clusters) -> usize {
    clusters.sums().iter().filter(|sum| sum.abs() >= SMALLEST_DIFFERENCE).count()
}

/// The interval of Bonett and Price (2012) for the difference of two paired rates: Wald's, after one win and one loss were
/// added. It holds with few cases and with few changes.
pub fn bonett_price(wins: usize, losses: usize, cases: usize, confidence: f64) -> Option<Interval> {
    if cases == 0 || wins + losses > cases {
        return None;
    }
    let size = float(cases + 2);
    let (won, lost) = (float(wins + 1) / size, float(losses + 1) / size);
    let centre = won - lost;
    let z = normal_quantile(f64::midpoint(1.0, confidence));
    let reach = z * ((won + lost - centre * centre) / size).sqrt();
    Some(Interval { low: centre - reach, high: centre + reach }.of_differences())
}

impl Interval {
    /// Scores are between 0 and 1, so their differences are between −1 and 1.
    fn of_differences(self) -> Self {
        Self { low: self.low.clamp(-1.0, 1.0), high: self.high.clamp(-1.0, 1.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(found: Option<Interval>, low: f64, high: f64) {
        let found = found.unwrap();
        let is_near = (found.low - low).abs() < 1e-3 && (found.high - high).abs() < 1e-3;
        assert!(is_near, "{found:?} is not {low} to {high}");
    }

    fn sample(differences: &[f64]) -> PairedSample {
        let mut sample = PairedSample::default();
        for (cluster, difference) in differences.iter().enumerate() {
            sample.add(&[0.5], &[0.5 + difference], cluster);
        }
        sample
    }

    fn interval(differences: &[f64]) -> Option<Interval> {
        sample(differences).interval(0.95, Resampling::default())
    }

    #[test]
    fn five_losses_of_a_hundred_include_zero() {
        check(bonett_price(0, 5, 100, 0.95), -0.0989, 0.0009);
        check(bonett_price(0, 6, 100, 0.95), -0.1119, -0.0057);
        check(bonett_price(0, 0, 4, 0.95), -0.4620, 0.4620);
        assert_eq!(bonett_price(0, 0, 0, 0.95), None);
    }

    #[test]
    fn few_differences_have_students_interval() {
        // Mean 0.2, standard error 0.1 / √3, t = 4.3027 with two degrees of freedom.
        check(interval(&[0.1, 0.2, 0.3]), 0.2 - 0.2484, 0.2 + 0.2484);
    }

    #[test]
    fn scores_beyond_the_range_have_an_interval_around_their_mean() {
        // Mean −4, standard error 1 / √3.
        check(interval(&[-3.0, -4.0, -5.0]), -4.0 - 2.4842, -4.0 + 2.4842);
    }

    #[test]
    fn there_is_none_where_it_would_mislead() {
        assert_eq!(interval(&[0.1, 0.3]), None);
        assert_eq!(interval(&[0.2; 8]), None);
        let mut few = [0.0; 40];
        few[..4].fill(0.45);
        assert_eq!(interval(&few), None);
        let mut many = [0.0; 100];
        many[..32].fill(0.45);
        assert!(interval(&many).is_some());
    }

    #[test]
    fn many_differences_are_drawn_and_skew_is_seen() {
        // Most cases gain a little, a few gain much: the true mean may be far above, but not far below.
        let differences: Vec<f64> = (0..60)
            .map(|index| if index % 10 == 0 { 0.5 } else { 0.01 * f64::from(index % 5) })
            .collect();
        let clusters = sample(&differences).differences();
        let student = clusters.student_interval(0.95).unwrap();
        let drawn = interval(&differences).unwrap();
        assert!(drawn.high > student.high && drawn.low > student.low, "{drawn:?} {student:?}");
    }
}
