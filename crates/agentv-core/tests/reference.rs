//! Statistics compared with `SciPy` and `statsmodels`. `xtask/reference` makes the files and says what is in them.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

use agentv_core::stats::{
    CONFIDENCE, ClusterSums, Clusters, Interval, Level, PairedSample, Resampling, bonett_price,
    exact_mcnemar, mcnemar_power, normal_quantile, sign_flip, student_quantile,
    wilson_interval_of_sample,
};
use agentv_wire::comparison::PairedTest;
use serde_json::Value;

/// The cases of a file.
#[track_caller]
fn cases(file: &str) -> Vec<Value> {
    let mut file: Value = serde_json::from_str(file).unwrap();
    let cases: Vec<Value> = serde_json::from_value(file["cases"].take()).unwrap();
    assert_ne!(cases.len(), 0);
    cases
}

fn number(case: &Value, key: &str) -> f64 {
    case[key].as_f64().unwrap()
}

fn count(case: &Value, key: &str) -> usize {
    usize::try_from(case[key].as_u64().unwrap()).unwrap()
}

fn numbers(case: &Value, key: &str) -> Vec<f64> {
    case[key].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
}

/// Compares a number with the one that the case has under this key, to nine digits.
#[track_caller]
fn check(case: &Value, key: &str, found: f64) {
    let expected = number(case, key);
    let is_near = (found - expected).abs() <= 1e-9 * expected.abs().max(1.0);
    assert!(is_near, "{case}: {key} is {found}");
}

#[track_caller]
fn check_interval(case: &Value, found: Option<Interval>) {
    let Interval { low, high } = found.unwrap();
    check(case, "low", low);
    check(case, "high", high);
}

#[test]
fn wilsons_interval_is_that_of_statsmodels() {
    for case in cases(include_str!("reference/wilson.json")) {
        let (passed, trials) = (number(&case, "passed"), number(&case, "trials"));
        let confidence = number(&case, "confidence");
        check_interval(&case, wilson_interval_of_sample(passed / trials, trials, confidence));
    }
}

#[test]
fn the_interval_of_groups_is_that_of_its_formula() {
    for case in cases(include_str!("reference/group_interval.json")) {
        let mut sums = ClusterSums::default();
        for group in case["groups"].as_array().unwrap() {
            let size = usize::try_from(group[1].as_u64().unwrap()).unwrap();
            sums.add(group[0].as_f64().unwrap(), size);
        }
        check(&case, "mean", sums.mean().unwrap());
        check_interval(&case, sums.rate_interval(number(&case, "confidence")));
    }
}

#[test]
fn quantiles_are_those_of_scipy() {
    for case in cases(include_str!("reference/normal_quantile.json")) {
        check(&case, "quantile", normal_quantile(number(&case, "probability")));
    }
    for case in cases(include_str!("reference/student_quantile.json")) {
        let (probability, freedom) = (number(&case, "probability"), number(&case, "freedom"));
        check(&case, "quantile", student_quantile(probability, freedom));
    }
}

#[test]
fn students_interval_is_that_of_scipy() {
    for case in cases(include_str!("reference/student_interval.json")) {
        let clusters = Clusters::new(numbers(&case, "values").into_iter().map(|value| [value]));
        check(&case, "mean", clusters.mean().unwrap());
        check_interval(&case, clusters.student_interval(number(&case, "confidence")));
    }
}

#[test]
fn mcnemars_test_is_that_of_statsmodels() {
    for case in cases(include_str!("reference/mcnemar.json")) {
        let (losses, wins) = (count(&case, "losses"), count(&case, "wins"));
        check(&case, "p_value", exact_mcnemar(losses, wins));
    }
}

#[test]
fn the_sign_flip_test_is_that_of_scipy() {
    for case in cases(include_str!("reference/sign_flip.json")) {
        let differences = numbers(&case, "differences");
        check(&case, "p_value", sign_flip(&differences, Level::alone(0.05), Resampling::default()));
    }
}

#[test]
fn trials_within_cases_are_tested_as_by_enumeration() {
    for case in cases(include_str!("reference/strata.json")) {
        let mut sample = PairedSample::default();
        for (cluster, stratum) in case["strata"].as_array().unwrap().iter().enumerate() {
            sample.add(&numbers(stratum, "a"), &numbers(stratum, "b"), cluster);
        }
        let found = sample.test(Level::alone(0.05), Resampling::default());
        assert_eq!(found.test, PairedTest::TrialPermutation);
        check(&case, "p_value", found.p_value);
        let differences = sample.differences();
        let flipped = sign_flip(&differences.sums(), Level::alone(0.05), Resampling::default());
        check(&case, "flipped", flipped);
        check(&case, "mean", differences.mean().unwrap());
        check_interval(&case, differences.student_interval(CONFIDENCE));
    }
}

#[test]
fn the_power_of_mcnemars_test_is_that_of_enumeration() {
    for case in cases(include_str!("reference/mcnemar_power.json")) {
        let (lost, won) = (number(&case, "lost"), number(&case, "won"));
        let power = mcnemar_power(count(&case, "cases"), lost, won, number(&case, "level"));
        check(&case, "power", power);
    }
}

#[test]
fn the_interval_of_bonett_and_price_is_that_of_its_formula() {
    for case in cases(include_str!("reference/bonett_price.json")) {
        let (wins, losses) = (count(&case, "wins"), count(&case, "losses"));
        let confidence = number(&case, "confidence");
        check_interval(&case, bonett_price(wins, losses, count(&case, "cases"), confidence));
    }
}
