//! Is it more than noise, and how is that said?

use super::pairs::Pair;
use super::{Errors, Rules};
use crate::stats::{Clusters, EXACT_UP_TO, Resampling, exact_mcnemar, sign_flip};
use agentv_wire::comparison::{
    Comparison, ComparisonVerdict, MeanInterval, PairedTest, Statistics,
};

/// How often an effect of the smallest size would be found.
const POWER: f64 = 0.8;

/// One case in both runs, as far as a test cares.
#[derive(Debug, Clone, Copy)]
pub(super) struct Difference {
    pub score1: f64,
    pub score2: f64,
    pub cluster: usize,
}

impl Difference {
    pub(super) fn of(pair: &Pair<'_>) -> Self {
        Self { score1: pair.score1, score2: pair.score2, cluster: pair.cluster }
    }

    fn delta(self) -> f64 {
        self.score2 - self.score1
    }

    fn is_binary(self) -> bool {
        [self.score1, self.score2].iter().all(|score| [0.0, 1.0].contains(score))
    }
}

/// What a test found.
#[derive(Debug, Clone)]
pub(super) struct Tested {
    pub test: PairedTest,
    pub p_value: f64,
    pub clusters: Clusters,
}

impl Tested {
    pub(super) fn verdict(&self, level: f64) -> ComparisonVerdict {
        if self.clusters.len() < fewest_cases(level) {
            ComparisonVerdict::TooFewCases
        } else if self.p_value > level {
            ComparisonVerdict::NoEvidence
        } else if self.clusters.mean() < Some(0.0) {
            ComparisonVerdict::Regression
        } else {
            ComparisonVerdict::Improvement
        }
    }
}

/// McNemar's test where all scores are 0 or 1, else sign flips of whole clusters.
pub(super) fn test(differences: &[Difference], resampling: Resampling) -> Tested {
    let clusters = clusters(differences);
    // A case on several targets is one case: only then are there fewer clusters than pairs.
    let is_single = clusters.len() == differences.len();
    if is_single && !differences.is_empty() && differences.iter().all(|pair| pair.is_binary()) {
        let wins = differences.iter().filter(|pair| pair.delta() > 0.0).count();
        let losses = differences.iter().filter(|pair| pair.delta() < 0.0).count();
        let p_value = exact_mcnemar(losses, wins);
        return Tested { test: PairedTest::Mcnemar, p_value, clusters };
    }
    let sums = clusters.sums();
    let is_exact = sums.iter().filter(|sum| **sum != 0.0).count() <= EXACT_UP_TO;
    let test = if is_exact { PairedTest::SignFlipExact } else { PairedTest::SignFlipSampled };
    Tested { test, p_value: sign_flip(&sums, resampling), clusters }
}

fn clusters(differences: &[Difference]) -> Clusters {
    let count = differences.iter().map(|pair| pair.cluster + 1).max().unwrap_or(0);
    let mut groups = vec![Vec::new(); count];
    for pair in differences {
        groups[pair.cluster].push(pair.delta());
    }
    Clusters::new(groups)
}

/// The smallest number of cases that can show anything at this level: if all of `n` change in one direction, the p-value
/// is `2 / 2^n`.
pub fn fewest_cases(level: f64) -> usize {
    (1..1075)
        .find(|cases| 2.0 * 0.5_f64.powi(*cases) <= level)
        .map_or(usize::MAX, |cases| usize::try_from(cases).unwrap_or(usize::MAX))
}

pub(super) fn judge(pairs: &[Pair<'_>], rules: &Rules) -> (Statistics, ComparisonVerdict) {
    let differences: Vec<Difference> = pairs.iter().map(Difference::of).collect();
    let tested = test(&differences, rules.resampling);
    let clusters = &tested.clusters;
    let confidence = 1.0 - rules.level;
    let interval = clusters.bootstrap_interval(confidence, rules.resampling);
    let statistics = Statistics {
        test: tested.test,
        cases: clusters.len(),
        p_value: tested.p_value,
        level: rules.level,
        interval: interval.map(|interval| MeanInterval { low: interval.low, high: interval.high }),
        confidence,
        smallest_effect: clusters.detectable_effect(rules.level, POWER),
        seed: rules.resampling.seed,
    };
    (statistics, tested.verdict(rules.level))
}

/// The verdict in words, the most important first.
pub(super) fn reasons(comparison: &Comparison, rules: &Rules) -> Vec<String> {
    let Comparison { statistics, summary, .. } = comparison;
    let mut reasons = vec![main_reason(comparison)];
    if comparison.verdict == ComparisonVerdict::NoEvidence {
        reasons.extend(statistics.smallest_effect.map(blind_spot));
    }
    let worth = match rules.errors {
        Errors::CountAsZero => "count as 0",
        Errors::LeaveOut => "are left out",
    };
    if summary.errors1 + summary.errors2 > 0 {
        reasons.push(format!(
            "records with an error {worth}: {} in the baseline, {} in the candidate",
            summary.errors1, summary.errors2
        ));
    }
    if summary.excluded > 0 {
        reasons.push(format!("{} not compared: a run has only errors", cases(summary.excluded)));
    }
    reasons
}

fn main_reason(comparison: &Comparison) -> String {
    let Statistics { cases: count, p_value, level, .. } = comparison.statistics;
    let p_value = p_text(p_value);
    match comparison.verdict {
        ComparisonVerdict::TooFewCases if count == 0 => {
            "the runs have no case in common".to_owned()
        }
        ComparisonVerdict::TooFewCases => format!(
            "{} can show no difference at the level {level}, whatever the scores; {} could",
            cases(count),
            fewest_cases(level)
        ),
        ComparisonVerdict::NoEvidence => {
            format!("the differences may be chance: {p_value} is above the level {level}")
        }
        ComparisonVerdict::Regression => {
            format!("the candidate is worse, and hardly by chance: {p_value}")
        }
        ComparisonVerdict::Improvement => {
            format!("the candidate is better, and hardly by chance: {p_value}")
        }
    }
}

/// What may have been overlooked.
fn blind_spot(effect: f64) -> String {
    // Scores go from 0 to 1.
    if effect >= 1.0 {
        return "these cases are too few, or scatter too much, to show any difference reliably"
            .to_owned();
    }
    format!("these cases would most likely miss a true difference below {effect:.3} (80 % power)")
}

fn cases(count: usize) -> String {
    if count == 1 { "1 case".to_owned() } else { format!("{count} cases") }
}

/// Small p-values are not told exactly, since nobody can mean it.
fn p_text(p_value: f64) -> String {
    if p_value < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p_value:.3}") }
}
