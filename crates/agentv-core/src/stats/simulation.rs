//! Simulated comparisons, as noisy as a sample: how often would its test find an effect?

use super::paired::{RandomSigns, all_flips, threshold};
use super::permutation::deal;
use super::power::EffectKind;
use super::sample::{PairedSample, PairedTrials, difference};
use super::{Random, Resampling, SMALLEST_DIFFERENCE, fewest_cases, float, normal_quantile};

/// Values that all simulated comparisons for one power may draw together.
const WORK: usize = 4_000_000;
/// But at least this many comparisons.
const FEWEST_COMPARISONS: usize = 200;
/// After each batch of comparisons the power may be clear enough: this many standard errors away.
const BATCH: usize = 50;
const CLEAR: f64 = 4.0;
/// Up to this many differences every way to flip their signs is tried.
const EXACT_UP_TO: usize = 14;
/// The sum of `n` values is close to normal, but it comes in steps where the values are of few sizes. A step is at most a few
/// `√n`ths of the standard deviation. So the normal distribution decides where the sum is further than this over `√n` from
/// where it becomes significant.
const NEAR: f64 = 3.0;
/// Else random patterns decide. There are enough of them if this many may be as extreme at the level.
const EXTREME: f64 = 10.0;
/// If it takes more patterns than this, the normal distribution has to do.
const MOST_PATTERNS: f64 = 10_000.0;

/// What comparisons are simulated of.
#[derive(Debug)]
pub(super) struct Simulation<'s> {
    clusters: Vec<Vec<PairedTrials<'s>>>,
    values: usize,
    is_uneven: bool,
    change: EffectKind,
    level: f64,
}

impl<'s> Simulation<'s> {
    pub(super) fn of(sample: &'s PairedSample, change: EffectKind, level: f64) -> Self {
        let mut clusters: Vec<Vec<PairedTrials<'_>>> = Vec::new();
        for trials in sample.trials() {
            clusters.resize_with(clusters.len().max(trials.cluster + 1), Vec::new);
            clusters[trials.cluster].push(trials);
        }
        let (values, is_uneven) = (sample.values().len(), sample.has_unequal_trials());
        Self { clusters, values, is_uneven, change, level }
    }

    /// Whether the test has this power if this share of the values, or cases, changes.
    pub(super) fn finds(&self, share: f64, power: f64, resampling: Resampling) -> bool {
        let most = resampling.comparisons as usize;
        let comparisons = (WORK / self.values.max(1)).max(FEWEST_COMPARISONS).min(most);
        // The same random numbers for every share, so that the power grows with it.
        let (mut random, mut test) = (Random::new(resampling.seed), Test::new(self.level));
        let (mut found, mut done) = (0, 0);
        while done < comparisons {
            test.clear();
            for _ in 0..self.clusters.len() {
                let cluster = &self.clusters[random.below(self.clusters.len())];
                self.add(cluster, share, &mut random, &mut test);
            }
            found += usize::from(test.is_significant());
            done += 1;
            let apart = float(found) - power * float(done);
            let error = (power * (1.0 - power) * float(done)).sqrt();
            if done % BATCH == 0 && apart.abs() > CLEAR * error {
                break;
            }
        }
        float(found) >= power * float(done)
    }

    /// Adds a cluster as it could have come out, with the effect.
    fn add(&self, cluster: &[PairedTrials<'_>], share: f64, random: &mut Random, test: &mut Test) {
        let is_turned = random.unit() < 0.5;
        let step = self.step(cluster, share, random);
        let mut sum = 0.0;
        for trials in cluster {
            let baseline = trials.baseline.len();
            let hand = &mut test.hand;
            hand.clear();
            hand.extend(trials.baseline.iter().chain(trials.candidate));
            // Zeros and ones of which one run has more are dealt anew.
            if self.change.is_of_trials() && baseline != trials.candidate.len() {
                deal(hand, baseline, random);
            } else if is_turned {
                turn(hand, trials, self.change);
            }
            if let EffectKind::Flips { to, unseen, .. } = self.change {
                flip(hand, baseline, (to, unseen, share), random);
            } else {
                hand[baseline..].iter_mut().for_each(|value| *value += step);
            }
            let (one, other) = test.hand.split_at(baseline);
            sum += difference(one, other);
            if self.is_uneven {
                test.add_trials(baseline);
            }
        }
        test.sums.push(sum);
    }

    /// By how much all values of the candidate in a cluster change.
    fn step(&self, cluster: &[PairedTrials<'_>], share: f64, random: &mut Random) -> f64 {
        match self.change {
            EffectKind::Flips { .. } => 0.0,
            EffectKind::Moves => -share,
            EffectKind::Jumps { by, unseen, .. } => {
                let (at, is_up) = (random.unit(), random.unit() < 0.5);
                let is_equal = cluster.iter().all(|trials| trials.difference() == 0.0);
                match at {
                    _ if !is_equal => 0.0,
                    _ if at < unseen && is_up => by,
                    _ if at < unseen + share * (1.0 - unseen) => -by,
                    _ => 0.0,
                }
            }
        }
    }
}

/// The test of one simulated comparison. Its buffers are used again for the next one.
#[derive(Debug)]
struct Test {
    level: f64,
    /// From how many standard deviations on a normal sum is significant.
    reach: f64,
    /// The sum of each cluster's differences.
    sums: Vec<f64>,
    /// Where the runs have different numbers of trials: those of the pairs that are not all the same, and the variance of
    /// their sum over all ways to deal them.
    trials: Vec<f64>,
    pairs: Vec<DealtPair>,
    variance: f64,
    hand: Vec<f64>,
    random: Random,
}

/// The trials of a pair, those of the run that has fewer of them first. Its difference is `start` and `factor` times the sum of
/// the first ones.
#[derive(Debug, Clone, Copy)]
struct DealtPair {
    front: usize,
    count: usize,
    start: f64,
    factor: f64,
}

impl Test {
    fn new(level: f64) -> Self {
        Self {
            level,
            reach: normal_quantile(1.0 - level / 2.0),
            sums: Vec::new(),
            trials: Vec::new(),
            pairs: Vec::new(),
            variance: 0.0,
            hand: Vec::new(),
            random: Random::new(1),
        }
    }

    fn clear(&mut self) {
        self.sums.clear();
        self.trials.clear();
        self.pairs.clear();
        self.variance = 0.0;
    }

    /// Keeps the trials of the pair at hand. Its difference is what the sum of all trials gives to one run, less what those of
    /// the other take from it: the sum of the run that has fewer is enough to know it.
    fn add_trials(&mut self, baseline: usize) {
        let (count, total) = (self.hand.len(), self.hand.iter().sum::<f64>());
        let mean = total / float(count);
        let squares: f64 = self.hand.iter().map(|value| (value - mean).powi(2)).sum();
        if squares < SMALLEST_DIFFERENCE.powi(2) {
            return;
        }
        let candidate = count - baseline;
        let shares = 1.0 / float(baseline) + 1.0 / float(candidate);
        self.variance += squares / float(count - 1) * shares;
        let is_baseline_first = baseline <= candidate;
        if !is_baseline_first {
            self.hand.rotate_left(baseline);
        }
        self.trials.extend(&self.hand);
        self.pairs.push(if is_baseline_first {
            DealtPair { front: baseline, count, start: total / float(candidate), factor: -shares }
        } else {
            DealtPair { front: candidate, count, start: -total / float(baseline), factor: shares }
        });
    }

    /// What the tests would say.
    fn is_significant(&mut self) -> bool {
        let sum: f64 = self.sums.iter().sum();
        let sizes = self.sums.iter().map(|sum| sum.abs());
        let sizes: Vec<f64> = sizes.filter(|size| *size >= SMALLEST_DIFFERENCE).collect();
        sizes.len() >= fewest_cases(self.level)
            && self.is_rare_flip(sum, &sizes)
            && (self.pairs.is_empty() || self.is_rare_deal(sum, threshold(sum, &sizes)))
    }

    fn is_rare_flip(&mut self, sum: f64, sizes: &[f64]) -> bool {
        let threshold = threshold(sum, sizes);
        if sizes.len() <= EXACT_UP_TO {
            return all_flips(sizes, threshold) <= self.level;
        }
        let squares: f64 = sizes.iter().map(|size| size * size).sum();
        self.decided(sum, squares, sizes.len()).unwrap_or_else(|| {
            let signs = RandomSigns::of(sizes);
            is_rare(self.level, || signs.draw(&mut self.random).abs() >= threshold)
        })
    }

    fn is_rare_deal(&mut self, sum: f64, threshold: f64) -> bool {
        self.decided(sum, self.variance, self.pairs.len()).unwrap_or_else(|| {
            let Self { trials, pairs, random, .. } = self;
            is_rare(self.level, || {
                let (mut sum, mut rest) = (0.0, trials.as_mut_slice());
                for DealtPair { front, count, start, factor } in pairs.iter().copied() {
                    let (values, others) = rest.split_at_mut(count);
                    deal(values, front, random);
                    sum += start + factor * values[..front].iter().sum::<f64>();
                    rest = others;
                }
                sum.abs() >= threshold
            })
        })
    }

    /// What the normal distribution says, where it is sure.
    fn decided(&self, sum: f64, variance: f64, values: usize) -> Option<bool> {
        let distance = sum.abs() / variance.sqrt() - self.reach;
        let is_sure = values > EXACT_UP_TO && distance.abs() > NEAR / float(values).sqrt();
        (is_sure || EXTREME / self.level > MOST_PATTERNS).then_some(distance >= 0.0)
    }
}

/// Whether random patterns are as extreme as the one seen, which counts as one of them, in at most this share. No more are
/// drawn than it takes to know.
fn is_rare(level: f64, mut is_extreme: impl FnMut() -> bool) -> bool {
    let (mut extreme, mut drawn) = (1.0, 1.0);
    while drawn * level < EXTREME && extreme <= EXTREME {
        extreme += f64::from(u8::from(is_extreme()));
        drawn += 1.0;
    }
    extreme <= drawn * level
}

/// Makes a case as it could also have come out if the runs were alike: with its difference in the other direction. Zeros and
/// ones, of which both runs have as many, are swapped; other values are mirrored.
fn turn(values: &mut [f64], trials: &PairedTrials<'_>, change: EffectKind) {
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

/// Lets a few zeros and ones differ that were the same, and this share of the candidate's become `to`.
fn flip(
    values: &mut [f64],
    baseline: usize,
    (to, unseen, share): (f64, f64, f64),
    random: &mut Random,
) {
    for value in values.iter_mut().filter(|_| random.unit() < unseen) {
        *value = 1.0 - *value;
    }
    for value in values[baseline..].iter_mut().filter(|_| random.unit() < share) {
        *value = to;
    }
}
