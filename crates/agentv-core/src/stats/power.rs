//! How large a difference must be for these cases to show it.

use super::interval::differing;
use super::mcnemar::mcnemar_power;
use super::simulation::Simulation;
use super::{PairedSample, Resampling, fewest_cases, float, mean, normal_below, normal_quantile};

/// How many more values, or cases, than were seen are taken to differ by chance. Where hardly any do, half of all samples show
/// fewer than they should.
const UNSEEN: f64 = 0.5;
/// The effect is found up to this share of it.
const PRECISION: f64 = 0.005;
/// But the range of effects is halved at most this often.
const STEPS: usize = 16;

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
    /// * where few clusters differ: of those that do not, some change by as much as the others do.
    pub fn detectable_effect(&self, level: f64, power: f64, resampling: Resampling) -> Option<f64> {
        let clusters = self.differences().len();
        if resampling.comparisons == 0 || clusters < fewest_cases(level) {
            return None;
        }
        let change = EffectKind::of(self);
        let is_exact = self.is_simple() && self.is_binary();
        let simulation = (!is_exact).then(|| Simulation::of(self, change, level));
        // Else counts make the noise: of the trials that are dealt anew, or of the cases that differ.
        let has_measured_noise = match change {
            EffectKind::Flips { .. } => !self.has_unequal_trials(),
            EffectKind::Moves => true,
            EffectKind::Jumps { .. } => false,
        };
        let aim = if has_measured_noise { aimed_power(power, level, clusters) } else { power };
        let is_found = |share: f64| match &simulation {
            None => self.exact_power(share, level) >= power,
            Some(simulation) => simulation.finds(share, aim, resampling),
        };
        if !is_found(1.0) {
            return None;
        }
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..STEPS {
            if high - low <= PRECISION * high {
                break;
            }
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
}

/// The power to aim at, so that half of all samples of this many clusters print an effect that has the power asked for. The
/// squares of their differences are like a chi-square distribution, whose median is below its mean: more than half of all
/// samples scatter less than they should, by this factor (Wilson and Hilferty, 1931).
fn aimed_power(power: f64, level: f64, clusters: usize) -> f64 {
    let scatter = (1.0 - 2.0 / (9.0 * float(clusters))).powf(1.5);
    let (found, reach) = (normal_quantile(power), normal_quantile(1.0 - level / 2.0));
    normal_below((found + reach) / scatter - reach)
}

/// How an effect changes the candidate's values, and how likely they change without being seen to.
#[derive(Debug, Clone, Copy)]
pub(super) enum EffectKind {
    /// Trials change to this value, which is 0 or 1. The largest effect is that all do.
    Flips { to: f64, largest: f64, unseen: f64 },
    /// All values move.
    Moves,
    /// Of the clusters that do not differ, some change by this much.
    Jumps { by: f64, largest: f64, unseen: f64 },
}

impl EffectKind {
    fn of(sample: &PairedSample) -> Self {
        let mean = mean(sample.values().iter().copied()).unwrap_or_default();
        if sample.is_binary() {
            let to = f64::from(mean < 0.5);
            let unseen = UNSEEN / float(sample.values().len());
            return Self::Flips { to, largest: mean.max(1.0 - mean), unseen };
        }
        let clusters = sample.differences();
        let (all, differing) = (clusters.len(), differing(&clusters));
        if 2 * differing >= all {
            return Self::Moves;
        }
        let squares: f64 = sample.trials().map(|trials| trials.difference().powi(2)).sum();
        let pairs = sample.trials().filter(|trials| trials.difference() != 0.0).count();
        // Where nothing differs, a case that changes is assumed to change altogether.
        let by = if pairs == 0 { mean.max(1.0 - mean) } else { (squares / float(pairs)).sqrt() };
        let equal = (float(all - differing) - UNSEEN) / float(all);
        Self::Jumps { by, largest: by * equal, unseen: UNSEEN / float(all - differing) }
    }

    /// Whether trials change one by one, and not cases.
    pub(super) fn is_of_trials(self) -> bool {
        matches!(self, Self::Flips { .. })
    }

    fn largest(self) -> f64 {
        match self {
            Self::Flips { largest, .. } | Self::Jumps { largest, .. } => largest,
            Self::Moves => 1.0,
        }
    }
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

    /// Scores that are all the same, but for a few that rise or fall by 0.9.
    fn rare_changes(cases: usize, ups: usize, downs: usize) -> PairedSample {
        let mut pairs = vec![(0.95, 0.95); cases];
        pairs[..ups].fill((0.05, 0.95));
        pairs[ups..ups + downs].fill((0.95, 0.05));
        sample(&pairs)
    }

    #[test]
    fn differences_of_one_size_have_the_power_of_mcnemars_test() {
        // Up to 14 differences are counted out; the signs of more are drawn where the normal distribution is not sure.
        for (cases, changes) in [(20, 4), (40, 12), (60, 20)] {
            let sample = rare_changes(cases, changes / 2, changes / 2);
            let resampling = Resampling { comparisons: 1000, ..Resampling::default() };
            let effect = sample.detectable_effect(0.05, 0.8, resampling).unwrap();
            let noise = (float(changes) + UNSEEN) / float(cases) / 2.0;
            let power = mcnemar_power(cases, noise + effect / 0.9, noise, 0.05);
            assert!((0.78..0.85).contains(&power), "{power} at {effect}, {cases} cases");
        }
    }

    #[test]
    fn unequal_trials_have_the_same_effect_in_either_order() {
        let (mut sample, mut swapped) = (PairedSample::default(), PairedSample::default());
        for case in 0..30 {
            let value = |at: usize| float((case * 7 + at * 5) % 11) / 10.0;
            let (one, three) = ([value(0)], [value(1), value(2), value(3)]);
            sample.add(&one, &three, case);
            swapped.add(&three, &one, case);
        }
        let resampling = Resampling { comparisons: 1000, ..Resampling::default() };
        let of = |sample: PairedSample| sample.detectable_effect(0.05, 0.8, resampling).unwrap();
        let (one, other) = (of(sample), of(swapped));
        assert!((one / other - 1.0).abs() < 0.05, "{one} and {other}");
    }

    #[test]
    fn few_clusters_aim_higher() {
        // The median of a chi-square distribution with six degrees of freedom is 5.35.
        let scatter = (5.348_f64 / 6.0).sqrt();
        let expected = normal_below((1.96 + 0.8416) / scatter - 1.96);
        assert!((aimed_power(0.8, 0.05, 6) - expected).abs() < 0.001);
        assert!((aimed_power(0.8, 0.05, 1000) - 0.8).abs() < 0.001);
    }

    #[test]
    fn noise_that_is_normal_has_the_effect_of_the_textbook() {
        let pairs: Vec<(f64, f64)> =
            (1..200).map(|at| (0.5, 0.5 + 0.1 * normal_quantile(f64::from(at) / 200.0))).collect();
        // (1.96 + 0.84) · 0.1 / √199.
        check(sample(&pairs).detectable_effect(0.05, 0.8, Resampling::default()), 0.0185..0.0215);
    }
}
