//! What GitHub Actions is told.

use super::{records, with_results};
use crate::{context, eval};
use agentv_test_support::{TestContext, cases, cli_target, mock_target, targets};

/// Runs `report` as a step of a workflow. What it says on stderr.
#[track_caller]
fn step(cx: &TestContext, args: &[&str]) -> String {
    let ran = cx
        .agentv(args)
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_STEP_SUMMARY", cx.path("summary.md"))
        .run();
    ran.success().stderr.clone()
}

#[test]
fn cases_that_did_not_pass_are_annotated_and_summed_up() {
    let cx = with_results(&records());
    cx.write("summary.md", "what other steps said\n");
    let told = step(&cx, &["report", "results.jsonl", "--csv", "out.csv"]);
    insta::assert_snapshot!(told, @r#"
    ::error title=greeting%2C "formal" on gpt::says <b>hi</b> | not @you
    ::error title=slow on claude::timed out after 2s
    ::warning title=judged on claude::polite could not grade: no JSON in the reply
    "#);
    let summary = cx.read("summary.md");
    assert!(summary.starts_with("what other steps said\n## AgentV: ✗ 3 of 5 cases passed\n"));
}

#[test]
fn stdout_is_only_the_report() {
    let cx = with_results(&records());
    let ran =
        cx.agentv(["report", "results.jsonl", "--json", "-"]).env("GITHUB_ACTIONS", "true").run();
    assert!(ran.stdout.starts_with('{') && !ran.stdout.contains("::error"));
    ran.success().stderr_has("::error ");
}

#[test]
fn elsewhere_nothing_is_told() {
    let cx = with_results(&records());
    let ran = cx.agentv(["report", "results.jsonl", "--csv", "out.csv"]).run();
    assert_eq!(ran.success().stderr, "");
    let ran = cx
        .agentv(["report", "results.jsonl", "--csv", "out.csv"])
        .env("GITHUB_ACTIONS", "false")
        .run();
    assert_eq!(ran.success().stderr, "");
}

#[test]
fn a_run_points_at_the_lines_of_its_cases() {
    let cx = context();
    cx.write(
        "targets.yaml",
        &targets(&[cli_target("default", "printf '%s' \"no, not at all\" # {PROMPT}")]),
    );
    cx.write("evals/suite.yaml", &cases(&["a", "b"]));
    let ran = cx
        .agentv(["eval", "evals/suite.yaml"])
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_STEP_SUMMARY", cx.path("summary.md"))
        .run();
    let remarks: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("::")).collect();
    insta::assert_snapshot!(remarks.join("\n"), @r#"
    ::error file=evals/suite.yaml,line=5,title=a on default::Does not contain "ok"
    ::error file=evals/suite.yaml,line=8,title=b on default::Does not contain "ok"
    "#);
    assert!(cx.read("summary.md").contains("0 of 2 cases passed"));
}

#[test]
fn a_thousand_failures_are_no_thousand_remarks() {
    let many: Vec<_> = (0..1_000).map(|_| records()[1].clone()).collect();
    let told = step(&with_results(&many), &["report", "results.jsonl", "--csv", "out.csv"]);
    assert_eq!(told.matches("::error ").count(), 10);
    assert!(told.ends_with("::notice title=AgentV::990 more cases are in the report\n"), "{told}");
}

#[test]
fn no_answer_can_give_orders_to_the_runner() {
    let mut record = records()[1].clone();
    record["eval_id"] = "x\n::stop-commands::y, file=z:1".into();
    record["misses"] = serde_json::json!(["bad\n::set-output name=a::b\r\n::error::c 100 %"]);
    let told = step(&with_results(&[record]), &["report", "results.jsonl", "--csv", "out.csv"]);
    assert_eq!(told.lines().count(), 1, "{told}");
    assert!(
        told.starts_with(r"::error title=x\n%3A%3Astop-commands%3A%3Ay%2C file=z%3A1 on gpt::"),
        "{told}"
    );
}

#[test]
fn a_summary_that_cannot_be_written_is_only_a_warning() {
    let cx = with_results(&records());
    let ran = cx
        .agentv(["report", "results.jsonl", "--csv", "out.csv"])
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_STEP_SUMMARY", cx.dir())
        .run();
    ran.success().stderr_has("warning: the step summary `");
}

#[test]
fn a_passing_run_says_little() {
    let cx = context();
    cx.write("targets.yaml", &targets(&[mock_target("default", "ok")]));
    cx.write("suite.yaml", &cases(&["a"]));
    let quiet = eval(&cx, &[]);
    let ran = cx.agentv(["eval", "suite.yaml"]).env("GITHUB_ACTIONS", "1").run();
    assert_eq!(ran.success().stderr, quiet.success().stderr);
}
