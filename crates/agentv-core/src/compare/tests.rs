use super::verdict::Difference;
use super::*;
use crate::stats::Random;
use agentv_wire::ComparisonVerdict;
use agentv_wire::comparison::PairedTest;
use proptest::prelude::*;

fn record(eval_id: &str, score: f64) -> Scored {
    Scored {
        eval_id: eval_id.into(),
        dataset: "suite".into(),
        target: "default".into(),
        trial: None,
        score,
        passed: Some(score >= 1.0),
        failed: false,
        tags: [].into(),
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
    compare(
        ComparedRun { name: name1, records: baseline },
        ComparedRun { name: name2, records: candidate },
        rules,
    )
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
    assert_eq!(comparison.statistics.smallest_effect, None);
    near(comparison.statistics.p_value, 1.0);
}

#[test]
fn nothing_in_common_is_said() {
    let comparison = compared(&[record("a", 1.0)], &[record("b", 1.0)]);
    assert_eq!(comparison.verdict, ComparisonVerdict::TooFewCases);
    assert_eq!(comparison.reasons[0], "the runs have no case in common");
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
fn errors_count_as_zero_or_not_at_all() {
    let failed = Scored { failed: true, ..record("a", 0.0) };
    let baseline = [record("a", 1.0), record("b", 1.0)];
    let candidate = [failed, record("b", 1.0)];
    let comparison = compared(&baseline, &candidate);
    assert_eq!((comparison.summary.losses, comparison.summary.errors2), (1, 1));
    assert_eq!(comparison.matched[0].errors2, 1);
    let rules = Rules { errors: Errors::LeaveOut, ..Rules::default() };
    let comparison = compared_by(&baseline, &candidate, &rules);
    assert_eq!((comparison.summary.matched, comparison.summary.excluded), (1, 1));
    assert_eq!((comparison.unmatched.file1, comparison.unmatched.file2), (0, 0));
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
    // A grading that went wrong is no bad grade.
    assert_eq!((judge.cases, judge.errors1, judge.errors2), (1, 0, 1));
    near(judge.mean_delta, 1.0);
    let tags: Vec<(&str, f64)> =
        comparison.tags.iter().map(|tag| (tag.name.as_str(), tag.mean_delta)).collect();
    assert_eq!(tags, [("easy", 1.0), ("hard", -0.5)]);
}

/// What a comparison says when nothing differs but chance: 10 000 pairs of runs whose cases have the same scores in
/// both, up to noise. At most `level` of them, and 3 standard errors more, may be called a difference.
#[track_caller]
fn keeps_its_level(cases: usize, expected: PairedTest, draw: impl Fn(&mut Random) -> [f64; 2]) {
    const PAIRS: u32 = 10_000;
    let level = Rules::default().level;
    let mut random = Random::new(20_260_115);
    let mut alarms = 0_u32;
    for _ in 0..PAIRS {
        let differences: Vec<Difference> = (0..cases)
            .map(|cluster| {
                let [score1, score2] = draw(&mut random);
                Difference { score1, score2, cluster }
            })
            .collect();
        let tested = verdict::test(&differences, SPARING);
        assert_eq!(tested.test, expected);
        let verdict = tested.verdict(level);
        alarms += u32::from(verdict != ComparisonVerdict::NoEvidence);
    }
    let rate = f64::from(alarms) / f64::from(PAIRS);
    let bound = level + 3.0 * (level * (1.0 - level) / f64::from(PAIRS)).sqrt();
    assert!(rate <= bound, "{rate} of the pairs are false alarms, and {bound} may be");
    // A test that never sounds keeps every level.
    assert!(rate > 0.02, "{rate} of the pairs are false alarms, which is suspiciously few");
}

/// Chance is asked as seldom as still makes sense, since 10 000 comparisons are made.
const SPARING: Resampling = Resampling { flips: 99, draws: 1, seed: 3 };

#[test]
fn ten_thousand_null_pairs_of_all_or_nothing_keep_the_level() {
    keeps_its_level(60, PairedTest::Mcnemar, |random| {
        let difficulty = random.unit();
        [random.unit(), random.unit()].map(|chance| f64::from(chance < difficulty))
    });
}

#[test]
fn ten_thousand_null_pairs_with_every_flip_keep_the_level() {
    keeps_its_level(9, PairedTest::SignFlipExact, |random| {
        let middle = random.unit();
        // Skewed noise: most scores are near, a few far.
        [random.unit(), random.unit()].map(|noise| 0.8 * middle + 0.2 * noise.powi(4))
    });
}

#[test]
fn ten_thousand_null_pairs_with_random_flips_keep_the_level() {
    keeps_its_level(22, PairedTest::SignFlipSampled, |random| [random.unit(), random.unit()]);
}

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
