//! Records of trials → how good a case is on average, how sure that is, and how often it passes.

use crate::stats::{
    CONFIDENCE, ClusterSums, Interval, all_of_k, any_of_k, float, wilson_interval_of_sample,
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
            self.scores.add(score, 1);
        }
    }

    /// The mean score of all trials as records have it, where an error is 0; 0 without any. For lines that scripts of 2.x
    /// read.
    pub fn mean_of_all(&self) -> f64 {
        self.sum_of_all / f64::from(self.trials.max(1))
    }

    /// The scores of graded trials.
    pub(crate) fn scores(&self) -> &ClusterSums {
        &self.scores
    }

    /// The mean score of graded trials. `None` without any.
    pub fn mean(&self) -> Option<f64> {
        self.scores.mean()
    }

    /// Whether some trials pass and some do not.
    pub fn is_flaky(&self) -> bool {
        self.passed > 0 && self.passed < self.trials
    }

    /// Where the mean score of many more trials would lie. `None` without a graded trial.
    pub fn interval(&self) -> Option<Interval> {
        self.scores.rate_interval(CONFIDENCE)
    }

    /// Where the share of passing trials would lie.
    pub fn pass_interval(&self) -> Option<Interval> {
        let trials = f64::from(self.trials);
        wilson_interval_of_sample(f64::from(self.passed) / trials, trials, CONFIDENCE)
    }
}

/// The cases of one suite on one target, each with all of its trials. However many there are, this stays small.
#[derive(Debug, Clone, Default)]
pub struct TrialFigures {
    /// How many cases passed how many of how many trials: `(trials, passed)`.
    counts: BTreeMap<(u32, u32), usize>,
    /// Of graded trials, by case.
    sums: ClusterSums,
    ungraded: usize,
    errors: usize,
    flaky: usize,
    /// The flaky cases that pass least often, the worst first.
    worst: Vec<FlakyCase>,
}

/// How many flaky cases are named.
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
            interval: self.sums.rate_interval(CONFIDENCE).map(wire),
            pass: told(trials).filter_map(|k| self.pass(k)).collect(),
            flaky: self.flaky,
            flaky_cases: self.worst.clone(),
        })
    }

    /// The mean over all cases that have enough trials.
    fn pass(&self, k: u32) -> Option<PassOfK> {
        let (mut any, mut all) = (ClusterSums::default(), ClusterSums::default());
        // `n` trials of a case are at best as good as the `n / k` groups of `k` that they can be split into.
        let mut most = 0;
        for ((trials, passed), cases) in &self.counts {
            let (trials, passed, of) = (*trials as usize, *passed as usize, k as usize);
            let (Some(one), Some(every)) =
                (any_of_k(trials, passed, of), all_of_k(trials, passed, of))
            else {
                continue;
            };
            any.add_equal(*cases, one, 1);
            all.add_equal(*cases, every, 1);
            most += trials / of * cases;
        }
        let interval =
            |sums: &ClusterSums| sums.rate_interval_of(float(most), CONFIDENCE).map(wire);
        Some(PassOfK {
            k,
            cases: any.len(),
            pass_at_k: any.mean()?,
            pass_at_k_interval: interval(&any),
            pass_hat_k: all.mean()?,
            pass_hat_k_interval: interval(&all),
        })
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
    use crate::stats::coverage::least_coverage;
    use crate::stats::{Clusters, Random};
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
        near(found.mean_score.unwrap(), 0.5);
        // With a case of ones and one of zeros, each case's distance from the mean is 3/2, 1/2, 1/2, 3/2, 3/2, 3/2. So
        // 18 values have a standard error of √(9.5 · 6/5) / 18, and 12 of them count as 12/18 · 0.25 · 18² / 11.4.
        let size = 12.0 / 18.0 * 0.25 * 18.0 * 18.0 / 11.4;
        assert_eq!(found.interval, wilson_interval_of_sample(0.5, size, CONFIDENCE).map(wire));
        let flaky: Vec<&str> = found.flaky_cases.iter().map(|case| &*case.eval_id).collect();
        assert_eq!((found.flaky, flaky), (2, vec!["seldom", "mostly"]));
    }

    #[test]
    fn a_case_has_an_interval_of_its_own() {
        for (scores, mean) in [
            (&[0.5, 0.75, 1.0][..], 0.75),
            // Two of two is not certainty.
            (&[1.0, 1.0], 1.0),
            (&[0.0, 1.0, 0.0, 0.0], 0.25),
            (&[1.0], 1.0),
        ] {
            let expected = wilson_interval_of_sample(mean, float(scores.len()), CONFIDENCE);
            assert_eq!(case(scores).interval(), expected, "{scores:?}");
        }
        let found = case(&[0.0, 1.0, 0.5, 0.0]);
        assert_eq!(found.pass_interval(), wilson_interval_of_sample(0.25, 4.0, CONFIDENCE));
        assert_eq!((case(&[]).interval(), case(&[]).pass_interval()), (None, None));
    }

    #[test]
    fn cases_that_lack_trials_count_where_they_have_enough() {
        let found = totals(&[("whole", &[1.0, 0.0]), ("cut", &[1.0])]);
        let pass: Vec<(f64, f64)> =
            found.pass.iter().map(|pass| (pass.pass_at_k, pass.pass_hat_k)).collect();
        assert_eq!(pass, [(0.75, 0.75), (1.0, 0.0)]);
        assert_eq!(found.pass.iter().map(|pass| pass.cases).collect::<Vec<_>>(), [2, 1]);
        assert_eq!((found.cases, found.trials, found.recorded), (2, 2, 3));
        assert_eq!(TrialFigures::default().totals("suite", "target"), None);
    }

    /// The interval of `k` trials out of 8, for cases that passed this many of them.
    #[track_caller]
    fn check_interval(passed: &[usize], k: u32, size: std::ops::RangeInclusive<f64>) {
        let mut figures = TrialFigures::default();
        for (at, passed) in passed.iter().enumerate() {
            let scores: Vec<f64> =
                (0..8).map(|trial| f64::from(u8::from(trial < *passed))).collect();
            figures.add(&at.to_string(), &case(&scores));
        }
        let found = figures.pass(k).unwrap();
        for (estimate, interval) in [
            (found.pass_at_k, found.pass_at_k_interval.unwrap()),
            (found.pass_hat_k, found.pass_hat_k_interval.unwrap()),
        ] {
            let wide = wilson_interval_of_sample(estimate, *size.start(), CONFIDENCE).unwrap();
            let narrow = wilson_interval_of_sample(estimate, *size.end(), CONFIDENCE).unwrap();
            let is_in = |inner: f64, outer: f64, value: f64| {
                (inner.min(outer) - 1e-9..=inner.max(outer) + 1e-9).contains(&value)
            };
            assert!(is_in(narrow.low, wide.low, interval.low), "{k}: {found:?}");
            assert!(is_in(narrow.high, wide.high, interval.high), "{k}: {found:?}");
        }
    }

    #[test]
    fn pass_of_k_is_as_precise_as_cases_and_groups_of_trials_are() {
        // Every case is 8 groups of one, 4 groups of two and one group of eight.
        let alike = [4, 5, 3, 4, 4, 5, 3, 4, 4, 4];
        check_interval(&alike, 1, 30.0..=80.0);
        check_interval(&alike, 2, 25.0..=40.0);
        check_interval(&alike, 8, 10.0..=10.0);
        // Trials of a case that agree count once.
        check_interval(&[8, 0, 8, 0, 8, 0], 1, 6.0..=6.5);
        check_interval(&[8; 6], 2, 6.0..=6.0);
    }

    const DRAWS: usize = 1000;

    /// The true pass@k and pass^k, and how often their intervals hold them, for cases of five trials. A share of the cases
    /// always or never passes; the trials of the others pass with the same chance.
    fn coverage(chance: f64, settled: f64, cases: usize, k: u32) -> [(f64, f64); 2] {
        let of_k = |chance: f64| chance.powi(i32::try_from(k).unwrap());
        let all = settled * chance + (1.0 - settled) * of_k(chance);
        let any = settled * chance + (1.0 - settled) * (1.0 - of_k(1.0 - chance));
        let mut random = Random::new(3);
        let mut known = std::collections::HashMap::new();
        let mut covered = [0, 0];
        for _ in 0..DRAWS {
            let mut figures = TrialFigures::default();
            for _ in 0..cases {
                let is_settled = random.unit() < settled;
                let always = f64::from(u8::from(random.unit() < chance));
                let rate = if is_settled { always } else { chance };
                let passed = (0..5).filter(|_| random.unit() < rate).count();
                *figures.counts.entry((5, u32::try_from(passed).unwrap())).or_default() += 1;
            }
            let key = figures.counts.clone();
            let holds = *known.entry(key).or_insert_with(|| {
                let found = figures.pass(k).unwrap();
                let is_in = |interval: Option<MeanInterval>, truth: f64| {
                    interval.is_some_and(|found| found.low <= truth && truth <= found.high)
                };
                [is_in(found.pass_at_k_interval, any), is_in(found.pass_hat_k_interval, all)]
            });
            covered.iter_mut().zip(holds).for_each(|(count, holds)| *count += usize::from(holds));
        }
        let shares = covered.map(|count| float(count) / float(DRAWS));
        [(any, shares[0]), (all, shares[1])]
    }

    #[test]
    fn intervals_of_pass_of_k_cover_what_wilsons_does() {
        for (chance, settled) in [(0.5, 0.2), (0.5, 0.8), (0.9, 0.0), (0.9, 0.8), (0.98, 0.2)] {
            for (cases, k) in [6, 20, 60].into_iter().flat_map(|cases| [(cases, 2), (cases, 5)]) {
                let found = coverage(chance, settled, cases, k);
                let cell = format!("{chance}, {settled}, {cases} cases, k = {k}: {found:?}");
                let is_enough = found
                    .iter()
                    .all(|(truth, found)| *found >= least_coverage(*truth, cases, DRAWS));
                assert!(is_enough, "{cell}");
            }
        }
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
            let mean = clusters.mean().unwrap();
            prop_assert!((found.mean_score.unwrap() - mean).abs() < 1e-9);
            // No narrower than all records would make it, and no wider than cases of unequal size.
            let sizes = || cases.iter().map(|scores| float(scores.len()));
            let fewest = sizes().sum::<f64>().powi(2) / sizes().map(|size| size * size).sum::<f64>();
            let interval = found.interval.unwrap();
            let narrow = wilson_interval_of_sample(mean, sizes().sum(), CONFIDENCE).unwrap();
            let wide = wilson_interval_of_sample(mean, fewest, CONFIDENCE).unwrap();
            prop_assert!(wide.low - 1e-9 <= interval.low && interval.low <= narrow.low + 1e-9);
            prop_assert!(narrow.high - 1e-9 <= interval.high && interval.high <= wide.high + 1e-9);
        }
    }
}
