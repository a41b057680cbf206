//! Links between folders: each folder and each file counts once.

use crate::context;
use agentv_test_support::{TestContext, cases, mock_target, targets};
use std::os::unix::fs::symlink;

/// Folders with links that lead back up, to each other, and twice to the same.
fn linked() -> TestContext {
    let cx = context();
    cx.write("targets.yaml", &targets(&[mock_target("default", "ok")]));
    cx.write("evals/a.yaml", &cases(&["a"]));
    cx.write("evals/deep/b.yaml", &cases(&["b"]));
    for (target, link) in [
        (".", "evals/loop"),
        ("../evals", "evals/up"),
        ("../evals", "evals/up-too"),
        ("../deep", "evals/deep/round"),
        ("deep", "evals/again"),
        ("a.yaml", "evals/other.yaml"),
    ] {
        symlink(target, cx.path(link)).unwrap();
    }
    std::fs::hard_link(cx.path("evals/a.yaml"), cx.path("evals/twin.yaml")).unwrap();
    // Each level leads to the next one twice: a million ways to the last.
    for level in 0..20 {
        std::fs::create_dir_all(cx.path(format!("evals/levels/{level}"))).unwrap();
        for link in ["left", "right"] {
            let next = format!("../{}", level + 1);
            symlink(next, cx.path(format!("evals/levels/{level}/{link}"))).unwrap();
        }
    }
    cx
}

#[test]
fn a_case_is_asked_once_however_many_links_lead_to_it() {
    let cx = linked();
    for args in
        [&["eval"][..], &["eval", "evals/**/*.yaml"], &["eval", "evals/**/*.yaml", "evals/a.yaml"]]
    {
        let ran = cx.agentv(args.iter().chain(&["--out", "out.jsonl"])).run();
        let mut ids: Vec<String> =
            ran.success().records().iter().map(|record| record["eval_id"].to_string()).collect();
        ids.sort();
        assert_eq!(ids, ["\"a\"", "\"b\""], "{args:?}");
    }
}

#[test]
fn a_file_is_validated_once_however_many_links_lead_to_it() {
    let cx = linked();
    let ran = cx.agentv(["validate", "evals", "--format", "json"]).run();
    let report: serde_json::Value = serde_json::from_str(&ran.success().stdout).unwrap();
    assert_eq!(report["files"].as_array().map(Vec::len), Some(2), "{report:#}");
}

#[test]
fn a_pattern_finds_files_through_links() {
    let cx = linked();
    for pattern in ["evals/again/*.yaml", "evals/ag*/b.yaml", "e*/deep/round/*.yaml"] {
        let ran = cx.agentv(["eval", pattern, "--out", "out.jsonl"]).run();
        assert_eq!(ran.success().record()["eval_id"], "b", "{pattern}");
    }
}
