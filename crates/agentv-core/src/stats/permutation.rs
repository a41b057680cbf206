//! Trials permuted within their case: the test for runs that asked a case unequally often.

use super::paired::{sampled_p_value, threshold};
use super::sample::{PairedSample, PairedTrials, difference};
use super::{Level, Random, Resampling, SMALLEST_DIFFERENCE, float};

/// Up to this many ways to deal the trials of all cases, each is tried.
const EXACT_UP_TO: usize = 1 << 19;
/// The ways to deal the trials of one case are listed if there are no more.
const LISTED_UP_TO: usize = 64;

/// How likely a sum of differences at least as far from 0 is if the trials of each case are dealt to the two runs at random.
/// If the runs are alike, all ways to deal are equally likely, whatever the numbers of trials.
pub(super) fn permuted_trials(
    sample: &PairedSample,
    level: Option<Level>,
    resampling: Resampling,
) -> f64 {
    let differing = sample.trials().filter(|trials| !is_constant(*trials));
    let deals: Vec<Deals> = differing.map(Deals::of).collect();
    let seen: Vec<f64> = sample.trials().map(|trials| trials.difference()).collect();
    let sizes: Vec<f64> = seen.iter().map(|value| value.abs()).collect();
    let threshold = threshold(seen.iter().sum(), &sizes);
    if let Some(sums) = all_sums(&deals) {
        let extreme = sums.iter().filter(|sum| sum.abs() >= threshold).count();
        return float(extreme) / float(sums.len());
    }
    let cost = deals.iter().map(Deals::cost).sum();
    let mut hand = Vec::new();
    sampled_p_value(cost, level, resampling, |random| {
        let sum: f64 = deals.iter().map(|deals| deals.draw(random, &mut hand)).sum();
        sum.abs() >= threshold
    })
}

fn is_constant(trials: PairedTrials<'_>) -> bool {
    let first = trials.baseline[0];
    let mut others = trials.baseline.iter().chain(trials.candidate);
    others.all(|value| (value - first).abs() < SMALLEST_DIFFERENCE)
}

/// The differences that the trials of one case can have.
enum Deals {
    /// One for each way to deal them.
    Listed(Vec<f64>),
    /// Too many to list: all trials, and how many of them are the baseline's.
    Many(Vec<f64>, usize),
}

impl Deals {
    fn of(trials: PairedTrials<'_>) -> Self {
        let all: Vec<f64> = trials.baseline.iter().chain(trials.candidate).copied().collect();
        let baseline = trials.baseline.len();
        if ways(all.len(), baseline) > LISTED_UP_TO {
            return Self::Many(all, baseline);
        }
        let mut listed = Vec::new();
        list(&all, baseline, &mut Vec::new(), &mut listed);
        Self::Listed(listed)
    }

    fn cost(&self) -> usize {
        match self {
            Self::Listed(_) => 4,
            Self::Many(all, _) => 4 * all.len(),
        }
    }

    fn draw(&self, random: &mut Random, hand: &mut Vec<f64>) -> f64 {
        match self {
            Self::Listed(differences) => differences[random.below(differences.len())],
            Self::Many(all, baseline) => {
                hand.clear();
                hand.extend(all);
                deal(hand, *baseline, random);
                let (baseline, candidate) = hand.split_at(*baseline);
                difference(baseline, candidate)
            }
        }
    }
}

/// Moves randomly chosen values to the front.
pub(super) fn deal(values: &mut [f64], front: usize, random: &mut Random) {
    for at in 0..front {
        let from = at + random.below(values.len() - at);
        values.swap(at, from);
    }
}

/// Chooses the baseline's trials in every way.
fn list(all: &[f64], baseline: usize, chosen: &mut Vec<usize>, listed: &mut Vec<f64>) {
    if chosen.len() == baseline {
        let (mut one, mut other) = (Vec::new(), Vec::new());
        for (index, value) in all.iter().enumerate() {
            if chosen.contains(&index) { one.push(*value) } else { other.push(*value) }
        }
        listed.push(difference(&one, &other));
        return;
    }
    let next = chosen.last().map_or(0, |last| last + 1);
    for index in next..all.len() {
        chosen.push(index);
        list(all, baseline, chosen, listed);
        chosen.pop();
    }
}

/// In how many ways this many of all can be chosen; `usize::MAX` if that is a larger number.
fn ways(all: usize, chosen: usize) -> usize {
    let mut ways = 1_usize;
    for step in 1..=chosen.min(all - chosen) {
        let Some(product) = ways.checked_mul(all - step + 1) else { return usize::MAX };
        ways = product / step;
    }
    ways
}

/// The sum of every way to deal all cases, if they can be listed.
fn all_sums(deals: &[Deals]) -> Option<Vec<f64>> {
    let mut sums = vec![0.0];
    for deals in deals {
        let Deals::Listed(differences) = deals else { return None };
        if sums.len() * differences.len() > EXACT_UP_TO {
            return None;
        }
        sums = sums
            .iter()
            .flat_map(|sum| differences.iter().map(move |difference| sum + difference))
            .collect();
    }
    Some(sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEVEL: Level = Level { alpha: 0.05, tests: 1 };

    fn sample(cases: &[(&[f64], &[f64])]) -> PairedSample {
        let mut sample = PairedSample::default();
        for (cluster, (baseline, candidate)) in cases.iter().enumerate() {
            sample.add(baseline, candidate, cluster);
        }
        sample
    }

    #[test]
    fn few_ways_to_deal_are_counted_out() {
        // One of three ways gives 1, two give −1/2; over two cases the sum 2 has one way of nine.
        let alike: (&[f64], &[f64]) = (&[0.0], &[1.0, 1.0]);
        let p_value = permuted_trials(&sample(&[alike, alike]), Some(LEVEL), Resampling::default());
        assert!((p_value - 1.0 / 9.0).abs() < 1e-12, "{p_value}");
    }

    #[test]
    fn one_trial_each_is_the_sign_flip_test() {
        let cases: [(&[f64], &[f64]); 4] =
            [(&[0.1], &[0.4]), (&[0.2], &[0.9]), (&[0.5], &[0.3]), (&[0.0], &[0.8])];
        let sample = sample(&cases);
        let flipped =
            super::super::sign_flip(&sample.differences().sums(), LEVEL, Resampling::default());
        let permuted = permuted_trials(&sample, Some(LEVEL), Resampling::default());
        assert!((flipped - permuted).abs() < 1e-12, "{flipped} is not {permuted}");
    }

    #[test]
    fn many_ways_are_sampled_and_agree() {
        // 12 trials of 24 can be chosen in 2.7 million ways: the same case with a closed form is the hypergeometric one.
        let (mut baseline, mut candidate) = ([0.0; 12], [1.0; 12]);
        baseline[..4].fill(1.0);
        candidate[..4].fill(0.0);
        let sample = sample(&[(&baseline, &candidate)]);
        let p_value = permuted_trials(&sample, Some(LEVEL), Resampling::default());
        // P(at least 8 of the 12 ones in one half), two-sided: 2 · Σ C(12, i)² for i ≥ 8 over C(24, 12).
        let exact = 2.0 * (495.0 * 495.0 + 220.0 * 220.0 + 66.0 * 66.0 + 144.0 + 1.0) / 2_704_156.0;
        assert!((p_value - exact).abs() < 0.015, "{p_value} is not near {exact}");
    }

    #[test]
    fn ways_are_binomial() {
        assert_eq!((ways(4, 1), ways(10, 5), ways(5, 0)), (4, 252, 1));
        assert_eq!(ways(2000, 1000), usize::MAX);
    }
}
