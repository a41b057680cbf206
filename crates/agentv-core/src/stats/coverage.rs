//! How often the interval of a mean holds the true mean, by simulation. The table in `docs/concepts/statistics.md` has
//! these numbers.

use super::{CONFIDENCE, ClusterSums, Interval, Random, float};
use std::collections::HashMap;

const DOCS: &str = include_str!("../../../../docs/concepts/statistics.md");
const CASES: [usize; 4] = [6, 20, 60, 200];
/// The share of the cases that always or never pass. The trials of all others pass with the same chance.
const SETTLED: [f64; 4] = [0.0, 0.2, 0.5, 0.8];

/// How often an interval for 95 % must hold the truth at least.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Floor {
    /// Where at least five cases are expected to pass, and five to fail.
    pub(crate) usual: f64,
    /// Where fewer are.
    pub(crate) rare: f64,
}

impl Floor {
    /// What Wilson's interval gives for independent cases.
    pub(crate) const WILSON: Self = Self { usual: 0.93, rare: 0.87 };

    pub(crate) fn of(self, rate: f64, cases: usize) -> f64 {
        let rarer = rate.min(1.0 - rate) * float(cases);
        if rarer > 5.0 - 1e-9 { self.usual } else { self.rare }
    }
}

/// How often the interval of a mean holds the true one, for cases of so many trials whose sums are drawn by `draw_sum`.
fn coverage(truth: f64, cases: usize, trials: usize, draw_sum: impl Fn(&mut Random) -> f64) -> f64 {
    const DRAWS: usize = 10_000;
    let mut random = Random::new(7);
    // Zeros and ones give the same sums again and again.
    let mut known = HashMap::new();
    let is_covered = |_: &usize| {
        let mut sums = ClusterSums::default();
        for _ in 0..cases {
            sums.add(draw_sum(&mut random), trials);
        }
        let key = (sums.sum().to_bits(), sums.standard_error().map(f64::to_bits));
        *known.entry(key).or_insert_with(|| {
            let Interval { low, high } = sums.rate_interval(CONFIDENCE).unwrap();
            low <= truth && truth <= high
        })
    };
    float((0..DRAWS).filter(is_covered).count()) / float(DRAWS)
}

/// The chances that 0, 1, 2, … trials of a case pass.
fn chances(rate: f64, settled: f64, trials: usize) -> Vec<f64> {
    let mut binomial = (1.0 - rate).powi(i32::try_from(trials).unwrap());
    let mut chances = Vec::new();
    for passed in 0..=trials {
        chances.push((1.0 - settled) * binomial);
        binomial *= float(trials - passed) / float(passed + 1) * rate / (1.0 - rate);
    }
    chances[0] += settled * (1.0 - rate);
    chances[trials] += settled * rate;
    chances
}

/// The coverage for a pass rate, by the share of settled cases that has the lowest one.
fn lowest_coverage(rate: f64, cases: usize, trials: usize) -> f64 {
    let of = |settled: f64| {
        let chances = chances(rate, settled, trials);
        coverage(rate, cases, trials, |random| {
            let mut left = random.unit();
            // Most trials pass, so most draws end soon.
            let is_it = |passed: &usize| {
                left -= chances[*passed];
                left < 0.0
            };
            float((0..=trials).rev().find(is_it).unwrap_or(0))
        })
    };
    SETTLED.map(of).into_iter().fold(1.0, f64::min)
}

/// The coverage for scores between 0 and 1, each as likely as the others: the mean of the case's own and the trial's own.
fn coverage_of_scores(cases: usize, trials: usize) -> f64 {
    coverage(0.5, cases, trials, |random| {
        let own = random.unit();
        (0..trials).map(|_| f64::midpoint(own, random.unit())).sum()
    })
}

/// Compares the coverage for each number of cases with what must be, and with the row of the docs.
#[track_caller]
fn check(name: &str, trials: usize, of: impl Fn(usize) -> f64, least: impl Fn(usize) -> f64) {
    let found = CASES.map(of);
    let cells = found.map(|coverage| format!("{:.0} %", 100.0 * coverage));
    let row = format!("| {name} | {trials} | {} |\n", cells.join(" | "));
    let is_enough = CASES.into_iter().zip(found).all(|(cases, found)| found >= least(cases));
    assert!(is_enough, "{name}, {trials} trials: {found:?}");
    assert!(DOCS.contains(&row), "the docs lack this row:\n{row}");
}

#[track_caller]
fn check_rates(trials: usize, floor: Floor) {
    for (name, rate) in [("50 %", 0.5), ("90 %", 0.9), ("98 %", 0.98)] {
        let of = |cases| lowest_coverage(rate, cases, trials);
        check(name, trials, of, |cases| floor.of(rate, cases));
    }
}

#[test]
fn the_interval_of_a_pass_rate_covers_what_wilsons_does() {
    check_rates(1, Floor::WILSON);
}

#[test]
fn with_five_trials_it_covers_less_where_few_cases_fail() {
    check_rates(5, Floor { rare: 0.82, ..Floor::WILSON });
}

#[test]
fn with_twenty_trials_it_covers_much_less_where_few_cases_fail() {
    check_rates(20, Floor { usual: 0.85, rare: 0.59 });
}

#[test]
fn the_interval_of_scores_is_wide_unless_few_cases_have_many_trials() {
    check("scores", 1, |cases| coverage_of_scores(cases, 1), |_| 0.93);
    check("scores", 5, |cases| coverage_of_scores(cases, 5), |_| 0.93);
    check("scores", 20, |cases| coverage_of_scores(cases, 20), |_| 0.9);
}
