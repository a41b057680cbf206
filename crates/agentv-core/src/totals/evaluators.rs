//! The numbers of each evaluator.

use super::record::grading_usage;
use crate::outcome::is_graded;
use crate::stats::float;
use agentv_wire::{EvaluatorSummary, EvaluatorTotals, VerdictWord};
use std::collections::BTreeMap;

/// How many evaluators are told apart: a suite that names them by the case gets no table of ten thousand lines.
const MOST: usize = 100;

/// The numbers of the evaluators so far, by name.
#[derive(Debug, Default)]
pub(super) struct Evaluators(BTreeMap<String, Sums>);

/// Totals whose mean is still to be made.
#[derive(Debug, Default)]
struct Sums {
    totals: EvaluatorTotals,
    score_sum: f64,
}

impl Evaluators {
    pub(super) fn add(&mut self, evaluators: &[EvaluatorSummary]) {
        for evaluator in evaluators {
            if let Some(sums) = self.0.get_mut(&evaluator.name) {
                sums.add(evaluator);
            } else if self.0.len() < MOST {
                let mut sums = Sums::default();
                sums.totals.kind.clone_from(&evaluator.kind);
                sums.totals.weights = (evaluator.weight, evaluator.weight);
                sums.add(evaluator);
                self.0.insert(evaluator.name.clone(), sums);
            }
        }
    }

    pub(super) fn wire(&self) -> BTreeMap<String, EvaluatorTotals> {
        self.0.iter().map(|(name, sums)| (name.clone(), sums.wire())).collect()
    }
}

impl Sums {
    fn add(&mut self, evaluator: &EvaluatorSummary) {
        let Self { totals, score_sum } = self;
        let (low, high) = totals.weights;
        totals.weights = (low.min(evaluator.weight), high.max(evaluator.weight));
        if let Some(cost) = grading_usage(evaluator).cost_usd {
            totals.cost_usd = Some(totals.cost_usd.unwrap_or(0.0) + cost);
        }
        if !is_graded(evaluator) {
            totals.errors += 1;
            return;
        }
        totals.graded += 1;
        totals.passed += usize::from(evaluator.verdict == Some(VerdictWord::Pass));
        totals.full += usize::from(evaluator.score >= 1.0);
        *score_sum += evaluator.score;
    }

    fn wire(&self) -> EvaluatorTotals {
        let graded = self.totals.graded;
        let mean_score = (graded > 0).then(|| self.score_sum / float(graded));
        EvaluatorTotals { mean_score, ..self.totals.clone() }
    }
}
