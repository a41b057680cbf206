//! How many cases and trials it takes to see a difference, and what they cost.
//!
//! For scores of 0 and 1 with one trial each, the power is that of McNemar's exact test. Else it is that of a normal mean:
//!
//! ```text
//! n = (z₁₋α⁄₂ + z_power)² (ω² + σ²_A/k_A + σ²_B/k_B) / D²
//! ```
//!
//! where σ² is the variance of the trials of a case, k their number, and ω² the variance of the true effect between cases;
//! and about three more, since the sign-flip test knows the variance only together with the square of the difference.

use crate::stats::{
    Clusters, Interval, Random, Resampling, fewest_cases, float, mcnemar_power, mean, normal_below,
    normal_quantile,
};
use agentv_wire::comparison::MeanInterval;
use agentv_wire::plan::{Forecast, NoiseSource, PlanNoise};

/// No comparison has more cases.
const MOST_CASES: usize = 10_000_000;

/// How much scores scatter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    pub source: NoiseSource,
    pub mean: f64,
    /// σ²: the variance of the trials of one case.
    pub within: f64,
    /// ω²: the variance of the effect between cases, where two runs show it.
    pub effect: f64,
    pub is_binary: bool,
}

/// What is to be seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// The true difference of the means, above 0. Its direction is the one that has more room.
    pub difference: f64,
    pub power: f64,
    /// The level of the one test.
    pub level: f64,
}

/// Trials of each case in the baseline and in the candidate run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrialCounts {
    pub baseline: usize,
    pub candidate: usize,
}

impl Noise {
    /// Every case passes with this probability.
    pub fn of_rate(rate: f64) -> Self {
        let within = rate * (1.0 - rate);
        Self { source: NoiseSource::AssumedRate, mean: rate, within, effect: 0.0, is_binary: true }
    }

    /// The noise of a run, by the scores of each case's trials. `None` without any score.
    pub fn of_run(cases: &[Vec<f64>]) -> Option<Self> {
        let scores = || cases.iter().flatten().copied();
        let mean = mean(scores())?;
        let pooled = pooled_variance(cases);
        let source = if pooled.is_some() { NoiseSource::Trials } else { NoiseSource::SingleTrials };
        // Cases differ from each other at least as much as their trials do.
        let all = Clusters::new(scores().map(|score| [score]));
        let between = all.standard_error().map(|error| error * error * float(all.len()));
        let within = pooled.or(between).unwrap_or_default();
        let is_binary = scores().all(|score| [0.0, 1.0].contains(&score));
        Some(Self { source, mean, within, effect: 0.0, is_binary })
    }

    /// The noise of two runs of the same cases.
    pub fn of_runs(pairs: &[(Vec<f64>, Vec<f64>)]) -> Option<Self> {
        let cases: Vec<Vec<f64>> =
            pairs.iter().flat_map(|(one, other)| [one.clone(), other.clone()]).collect();
        let alone = Self::of_run(&cases)?;
        let differences = pairs.iter().filter_map(|(one, other)| {
            Some(mean(other.iter().copied())? - mean(one.iter().copied())?)
        });
        let differences = Clusters::new(differences.map(|difference| [difference]));
        let error = differences.standard_error()?;
        let variance = error * error * float(differences.len());
        if alone.source == NoiseSource::SingleTrials {
            // Without trials, all that differs is taken for noise.
            let within = variance / 2.0;
            return Some(Self { source: NoiseSource::TwoRuns, within, ..alone });
        }
        let shares =
            pairs.iter().map(|(one, other)| 1.0 / float(one.len()) + 1.0 / float(other.len()));
        let by_trials = alone.within * mean(shares)?;
        let effect = (variance - by_trials).max(0.0);
        Some(Self { source: NoiseSource::TwoRuns, effect, ..alone })
    }

    /// As files have it.
    pub fn wire(&self) -> PlanNoise {
        PlanNoise {
            source: self.source,
            mean: self.mean,
            within_case: self.within.sqrt(),
            between_cases: self.effect.sqrt(),
            binary: self.is_binary,
        }
    }

    /// How large a difference can be, in the direction that has more room.
    fn room(&self) -> f64 {
        self.mean.max(1.0 - self.mean)
    }
}

/// The variance of trials around the mean of their case. `None` where no case has several.
fn pooled_variance(cases: &[Vec<f64>]) -> Option<f64> {
    let (mut squares, mut freedom) = (0.0, 0);
    for case in cases.iter().filter(|case| case.len() > 1) {
        let middle = mean(case.iter().copied())?;
        squares += case.iter().map(|score| (score - middle).powi(2)).sum::<f64>();
        freedom += case.len() - 1;
    }
    (freedom > 0).then(|| squares / float(freedom))
}

/// How often a comparison of this many cases shows the difference.
pub fn power(noise: &Noise, goal: &Goal, trials: TrialCounts, cases: usize) -> f64 {
    if cases < fewest_cases(goal.level) || goal.difference > noise.room() {
        return 0.0;
    }
    if noise.is_binary && trials == (TrialCounts { baseline: 1, candidate: 1 }) {
        // As for the minimum detectable effect: results change to the other value with the same probability.
        let share = goal.difference / noise.room();
        let lost = noise.within + share * (noise.room() - noise.within);
        return mcnemar_power(cases, lost, noise.within * (1.0 - share), goal.level);
    }
    let reach = normal_quantile(1.0 - goal.level / 2.0);
    // Flipped signs scatter with the size of the differences, their mean included: a mean m is significant from
    // m² / (s² + m²) = z² / n on, which is m = z s / √(n − z²).
    let cases = float(cases);
    let spread = (cases / (cases - reach * reach)).sqrt();
    let error = (variance(noise, goal, trials) / cases).sqrt();
    // Sums of zeros and ones move in steps, and a part of one is lost: half of it, as simulations show.
    let step =
        if noise.is_binary { 0.5 / float(trials.baseline.max(trials.candidate)) } else { 0.0 };
    let seen = goal.difference - step / cases;
    if spread.is_finite() { normal_below(seen / error - reach * spread) } else { 0.0 }
}

/// The fewest cases that show the difference often enough. `None` if no number does.
pub fn cases_needed(noise: &Noise, goal: &Goal, trials: TrialCounts) -> Option<usize> {
    let is_enough = |cases: usize| power(noise, goal, trials, cases) >= goal.power;
    let mut high = fewest_cases(goal.level);
    while !is_enough(high) {
        high = high.checked_mul(2).filter(|cases| *cases <= MOST_CASES)?;
    }
    let mut low = high / 2;
    while high - low > 1 {
        let middle = usize::midpoint(low, high);
        if is_enough(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

/// The variance of the difference of one case.
fn variance(noise: &Noise, goal: &Goal, trials: TrialCounts) -> f64 {
    let (baseline, candidate) = (float(trials.baseline), float(trials.candidate));
    if !noise.is_binary {
        return noise.effect + noise.within * (1.0 / baseline + 1.0 / candidate);
    }
    // A case that passes with p passes with (1 − share) p afterwards: both its noise and its effect depend on p.
    let room = noise.room();
    let share = goal.difference / room;
    let left = 1.0 - share;
    let square = room - noise.within;
    let effect = noise.effect + share * share * (square - room * room).max(0.0);
    let after = left * room - left * left * square;
    effect + noise.within / baseline + after / candidate
}

/// What this many records come to, by what the records of an earlier run came to: the expected total, and where it may lie,
/// from draws of cases. `None` without any amount.
pub fn forecast(by_case: &[f64], records: usize, resampling: Resampling) -> Option<Forecast> {
    let expected = mean(by_case.iter().copied())?;
    let mut random = Random::new(resampling.seed);
    let mut means: Vec<f64> = (0..resampling.draws.clamp(1, 2000))
        .map(|_| {
            let drawn = by_case.iter().map(|_| by_case[random.below(by_case.len())]);
            drawn.sum::<f64>() / float(by_case.len())
        })
        .collect();
    means.sort_by(f64::total_cmp);
    let Interval { low, high } = crate::stats::middle(&means, 0.95)?;
    let total = float(records);
    let interval = MeanInterval { low: low * total, high: high * total };
    Some(Forecast { expected: expected * total, interval })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONCE: TrialCounts = TrialCounts { baseline: 1, candidate: 1 };

    fn goal(difference: f64) -> Goal {
        Goal { difference, power: 0.8, level: 0.05 }
    }

    #[test]
    fn the_formula_is_the_one_of_the_docs() {
        let noise = Noise {
            source: NoiseSource::Trials,
            mean: 0.5,
            within: 0.04,
            effect: 0.01,
            is_binary: false,
        };
        // (1.959964 + 0.841621)² · (0.01 + 0.04/2 + 0.04/4) / 0.05² = 125.6, and 1.959964³ / 2.801585 = 2.7 more.
        let trials = TrialCounts { baseline: 2, candidate: 4 };
        assert_eq!(cases_needed(&noise, &goal(0.05), trials), Some(129));
    }

    #[test]
    fn zeros_and_ones_have_the_power_of_the_exact_test() {
        let noise = Noise::of_rate(0.9);
        let needed = cases_needed(&noise, &goal(0.1), ONCE).unwrap();
        assert!((180..260).contains(&needed), "{needed}");
        assert!(power(&noise, &goal(0.1), ONCE, needed) >= 0.8);
        // Ten trials take most of the noise away.
        let ten = TrialCounts { baseline: 10, candidate: 10 };
        assert!(cases_needed(&noise, &goal(0.1), ten).unwrap() < needed / 5);
        assert_eq!(cases_needed(&noise, &goal(0.95), ONCE), None);
    }

    #[test]
    fn trials_show_how_much_of_the_scatter_is_noise() {
        // Easy and hard cases that always score the same: no noise at all.
        let steady = [vec![0.2, 0.2], vec![0.9, 0.9], vec![0.5, 0.5]];
        let noise = Noise::of_run(&steady).unwrap();
        assert_eq!((noise.source, noise.within), (NoiseSource::Trials, 0.0));
        // Without trials, they could be anything.
        let once = Noise::of_run(&steady.map(|case| vec![case[0]])).unwrap();
        assert_eq!(once.source, NoiseSource::SingleTrials);
        assert!(once.within > 0.1);
        assert_eq!(Noise::of_run(&[]), None);
    }

    #[test]
    fn two_runs_show_how_the_effect_differs_between_cases() {
        let pairs = [(vec![0.5; 2], vec![0.5; 2]), (vec![0.5; 2], vec![0.9; 2])];
        let noise = Noise::of_runs(&pairs).unwrap();
        // The differences 0 and 0.4 have the variance 0.08.
        assert!((noise.effect - 0.08).abs() < 1e-12, "{noise:?}");
    }

    #[test]
    fn a_forecast_scales_with_the_records() {
        let forecast = forecast(&[0.01, 0.03], 100, Resampling::default()).unwrap();
        assert!((forecast.expected - 2.0).abs() < 1e-12);
        assert!(
            (forecast.interval.low - 1.0).abs() < 1e-9
                && (forecast.interval.high - 3.0).abs() < 1e-9
        );
        assert_eq!(super::forecast(&[], 5, Resampling::default()), None);
    }
}
