//! Some records in numbers: those of a run, or of one target.

use super::record::RecordUsage;
use crate::stats::{CONFIDENCE, ClusterSums, float};
use crate::trials::{CaseTrials, wire};
use agentv_wire::comparison::MeanInterval;
use agentv_wire::{Outcome, OutcomeTotals, RecordSummary, Usage};

/// Records by what became of them; each is in one of these.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    pub passed: usize,
    pub failed: usize,
    pub ungraded: usize,
    pub errors: usize,
}

impl Counts {
    /// Counts one more.
    pub fn add(&mut self, outcome: Outcome) {
        *match outcome {
            Outcome::Pass => &mut self.passed,
            Outcome::Fail => &mut self.failed,
            Outcome::Ungraded => &mut self.ungraded,
            Outcome::Error => &mut self.errors,
        } += 1;
    }

    /// All of them.
    pub fn recorded(self) -> usize {
        self.passed + self.failed + self.ungraded + self.errors
    }

    /// Those whose score says something of the answer.
    pub fn graded(self) -> usize {
        self.passed + self.failed
    }
}

/// Sums over some records.
#[derive(Debug, Default, Clone, Copy)]
pub struct GroupTotals {
    pub counts: Counts,
    /// What answers and gradings used.
    pub usage: RecordUsage,
    /// Of graded records.
    score_sum: f64,
    /// The sum over the records that say how long the answer took, and how many these are.
    duration_ms: f64,
    timed: usize,
    /// Passes by case, and the scores of graded records by case: the trials of one case are not independent of each other.
    passes: ClusterSums,
    scores: ClusterSums,
}

impl GroupTotals {
    /// Takes a record, whose outcome and usage are known already.
    pub fn add<T>(&mut self, record: &RecordSummary<T>, outcome: Outcome, usage: &RecordUsage) {
        self.counts.add(outcome);
        if outcome.is_graded() {
            self.score_sum += record.score;
        }
        self.usage.add(usage);
        if let Some(duration_ms) = record.metrics.duration_ms {
            self.duration_ms += duration_ms;
            self.timed += 1;
        }
    }

    /// Takes a case that has all of its trials.
    pub(super) fn close_case(&mut self, case: &CaseTrials) {
        self.passes.add(f64::from(case.passed), case.trials as usize);
        self.scores.add(case.scores().sum(), case.scores().len());
    }

    /// The mean score of graded records. `None` without any.
    pub fn mean(&self) -> Option<f64> {
        let graded = self.counts.graded();
        (graded > 0).then(|| self.score_sum / float(graded))
    }

    /// The mean that a gate compares: what has no grade counts as 0, since a gate must not be passed by failing to look.
    pub fn gate_mean(&self) -> f64 {
        self.score_sum / float(self.counts.recorded().max(1))
    }

    /// The share of all records that passed. `None` without any.
    pub fn pass_rate(&self) -> Option<f64> {
        let recorded = self.counts.recorded();
        (recorded > 0).then(|| float(self.counts.passed) / float(recorded))
    }

    /// The mean time of an answer, where any says how long it took.
    pub fn mean_duration_ms(&self) -> Option<f64> {
        (self.timed > 0).then(|| self.duration_ms / float(self.timed))
    }

    /// As files have it. Intervals are those of the cases that have all of their trials.
    pub fn wire(&self) -> OutcomeTotals {
        let Counts { passed, failed, ungraded, errors } = self.counts;
        let used = self.usage.total();
        OutcomeTotals {
            recorded: self.counts.recorded(),
            passed,
            failed,
            ungraded,
            errors,
            graded: self.counts.graded(),
            mean_score: self.mean(),
            mean_interval: self.scores.rate_interval(CONFIDENCE).map(wire),
            pass_rate: self.pass_rate(),
            pass_interval: self.passes.rate_interval(CONFIDENCE).map(wire),
            duration_ms: (self.timed > 0).then_some(self.duration_ms),
            timed: self.timed,
            cost_usd: used.cost_usd,
            grading_cost_usd: self.usage.grading.cost_usd,
            token_usage: used.token_usage,
            grading_token_usage: self.usage.grading.token_usage,
        }
    }
}

/// The interval of a mean over several targets, from the number of values and the interval of each. It is the mean of
/// theirs. A case is the same on every target, so it may be hard on all of them at once: more targets are not more cases.
pub(super) fn pooled(
    targets: impl Iterator<Item = (f64, Option<MeanInterval>)>,
) -> Option<MeanInterval> {
    let (mut values, mut low, mut high) = (0.0, 0.0, 0.0);
    for (count, interval) in targets {
        let Some(interval) = interval else { continue };
        values += count;
        low += count * interval.low;
        high += count * interval.high;
    }
    (values > 0.0).then(|| MeanInterval { low: low / values, high: high / values })
}

impl RecordUsage {
    /// What target and graders used together.
    pub fn total(&self) -> Usage {
        let mut total = self.target;
        total.add(&self.grading);
        total
    }

    /// Adds what another record used.
    pub fn add(&mut self, more: &Self) {
        self.target.add(&more.target);
        self.grading.add(&more.grading);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Random;
    use crate::stats::coverage::least_coverage;

    const DRAWS: usize = 1000;

    /// How often the interval over three targets holds the truth. A share of the cases passes or fails on all of them.
    fn coverage(rate: f64, shared: f64, cases: usize) -> f64 {
        let mut random = Random::new(5);
        let is_covered = |_: &usize| {
            let mut targets = [ClusterSums::default(); 3];
            for _ in 0..cases {
                let is_shared = random.unit() < shared;
                let common = random.unit() < rate;
                for sums in &mut targets {
                    let passed = if is_shared { common } else { random.unit() < rate };
                    sums.add(f64::from(u8::from(passed)), 1);
                }
            }
            let interval = |sums: &ClusterSums| sums.rate_interval(CONFIDENCE).map(wire);
            let found = pooled(targets.iter().map(|sums| (sums.values(), interval(sums)))).unwrap();
            found.low <= rate && rate <= found.high
        };
        float((0..DRAWS).filter(is_covered).count()) / float(DRAWS)
    }

    #[test]
    fn an_interval_over_targets_covers_what_wilsons_does() {
        for (rate, shared) in [(0.5, 1.0), (0.5, 0.5), (0.9, 1.0), (0.9, 0.0), (0.98, 1.0)] {
            for cases in [6, 40] {
                let found = coverage(rate, shared, cases);
                let least = least_coverage(rate, cases, DRAWS);
                assert!(found >= least, "{rate}, {shared}, {cases} cases: {found}");
            }
        }
    }
}
