//! The example runs a suite without the CLI.
#![expect(clippy::disallowed_methods, reason = "tests read their own files")]

#[path = "../examples/run_suite.rs"]
#[expect(dead_code, reason = "the test calls what `main` calls")]
mod example;

use agentv_runtime::session::{Env, Environment};
use agentv_test_support::{TestContext, cases, mock_target, targets};

/// A project with the cases `a` and `b`, and a target `default` that answers this.
#[track_caller]
fn project(answer: &str) -> (TestContext, Environment) {
    let cx = TestContext::new("unused");
    cx.write("targets.yaml", &targets(&[mock_target("default", answer)]));
    cx.write("suite.yaml", &cases(&["a", "b"]));
    let environment = Environment::at(cx.dir().to_owned(), Env::new([]));
    (cx, environment)
}

#[tokio::test]
async fn a_library_user_runs_a_suite_and_reads_its_totals() {
    for (answer, passed) in [("ok", 2), ("no", 0)] {
        let (cx, environment) = project(answer);
        let run = Box::pin(example::run_suite(cx.path("suite.yaml"), &environment));
        let summary = run.await.unwrap();
        let totals = summary.totals();
        assert_eq!((totals.all.recorded, totals.all.passed), (2, passed));
        assert_eq!((totals.all.failed, totals.not_run), (2 - passed, Some(0)));
        assert_eq!(std::fs::read_to_string(&summary.results).unwrap().lines().count(), 2);
        assert!(cx.path(".agentv/runs").join(&summary.run_id).join("run.json").is_file());
    }
}

#[tokio::test]
async fn a_library_user_is_told_why_a_run_is_refused() {
    let (cx, environment) = project("ok");
    let run = Box::pin(example::run_suite(cx.path("missing.yaml"), &environment));
    let refused = run.await.unwrap_err();
    assert_eq!(refused.exit, agentv_wire::Exit::Usage);
    assert!(!refused.to_string().is_empty());
    assert!(!cx.path(".agentv").exists());
}
