//! Runs side by side: which cases changed, and is the change more than noise?
//!
//! ```text
//! records ─match─► pairs ─► wins, losses, ties
//!                    ├────► mean score ┐
//!                    ├────► pass rate  ┴─► tests of all candidates ─Holm─► verdicts, intervals, reasons
//!                    └────► the same by evaluator, tag and target
//! ```
//!
//! A case is known by its id; by its suite too where several suites use the id, and by its target where a run has several
//! targets. Records of the same case are its trials, and its score is their mean. Errors and ungraded records are left out.

mod groups;
mod measure;
mod pairs;
mod verdict;

use crate::stats::{Resampling, SMALLEST_DIFFERENCE, mean};
use agentv_wire::Outcome;
use agentv_wire::comparison::{Comparison, ComparisonSummary, MatchedCase, PairOutcome, Unmatched};
use measure::Measures;
use pairs::{Key, Matching, Pair};
use std::sync::Arc;

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
    pub outcome: Outcome,
    /// Whether the outcome is known to be the one of its suite. Records of 2.x do not say what passes.
    pub has_status: bool,
    pub tags: Box<[Arc<str>]>,
    /// What the case belongs to: cases with the same value are not independent of each other.
    pub cluster: Option<Arc<str>>,
    pub grades: Box<[Grade]>,
}

/// What one evaluator gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Grade {
    pub evaluator: Arc<str>,
    /// `None` if the grading failed, which is not a bad grade.
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
    /// The significance level of all verdicts together.
    pub level: f64,
    /// The largest loss of the mean score that is acceptable, where that is to be shown.
    pub margin: Option<f64>,
    pub ungraded: UngradedRecords,
    pub resampling: Resampling,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            threshold: 0.1,
            level: 0.05,
            margin: None,
            ungraded: UngradedRecords::LeftOut,
            resampling: Resampling::default(),
        }
    }
}

/// What becomes of records with an error and of ungraded ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UngradedRecords {
    LeftOut,
    /// They count as the score that the record has, which is 0 for an error. So did 2.x.
    AsRecorded,
}

/// Compares each candidate with the baseline. All verdicts share the level.
pub fn compare(
    baseline: ComparedRun<'_>,
    candidates: &[ComparedRun<'_>],
    rules: &Rules,
) -> Vec<Comparison> {
    let matchings: Vec<Matching<'_>> = candidates
        .iter()
        .map(|candidate| Matching::new(baseline.records, candidate.records, rules.ungraded))
        .collect();
    let measures: Vec<Measures> =
        matchings.iter().map(|matching| Measures::of(&matching.pairs)).collect();
    let judged = verdict::judge(&measures, rules);
    let compared = candidates.iter().zip(matchings).zip(judged);
    compared
        .map(|((candidate, matching), judged)| {
            comparison(baseline, *candidate, &matching, judged, rules)
        })
        .collect()
}

fn comparison(
    baseline: ComparedRun<'_>,
    candidate: ComparedRun<'_>,
    matching: &Matching<'_>,
    judged: verdict::Judged,
    rules: &Rules,
) -> Comparison {
    let matched: Vec<MatchedCase> =
        matching.pairs.iter().map(|pair| matched_case(pair, rules.threshold)).collect();
    let names = |keys: &[Key<'_>]| keys.iter().map(Key::name).collect();
    let unmatched = Unmatched {
        file1: matching.only_baseline.len(),
        file2: matching.only_candidate.len(),
        cases1: names(&matching.only_baseline),
        cases2: names(&matching.only_candidate),
        ungraded: names(&matching.ungraded),
    };
    let counted = |run: ComparedRun<'_>, outcome| {
        run.records.iter().filter(|record| record.outcome == outcome).count()
    };
    let summary = ComparisonSummary {
        total: baseline.records.len() + candidate.records.len(),
        errors1: counted(baseline, Outcome::Error),
        errors2: counted(candidate, Outcome::Error),
        ungraded1: counted(baseline, Outcome::Ungraded),
        ungraded2: counted(candidate, Outcome::Ungraded),
        missing: matching.only_baseline.len() + matching.ungraded.len(),
        ..summary(&matched, matching)
    };
    let mut comparison = Comparison {
        baseline: baseline.name.to_owned(),
        candidate: candidate.name.to_owned(),
        evaluators: groups::by_evaluator(&matching.pairs, rules),
        tags: groups::by_tag(&matching.pairs, rules),
        targets: groups::by_target(&matching.pairs, rules),
        matched,
        unmatched,
        summary,
        statistics: judged.mean_score,
        pass_statistics: judged.pass_rate,
        verdict: judged.verdict,
        non_inferiority: judged.non_inferiority,
        reasons: Vec::new(),
    };
    comparison.reasons = verdict::reasons(&comparison, rules, judged.fewest_cases);
    comparison
}

fn matched_case(pair: &Pair<'_>, threshold: f64) -> MatchedCase {
    MatchedCase {
        case: pair.key.name(),
        score1: pair.score1,
        score2: pair.score2,
        delta: pair.delta(),
        outcome: outcome(pair.delta(), threshold),
        trials1: pair.baseline.len(),
        trials2: pair.candidate.len(),
        errors1: pair.left_out.0,
        errors2: pair.left_out.1,
    }
}

/// The contract's rule, but for rounding.
fn outcome(delta: f64, threshold: f64) -> PairOutcome {
    if delta.abs() <= SMALLEST_DIFFERENCE || delta.abs() + SMALLEST_DIFFERENCE < threshold {
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
        pass_rate1: pass_rate(pairs.iter().map(|pair| &*pair.baseline)),
        pass_rate2: pass_rate(pairs.iter().map(|pair| &*pair.candidate)),
        ..ComparisonSummary::default()
    }
}

/// Half up, as JavaScript rounds, and never −0.
fn thousandths(value: f64) -> f64 {
    (value * 1000.0 + 0.5).floor() / 1000.0 + 0.0
}

/// The mean over cases of the share of their trials that passed.
fn pass_rate<'r>(mut cases: impl Iterator<Item = &'r [&'r Scored]>) -> Option<f64> {
    let rates: Option<Vec<f64>> = cases.try_fold(Vec::new(), |mut rates, trials| {
        rates.push(mean(measure::passes(trials)?)?);
        Some(rates)
    });
    mean(rates?)
}

#[cfg(test)]
mod tests;
