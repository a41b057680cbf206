//! The same cases in two runs: their values, trial by trial, and what two runs differ by.

use super::{Clusters, SMALLEST_DIFFERENCE, float, mean};
use std::collections::HashMap;

/// Values of the same cases in two runs. A case on several targets is several pairs of one cluster; pairs of different
/// clusters are independent of each other.
#[derive(Debug, Clone, Default)]
pub struct PairedSample {
    /// Of each pair the values of the baseline's trials, then those of the candidate's.
    values: Vec<f64>,
    pairs: Vec<Pair>,
    /// Numbers of clusters as they were given → in the order in which they came.
    clusters: HashMap<usize, usize>,
}

/// Where the trials of a pair are among the values.
#[derive(Debug, Clone, Copy)]
struct Pair {
    start: usize,
    baseline: usize,
    candidate: usize,
    cluster: usize,
}

/// The trials of a case on a target in both runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct PairedTrials<'s> {
    pub(super) baseline: &'s [f64],
    pub(super) candidate: &'s [f64],
    pub(super) cluster: usize,
}

impl PairedTrials<'_> {
    /// Candidate minus baseline. What is too small to be more than rounding is 0.
    pub(super) fn difference(&self) -> f64 {
        difference(self.baseline, self.candidate)
    }
}

/// The difference of two means, neither of nothing.
pub(super) fn difference(baseline: &[f64], candidate: &[f64]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / float(values.len());
    let difference = mean(candidate) - mean(baseline);
    if difference.abs() < SMALLEST_DIFFERENCE { 0.0 } else { difference }
}

impl PairedSample {
    /// Adds a case. Values that are not finite are left out; a case without values in one of the runs is not added.
    pub fn add(&mut self, baseline: &[f64], candidate: &[f64], cluster: usize) {
        let start = self.values.len();
        let finite = |values: &[f64]| -> Vec<f64> {
            values.iter().copied().filter(|value| value.is_finite()).collect()
        };
        let (baseline, candidate) = (finite(baseline), finite(candidate));
        if baseline.is_empty() || candidate.is_empty() {
            return;
        }
        let next = self.clusters.len();
        let cluster = *self.clusters.entry(cluster).or_insert(next);
        self.values.extend(baseline.iter().chain(&candidate));
        let (baseline, candidate) = (baseline.len(), candidate.len());
        self.pairs.push(Pair { start, baseline, candidate, cluster });
    }

    /// The number of pairs.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    pub(super) fn trials(&self) -> impl Iterator<Item = PairedTrials<'_>> {
        self.pairs.iter().map(|pair| {
            let all = &self.values[pair.start..pair.start + pair.baseline + pair.candidate];
            let (baseline, candidate) = all.split_at(pair.baseline);
            PairedTrials { baseline, candidate, cluster: pair.cluster }
        })
    }

    pub(super) fn values(&self) -> &[f64] {
        &self.values
    }

    /// The difference of each pair, by cluster.
    pub fn differences(&self) -> Clusters {
        let mut groups = vec![Vec::new(); self.clusters.len()];
        for trials in self.trials() {
            groups[trials.cluster].push(trials.difference());
        }
        Clusters::new(groups)
    }

    /// The mean over all pairs, in the baseline and in the candidate. `None` without any pair.
    pub fn means(&self) -> Option<(f64, f64)> {
        let of = |values: fn(PairedTrials<'_>) -> &[f64]| {
            mean(self.trials().filter_map(|trials| mean(values(trials).iter().copied())))
        };
        of(|trials| trials.baseline).zip(of(|trials| trials.candidate))
    }

    /// Whether every value is 0 or 1.
    pub fn is_binary(&self) -> bool {
        self.values.iter().all(|value| [0.0, 1.0].contains(value))
    }

    /// Whether each cluster is one case that both runs asked once.
    pub(super) fn is_simple(&self) -> bool {
        self.clusters.len() == self.pairs.len()
            && self.pairs.iter().all(|pair| pair.baseline == 1 && pair.candidate == 1)
    }

    /// Whether a case has more trials in one run than in the other.
    pub(super) fn has_unequal_trials(&self) -> bool {
        self.pairs.iter().any(|pair| pair.baseline != pair.candidate)
    }

    /// How many pairs are won and lost.
    pub(super) fn wins_and_losses(&self) -> (usize, usize) {
        let count =
            |is: fn(f64) -> bool| self.trials().filter(|trials| is(trials.difference())).count();
        (count(|difference| difference > 0.0), count(|difference| difference < 0.0))
    }
}
