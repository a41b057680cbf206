use super::*;
use crate::stats::fewest_cases;
use agentv_wire::ComparisonVerdict;
use agentv_wire::comparison::{ComparisonSide, PairedTest};
use proptest::prelude::*;

fn record(eval_id: &str, score: f64) -> Scored {
    Scored {
        eval_id: eval_id.into(),
        dataset: "suite".into(),
        target: "default".into(),
        trial: None,
        score,
        outcome: if score >= 1.0 { Outcome::Pass } else { Outcome::Fail },
        has_status: true,
        tags: [].into(),
        cluster: None,
        grades: [].into(),
    }
}

fn run(scores: &[f64]) -> Vec<Scored> {
    scores
        .iter()
        .enumerate()
        .map(|(index, score)| record(&format!("case-{index}"), *score))
        .collect()
}

fn compared(baseline: &[Scored], candidate: &[Scored]) -> Comparison {
    compared_by(baseline, candidate, &Rules::default())
}

fn compared_by(baseline: &[Scored], candidate: &[Scored], rules: &Rules) -> Comparison {
    let (name1, name2) = ("a", "b");
    let baseline = ComparedRun { name: name1, records: baseline };
    let candidate = ComparedRun { name: name2, records: candidate };
    compare(baseline, &[candidate], rules).remove(0)
}

#[track_caller]
fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
}

#[test]
fn q39_a_difference_of_the_threshold_counts_in_spite_of_rounding() {
    for (delta, threshold, expected) in [
        (0.9 - 0.8, 0.1, PairOutcome::Win),
        (0.8 - 0.9, 0.1, PairOutcome::Loss),
        (0.099, 0.1, PairOutcome::Tie),
        (0.3 - 0.1, 0.2, PairOutcome::Win),
        (0.0, 0.0, PairOutcome::Tie),
        (0.001, 0.0, PairOutcome::Win),
        (-0.001, 0.0, PairOutcome::Loss),
    ] {
        assert_eq!(outcome(delta, threshold), expected, "{delta} by {threshold}");
    }
}

#[test]
fn the_mean_is_rounded_as_in_2x() {
    near(thousandths(0.123_49), 0.123);
    near(thousandths(0.0005), 0.001);
    near(thousandths(-0.0005), 0.0);
    near(thousandths(-0.0006), -0.001);
    assert!(thousandths(-0.0002).is_sign_positive());
}

#[test]
fn all_or_nothing_scores_are_tested_by_mcnemar() {
    // Eight cases won, one lost.
    let baseline = run(&[0., 0., 0., 0., 0., 0., 0., 0., 1., 1., 0.]);
    let candidate = run(&[1., 1., 1., 1., 1., 1., 1., 1., 0., 1., 0.]);
    let comparison = compared(&baseline, &candidate);
    assert_eq!(comparison.statistics.test, PairedTest::Mcnemar);
    near(comparison.statistics.p_value, 0.039_062_5);
    assert_eq!(comparison.verdict, ComparisonVerdict::Improvement);
    assert_eq!(compared(&candidate, &baseline).verdict, ComparisonVerdict::Regression);
}

#[test]
fn five_cases_are_too_few_and_six_are_not() {
    assert_eq!(fewest_cases(0.05), 6);
    assert_eq!(fewest_cases(0.01), 8);
    let verdict = |count| compared(&run(&vec![0.2; count]), &run(&vec![0.9; count])).verdict;
    assert_eq!(verdict(5), ComparisonVerdict::TooFewCases);
    assert_eq!(verdict(6), ComparisonVerdict::Improvement);
}

#[test]
fn equal_runs_show_nothing() {
    let scores = run(&[0.5; 30]);
    let comparison = compared(&scores, &scores);
    assert_eq!(comparison.verdict, ComparisonVerdict::NoEvidence);
    assert_eq!(comparison.summary.ties, 30);
    assert!(comparison.statistics.smallest_effect.is_some());
    near(comparison.statistics.p_value, 1.0);
}

#[test]
fn nothing_in_common_is_said() {
    let comparison = compared(&[record("a", 1.0)], &[record("b", 1.0)]);
    assert_eq!(comparison.verdict, ComparisonVerdict::TooFewCases);
    assert_eq!(comparison.reasons[0], "the runs have no case in common that both have graded");
    assert_eq!(comparison.unmatched.cases1[0].eval_id, "a");
    assert_eq!(comparison.unmatched.cases2[0].eval_id, "b");
    assert_eq!(compared(&[], &[]).summary, ComparisonSummary::default());
}

#[test]
fn trials_of_a_case_are_one_case() {
    let trials =
        |scores: [f64; 3]| -> Vec<Scored> { scores.map(|score| record("a", score)).into() };
    let comparison = compared(&trials([0.0, 1.0, 0.0]), &trials([1.0, 1.0, 0.5]));
    let [case] = &comparison.matched[..] else { panic!("{:?}", comparison.matched) };
    assert_eq!((case.trials1, case.trials2), (3, 3));
    near(case.delta, 0.5);
    assert_eq!(comparison.statistics.cases, 1);
}

#[test]
fn a_trial_that_was_run_again_replaces_what_it_was() {
    let trial = |number, score| Scored { trial: Some(number), ..record("a", score) };
    let comparison = compared(&[trial(0, 0.0), trial(1, 1.0), trial(0, 1.0)], &[trial(0, 1.0)]);
    assert_eq!(comparison.matched[0].trials1, 2);
    near(comparison.matched[0].score1, 1.0);
}

#[test]
fn one_target_each_need_not_be_the_same() {
    let other = Scored { target: "other".into(), ..record("a", 1.0) };
    let comparison = compared(&[record("a", 0.0)], &[other]);
    assert_eq!(comparison.summary.matched, 1);
    assert_eq!(comparison.matched[0].case.target, None);
}

#[test]
fn several_targets_are_kept_apart_but_their_cases_are_not_independent() {
    let on = |target: &str, score| Scored { target: target.into(), ..record("a", score) };
    let comparison =
        compared(&[on("x", 0.0), on("y", 0.0)], &[on("y", 1.0), on("x", 0.5), on("z", 1.0)]);
    let deltas: Vec<f64> = comparison.matched.iter().map(|case| case.delta).collect();
    assert_eq!(deltas, [0.5, 1.0]);
    assert_eq!(comparison.unmatched.cases2[0].target.as_deref(), Some("z"));
    assert_eq!(comparison.statistics.cases, 1);
    assert_eq!(comparison.targets.len(), 2);
}

#[test]
fn q39_an_id_in_several_datasets_does_not_collapse() {
    let of = |dataset: &str, score| Scored { dataset: dataset.into(), ..record("a", score) };
    let comparison = compared(&[of("x", 0.0), of("y", 1.0)], &[of("y", 1.0), of("x", 1.0)]);
    assert_eq!(comparison.summary.matched, 2);
    near(comparison.matched[0].delta, 1.0);
    near(comparison.matched[1].delta, 0.0);
    // A renamed dataset alone changes nothing.
    assert_eq!(compared(&[of("x", 0.0)], &[of("y", 1.0)]).summary.matched, 1);
}

#[test]
fn errors_and_ungraded_records_are_left_out_and_named() {
    let error = Scored { outcome: Outcome::Error, ..record("a", 0.0) };
    let ungraded = Scored { outcome: Outcome::Ungraded, ..record("b", 0.0) };
    let baseline = [record("a", 1.0), record("b", 1.0), record("c", 1.0)];
    let candidate = [error, ungraded, record("c", 1.0)];
    let comparison = compared(&baseline, &candidate);
    let summary = &comparison.summary;
    assert_eq!((summary.matched, summary.missing, summary.losses), (1, 2, 0));
    assert_eq!((summary.errors2, summary.ungraded2), (1, 1));
    let named: Vec<&str> =
        comparison.unmatched.ungraded.iter().map(|case| case.eval_id.as_str()).collect();
    assert_eq!(named, ["a", "b"]);
    let rules = Rules { ungraded: UngradedRecords::AsRecorded, ..Rules::default() };
    let comparison = compared_by(&baseline, &candidate, &rules);
    assert_eq!((comparison.summary.matched, comparison.summary.losses), (3, 2));
}

#[test]
fn a_trial_without_a_grade_does_not_count() {
    let error = Scored { outcome: Outcome::Error, ..record("a", 0.0) };
    let comparison = compared(&[record("a", 1.0)], &[record("a", 1.0), error]);
    let [case] = &comparison.matched[..] else { panic!("{:?}", comparison.matched) };
    assert_eq!((case.trials2, case.errors2), (1, 1));
    near(case.delta, 0.0);
}

#[test]
fn means_that_differ_by_rounding_are_equal() {
    let thrice: Vec<Scored> = run(&[0.7; 6]).into_iter().flat_map(|one| vec![one; 3]).collect();
    let comparison = compared(&run(&[0.7; 6]), &thrice);
    near(comparison.statistics.p_value, 1.0);
    assert_eq!(comparison.verdict, ComparisonVerdict::NoEvidence);
}

#[test]
fn a_pass_rate_that_changes_is_seen_though_the_mean_does_not() {
    // Half of the cases go from 0.9 to 1 and pass; the others lose as much.
    let half = |one: f64, other: f64| -> Vec<Scored> {
        run(&(0..40).map(|at| if at % 2 == 0 { one } else { other }).collect::<Vec<_>>())
    };
    let comparison = compared(&half(0.9, 0.9), &half(1.0, 0.8));
    assert_eq!(comparison.statistics.verdict, ComparisonVerdict::NoEvidence);
    let pass_rate = comparison.pass_statistics.unwrap();
    assert_eq!([pass_rate.verdict, comparison.verdict], [ComparisonVerdict::Improvement; 2]);
    assert!(comparison.reasons[0].starts_with("pass rate is better"), "{:?}", comparison.reasons);
}

#[test]
fn scores_of_zero_and_one_are_tested_once() {
    let baseline = run(&[1.0; 6]);
    let candidate = run(&[0.0; 6]);
    let comparison = compared(&baseline, &candidate);
    near(comparison.statistics.p_adjusted, 0.031_25);
    assert_eq!(comparison.verdict, ComparisonVerdict::Regression);
    assert_eq!(comparison.pass_statistics, Some(comparison.statistics));
}

#[test]
fn candidates_share_the_level() {
    // Alone, six losses are significant (p = 0.031); as one of two candidates they are not.
    let (baseline, lost, same) = (run(&[1.0; 6]), run(&[0.0; 6]), run(&[0.0; 6]));
    let candidates = [&lost, &same].map(|records| ComparedRun { name: "b", records });
    let compared =
        compare(ComparedRun { name: "a", records: &baseline }, &candidates, &Rules::default());
    near(compared[0].statistics.p_adjusted, 0.0625);
    assert_eq!(compared[0].verdict, ComparisonVerdict::TooFewCases);
    assert!(compared[0].reasons[0].ends_with("it takes at least 7"), "{:?}", compared[0].reasons);
}

#[test]
fn cases_of_a_cluster_are_one() {
    let of = |scores: &[f64]| -> Vec<Scored> {
        let records = run(scores).into_iter().enumerate();
        records
            .map(|(at, record)| Scored { cluster: Some(format!("d{}", at / 4).into()), ..record })
            .collect()
    };
    let comparison = compared(&of(&[1.0; 20]), &of(&[0.0; 20]));
    assert_eq!(comparison.statistics.cases, 5);
    assert_eq!(comparison.verdict, ComparisonVerdict::TooFewCases);
    assert_eq!(comparison.summary.matched, 20);
}

#[test]
fn a_margin_is_met_by_the_lower_end_of_the_interval() {
    let rules = Rules { margin: Some(0.05), ..Rules::default() };
    let equal = |cases: usize| {
        compared_by(&run(&vec![1.0; cases]), &run(&vec![1.0; cases]), &rules).non_inferiority
    };
    // Nothing differs; but ten cases could have missed a lot.
    assert_eq!(equal(10).and_then(|shown| shown.holds), Some(false));
    assert_eq!(equal(200).and_then(|shown| shown.holds), Some(true));
    assert_eq!(equal(2).and_then(|shown| shown.holds), None);
}

#[test]
fn evaluators_and_tags_have_numbers_of_their_own() {
    let graded = |id: &str, tag: &str, score: Option<f64>| Scored {
        tags: [tag.into()].into(),
        grades: [Grade { evaluator: "judge".into(), score }].into(),
        ..record(id, score.unwrap_or(0.0))
    };
    let baseline = [graded("a", "easy", Some(0.0)), graded("b", "hard", Some(0.5))];
    let candidate = [graded("a", "easy", Some(1.0)), graded("b", "hard", None)];
    let comparison = compared(&baseline, &candidate);
    let [judge] = &comparison.evaluators[..] else { panic!("{:?}", comparison.evaluators) };
    // A failed grading is not a bad grade.
    assert_eq!((judge.cases, judge.errors1, judge.errors2), (1, 0, 1));
    near(judge.mean_delta, 1.0);
    let tags: Vec<(&str, f64)> =
        comparison.tags.iter().map(|tag| (tag.name.as_str(), tag.mean_delta)).collect();
    assert_eq!(tags, [("easy", 1.0), ("hard", -0.5)]);
}

#[test]
fn an_evaluator_of_one_run_is_said_to_be_that_and_not_tested() {
    let graded = |id: &str, names: &[&str], score: f64| {
        let grade = |name: &&str| Grade { evaluator: (*name).into(), score: Some(score) };
        Scored { grades: names.iter().map(grade).collect(), ..record(id, score) }
    };
    let ids = ["a", "b", "c", "d", "e", "f"];
    let baseline = ids.map(|id| graded(id, &["both", "old"], 0.0));
    let candidate = ids.map(|id| graded(id, &["both", "new"], 1.0));
    let comparison = compared(&baseline, &candidate);
    let found: Vec<(&str, usize, Option<ComparisonSide>)> = comparison
        .evaluators
        .iter()
        .map(|group| (group.name.as_str(), group.cases, group.only_in))
        .collect();
    let (old, new) = (Some(ComparisonSide::Baseline), Some(ComparisonSide::Candidate));
    assert_eq!(found, [("both", 6, None), ("new", 0, new), ("old", 0, old)]);
    // What is not tested does not make the test of others stricter.
    let both = &comparison.evaluators[0];
    near(both.p_adjusted, both.p_value);
}

/// As few random numbers as still make sense, since many comparisons are made.
const SPARING: Resampling =
    Resampling { flips: 99, most_flips: 99, draws: 1, comparisons: 0, seed: 3 };

proptest! {
    #[test]
    fn swapping_the_runs_swaps_the_signs(
        scores in prop::collection::vec((0.0..1.0_f64, 0.0..1.0_f64), 0..30),
    ) {
        let (one, two): (Vec<f64>, Vec<f64>) = scores.into_iter().unzip();
        let rules = Rules { resampling: SPARING, ..Rules::default() };
        let forth = compared_by(&run(&one), &run(&two), &rules);
        let back = compared_by(&run(&two), &run(&one), &rules);
        prop_assert_eq!(forth.summary.wins, back.summary.losses);
        prop_assert_eq!(forth.summary.ties, back.summary.ties);
        prop_assert!((forth.statistics.p_value - back.statistics.p_value).abs() < 1e-12);
        let mirrored = match forth.verdict {
            ComparisonVerdict::Regression => ComparisonVerdict::Improvement,
            ComparisonVerdict::Improvement => ComparisonVerdict::Regression,
            other => other,
        };
        prop_assert_eq!(back.verdict, mirrored);
    }
}
