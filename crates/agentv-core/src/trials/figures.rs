//! Records of trials → how good a case is on average, how sure that is, and how often it passes.

use crate::stats::{
    CONFIDENCE, ClusterSums, Interval, all_of_k, any_of_k, float, wilson_interval,
    wilson_interval_of_mean,
};
use agentv_wire::comparison::MeanInterval;
use agentv_wire::{FlakyCase, Outcome, PassOfK, TrialTotals};
use std::collections::BTreeMap;

/// The trials of one case on one target so far. Small, since one is kept for every case that is not done yet.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CaseTrials {
    pub trials: u32,
    pub passed: u32,
    pub ungraded: u32,
    pub errors: u32,
    /// Scores that are neither 0 nor 1.
    between: u32,
    /// Of graded trials.
    scores: ClusterSums,
    /// Of all trials, as records have them.
    sum_of_all: f64,
}

impl CaseTrials {
    /// Takes the next trial. Only graded ones have a score.
    pub fn add(&mut self, score: f64, outcome: Outcome) {
        self.trials += 1;
        match outcome {
            Outcome::Pass => self.passed += 1,
            Outcome::Fail => {}
            Outcome::Ungraded => self.ungraded += 1,
            Outcome::Error => self.errors += 1,
        }
        self.sum_of_all += score;
        if outcome.is_graded() {
            self.between += u32::from(score > 0.0 && score < 1.0);
            self.scores.add(score, 1);
        }
    }

    /// The mean score of all trials as records have it, where an error is 0; 0 without any. For lines that scripts of 2.x
    /// read.
    pub fn mean_of_all(&self) -> f64 {
        self.sum_of_all / f64::from(self.trials.max(1))
    }

    /// The mean score of graded trials. `None` without any.
    pub fn mean(&self) -> Option<f64> {
        self.scores.mean()
    }

    /// Whether some trials pass and some do not.
    pub fn is_flaky(&self) -> bool {
        self.passed > 0 && self.passed < self.trials
    }

    /// Where the mean score of many more trials would lie. `None` with fewer than two. A mean of zeros and ones is a share,
    /// which Wilson's interval is made for.
    pub fn interval(&self) -> Option<Interval> {
        let is_share = self.between == 0 && self.scores.len() > 1;
        if is_share { wilson(&self.scores) } else { interval(&self.scores) }
    }

    /// Where the share of passing trials would lie.
    pub fn pass_interval(&self) -> Option<Interval> {
        wilson_interval(self.passed as usize, self.trials as usize, CONFIDENCE)
    }
}

/// Student's interval, kept within what scores can be. Where nothing scatters it would have no width, as if two trials that
/// agree were certainty; Wilson's interval, which holds for everything between 0 and 1, has one.
fn interval(sums: &ClusterSums) -> Option<Interval> {
    // What is less is rounding.
    const NOTHING: f64 = 1e-9;
    if sums.standard_error()? < NOTHING {
        return wilson(sums);
    }
    let Interval { low, high } = sums.student_interval(CONFIDENCE)?;
    Some(Interval { low: low.max(0.0), high: high.min(1.0) })
}

fn wilson(sums: &ClusterSums) -> Option<Interval> {
    wilson_interval_of_mean(sums.mean()?.clamp(0.0, 1.0), sums.len(), CONFIDENCE)
}

/// The cases of one suite on one target, each with all of its trials. However many there are, this stays small.
#[derive(Debug, Clone, Default)]
pub struct TrialFigures {
    /// How many cases passed so many of so many trials: `(trials, passed)`.
    counts: BTreeMap<(u32, u32), usize>,
    /// Of graded trials, by case.
    sums: ClusterSums,
    ungraded: usize,
    errors: usize,
    flaky: usize,
    /// The flaky cases that pass least often, the worst first.
    worst: Vec<FlakyCase>,
}

/// So many flaky cases are named.
const NAMED: usize = 10;

/// With many trials, pass@k is told for these and for all of them.
const KS: [u32; 11] = [1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000];

/// With so few trials, it is told for each number of them.
const FEW: u32 = 5;

impl TrialFigures {
    /// Takes a case with all trials that it has.
    pub fn add(&mut self, eval_id: &str, case: &CaseTrials) {
        if case.trials == 0 {
            return;
        }
        *self.counts.entry((case.trials, case.passed)).or_default() += 1;
        self.sums.add(case.scores.sum(), case.scores.len());
        self.ungraded += case.ungraded as usize;
        self.errors += case.errors as usize;
        if case.is_flaky() {
            self.flaky += 1;
            self.name(eval_id, case);
        }
    }

    /// By how often they pass, then by their ids: the order in which cases end must not matter.
    fn name(&mut self, eval_id: &str, case: &CaseTrials) {
        let is_worse = |known: &FlakyCase| {
            let (one, other) = (known.passed * case.trials, case.passed * known.trials);
            (one, known.eval_id.as_str()) < (other, eval_id)
        };
        let at = self.worst.partition_point(is_worse);
        if at < NAMED {
            let (trials, passed) = (case.trials, case.passed);
            // A flaky case has passed at least once, so it was graded.
            let mean_score = case.mean().unwrap_or_default();
            let flaky = FlakyCase { eval_id: eval_id.to_owned(), trials, passed, mean_score };
            self.worst.insert(at, flaky);
            self.worst.truncate(NAMED);
        }
    }

    /// What it comes to. `None` without any case.
    pub fn totals(&self, dataset: &str, target: &str) -> Option<TrialTotals> {
        let trials = self.counts.keys().map(|(trials, _)| *trials).max()?;
        let records = |of: fn((u32, u32)) -> u32| -> usize {
            self.counts.iter().map(|(key, cases)| of(*key) as usize * cases).sum()
        };
        Some(TrialTotals {
            dataset: dataset.to_owned(),
            target: target.to_owned(),
            cases: self.counts.values().sum(),
            trials,
            recorded: records(|(trials, _)| trials),
            passed: records(|(_, passed)| passed),
            ungraded: self.ungraded,
            errors: self.errors,
            mean_score: self.sums.mean(),
            interval: interval(&self.sums).map(wire),
            pass: told(trials).filter_map(|k| self.pass(k)).collect(),
            flaky: self.flaky,
            flaky_cases: self.worst.clone(),
        })
    }

    /// The mean over all cases that have enough trials.
    fn pass(&self, k: u32) -> Option<PassOfK> {
        let (mut cases, mut any, mut all) = (0, 0.0, 0.0);
        for ((trials, passed), count) in &self.counts {
            let (trials, passed) = (*trials as usize, *passed as usize);
            let Some(one) = any_of_k(trials, passed, k as usize) else { continue };
            cases += count;
            any += one * float(*count);
            all += all_of_k(trials, passed, k as usize).unwrap_or_default() * float(*count);
        }
        let (pass_at_k, pass_hat_k) = (any / float(cases), all / float(cases));
        (cases > 0).then_some(PassOfK { k, pass_at_k, pass_hat_k })
    }
}

/// For which `k` something is told.
fn told(trials: u32) -> impl Iterator<Item = u32> {
    let wanted = move |k: &u32| *k < trials && (trials <= FEW || KS.contains(k));
    (1..trials).filter(wanted).chain([trials])
}

/// As files have it.
pub(crate) fn wire(Interval { low, high }: Interval) -> MeanInterval {
    MeanInterval { low, high }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Clusters;
    use proptest::prelude::*;

    fn case(scores: &[f64]) -> CaseTrials {
        let mut case = CaseTrials::default();
        for score in scores {
            case.add(*score, if *score >= 1.0 { Outcome::Pass } else { Outcome::Fail });
        }
        case
    }

    /// Cases with their scores, as totals.
    fn totals(cases: &[(&str, &[f64])]) -> TrialTotals {
        let mut figures = TrialFigures::default();
        for (id, scores) in cases {
            figures.add(id, &case(scores));
        }
        figures.totals("suite", "target").unwrap()
    }

    #[track_caller]
    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }

    #[test]
    fn four_cases_of_three_trials_give_the_numbers_of_the_book() {
        let cases: &[(&str, &[f64])] = &[
            ("always", &[1.0, 1.0, 1.0]),
            ("mostly", &[1.0, 0.0, 1.0]),
            ("seldom", &[0.0, 0.0, 1.0]),
            ("never", &[0.0, 0.0, 0.0]),
        ];
        let found = totals(cases);
        assert_eq!((found.cases, found.trials, found.recorded, found.passed), (4, 3, 12, 6));
        // pass@k: 1 − C(3−c, k) / C(3, k) for c = 3, 2, 1, 0.
        let expected = [
            (1, (1.0 + 2.0 / 3.0 + 1.0 / 3.0) / 4.0, (1.0 + 2.0 / 3.0 + 1.0 / 3.0) / 4.0),
            (2, (1.0 + 1.0 + 2.0 / 3.0) / 4.0, (1.0 + 1.0 / 3.0) / 4.0),
            (3, 3.0 / 4.0, 1.0 / 4.0),
        ];
        assert_eq!(found.pass.len(), 3);
        for (pass, (k, any, all)) in found.pass.iter().zip(expected) {
            assert_eq!(pass.k, k);
            near(pass.pass_at_k, any);
            near(pass.pass_hat_k, all);
        }
        // Case means 1, 2/3, 1/3, 0: standard error √(5/27)/2, and Student's 3.182… with 3 degrees of freedom.
        near(found.mean_score.unwrap(), 0.5);
        let reach = 3.182_446_305_284_263 * (5.0_f64 / 27.0).sqrt() / 2.0;
        let interval = found.interval.unwrap();
        near(interval.low, (0.5 - reach).max(0.0));
        near(interval.high, (0.5 + reach).min(1.0));
        let flaky: Vec<&str> = found.flaky_cases.iter().map(|case| &*case.eval_id).collect();
        assert_eq!((found.flaky, flaky), (2, vec!["seldom", "mostly"]));
    }

    #[test]
    fn a_case_has_an_interval_of_its_own() {
        let found = case(&[0.5, 0.6, 0.7]).interval().unwrap();
        // Standard deviation 0.1; Student's 4.302… with 2 degrees of freedom.
        let reach = 4.302_652_729_749_464 * 0.1 / 3.0_f64.sqrt();
        near(found.low, 0.6 - reach);
        near(found.high, 0.6 + reach);
        // Two of two is not certainty: z² / (n + z²) may still be missing.
        let square = 1.959_963_984_540_054_f64.powi(2);
        let found = case(&[1.0, 1.0]).interval().unwrap();
        near(found.low, 2.0 / (2.0 + square));
        near(found.high, 1.0);
        // One of four, by Wilson.
        let found = case(&[0.0, 1.0, 0.0, 0.0]).interval().unwrap();
        near(found.low, 0.045_587_260_809_700_55);
        near(found.high, 0.699_358_157_417_598_1);
        assert_eq!(case(&[1.0]).interval(), None);
        assert_eq!(case(&[]).interval(), None);
    }

    #[test]
    fn cases_that_lack_trials_count_where_they_have_enough() {
        let found = totals(&[("whole", &[1.0, 0.0]), ("cut", &[1.0])]);
        let pass: Vec<(f64, f64)> =
            found.pass.iter().map(|pass| (pass.pass_at_k, pass.pass_hat_k)).collect();
        assert_eq!(pass, [(0.75, 0.75), (1.0, 0.0)]);
        assert_eq!((found.cases, found.trials, found.recorded), (2, 2, 3));
        assert_eq!(TrialFigures::default().totals("suite", "target"), None);
    }

    #[test]
    fn trials_without_a_grade_have_no_score() {
        let mut found = case(&[1.0, 0.5]);
        found.add(0.0, Outcome::Error);
        found.add(0.3, Outcome::Ungraded);
        assert_eq!((found.trials, found.passed, found.ungraded, found.errors), (4, 1, 1, 1));
        assert_eq!(found.mean(), Some(0.75));
        let mut figures = TrialFigures::default();
        figures.add("a", &found);
        let totals = figures.totals("suite", "target").unwrap();
        assert_eq!((totals.recorded, totals.passed), (4, 1));
        assert_eq!((totals.ungraded, totals.errors, totals.mean_score), (1, 1, Some(0.75)));
        // pass@1 is over all trials: what could not be graded did not pass.
        near(totals.pass[0].pass_at_k, 0.25);
    }

    #[test]
    fn many_trials_are_told_of_by_a_few_numbers() {
        let ks = |trials| told(trials).collect::<Vec<_>>();
        assert_eq!(ks(1), [1]);
        assert_eq!(ks(4), [1, 2, 3, 4]);
        assert_eq!(ks(10), [1, 2, 3, 5, 10]);
        assert_eq!(ks(64), [1, 2, 3, 5, 10, 20, 50, 64]);
        assert_eq!(ks(1000).len(), 11);
    }

    #[test]
    fn the_worst_are_named_and_the_rest_counted() {
        let names: Vec<String> = (0..30).rev().map(|number| format!("case-{number:02}")).collect();
        let half: (&[f64], &[f64]) = (&[1.0, 0.0, 0.0, 0.0], &[1.0, 1.0, 1.0, 0.0]);
        let cases: Vec<(&str, &[f64])> = names
            .iter()
            .enumerate()
            .map(|(at, id)| (id.as_str(), if at % 2 == 0 { half.0 } else { half.1 }))
            .collect();
        let found = totals(&cases);
        assert_eq!((found.flaky, found.flaky_cases.len()), (30, NAMED));
        assert_eq!(found.flaky_cases[0].eval_id, "case-01");
        assert!(found.flaky_cases.iter().all(|case| case.passed == 1));
    }

    proptest! {
        #[test]
        fn sums_are_as_good_as_the_values_themselves(
            cases in prop::collection::vec(prop::collection::vec(0.0..=1.0_f64, 1..6), 2..20),
        ) {
            let mut figures = TrialFigures::default();
            for (at, scores) in cases.iter().enumerate() {
                figures.add(&at.to_string(), &case(scores));
            }
            let found = figures.totals("suite", "target").unwrap();
            let clusters = Clusters::new(cases.clone());
            let certain = clusters.standard_error().unwrap() < 1e-9;
            prop_assume!(!certain);
            prop_assert!((found.mean_score.unwrap() - clusters.mean().unwrap()).abs() < 1e-9);
            let (interval, expected) = (found.interval.unwrap(), clusters.student_interval(0.95).unwrap());
            prop_assert!((interval.low - expected.low.max(0.0)).abs() < 1e-6);
            prop_assert!((interval.high - expected.high.min(1.0)).abs() < 1e-6);
        }
    }
}
