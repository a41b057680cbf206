//! Records → numbers.

use super::record::{Grade, Record};
use agentv_wire::{
    ReportEvaluator, ReportGroup, ReportSummary, ReportTotals, RunInfo, Standing, TokenUsage,
};
use jiff::Timestamp;
use std::collections::HashMap;

/// The numbers of the records so far.
#[derive(Debug, Default)]
pub(super) struct Counting {
    summary: ReportSummary,
    all: Sum,
    targets: Vec<Sum>,
    evaluators: Vec<f64>,
    /// Places in the lists above.
    places: HashMap<(&'static str, String), usize>,
}

/// Totals whose mean is still to be made.
#[derive(Debug, Default)]
struct Sum {
    totals: ReportTotals,
    scores: f64,
}

impl Counting {
    pub(super) fn new(info: Option<&RunInfo>) -> Self {
        let summary = ReportSummary {
            planned: info.map(|info| info.cases),
            wall_ms: info.and_then(wall_ms),
            ..ReportSummary::default()
        };
        Self { summary, ..Self::default() }
    }

    pub(super) fn add(&mut self, record: &Record) {
        self.all.add(record);
        let next = self.targets.len();
        let target = *self.places.entry(("target", record.target.clone())).or_insert(next);
        if target == next {
            self.targets.push(Sum::default());
            let group = ReportGroup { name: record.target.clone(), ..ReportGroup::default() };
            self.summary.targets.push(group);
        }
        self.targets[target].add(record);
        self.summary.histogram[bin(record.score)] += 1;
        add_cost(
            &mut self.summary.grading_cost_usd,
            record.evaluator_usage.and_then(|usage| usage.cost_usd),
        );
        record.grades().iter().for_each(|grade| self.grade(grade));
    }

    fn grade(&mut self, grade: &Grade) {
        let next = self.evaluators.len();
        let place = *self.places.entry(("evaluator", grade.name.clone())).or_insert(next);
        if place == next {
            self.evaluators.push(0.0);
            self.summary.evaluators.push(ReportEvaluator {
                name: grade.name.clone(),
                kind: grade.kind.clone(),
                ..ReportEvaluator::default()
            });
        }
        let evaluator = &mut self.summary.evaluators[place];
        let cost = grade.usage.and_then(|usage| usage.cost_usd);
        add_cost(&mut evaluator.cost_usd, cost);
        add_cost(&mut self.summary.grading_cost_usd, cost);
        if grade.error.is_some() {
            evaluator.errors += 1;
            self.summary.grading_errors += 1;
            return;
        }
        evaluator.graded += 1;
        evaluator.full += usize::from(grade.score >= 1.0);
        self.evaluators[place] += grade.score;
    }

    pub(super) fn finish(mut self) -> ReportSummary {
        self.summary.all = self.all.finish();
        let targets = self.summary.targets.iter_mut().zip(self.targets);
        targets.for_each(|(group, sum)| group.totals = sum.finish());
        let evaluators = self.summary.evaluators.iter_mut().zip(self.evaluators);
        evaluators.for_each(|(evaluator, sum)| evaluator.mean_score = mean(sum, evaluator.graded));
        self.summary
    }
}

impl Sum {
    fn add(&mut self, record: &Record) {
        let Self { totals, scores } = self;
        *scores += record.score;
        totals.records += 1;
        *match record.standing() {
            Standing::Pass => &mut totals.passed,
            Standing::Fail => &mut totals.failed,
            Standing::Error => &mut totals.errors,
        } += 1;
        let metrics = &record.execution_metrics;
        add_cost(&mut totals.cost_usd, metrics.cost_usd);
        add_cost(&mut totals.duration_ms, metrics.duration_ms);
        if let Some(usage) = metrics.token_usage {
            let sum = totals.token_usage.get_or_insert_with(TokenUsage::default);
            sum.input += usage.input;
            sum.output += usage.output;
            add_cost(&mut sum.cached, usage.cached);
        }
    }

    fn finish(self) -> ReportTotals {
        ReportTotals { mean_score: mean(self.scores, self.totals.records), ..self.totals }
    }
}

/// What nobody knows is not zero.
fn add_cost(sum: &mut Option<f64>, more: Option<f64>) {
    if let Some(more) = more {
        *sum = Some(sum.unwrap_or(0.0) + more);
    }
}

#[expect(clippy::cast_precision_loss, reason = "numbers of records are far below 2^52")]
fn mean(sum: f64, count: usize) -> Option<f64> {
    (count > 0).then(|| sum / count as f64)
}

/// Which tenth. A little slack, so that three times 0.1 is 0.3.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 0 and 9, and NaN is 0"
)]
fn bin(score: f64) -> usize {
    ((score.clamp(0.0, 1.0) + 1e-9) * 10.0).floor().clamp(0.0, 9.0) as usize
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds of a run are far below 2^52")]
fn wall_ms(info: &RunInfo) -> Option<f64> {
    // Of a run that was taken up again nobody knows how long it lay.
    if !info.resumed.is_empty() {
        return None;
    }
    let time = |text: &str| text.parse::<Timestamp>().ok();
    let (start, end) = (time(&info.started)?, time(info.ended.as_deref()?)?);
    Some((end.as_millisecond() - start.as_millisecond()).max(0) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_fall_into_tenths() {
        for (score, expected) in
            [(0.0, 0), (0.09, 0), (0.1, 1), (0.1 + 0.2, 3), (0.3, 3), (0.95, 9), (1.0, 9), (7.0, 9)]
        {
            assert_eq!(bin(score), expected, "{score}");
        }
        assert_eq!(bin(f64::NAN), 0);
    }
}
