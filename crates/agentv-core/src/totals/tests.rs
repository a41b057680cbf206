use super::*;
use agentv_wire::{EvaluatorSummary, EvaluatorTotals, Status};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn read(mut record: Value) -> RecordSummary {
    if record.get("eval_id").is_none() {
        record["eval_id"] = json!("case");
    }
    record["target"] = json!("default");
    serde_json::from_value(record).unwrap()
}

fn totals(records: &[Value]) -> Totals {
    let mut totals = Totals::default();
    for (position, record) in records.iter().enumerate() {
        totals.add(position, Trials::ONE, &read(record.clone()));
    }
    totals.close();
    totals
}

#[test]
fn the_worst_failures_are_kept_and_all_are_counted() {
    let mut totals = Totals::default();
    let failed = |score: f64| read(json!({ "score": score, "status": "fail" }));
    for position in 0..1000_u16 {
        totals.add(position.into(), Trials::ONE, &failed(f64::from(999 - position) / 1000.0));
    }
    totals.add(2000, Trials::ONE, &failed(0.0));
    let failures = &totals.highlights.failures;
    assert_eq!((totals.all.counts.failed, failures.len()), (1001, 20));
    let first: Vec<usize> =
        failures.iter().take(3).map(|failure| failure.placed.position).collect();
    assert_eq!(first, [999, 2000, 998], "the worst first, and of equals the earlier");
}

#[test]
fn what_has_no_grade_is_counted_and_not_averaged() {
    let judge = json!({ "name": "judge", "score": 0, "weight": 1, "error": { "kind": "parse", "message": "no" } });
    let found = totals(&[
        json!({ "score": 1, "status": "pass" }),
        json!({ "score": 0.5, "status": "fail" }),
        json!({ "score": 0.25, "status": "fail", "evaluator_results": [judge] }),
        json!({ "score": 0, "status": "fail", "error": "timeout" }),
    ]);
    let wire = found.wire(Some(6));
    let all = &wire.all;
    assert_eq!((all.passed, all.failed, all.ungraded, all.errors), (1, 1, 1, 1));
    assert_eq!((all.recorded, all.graded, wire.not_run), (4, 2, Some(2)));
    assert_eq!((all.mean_score, all.pass_rate), (Some(0.75), Some(0.25)));
    assert_eq!(Some(found.all.gate_mean()), Some(1.5 / 4.0));
    assert_eq!(found.scores.lowest(), Some(0.0));
    assert_eq!(wire.histogram, [0, 0, 0, 0, 0, 1, 0, 0, 0, 1]);
    assert_eq!(wire.evaluators["judge"].mean_score, None);
    assert_eq!((wire.evaluators["judge"].errors, wire.grading_errors), (1, 1));
}

#[test]
fn evaluators_of_one_name_and_two_types_are_told_apart_in_any_order() {
    let graded = |kind: &str, score: f64| {
        let entry = json!({ "name": "tone", "type": kind, "score": score, "weight": 1 });
        json!({ "score": score, "evaluator_results": [entry] })
    };
    let (text, judge) = (graded("contains", 1.0), graded("llm_judge", 0.5));
    let one = totals(&[text.clone(), judge.clone()]).wire(None).evaluators;
    let other = totals(&[judge, text.clone()]).wire(None).evaluators;
    let means = |found: &BTreeMap<String, EvaluatorTotals>| -> Vec<(String, String, f64)> {
        let entry = |(name, totals): (&String, &EvaluatorTotals)| {
            (name.clone(), totals.kind.clone(), totals.mean_score.unwrap())
        };
        found.iter().map(entry).collect()
    };
    assert_eq!(means(&one), means(&other));
    let expected = [("tone (contains)", "contains", 1.0), ("tone (llm_judge)", "llm_judge", 0.5)];
    let expected = expected.map(|(name, kind, mean)| (name.to_owned(), kind.to_owned(), mean));
    assert_eq!(means(&one), expected);
    // One type needs no addition.
    let alone = totals(&[text.clone(), text]).wire(None).evaluators;
    assert_eq!(alone.keys().collect::<Vec<_>>(), ["tone"]);
}

#[test]
fn judges_in_a_composite_are_paid_for_and_their_errors_are_their_own() {
    let judge = |name: &str, error: bool| {
        let usage = json!({ "cost_usd": 0.5, "token_usage": { "input": 10, "output": 1 } });
        let mut judge = json!({ "name": name, "score": 0.5, "weight": 1, "usage": usage });
        if error {
            judge["error"] = json!({ "kind": "timeout", "message": name });
        }
        judge
    };
    let composite = |own: Value, members: [Value; 2]| json!({ "name": "both", "score": 0.5, "weight": 1, "error": own, "evaluator_results": members });
    let record = |evaluator: Value| json!({ "score": 0.5, "status": "fail", "evaluator_results": [evaluator] });
    let own = json!({ "kind": "parse", "message": "no total" });
    let found = totals(&[
        record(composite(Value::Null, [judge("a", false), judge("b", false)])),
        record(composite(Value::Null, [judge("a", true), judge("b", true)])),
        record(composite(own.clone(), [judge("a", true), judge("b", false)])),
        record(composite(own, [judge("a", false), judge("b", false)])),
    ]);
    let wire = found.wire(None);
    assert_eq!((wire.all.cost_usd, wire.all.grading_cost_usd), (Some(4.0), Some(4.0)));
    assert_eq!(wire.all.token_usage.map(|used| used.input), Some(80.0));
    assert_eq!(wire.grading_errors, 2 + 1 + 1);
    let both = &wire.evaluators["both"];
    assert_eq!((both.graded, both.errors, both.cost_usd), (1, 3, Some(4.0)));
    assert_eq!((wire.all.failed, wire.all.ungraded), (1, 3));
}

#[test]
fn a_weight_that_differs_from_case_to_case_is_a_range() {
    let judge =
        |weight: f64| json!({ "name": "judge", "score": 1, "weight": weight, "verdict": "pass" });
    let record = |weight| json!({ "score": 1, "evaluator_results": [judge(weight)] });
    let wire = totals(&[record(2.0), record(1.0)]).wire(None);
    let judge = &wire.evaluators["judge"];
    assert_eq!((judge.graded, judge.passed, judge.errors), (2, 2, 0));
    assert_eq!(judge.weights, (1.0, 2.0));
}

#[test]
fn trials_of_a_case_do_not_make_the_pass_rate_more_certain() {
    let trials = Trials::new(10).unwrap();
    let (mut once, mut often) = (Totals::default(), Totals::default());
    for position in 0..10 {
        let score = f64::from(u8::from(position % 2 == 0));
        let record = read(json!({ "score": score, "eval_id": position.to_string() }));
        once.add(position, Trials::ONE, &record);
        for trial in 0..10 {
            often.add(position, trials, &RecordSummary { trial: Some(trial), ..record.clone() });
        }
    }
    let interval = |totals: &Totals| totals.wire(None).all.pass_interval.unwrap();
    let (once, often) = (interval(&once), interval(&often));
    assert!((once.low - often.low).abs() < 0.02 && (once.high - often.high).abs() < 0.02);
}

#[test]
fn a_mean_has_an_interval_by_cases_whatever_it_is_of() {
    let judge = |score: f64| json!([{ "name": "judge", "score": score, "weight": 1 }]);
    let trials = Trials::new(10).unwrap();
    let (mut once, mut often, mut wide) = (Totals::default(), Totals::default(), Totals::default());
    for position in 0..10 {
        let score = f64::from(u8::from(position % 2 == 0));
        let record = json!({ "score": score, "eval_id": position.to_string(), "evaluator_results": judge(score) });
        let record = read(record);
        once.add(position, Trials::ONE, &record);
        for trial in 0..10 {
            often.add(position, trials, &RecordSummary { trial: Some(trial), ..record.clone() });
        }
        for target in ["a", "b", "c"] {
            let target = target.to_owned();
            wide.add(position, Trials::ONE, &RecordSummary { target, ..record.clone() });
        }
    }
    let expected = once.wire(None).all.mean_interval.unwrap();
    let wilson = crate::stats::wilson_interval_of_sample(0.5, 10.0, 0.95).unwrap();
    assert_eq!((expected.low, expected.high), (wilson.low, wilson.high));
    for (name, totals) in [("once", &once), ("trials", &often), ("targets", &wide)] {
        let found = totals.wire(None);
        for (of, interval) in [
            ("mean", found.all.mean_interval),
            ("rate", found.all.pass_interval),
            ("target", found.targets.values().next().unwrap().mean_interval),
            ("evaluator", found.evaluators["judge"].mean_interval),
        ] {
            let interval = interval.unwrap();
            let is_near = |one: f64, other: f64| (one - other).abs() < 0.02;
            let found = is_near(interval.low, wilson.low) && is_near(interval.high, wilson.high);
            assert!(found, "{name}, {of}: {interval:?}");
        }
    }
}

#[test]
fn an_interval_of_a_mean_is_over_graded_records() {
    let found = totals(&[
        json!({ "score": 1, "status": "pass" }),
        json!({ "score": 0, "status": "fail", "error": "timeout" }),
    ]);
    let all = found.wire(None).all;
    let of = |rate, size| {
        crate::stats::wilson_interval_of_sample(rate, size, 0.95).map(crate::trials::wire)
    };
    assert_eq!((all.mean_interval, all.pass_interval), (of(1.0, 1.0), of(0.5, 2.0)));
    let none = totals(&[json!({ "score": 0, "status": "fail", "error": "timeout" })]).wire(None);
    assert_eq!((none.all.mean_score, none.all.mean_interval), (None, None));
}

/// Records as a run can make them, with composites and every kind of outcome.
fn any_record() -> impl Strategy<Value = RecordSummary> {
    let grading = (0.0..=1.0_f64, 0..3_u8, any::<bool>(), 0..5_u8);
    let case = (0..6_u8, 0..2_u8, 0..4_u32);
    (case, 0.0..=1.0_f64, any::<[bool; 3]>(), prop::collection::vec(grading, 0..4)).prop_map(
        |((id, target, trial), score, [is_pass, has_error, has_composite], gradings)| {
            let mut evaluators: Vec<EvaluatorSummary> = gradings
                .iter()
                .enumerate()
                .map(|(at, (score, weight, failed, cost))| {
                    let mut grading = json!({
                        "name": format!("judge-{at}"), "type": "llm_judge", "score": score, "weight": weight,
                        "usage": { "cost_usd": cost, "token_usage": { "input": cost, "output": 1 } },
                    });
                    if *failed {
                        grading["error"] = json!({ "kind": "parse", "message": "no JSON" });
                    }
                    serde_json::from_value(grading).unwrap()
                })
                .collect();
            if has_composite && evaluators.len() > 1 {
                let members = evaluators.split_off(1);
                evaluators[0].members = members;
            }
            RecordSummary {
                eval_id: format!("case-{id}"),
                dataset: "suite".to_owned(),
                target: format!("target-{target}"),
                trial: Some(trial),
                score,
                status: Some(if is_pass && !has_error { Status::Pass } else { Status::Fail }),
                error: has_error.then(|| "no answer".to_owned()),
                evaluators,
                ..RecordSummary::default()
            }
        },
    )
}

/// Equal but for rounding: cases may be added up in another order.
fn is_near(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            (one.as_f64().unwrap() - other.as_f64().unwrap()).abs() < 1e-9
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| is_near(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let is_there = |(key, value): (&String, &Value)| {
                other.get(key).is_some_and(|other| is_near(value, other))
            };
            one.len() == other.len() && one.iter().all(is_there)
        }
        _ => one == other,
    }
}

proptest! {
    /// The two ways in (a run as it goes, a file that is read) give the same numbers, and these agree with each other.
    #[test]
    fn every_view_has_the_same_source(records in prop::collection::vec(any_record(), 0..60)) {
        // A trial that is there twice would be another case of the same name, which only a run can tell by its position.
        let mut seen = std::collections::HashSet::new();
        let records: Vec<RecordSummary> = records
            .into_iter()
            .filter(|record| seen.insert((record.eval_id.clone(), record.target.clone(), record.trial)))
            .collect();
        let (mut live, mut read, mut group) =
            (Totals::default(), RecordedTotals::default(), GroupTotals::default());
        for record in &records {
            let position = usize::from(record.eval_id.as_bytes()[5]);
            live.add(position, Trials::new(4).unwrap(), record);
            read.add(record);
            group.add(record, outcome(record), &usage(record));
        }
        live.close();
        let (live, read) = (live.wire(Some(100)), read.finish().0.wire(Some(100)));
        prop_assert!(is_near(&json!(live), &json!(read)), "{}\n{}", json!(live), json!(read));
        let all = &live.all;
        prop_assert_eq!(all.passed + all.failed + all.ungraded + all.errors, records.len());
        prop_assert_eq!(all.recorded + live.not_run.unwrap(), 100);
        prop_assert_eq!(all.graded, live.histogram.iter().sum::<usize>());
        prop_assert_eq!(all.cost_usd, group.wire().cost_usd);
        let of_targets = |of: fn(&agentv_wire::OutcomeTotals) -> usize| live.targets.values().map(of).sum::<usize>();
        prop_assert_eq!(of_targets(|target| target.passed), all.passed);
        prop_assert_eq!(of_targets(|target| target.ungraded), all.ungraded);
        prop_assert_eq!(live.trials.iter().map(|trials| trials.recorded).sum::<usize>(), records.len());
        prop_assert_eq!(live.trials.iter().map(|trials| trials.errors).sum::<usize>(), all.errors);
        let evaluators = live.evaluators.values();
        let means = evaluators.map(|evaluator| (evaluator.mean_score, evaluator.mean_interval));
        let all = [(all.pass_rate, all.pass_interval), (all.mean_score, all.mean_interval)];
        for (mean, interval) in means.chain(all) {
            prop_assert_eq!(mean.is_some(), interval.is_some());
            if let (Some(mean), Some(interval)) = (mean, interval) {
                prop_assert!(interval.low <= mean + 1e-12 && mean <= interval.high + 1e-12);
            }
        }
    }
}
