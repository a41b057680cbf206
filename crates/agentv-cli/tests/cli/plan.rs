//! `agentv plan`: how many cases and trials it takes.

use crate::context;
use agentv_test_support::{Ran, TestContext};
use serde_json::{Value, json};

/// Ten cases with these trials each, at a cent and a second per record.
fn results(scores: &[f64]) -> String {
    let line = |case: usize, score: &f64| {
        let status = if *score >= 1.0 { "pass" } else { "fail" };
        let metrics = json!({ "cost_usd": 0.01, "duration_ms": 1000 });
        json!({ "eval_id": format!("c{case}"), "score": score, "status": status, "execution_metrics": metrics })
            .to_string()
            + "\n"
    };
    (0..10).flat_map(|case| scores.iter().map(move |score| line(case, score))).collect()
}

#[track_caller]
fn plan(cx: &TestContext, args: &[&str]) -> Ran {
    cx.agentv(["plan"].iter().chain(args)).run()
}

#[track_caller]
fn planned(cx: &TestContext, args: &[&str]) -> Value {
    let ran = plan(cx, &[args, &["--format", "json"]].concat());
    ran.success();
    serde_json::from_str(&ran.stdout).unwrap()
}

#[test]
fn a_rate_can_be_assumed() {
    let cx = context();
    let json = planned(&cx, &["--rate", "0.8", "--difference", "0.1", "--trials", "1,3"]);
    assert_eq!(json["noise"]["source"], "assumed_rate");
    let [once, thrice] = &json["options"].as_array().unwrap()[..] else { panic!("{json}") };
    // (1.96 + 0.8416)² · (0.8 · 0.2 + 0.7 · 0.3) / 3 / 0.1² = 96.8 for three trials; 1.96³ / 2.8016 = 2.7 more,
    // and as many for the steps in which zeros and ones add up.
    assert_eq!(thrice["cases"], 103);
    assert_eq!(thrice["records"], 309);
    assert!(once["cases"].as_u64().unwrap() > 290, "{once}");
    plan(&cx, &["--rate", "0.8", "--difference", "0.1"])
        .success()
        .stdout_has("To see a true difference of 0.1 with 80.0 % power at the level 0.05:")
        .stdout_has("Assumed: every case passes with probability 0.8.");
}

#[test]
fn a_run_says_how_noisy_its_cases_are_and_what_they_cost() {
    let cx = context();
    cx.write("noisy.jsonl", &results(&[0.5, 0.7]));
    let json = planned(&cx, &["noisy.jsonl", "-d", "0.05", "--trials", "2", "--workers", "4"]);
    assert_eq!(json["noise"]["source"], "trials");
    // Trials of 0.5 and 0.7 have the variance 0.02; two tests share the level, so z is 2.2414:
    // (2.2414 + 0.8416)² · (0.02/2 + 0.02/2) / 0.05² = 76.04, and 2.2414³ / 3.083 = 3.7 more.
    let option = &json["options"][0];
    assert_eq!((&json["tests"], &option["cases"]), (&json!(2), &json!(80)));
    assert_eq!(option["records"], 160);
    let cost = option["cost_usd"]["expected"].as_f64().unwrap();
    assert!((cost - 1.6).abs() < 1e-9, "{cost}");
    assert_eq!(option["duration_ms"]["expected"], 40000);
    assert_eq!(json["earlier"]["cases"], 10);
}

#[test]
fn runs_without_trials_and_two_runs_say_what_they_can() {
    let cx = context();
    cx.write("a.jsonl", &results(&[0.5]));
    cx.write("b.jsonl", &results(&[0.7]));
    let json = planned(&cx, &["a.jsonl", "-d", "0.1"]);
    assert_eq!(json["noise"]["source"], "single_trials");
    let json = planned(&cx, &["a.jsonl", "b.jsonl", "-d", "0.1"]);
    assert_eq!(json["noise"]["source"], "two_runs");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let cx = context();
    cx.write("a.jsonl", &results(&[0.5]));
    for (args, message) in [
        (&["-d", "0.1"][..], "required arguments were not provided"),
        (&["a.jsonl", "--rate", "0.5", "-d", "0.1"], "cannot be used with"),
        (&["a.jsonl", "-d", "0"], "`--difference` must be above 0 and at most 1, got 0"),
        (
            &["a.jsonl", "-d", "0.1", "--power", "1"],
            "`--power` must be between 0.5 and 0.999, got 1",
        ),
        (
            &["a.jsonl", "-d", "0.1", "--level", "0"],
            "`--level` must be between 0.001 and 0.5, got 0",
        ),
        (&["--rate", "2", "-d", "0.1"], "`--rate` must be between 0 and 1, got 2"),
        (&["nowhere", "-d", "0.1"], "`nowhere`: no such file, folder or run"),
    ] {
        plan(&cx, args).code(2).stderr_has(message);
    }
    cx.write("errors.jsonl", "{\"eval_id\":\"a\",\"score\":0,\"error\":\"timed out\"}\n");
    plan(&cx, &["errors.jsonl", "-d", "0.1"])
        .code(2)
        .stderr_has("there are no scores to plan with");
    // No case can lose more than all.
    plan(&cx, &["--rate", "0.5", "-d", "0.6"])
        .success()
        .stdout_has("scores cannot differ by that much");
}
