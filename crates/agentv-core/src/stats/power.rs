//! How large a difference must be for these cases to show it.

use super::interval::differing;
use super::mcnemar::mcnemar_power;
use super::paired::{all_flips, threshold};
use super::permutation::{deal, permuted_trials};
use super::sample::{PairedTrials, difference};
use super::{
    PairedSample, Random, Resampling, SMALLEST_DIFFERENCE, fewest_cases, float, mean,
    normal_quantile,
};

/// Values that all simulated comparisons for one power may draw together.
const WORK: usize = 4_000_000;
/// But at least this many comparisons.
const FEWEST_COMPARISONS: usize = 200;
/// How much more power is aimed at where it is simulated. The noise is estimated from the same cases: where it comes out too
/// small, the power is lower than it seems by more than it is higher where it comes out too large.
const UNCERTAINTY: f64 = 0.03;
/// The same where the runs have different numbers of trials: two tests must agree.
const UNCERTAINTY_OF_TWO: f64 = 0.05;
/// How many more values than were seen are taken to differ by chance. Where hardly any do, half of all samples show fewer
/// than they should.
const UNSEEN: f64 = 0.5;
/// How often the range of effects is halved.
const STEPS: usize = 12;
/// Up to this many differences every way to flip their signs is tried. The signs of more make a sum that is close to normal.
const EXACT_UP_TO: usize = 14;
/// Up to this many trials they are really permuted, this often. That is enough for levels from 0.02 on.
const PERMUTED_UP_TO: usize = 200;
const PERMUTATIONS: u32 = 99;
const LOWEST_PERMUTED: f64 = 0.02;

impl PairedSample {
    /// The minimum detectable effect: the true mean difference that the test of these cases would find with this power.
    /// `None` where even the largest possible one would be missed more often, or if no comparisons are to be simulated.
    ///
    /// It is found by inverting the power of the test: in closed form for McNemar's test, else by simulation with a fixed
    /// seed. The noise is that of the data: clusters are drawn with replacement, and differences get random signs.
    /// The effect is in the direction that has more room:
    ///
    /// * values of 0 and 1: each trial of the candidate changes to the other value with the same probability;
    /// * other values, where most clusters differ: every value moves by the same amount;
    /// * where few clusters differ: more clusters change, by as much as those do.
    pub fn detectable_effect(
        &self,
        level: f64,
        power: f64,
        Resampling { comparisons, .. }: Resampling,
    ) -> Option<f64> {
        if comparisons == 0 || self.differences().len() < fewest_cases(level) {
            return None;
        }
        let change = Change::of(self);
        let is_uneven = self.has_unequal_trials();
        let uncertainty = if is_uneven { UNCERTAINTY_OF_TWO } else { UNCERTAINTY };
        let is_found = |share: f64| -> bool {
            if self.is_simple() && self.is_binary() {
                return self.exact_power(share, level) >= power;
            }
            let found = self.simulated_power(change, share, level, comparisons as usize);
            found >= power + uncertainty
        };
        if !is_found(1.0) {
            return None;
        }
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..STEPS {
            let middle = f64::midpoint(low, high);
            if is_found(middle) { high = middle } else { low = middle }
        }
        Some(high * change.largest())
    }

    /// The power of McNemar's test if this share of the values that can change does. Cases that differ by chance are won and
    /// lost alike; a case that is lost anyway cannot be lost again.
    fn exact_power(&self, share: f64, level: f64) -> f64 {
        let (wins, losses) = self.wins_and_losses();
        let noise = (float(wins + losses) + UNSEEN) / float(self.len()) / 2.0;
        let rate = mean(self.values().iter().copied()).unwrap_or_default();
        let both = rate.max(1.0 - rate) - noise;
        mcnemar_power(self.len(), noise + share * both, noise * (1.0 - share), level)
    }

    fn simulated_power(&self, change: Change, share: f64, level: f64, most: usize) -> f64 {
        let comparisons = (WORK / self.values().len()).max(FEWEST_COMPARISONS).min(most);
        let mut clusters: Vec<Vec<PairedTrials<'_>>> = Vec::new();
        for trials in self.trials() {
            clusters.resize_with(clusters.len().max(trials.cluster + 1), Vec::new);
            clusters[trials.cluster].push(trials);
        }
        // The same random numbers for every share, so that the power grows with it.
        let mut random = Random::new(0);
        let trials = self.has_unequal_trials().then(|| match self.values().len() {
            0..=PERMUTED_UP_TO if level >= LOWEST_PERMUTED => TrialTest::Permuted(Self::default()),
            _ => TrialTest::Normal { variance: 0.0 },
        });
        let unseen =
            UNSEEN / float(if change.is_of_trials() { self.values().len() } else { self.len() });
        let mut simulated = Simulated { unseen, trials, ..Simulated::default() };
        let found = (0..comparisons).filter(|_| {
            simulated.clear();
            for _ in 0..clusters.len() {
                simulated.add(&clusters[random.below(clusters.len())], change, share, &mut random);
            }
            simulated.is_significant(level)
        });
        float(found.count()) / float(comparisons)
    }
}

/// How an effect changes the candidate's values.
#[derive(Debug, Clone, Copy)]
enum Change {
    /// Trials change to this value, which is 0 or 1. The largest effect is that all do.
    Flips { to: f64, largest: f64 },
    /// All values move.
    Moves,
    /// Some clusters change by this much.
    Jumps { by: f64 },
}

impl Change {
    fn of(sample: &PairedSample) -> Self {
        let mean = mean(sample.values().iter().copied()).unwrap_or_default();
        if sample.is_binary() {
            let to = f64::from(mean < 0.5);
            return Self::Flips { to, largest: mean.max(1.0 - mean) };
        }
        let clusters = sample.differences();
        if 2 * differing(&clusters) >= clusters.len() {
            return Self::Moves;
        }
        let squares: f64 = sample.trials().map(|trials| trials.difference().powi(2)).sum();
        let pairs = sample.trials().filter(|trials| trials.difference() != 0.0).count();
        // Where nothing differs, a case that changes is assumed to change altogether.
        let by = if pairs == 0 { mean.max(1.0 - mean) } else { (squares / float(pairs)).sqrt() };
        Self::Jumps { by }
    }

    /// Whether trials change one by one, and not cases.
    fn is_of_trials(self) -> bool {
        matches!(self, Self::Flips { .. })
    }

    fn largest(self) -> f64 {
        match self {
            Self::Flips { largest, .. } => largest,
            Self::Moves => 1.0,
            Self::Jumps { by } => by,
        }
    }
}

/// A simulated comparison. Its buffers are used again for the next one.
#[derive(Debug, Default)]
struct Simulated {
    /// The sum of each cluster's differences.
    sums: Vec<f64>,
    /// How likely a value, or a case, differs though none was seen to.
    unseen: f64,
    /// Where the runs have different numbers of trials.
    trials: Option<TrialTest>,
    hand: Vec<f64>,
}

/// How the trials of a simulated comparison are tested.
#[derive(Debug)]
enum TrialTest {
    Permuted(PairedSample),
    /// Of many, the sum over all ways to deal them is close to normal.
    Normal {
        variance: f64,
    },
}

impl Simulated {
    fn clear(&mut self) {
        self.sums.clear();
        match &mut self.trials {
            Some(TrialTest::Permuted(sample)) => *sample = PairedSample::default(),
            Some(TrialTest::Normal { variance }) => *variance = 0.0,
            None => {}
        }
    }

    fn add(
        &mut self,
        cluster: &[PairedTrials<'_>],
        change: Change,
        share: f64,
        random: &mut Random,
    ) {
        let (is_turned, jumps) = (random.unit() < 0.5, random.unit() < share);
        let mut sum = 0.0;
        for trials in cluster {
            let baseline = trials.baseline.len();
            self.hand.clear();
            self.hand.extend(trials.baseline.iter().chain(trials.candidate));
            // Zeros and ones of which one run has more are dealt anew.
            if change.is_of_trials() && baseline != trials.candidate.len() {
                deal(&mut self.hand, baseline, random);
            } else if is_turned {
                turn(&mut self.hand, trials, change);
            }
            add_unseen(&mut self.hand, baseline, change, self.unseen, random);
            for value in &mut self.hand[baseline..] {
                match change {
                    Change::Flips { to, .. } if random.unit() < share => *value = to,
                    Change::Moves => *value -= share,
                    Change::Jumps { by } if jumps => *value -= by,
                    _ => {}
                }
            }
            let (one, other) = self.hand.split_at(baseline);
            sum += difference(one, other);
            match &mut self.trials {
                Some(TrialTest::Permuted(sample)) => sample.add(one, other, self.sums.len()),
                Some(TrialTest::Normal { variance }) => {
                    *variance += dealt_variance(&self.hand, trials);
                }
                None => {}
            }
        }
        self.sums.push(sum);
    }

    /// What the tests would say.
    fn is_significant(&self, level: f64) -> bool {
        let sum: f64 = self.sums.iter().sum();
        let sizes: Vec<f64> = self.sums.iter().map(|sum| sum.abs()).collect();
        let sizes: Vec<f64> =
            sizes.into_iter().filter(|size| *size >= SMALLEST_DIFFERENCE).collect();
        if sizes.len() < fewest_cases(level) {
            return false;
        }
        let reach = normal_quantile(1.0 - level / 2.0);
        let flips_agree = if sizes.len() <= EXACT_UP_TO {
            all_flips(&sizes, threshold(sum, &sizes)) <= level
        } else {
            let squares: f64 = sizes.iter().map(|size| size * size).sum();
            sum.abs() >= reach * squares.sqrt()
        };
        flips_agree
            && match &self.trials {
                Some(TrialTest::Permuted(sample)) => {
                    let few = Resampling { flips: PERMUTATIONS, ..Resampling::default() };
                    permuted_trials(sample, None, few) <= level
                }
                Some(TrialTest::Normal { variance }) => sum.abs() >= reach * variance.sqrt(),
                None => true,
            }
    }
}

/// Makes a case as it could also have come out if the runs were alike: with its difference in the other direction. Zeros and
/// ones, of which both runs have as many, are swapped; other values are mirrored.
fn turn(values: &mut [f64], trials: &PairedTrials<'_>, change: Change) {
    if change.is_of_trials() {
        values.rotate_left(trials.baseline.len());
        return;
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / float(values.len());
    let sum = mean(trials.baseline) + mean(trials.candidate);
    for value in values {
        *value = sum - *value;
    }
}

/// Lets a few values differ that were the same: single zeros and ones, or all of the candidate's where cases change.
fn add_unseen(
    values: &mut [f64],
    baseline: usize,
    change: Change,
    chance: f64,
    random: &mut Random,
) {
    match change {
        Change::Flips { .. } => {
            for value in values.iter_mut().filter(|_| random.unit() < chance) {
                *value = 1.0 - *value;
            }
        }
        Change::Jumps { by } if random.unit() < chance => {
            let by = if random.unit() < 0.5 { by } else { -by };
            for value in &mut values[baseline..] {
                *value += by;
            }
        }
        Change::Jumps { .. } | Change::Moves => {}
    }
}

/// The variance of a case's difference over all ways to deal its trials.
fn dealt_variance(values: &[f64], trials: &PairedTrials<'_>) -> f64 {
    let count = float(trials.count());
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let shares = 1.0 / float(trials.baseline.len()) + 1.0 / float(trials.candidate.len());
    squares / (count - 1.0) * shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(pairs: &[(f64, f64)]) -> PairedSample {
        let mut sample = PairedSample::default();
        for (cluster, (baseline, candidate)) in pairs.iter().enumerate() {
            sample.add(&[*baseline], &[*candidate], cluster);
        }
        sample
    }

    #[track_caller]
    fn check(found: Option<f64>, range: std::ops::Range<f64>) {
        assert!(found.is_some_and(|found| range.contains(&found)), "{found:?} is not in {range:?}");
    }

    #[test]
    fn one_loss_of_twenty_needs_more_than_six() {
        let mut pairs = [(1.0, 1.0); 20];
        pairs[0] = (1.0, 0.0);
        // Six of twenty are the fewest that can be significant: 0.30. To have them in four of five runs takes more.
        check(sample(&pairs).detectable_effect(0.05, 0.8, Resampling::default()), 0.35..0.45);
    }

    #[test]
    fn it_is_known_even_if_nothing_differs() {
        check(
            sample(&[(1.0, 1.0); 100]).detectable_effect(0.05, 0.8, Resampling::default()),
            0.07..0.09,
        );
        check(
            sample(&[(0.7, 0.7); 100]).detectable_effect(0.05, 0.8, Resampling::default()),
            0.04..0.07,
        );
    }

    #[test]
    fn too_few_cases_detect_nothing() {
        assert_eq!(
            sample(&[(1.0, 1.0); 5]).detectable_effect(0.05, 0.8, Resampling::default()),
            None
        );
        let halves: Vec<(f64, f64)> =
            (0..6).map(|at| (f64::from(at % 2), f64::from(at % 2))).collect();
        assert_eq!(sample(&halves).detectable_effect(0.05, 0.8, Resampling::default()), None);
    }

    #[test]
    fn noise_that_is_normal_has_the_effect_of_the_textbook() {
        let pairs: Vec<(f64, f64)> =
            (1..200).map(|at| (0.5, 0.5 + 0.1 * normal_quantile(f64::from(at) / 200.0))).collect();
        // (1.96 + 0.84) · 0.1 / √199.
        check(sample(&pairs).detectable_effect(0.05, 0.8, Resampling::default()), 0.0185..0.0215);
    }
}
