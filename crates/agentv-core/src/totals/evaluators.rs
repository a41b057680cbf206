//! The numbers of each evaluator.

use super::group::pooled;
use super::record::grading_usage;
use crate::outcome::is_graded;
use crate::stats::{CONFIDENCE, ClusterSums, float};
use crate::trials::wire;
use agentv_wire::{EvaluatorSummary, EvaluatorTotals, VerdictWord};
use std::collections::BTreeMap;

/// How many evaluators are told apart: a suite that names them by the case gets no table of ten thousand lines.
const MOST: usize = 100;

/// The numbers of the evaluators so far.
#[derive(Debug, Default)]
pub(super) struct Evaluators {
    /// Where the evaluators of a name are in the list: one for each of their types.
    places: BTreeMap<String, Vec<usize>>,
    list: Vec<Sums>,
}

/// Totals whose mean is still to be made.
#[derive(Debug, Default)]
struct Sums {
    totals: EvaluatorTotals,
    score_sum: f64,
    /// Its scores by case, for each target.
    cases: BTreeMap<String, ClusterSums>,
}

/// What the evaluators gave one case on one target so far, in all of its trials.
#[derive(Debug, Clone, Default)]
pub(super) struct CaseGradings(Vec<GradingSum>);

/// The successful gradings of one evaluator, by its place in the list.
#[derive(Debug, Clone, Copy)]
struct GradingSum {
    place: usize,
    graded: usize,
    scores: f64,
}

impl Evaluators {
    /// Counts the gradings of a record, and returns their scores for its case.
    pub(super) fn add(&mut self, evaluators: &[EvaluatorSummary]) -> CaseGradings {
        let mut gradings = CaseGradings::default();
        for evaluator in evaluators {
            let Some(place) = self.place(evaluator) else { continue };
            self.list[place].add(evaluator);
            if is_graded(evaluator) {
                gradings.add(GradingSum { place, graded: 1, scores: evaluator.score });
            }
        }
        gradings
    }

    /// Takes a case that has all of its trials.
    pub(super) fn close_case(&mut self, target: &str, gradings: &CaseGradings) {
        for GradingSum { place, graded, scores } in &gradings.0 {
            let cases = &mut self.list[*place].cases;
            match cases.get_mut(target) {
                Some(sums) => sums.add(*scores, *graded),
                None => cases.entry(target.to_owned()).or_default().add(*scores, *graded),
            }
        }
    }

    /// By name. Where evaluators of several types share a name, it is followed by the type: `tone (contains)`.
    pub(super) fn wire(&self) -> BTreeMap<String, EvaluatorTotals> {
        let mut totals = BTreeMap::new();
        for (name, places) in &self.places {
            for place in places {
                let sums = &self.list[*place];
                let name = match places.as_slice() {
                    [_] => name.clone(),
                    _ => format!("{name} ({})", sums.totals.kind),
                };
                totals.insert(name, sums.wire());
            }
        }
        totals
    }

    /// Where an evaluator is. `None` where there are too many.
    fn place(&mut self, evaluator: &EvaluatorSummary) -> Option<usize> {
        let places = self.places.get(&evaluator.name).into_iter().flatten();
        let is_same = |place: &&usize| self.list[**place].totals.kind == evaluator.kind;
        if let Some(place) = places.copied().find(|place| is_same(&place)) {
            return Some(place);
        }
        let place = self.list.len();
        if place == MOST {
            return None;
        }
        let mut sums = Sums::default();
        sums.totals.kind.clone_from(&evaluator.kind);
        sums.totals.weights = (evaluator.weight, evaluator.weight);
        self.list.push(sums);
        self.places.entry(evaluator.name.clone()).or_default().push(place);
        Some(place)
    }
}

impl CaseGradings {
    /// Adds what another trial was given.
    pub(super) fn extend(&mut self, more: &Self) {
        more.0.iter().for_each(|more| self.add(*more));
    }

    fn add(&mut self, more: GradingSum) {
        match self.0.iter_mut().find(|known| known.place == more.place) {
            Some(known) => {
                known.graded += more.graded;
                known.scores += more.scores;
            }
            None => self.0.push(more),
        }
    }
}

impl Sums {
    fn add(&mut self, evaluator: &EvaluatorSummary) {
        let Self { totals, score_sum, .. } = self;
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
        let targets = self.cases.values();
        let mean_interval =
            pooled(targets.map(|sums| (sums.values(), sums.rate_interval(CONFIDENCE).map(wire))));
        EvaluatorTotals { mean_score, mean_interval, ..self.totals.clone() }
    }
}
