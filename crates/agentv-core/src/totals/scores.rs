//! Many scores in few numbers.

use crate::stats::float;
use agentv_wire::Outcome;

/// The scores of all records, 8 bytes each.
#[derive(Debug, Default)]
pub struct Scores {
    graded: Vec<f64>,
    /// Those of ungraded cases and of errors, which lines for scripts of 2.x count all the same.
    others: Vec<f64>,
    lowest: Option<f64>,
}

/// What many scores come to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoreStatistics {
    pub mean: f64,
    pub median: f64,
    pub min: f64,
    pub max: f64,
    /// Of a sample; one number has none.
    pub deviation: Option<f64>,
}

impl Scores {
    pub(super) fn add(&mut self, score: f64, outcome: Outcome) {
        let list = if outcome.is_graded() { &mut self.graded } else { &mut self.others };
        list.push(score);
        let gated = if outcome.is_graded() { score } else { 0.0 };
        self.lowest = Some(self.lowest.map_or(gated, |lowest| lowest.min(gated)));
    }

    /// Those of graded cases.
    pub fn graded(&self) -> &[f64] {
        &self.graded
    }

    /// Those of all records, as records have them: 0 for an error.
    pub fn all(&self) -> Vec<f64> {
        self.graded.iter().chain(&self.others).copied().collect()
    }

    /// The lowest that a gate compares: what has no grade counts as 0.
    pub fn lowest(&self) -> Option<f64> {
        self.lowest
    }

    /// How many graded scores are in each tenth. A score of 1 is in the last.
    pub fn histogram(&self) -> [usize; 10] {
        let mut bins = [0; 10];
        for score in &self.graded {
            bins[tenth(*score)] += 1;
        }
        bins
    }
}

impl ScoreStatistics {
    /// `None` without scores. Takes them, since a million of them need not be there twice.
    pub fn of(scores: Vec<f64>) -> Option<Self> {
        let count = scores.len();
        let mean = scores.iter().sum::<f64>() / float(count);
        let mut sorted = scores;
        sorted.sort_by(f64::total_cmp);
        let median = if count.is_multiple_of(2) {
            f64::midpoint(*sorted.get((count / 2).checked_sub(1)?)?, sorted[count / 2])
        } else {
            sorted[count / 2]
        };
        let deviation = (count > 1).then(|| {
            let squares = sorted.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
            (squares / float(count - 1)).sqrt()
        });
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        Some(Self { mean, median, min, max, deviation })
    }

    /// How many scores lie in each of five ranges.
    pub fn distribution(scores: &[f64]) -> [(&'static str, usize); 5] {
        let edges = [0.2, 0.4, 0.6, 0.8];
        let mut bins =
            [("0.0-0.2", 0), ("0.2-0.4", 0), ("0.4-0.6", 0), ("0.6-0.8", 0), ("0.8-1.0", 0)];
        for value in scores {
            // As in 2.x, a bin's upper edge has a little slack: 0.6 counts below it, and so does 0.6000000000000001.
            let bin = edges.iter().position(|edge| *value < edge + 1e-9).unwrap_or(4);
            bins[bin].1 += 1;
        }
        bins
    }
}

/// Which tenth. A little slack, so that three times 0.1 is 0.3.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 0 and 9, and NaN is 0"
)]
fn tenth(score: f64) -> usize {
    ((score.clamp(0.0, 1.0) + 1e-9) * 10.0).floor().clamp(0.0, 9.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_fall_into_tenths() {
        for (score, expected) in
            [(0.0, 0), (0.09, 0), (0.1, 1), (0.1 + 0.2, 3), (0.3, 3), (0.95, 9), (1.0, 9), (7.0, 9)]
        {
            assert_eq!(tenth(score), expected, "{score}");
        }
        assert_eq!(tenth(f64::NAN), 0);
    }
}
