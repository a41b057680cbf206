//! Runs side by side, and how many cases a comparison takes.

use crate::choices::Choices;
use agentv_core::compare::{self, ComparedRun, Grade, Rules, Scored, UngradedRecords};
use agentv_core::plan::{Goal, Noise, TrialCounts, cases_needed, forecast, power};
use agentv_core::stats::Resampling;
use agentv_wire::comparison::{Comparison, ComparisonVerdict, Statistics};
use agentv_wire::plan::{ComparisonPlan, PlanOption};
use agentv_wire::{Outcome, number};

/// Few draws: what is looked for is wrong at any number of them.
const RESAMPLING: Resampling =
    Resampling { flips: 40, most_flips: 80, draws: 30, comparisons: 4, seed: 1 };

/// Compares two candidates with a baseline.
pub(crate) fn compare(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let rules = Rules {
        threshold: choices.share(),
        level: *choices.one(&[0.05, 0.001, 0.5]),
        margin: choices.some(|choices| choices.share().max(0.001)),
        ungraded: *choices.one(&[UngradedRecords::LeftOut, UngradedRecords::AsRecorded]),
        resampling: RESAMPLING,
    };
    let binary = choices.is();
    let names = ["one", "two", "three"];
    let runs = names.map(|_| run(&mut choices, binary));
    let [baseline, candidate, other] =
        [0, 1, 2].map(|index| ComparedRun { name: names[index], records: &runs[index] });
    let comparisons = compare::compare(baseline, &[candidate, other], &rules);
    assert_eq!(comparisons.len(), 2);
    comparisons.iter().for_each(check);
    agentv_cli::fuzzing::comparisons(&comparisons);

    let back = compare::compare(candidate, &[baseline], &rules);
    let (one, two) = (&comparisons[0].summary, &back[0].summary);
    assert_eq!((one.wins, one.losses, one.ties), (two.losses, two.wins, two.ties), "not mirrored");
    let same = compare::compare(baseline, &[baseline], &rules);
    assert!(
        !matches!(same[0].verdict, ComparisonVerdict::Regression | ComparisonVerdict::Improvement),
        "a run differs from itself"
    );
}

fn run(choices: &mut Choices<'_>, binary: bool) -> Vec<Scored> {
    let cases = *choices.one(&[0, 1, 2, 3, 5, 8, 13, 34]);
    let trials = *choices.one(&[1, 1, 2, 3]);
    let several_targets = choices.once_in(4);
    let shift = choices.share();
    let mut records = Vec::new();
    for case in 0..cases {
        for trial in 0..trials {
            let score = if binary {
                f64::from(choices.byte() & 1)
            } else {
                f64::midpoint(choices.share(), shift)
            };
            records.push(scored(choices, (case, trial), score, several_targets));
        }
    }
    records
}

fn scored(
    choices: &mut Choices<'_>,
    (case, trial): (usize, u32),
    score: f64,
    several_targets: bool,
) -> Scored {
    let outcomes = [
        Outcome::Pass,
        Outcome::Fail,
        Outcome::Pass,
        Outcome::Fail,
        Outcome::Error,
        Outcome::Ungraded,
    ];
    let target = if several_targets { choices.below(2) } else { 0 };
    let mut score = score;
    if choices.once_in(60) {
        score = *choices.one(&[f64::NAN, f64::INFINITY, -1.0, 7.5]);
    }
    Scored {
        eval_id: format!("case {case}").into(),
        dataset: choices.one(&["set", "set", "set", "other"]).to_string().into(),
        target: format!("target {target}").into(),
        trial: choices.some(|_| trial),
        score,
        outcome: *choices.one(&outcomes),
        has_status: !choices.once_in(8),
        tags: choices.list(2, |choices| choices.name().into()).into(),
        cluster: if choices.once_in(4) { Some(choices.name().into()) } else { None },
        grades: choices
            .list(2, |choices| Grade {
                evaluator: choices.name().into(),
                score: choices.some(Choices::share),
            })
            .into(),
    }
}

fn check(comparison: &Comparison) {
    check_statistics(&comparison.statistics);
    comparison.pass_statistics.iter().for_each(check_statistics);
    for group in
        [&comparison.evaluators, &comparison.tags, &comparison.targets].into_iter().flatten()
    {
        is_probability(group.p_value);
        is_probability(group.p_adjusted);
    }
    let text = number::to_string(comparison).expect("a comparison is JSON");
    serde_json::from_str::<Comparison>(&text).expect("a comparison can be read");
}

fn check_statistics(statistics: &Statistics) {
    is_probability(statistics.p_value);
    is_probability(statistics.p_adjusted);
    assert!(statistics.p_adjusted >= statistics.p_value, "a correction that helps");
    if let Some(interval) = statistics.interval {
        assert!(interval.low <= interval.high, "{interval:?}");
    }
}

fn is_probability(p: f64) {
    assert!((0.0..=1.0).contains(&p), "a p-value of {p}");
}

/// Plans a comparison by what earlier runs show.
pub(crate) fn plan(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let binary = choices.is();
    let Some(noise) = noise(&mut choices, binary) else { return };
    let goal = Goal {
        difference: choices.share().max(0.001),
        power: *choices.one(&[0.5, 0.8, 0.999]),
        level: *choices.one(&[0.05, 0.001, 0.5]),
    };
    let trials = TrialCounts { baseline: 1 + choices.below(4), candidate: 1 + choices.below(4) };
    let cases = cases_needed(&noise, &goal, trials);
    let reached = cases.map(|cases| power(&noise, &goal, trials, cases));
    if let Some(power) = reached {
        assert!((goal.power..=1.0).contains(&power), "a power of {power}");
    }
    let some = power(&noise, &goal, trials, choices.below(3000));
    assert!((0.0..=1.0).contains(&some), "a power of {some}");
    let costs = choices.list(5, Choices::small);
    let records = cases.map(|cases| cases * trials.candidate);
    let cost_usd = records.and_then(|records| forecast(&costs, records, RESAMPLING));
    let option = PlanOption {
        trials: trials.candidate,
        baseline_trials: trials.baseline,
        cases,
        power: reached,
        records,
        cost_usd,
        duration_ms: None,
    };
    agentv_cli::fuzzing::plan(&ComparisonPlan {
        difference: goal.difference,
        power: goal.power,
        level: goal.level,
        tests: 1,
        noise: noise.wire(),
        options: vec![option],
        earlier: None,
    });
}

fn noise(choices: &mut Choices<'_>, binary: bool) -> Option<Noise> {
    let scores = |choices: &mut Choices<'_>| {
        choices
            .list(3, |choices| if binary { f64::from(choices.byte() & 1) } else { choices.share() })
    };
    match choices.below(3) {
        0 => Some(Noise::of_rate(choices.share())),
        1 => Noise::of_run(&choices.list(12, scores)),
        _ => {
            let pairs = choices.list(12, |choices| (scores(choices), scores(choices)));
            let graded =
                pairs.into_iter().filter(|(one, other)| !one.is_empty() && !other.is_empty());
            Noise::of_runs(&graded.collect::<Vec<_>>())
        }
    }
}
