//! Answers of a mock or of a dry run are labelled, in records and in every report.

use crate::{context, eval, mocked};
use agentv_test_support::{GRADER, Ran, TestContext, cases, cli_target, targets};
use serde_json::{Value, json};

const REPORTS: [&str; 5] = ["html", "junit", "markdown", "csv", "json"];

/// Runs the suite as a step of a workflow, with all reports.
#[track_caller]
fn reported(cx: &TestContext, more: &[&str]) -> Ran {
    let reports = REPORTS.map(|format| format!("--report={format}=report.{format}"));
    let args = ["eval", "suite.yaml", "--out", "out.jsonl"].map(str::to_owned);
    let more = more.iter().map(|arg| (*arg).to_owned());
    let ran = cx
        .agentv(args.into_iter().chain(reports).chain(more))
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_STEP_SUMMARY", cx.path("summary.md"))
        .run();
    ran.success();
    ran
}

/// What each place says of simulated answers.
#[track_caller]
fn labels(cx: &TestContext, ran: &Ran) -> Vec<(&'static str, bool)> {
    let json: Value = serde_json::from_str(&cx.read("report.json")).unwrap();
    let table = cx.read("report.csv");
    let column = table.lines().next().unwrap().split(',').position(|name| name == "simulated");
    let cell = table.lines().nth(1).unwrap().split(',').nth(column.unwrap()).unwrap();
    vec![
        ("record", ran.records().iter().all(|record| record["simulated"] == json!(true))),
        ("terminal", ran.stdout.contains("2 answers made up by a mock target or a dry run")),
        ("HTML", cx.read("report.html").contains("\"simulated\":2")),
        ("Markdown", cx.read("report.markdown").contains("Simulated")),
        ("JUnit", cx.read("report.junit").contains("<property name=\"simulated\" value=\"2\"/>")),
        ("JUnit, case", cx.read("report.junit").contains("(simulated answer)")),
        ("CSV", cell == "true"),
        ("JSON", json["cases"][0]["simulated"] == json!(true)),
        ("JSON, summary", json["summary"]["simulated"] == json!(2)),
        ("GitHub, summary", cx.read("summary.md").contains("Simulated")),
    ]
}

#[track_caller]
fn check(cx: &TestContext, more: &[&str], expected: bool) {
    let ran = reported(cx, more);
    for (place, is_labelled) in labels(cx, &ran) {
        assert_eq!(is_labelled, expected, "{place} {more:?}");
    }
}

#[test]
fn answers_of_a_mock_are_labelled() {
    let cx = mocked(&["a", "b"]);
    check(&cx, &[], true);
    // They are no less made up where they are cached, recorded, replayed or graded again.
    eval(&cx, &["--record", "calls.jsonl"]).success();
    check(&cx, &["--replay", "calls.jsonl"], true);
    let ran = cx.agentv(["grade", "out.jsonl", "suite.yaml", "--out", "again.jsonl"]).run();
    ran.success();
    assert!(cx.read("again.jsonl").lines().all(|line| line.contains("\"simulated\":true")));
}

/// A target that is no mock.
#[track_caller]
fn real() -> TestContext {
    let cx = context();
    cx.write("targets.yaml", &targets(&[cli_target("default", "echo ok")]));
    cx.write("suite.yaml", &cases(&["a", "b"]));
    cx
}

#[test]
fn answers_of_a_dry_run_are_labelled() {
    let cx = real();
    let any = "{name: any, type: regex, pattern: .}";
    cx.write("suite.yaml", &cases(&["a", "b"]).replace(GRADER, any));
    check(&cx, &["--dry-run"], true);
}

#[test]
fn what_github_is_told_of_such_a_case_is_labelled() {
    let cx = mocked(&["a"]);
    cx.write("suite.yaml", &cases(&["a"]).replace("value: ok", "value: never"));
    reported(&cx, &[]).stderr_has("title=a on default (simulated)::");
}

#[test]
fn answers_of_other_targets_are_not() {
    check(&real(), &[], false);
}
