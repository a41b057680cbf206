//! How often the interval of a mean holds the true mean, by simulation. The table in `docs/concepts/statistics.md` has
//! these numbers.

use super::{CONFIDENCE, ClusterSums, Interval, Random, float};
use std::collections::HashMap;

const DOCS: &str = include_str!("../../../../docs/concepts/statistics.md");
const CASES: [usize; 4] = [6, 20, 60, 200];
/// The share of the cases that always or never pass. The trials of all others pass with the same chance.
const SETTLED: [f64; 4] = [0.0, 0.2, 0.5, 0.8];
/// Keeps each test below two seconds in a debug build. The docs have the figures of 100 000 draws.
const DRAWS: usize = 2000;

/// How far a share of the draws may be from the true one: three standard errors.
fn tolerance(share: f64, draws: usize) -> f64 {
    3.0 * (share * (1.0 - share) / float(draws)).sqrt()
}

/// How often an interval for 95 % must hold the truth at least, with this many simulated runs. It is 93 % where at least
/// five cases are expected on each side of the rate. Where fewer are, Wilson's interval itself holds it less often: with 6
/// cases at 98 %, one failure already rules out the truth, so 0.98⁶ = 88.6 % is left.
pub(crate) fn least_coverage(rate: f64, cases: usize, draws: usize) -> f64 {
    let rarer = rate.min(1.0 - rate) * float(cases);
    let least = if rarer > 5.0 - 1e-9 { 0.93 } else { 0.88 };
    least - tolerance(least, draws)
}

/// How often the interval of a mean holds the true one, for cases of this many trials whose sums are drawn by `draw_sum`.
fn coverage(truth: f64, cases: usize, trials: usize, draw_sum: impl Fn(&mut Random) -> f64) -> f64 {
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

/// The chances that at most 0, 1, 2, … trials of a case pass, without that of all.
fn chances(rate: f64, settled: f64, trials: usize) -> Vec<f64> {
    let mut binomial = (1.0 - rate).powi(i32::try_from(trials).unwrap());
    let mut at_most = settled * (1.0 - rate);
    let mut chances = Vec::new();
    for passed in 0..trials {
        at_most += (1.0 - settled) * binomial;
        chances.push(at_most);
        binomial *= float(trials - passed) / float(passed + 1) * rate / (1.0 - rate);
    }
    chances
}

/// The coverage for a pass rate, by the share of settled cases that has the lowest one.
fn lowest_coverage(rate: f64, cases: usize, trials: usize) -> f64 {
    let of = |settled: f64| {
        let chances = chances(rate, settled, trials);
        coverage(rate, cases, trials, |random| {
            let drawn = random.unit();
            float(chances.partition_point(|at_most| *at_most <= drawn))
        })
    };
    SETTLED.map(of).into_iter().fold(1.0, f64::min)
}

/// The coverage for scores that are the mean of two random numbers from 0 to 1: the case's own and the trial's own.
fn coverage_of_scores(cases: usize, trials: usize) -> f64 {
    coverage(0.5, cases, trials, |random| {
        let own = random.unit();
        (0..trials).map(|_| f64::midpoint(own, random.unit())).sum()
    })
}

/// The cells of a row in the table of the docs.
#[track_caller]
fn documented(name: &str, trials: usize) -> Vec<f64> {
    let start = format!("| {name} | {trials} | ");
    let row = DOCS.lines().find_map(|line| line.strip_prefix(&start)).unwrap();
    let percent = |cell: &str| cell.trim().strip_suffix(" %").unwrap().parse::<f64>().unwrap();
    row.trim_end_matches('|').split('|').map(|cell| percent(cell) / 100.0).collect()
}

/// Compares the coverage for each number of cases with what must be, and with the docs, which have whole percents.
#[track_caller]
fn check(name: &str, trials: usize, rate: f64, of: impl Fn(usize) -> f64) {
    let expected = documented(name, trials);
    assert_eq!(expected.len(), CASES.len());
    for (cases, expected) in CASES.into_iter().zip(expected) {
        let found = of(cases);
        let cell = format!("{name}, {trials} trials, {cases} cases: {found}");
        assert!(found >= least_coverage(rate, cases, DRAWS), "{cell}");
        let allowed = 0.005 + tolerance(expected, DRAWS);
        assert!((found - expected).abs() <= allowed, "{cell}, and {expected} in the docs");
    }
}

#[track_caller]
fn check_rates(trials: usize) {
    for (name, rate) in [("50 %", 0.5), ("90 %", 0.9), ("98 %", 0.98)] {
        check(name, trials, rate, |cases| lowest_coverage(rate, cases, trials));
    }
}

#[test]
fn the_interval_of_a_pass_rate_covers_what_wilsons_does() {
    check_rates(1);
}

#[test]
fn with_five_trials_it_covers_as_much() {
    check_rates(5);
}

#[test]
fn with_twenty_trials_it_covers_as_much() {
    check_rates(20);
}

#[test]
fn the_interval_of_scores_covers_at_least_as_much() {
    for trials in [1, 5, 20] {
        check("scores", trials, 0.5, |cases| coverage_of_scores(cases, trials));
    }
}
