//! What cases, suites, runs and projects are known by.

use crate::runs::folder;
use crate::{context, mocked};
use agentv_test_support::{TestContext, cases, mock_target, targets};
use std::fs;
use std::os::unix::fs::symlink;

/// A project with a suite in `evals/`.
#[track_caller]
fn project() -> TestContext {
    let cx = context();
    cx.write("targets.yaml", &targets(&[mock_target("default", "ok")]));
    cx.write("evals/suite.yaml", &cases(&["a", "b"]));
    cx
}

#[test]
fn runs_results_and_caches_belong_to_the_project() {
    let cx = project();
    cx.agentv(["eval", "suite.yaml", "--cache"]).cwd("evals").run().success();
    folder(&cx);
    assert_eq!(fs::read_dir(cx.path(".agentv/results")).unwrap().count(), 1);
    assert!(!cx.path("evals/.agentv").exists());
    for dir in ["", "evals"] {
        cx.agentv(["runs", "show"]).cwd(dir).run().success().stdout_has("suite.yaml");
        cx.agentv(["report", "latest", "--csv", "-"]).cwd(dir).run().success();
    }
}

#[test]
fn a_folder_of_its_own_makes_a_project_inside_of_a_repository() {
    let cx = project();
    fs::create_dir_all(cx.path("evals/.agentv")).unwrap();
    fs::create_dir_all(cx.path("evals/deep")).unwrap();
    cx.agentv(["eval", "../suite.yaml"]).cwd("evals/deep").run().success();
    assert!(cx.path("evals/.agentv/runs").is_dir());
    assert!(!cx.path(".agentv").exists());
}

#[test]
fn a_project_ends_at_its_repository() {
    let cx = context();
    fs::create_dir(cx.path(".agentv")).unwrap();
    fs::create_dir_all(cx.path("inner/.git")).unwrap();
    cx.write("inner/targets.yaml", &targets(&[mock_target("default", "ok")]));
    cx.write("inner/evals/suite.yaml", &cases(&["a"]));
    cx.agentv(["eval", "suite.yaml"]).cwd("inner/evals").run().success();
    assert!(cx.path("inner/.agentv/runs").is_dir());
    assert!(!cx.path(".agentv/runs").exists());
}

#[test]
fn a_run_is_resumed_where_it_was_started() {
    let cx = project();
    cx.write("suite.yaml", &cases(&["c"]));
    cx.agentv(["eval", "suite.yaml"]).cwd("evals").run().success();
    let ran = cx.agentv(["eval", "--resume"]).run();
    ran.code(2).stderr_has("was started in").stderr_has("evals");
    // A file of the same name in another folder is another suite.
    let ran = cx.agentv(["eval", "suite.yaml", "--resume"]).run();
    ran.code(2).stderr_has("no run of these files with these choices can be resumed");
    cx.agentv(["eval", "--resume"]).cwd("evals").run().success();
}

#[test]
fn a_file_is_run_once_however_often_it_is_named() {
    let cx = mocked(&["a", "b"]);
    fs::create_dir(cx.path("evals")).unwrap();
    symlink(cx.path("suite.yaml"), cx.path("evals/link.yaml")).unwrap();
    for names in [
        &["suite.yaml", "./suite.yaml"][..],
        &["suite.yaml", "suit?.yaml"],
        &["evals/../suite.yaml", "suite.yaml"],
        &["evals/link.yaml", "suite.yaml"],
    ] {
        let args = ["eval", "--out", "out.jsonl"].iter().chain(names);
        let ran = cx.agentv(args).run();
        assert_eq!(ran.success().records().len(), 2, "{names:?}");
    }
}
