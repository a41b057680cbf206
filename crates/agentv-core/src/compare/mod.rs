//! Two runs side by side: which cases changed, and is the change more than noise?
//!
//! ```text
//! records ─match─► pairs ─► wins, losses, ties
//!                    ├────► test, interval, smallest effect ─► verdict
//!                    └────► the same by evaluator, tag and target
//! ```
//!
//! A case is known by its id; by its dataset too where the id stands in several, and by its target where a run has
//! several. Records of the same case are its trials, and its score is their mean.

mod groups;
mod pairs;
mod verdict;

use crate::stats::{Resampling, mean};
use agentv_wire::comparison::{Comparison, ComparisonSummary, MatchedCase, PairOutcome, Unmatched};
use pairs::{Matching, Pair};
use std::sync::Arc;
pub use verdict::fewest_cases;

/// Differences and thresholds are equal up to this: 0.9 − 0.8 is a little less than 0.1.
const EPSILON: f64 = 1e-9;

/// A record, as far as a comparison needs it. Names are shared, since they repeat.
#[derive(Debug, Clone, PartialEq)]
pub struct Scored {
    pub eval_id: Arc<str>,
    pub dataset: Arc<str>,
    pub target: Arc<str>,
    /// Which trial of its case, where the record says so; else records of one case are trials in their order.
    pub trial: Option<u32>,
    /// Finite; a record whose score is not is left out.
    pub score: f64,
    /// Whether its outcome is `pass`. Of records of 2.x this is not known.
    pub passed: Option<bool>,
    /// Whether it ended in an error. Its score is 0 then.
    pub failed: bool,
    pub tags: Box<[Arc<str>]>,
    pub grades: Box<[Grade]>,
}

/// What one evaluator gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Grade {
    pub evaluator: Arc<str>,
    /// `None` if the grading went wrong, which is not a bad grade.
    pub score: Option<f64>,
}

/// A run under the name by which the user knows it.
#[derive(Debug, Clone, Copy)]
pub struct ComparedRun<'r> {
    pub name: &'r str,
    pub records: &'r [Scored],
}

/// How to compare.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// A case is won or lost from this difference on.
    pub threshold: f64,
    /// A difference is shown from this p-value down.
    pub level: f64,
    pub errors: Errors,
    pub resampling: Resampling,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            threshold: 0.1,
            level: 0.05,
            errors: Errors::CountAsZero,
            resampling: Resampling::default(),
        }
    }
}

/// What records with an error are worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Errors {
    /// What the record says: 0. A candidate that breaks down does not look good.
    CountAsZero,
    /// Nothing: they are left out.
    LeaveOut,
}

/// Puts the candidate beside the baseline.
pub fn compare(baseline: ComparedRun<'_>, candidate: ComparedRun<'_>, rules: &Rules) -> Comparison {
    let matching = Matching::new(baseline.records, candidate.records, rules.errors);
    let matched: Vec<MatchedCase> =
        matching.pairs.iter().map(|pair| matched_case(pair, rules.threshold)).collect();
    let unmatched = Unmatched {
        file1: matching.only_baseline.len(),
        file2: matching.only_candidate.len(),
        cases1: matching.only_baseline.iter().map(pairs::Key::name).collect(),
        cases2: matching.only_candidate.iter().map(pairs::Key::name).collect(),
    };
    let summary = ComparisonSummary {
        total: baseline.records.len() + candidate.records.len(),
        errors1: baseline.records.iter().filter(|record| record.failed).count(),
        errors2: candidate.records.iter().filter(|record| record.failed).count(),
        ..summary(&matched, &matching)
    };
    let (statistics, verdict) = verdict::judge(&matching.pairs, rules);
    let mut comparison = Comparison {
        baseline: baseline.name.to_owned(),
        candidate: candidate.name.to_owned(),
        evaluators: groups::by_evaluator(&matching.pairs, rules.resampling),
        tags: groups::by_tag(&matching.pairs, rules.resampling),
        targets: groups::by_target(&matching.pairs, rules.resampling),
        matched,
        unmatched,
        summary,
        statistics,
        verdict,
        reasons: Vec::new(),
    };
    comparison.reasons = verdict::reasons(&comparison, rules);
    comparison
}

fn matched_case(pair: &Pair<'_>, threshold: f64) -> MatchedCase {
    let failed = |records: &[&Scored]| records.iter().filter(|record| record.failed).count();
    MatchedCase {
        case: pair.key.name(),
        score1: pair.score1,
        score2: pair.score2,
        delta: pair.delta(),
        outcome: outcome(pair.delta(), threshold),
        trials1: pair.baseline.len(),
        trials2: pair.candidate.len(),
        errors1: failed(&pair.baseline),
        errors2: failed(&pair.candidate),
    }
}

/// The contract's rule, but for rounding.
fn outcome(delta: f64, threshold: f64) -> PairOutcome {
    if delta.abs() <= EPSILON || delta.abs() + EPSILON < threshold {
        PairOutcome::Tie
    } else if delta > 0.0 {
        PairOutcome::Win
    } else {
        PairOutcome::Loss
    }
}

fn summary(matched: &[MatchedCase], matching: &Matching<'_>) -> ComparisonSummary {
    let count = |outcome| matched.iter().filter(|case| case.outcome == outcome).count();
    let mean_of = |value: fn(&MatchedCase) -> f64| mean(matched.iter().map(value)).unwrap_or(0.0);
    let pairs = &matching.pairs;
    ComparisonSummary {
        matched: matched.len(),
        wins: count(PairOutcome::Win),
        losses: count(PairOutcome::Loss),
        ties: count(PairOutcome::Tie),
        mean_delta: thousandths(mean_of(|case| case.delta)),
        mean1: mean_of(|case| case.score1),
        mean2: mean_of(|case| case.score2),
        pass_rate1: pass_rate(pairs.iter().flat_map(|pair| &pair.baseline)),
        pass_rate2: pass_rate(pairs.iter().flat_map(|pair| &pair.candidate)),
        excluded: matching.excluded,
        ..ComparisonSummary::default()
    }
}

/// Half up, as JavaScript rounds, and never −0.
fn thousandths(value: f64) -> f64 {
    (value * 1000.0 + 0.5).floor() / 1000.0 + 0.0
}

fn pass_rate<'r>(records: impl Iterator<Item = &'r &'r Scored>) -> Option<f64> {
    let passed: Option<Vec<f64>> = records.map(|record| record.passed.map(f64::from)).collect();
    mean(passed?)
}

#[cfg(test)]
mod tests;
