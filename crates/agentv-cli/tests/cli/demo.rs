//! `agentv demo`, as somebody sees it who has just installed the program.

use crate::context;
use agentv_test_support::{TestContext, cases, mock_target, targets};
use serde_json::Value;

/// The records of the last run in the folder.
#[track_caller]
fn records(cx: &TestContext) -> Vec<Value> {
    let runs = std::fs::read_dir(cx.path("agentv-demo/.agentv/runs")).unwrap();
    let mut runs: Vec<_> = runs.map(|run| run.unwrap().path()).collect();
    runs.sort();
    let text = std::fs::read_to_string(runs.pop().unwrap().join("results.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn it_shows_a_pass_a_fail_a_flaky_case_a_judge_error_and_a_missed_tool() {
    let cx = context();
    let shown = cx.agentv(["demo"]).on_terminal(50, 100).finish();
    shown.code(0);
    // A fail, with what the judge said of it and the answer.
    shown.has(
        "  ✗ cancel-an-order  quality 0.300, needs 1.0\n    missed   Refunds take 3 to 5 days; it says `at once`",
    );
    shown.has("    because  quality: The order is cancelled, but the customer is promised");
    shown.has("    answer   Done, order 1017 is cancelled. You have your money back at once.");
    // A tool that was not called.
    shown.has("  ✗ where-is-my-order  right-tools 0.000, needs 1.0\n    missed   Step 2: expected track_parcel, but it was never");
    // A judge that gave no verdict, apart from the failures.
    shown
        .has("Grading errors  grading failed; the answer was not judged")
        .has("  ? an-angry-customer  quality");
    // A case that cannot be relied on.
    shown.has("3/4 passed  spring-discount");
    shown
        .has("✓ 5 passed  ✗ 3 failed  ? 1 ungraded  in ")
        .has("\ncost $0.00; $0.0089 with cached, replayed and mock answers");
    shown.has("Results  agentv-demo/.agentv/results/");
    shown.has("Report written to: agentv-demo/report.html (html)\n");
    shown.has("Next     agentv eval agentv-demo/support.eval.yaml");
    shown.has("         agentv doctor").has("         agentv init");
    assert!(shown.is_cursor_visible);
    let report = cx.read("agentv-demo/report.html");
    assert!(report.contains("where-is-my-order"), "the report has no case");
    let passed = records(&cx).iter().filter(|record| record["status"] == "pass").count();
    assert_eq!((records(&cx).len(), passed), (9, 5));
}

#[test]
fn a_second_demo_overwrites_nothing() {
    let cx = context();
    cx.agentv(["demo"]).run().success();
    let changed = cx
        .read("agentv-demo/targets.yaml")
        .replace("You have your money back at once.", "You have your money back in 3 to 5 days.");
    cx.write("agentv-demo/targets.yaml", &changed);
    let report = cx.read("agentv-demo/report.html");
    let ran = cx.agentv(["demo"]).run();
    ran.success().stdout_has("Report written to: agentv-demo/report-2.html (html)");
    assert_eq!(cx.read("agentv-demo/targets.yaml"), changed);
    assert_eq!(cx.read("agentv-demo/report.html"), report);
    // The agent says something else now, which its scripted judge has no verdict on.
    let cancelled = records(&cx).into_iter().find(|record| record["eval_id"] == "cancel-an-order");
    assert!(cancelled.unwrap()["candidate_answer"].as_str().unwrap().contains("in 3 to 5 days"));
}

#[test]
fn a_folder_of_somebody_else_is_left_alone() {
    let cx = context();
    cx.write("agentv-demo/precious.txt", "mine");
    let ran = cx.agentv(["demo"]).run();
    ran.code(2).stderr_has("`agentv-demo` exists and is not a demo folder");
    ran.stderr_has("help: name a new folder: `agentv demo my-demo`");
    assert_eq!(std::fs::read_dir(cx.path("agentv-demo")).unwrap().count(), 1);
    cx.agentv(["demo", "elsewhere/demo"]).run().success();
    assert!(cx.path("elsewhere/demo/README.md").exists());
}

#[test]
fn the_demo_is_not_part_of_the_project_around_it() {
    let cx = context();
    cx.agentv(["demo"]).run().success();
    cx.agentv(["demo", "deep/my-demo"]).run().success();
    cx.agentv(["eval"]).run().code(2);
    cx.write("targets.yaml", &targets(&[mock_target("default", "ok")]));
    cx.write("evals/own.yaml", &cases(&["a"]));
    cx.agentv(["eval"]).run().success().stdout_has("Found 1 suite: evals/own.yaml");
    // By its name, and from within, it is there.
    let allowed = ["--allow-errors", "--quiet"];
    cx.agentv(["eval", "agentv-demo"].iter().chain(&allowed)).run().stdout_has("spring-discount");
    let within = cx.agentv(["eval"].iter().chain(&allowed)).cwd("agentv-demo").run();
    within.stdout_has("spring-discount");
}

#[test]
fn the_files_of_the_demo_are_valid() {
    let cx = context();
    cx.agentv(["demo"]).run().success();
    cx.agentv(["validate", "agentv-demo", "--strict"]).run().success();
}

#[test]
fn nobody_is_called_and_it_works_without_a_home() {
    // Whoever tried to leave the machine would fail: the proxies of a test lead nowhere, and here there is no PATH either.
    let cx = context();
    let ran = cx.agentv(["demo"]).env("PATH", "").env("HOME", "/nonexistent").run();
    ran.success().stdout_has("✓ 5 passed  ✗ 3 failed  ? 1 ungraded");
}
