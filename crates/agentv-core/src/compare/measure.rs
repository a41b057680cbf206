//! What is tested of two runs: the mean score and the pass rate.

use super::Scored;
use super::pairs::Pair;
use crate::stats::PairedSample;
use agentv_wire::Outcome;

/// The values of a comparison.
#[derive(Debug)]
pub(super) struct Measures {
    pub mean_score: PairedSample,
    /// `None` where a record does not say whether it passed.
    pub pass_rate: Option<PairedSample>,
    /// Whether a score is 1 exactly where a record passed, and else 0. Then the two measures are one.
    pub are_one: bool,
}

impl Measures {
    pub(super) fn of(pairs: &[Pair<'_>]) -> Self {
        let (mut mean_score, mut pass_rate) = (PairedSample::default(), PairedSample::default());
        let (mut is_known, mut are_one) = (true, true);
        for pair in pairs {
            let scores = [scores(&pair.baseline), scores(&pair.candidate)];
            mean_score.add(&scores[0], &scores[1], pair.cluster);
            if let (Some(one), Some(other)) = (passes(&pair.baseline), passes(&pair.candidate)) {
                are_one &= scores == [one.clone(), other.clone()];
                pass_rate.add(&one, &other, pair.cluster);
            } else {
                is_known = false;
            }
        }
        let is_known = is_known && !pairs.is_empty();
        Self { mean_score, pass_rate: is_known.then_some(pass_rate), are_one: is_known && are_one }
    }
}

fn scores(trials: &[&Scored]) -> Vec<f64> {
    trials.iter().map(|record| record.score).collect()
}

/// 1 for each trial that passed, else 0. `None` if a record does not say so.
pub(super) fn passes(trials: &[&Scored]) -> Option<Vec<f64>> {
    let passed =
        |record: &&Scored| record.has_status.then(|| f64::from(record.outcome == Outcome::Pass));
    trials.iter().map(passed).collect()
}
