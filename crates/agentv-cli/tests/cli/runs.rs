//! Run folders: what is in them, and `agentv runs`.

use crate::{context, eval, mocked, waiting};
use agentv_test_support::{TestContext, cases, mock_target, openai_target, targets};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// The folders of all runs, the oldest first.
#[track_caller]
pub(crate) fn folders(cx: &TestContext) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(cx.path(".agentv/runs")) else { return Vec::new() };
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    folders
}

/// The only run's folder.
#[track_caller]
pub(crate) fn folder(cx: &TestContext) -> PathBuf {
    let folders = folders(cx);
    assert_eq!(folders.len(), 1, "{folders:?}");
    folders[0].clone()
}

/// What `run.json` says.
#[track_caller]
pub(crate) fn info(folder: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.join("run.json")).unwrap()).unwrap()
}

#[track_caller]
fn listed(cx: &TestContext) -> Vec<Value> {
    let ran = cx.agentv(["runs", "list", "--format", "json"]).run();
    let listed: Value = serde_json::from_str(&ran.success().stdout).unwrap();
    listed["runs"].as_array().unwrap().clone()
}

#[test]
fn a_run_leaves_a_folder_with_what_is_known_of_it() {
    let cx = mocked(&["a", "b"]);
    let commit = "0123456789abcdef0123456789abcdef01234567";
    cx.write(".git/HEAD", "ref: refs/heads/main\n");
    cx.write(".git/refs/heads/main", &format!("{commit}\n"));
    eval(&cx, &["--eval-id", "*"]).success();
    let folder = folder(&cx);
    assert_eq!(fs::read_to_string(folder.join("results.jsonl")).unwrap(), cx.read("out.jsonl"));
    let info = info(&folder);
    assert_eq!(info["run"], folder.file_name().unwrap().to_str().unwrap());
    assert_eq!(info["command"][1], "suite.yaml");
    assert_eq!(info["git"], serde_json::json!({ "commit": commit, "branch": "main" }));
    assert_eq!(info["files"][0]["path"], "suite.yaml");
    assert_eq!(info["files"][1]["kind"], "targets");
    assert_eq!(info["files"][0]["sha256"].as_str().unwrap().len(), 64);
    assert_eq!(info["targets"][0]["provider"], "mock");
    assert_eq!(info["spec"]["cases"]["eval_id"], "*");
    assert_eq!((&info["ending"], &info["exit_code"]), (&"complete".into(), &0.into()));
    assert_eq!(info["totals"]["recorded"], 2);
    assert!(folder.join("logs").is_dir());
}

#[test]
fn the_output_is_the_same_file_as_the_results() {
    let cx = mocked(&["a"]);
    let ran = cx.agentv(["eval", "suite.yaml"]).run();
    assert_eq!(ran.success().records().len(), 1);
    let out = ran.stdout.lines().find_map(|line| line.strip_prefix("Output path: ")).unwrap();
    assert!(out.contains("/.agentv/results/eval_"), "{out}");
    let results = fs::metadata(folder(&cx).join("results.jsonl")).unwrap();
    assert_eq!(fs::metadata(out).unwrap().ino(), results.ino());
}

#[test]
fn a_second_run_to_the_same_output_leaves_the_first_ones_results() {
    let cx = mocked(&["a", "b"]);
    eval(&cx, &[]).success();
    eval(&cx, &["--eval-id", "b"]).success();
    let lines = folders(&cx)
        .into_iter()
        .map(|folder| fs::read_to_string(folder.join("results.jsonl")).unwrap().lines().count());
    assert_eq!(lines.collect::<Vec<_>>(), [2, 1]);
    assert_eq!(cx.read("out.jsonl").lines().count(), 1);
}

#[test]
fn an_output_that_cannot_be_linked_is_written_apart() {
    let cx = mocked(&["a"]);
    let ran = cx.agentv(["eval", "suite.yaml", "--out", "/dev/stdout"]).run();
    ran.success().stdout_has("\"eval_id\":\"a\"");
    cx.write("elsewhere.jsonl", "");
    std::os::unix::fs::symlink("elsewhere.jsonl", cx.path("out.jsonl")).unwrap();
    eval(&cx, &[]).success();
    assert!(fs::symlink_metadata(cx.path("out.jsonl")).unwrap().is_symlink());
    assert_eq!(cx.read("elsewhere.jsonl").lines().count(), 1);
    let ran = cx.agentv(["eval", "suite.yaml", "--output-format", "yaml", "--out", "out.yaml"]);
    ran.run().success();
    assert!(cx.read("out.yaml").starts_with("---\n"));
    for folder in folders(&cx) {
        let results = fs::read_to_string(folder.join("results.jsonl")).unwrap();
        assert!(results.starts_with('{') && results.ends_with("}\n"), "{results}");
    }
}

#[test]
fn no_folder_where_none_is_wanted() {
    let cx = mocked(&["a"]);
    eval(&cx, &["--no-run-folder"]).success();
    eval(&cx, &["--dry-run"]).success();
    cx.agentv(["eval", "suite.yaml", "--out", "suite.yaml"]).run().code(2);
    assert_eq!(folders(&cx), [] as [PathBuf; 0]);
    assert_eq!(cx.read("out.jsonl").lines().count(), 1);
}

#[test]
fn a_directory_that_cannot_be_written_costs_the_folder_and_not_the_run() {
    let cx = mocked(&["a"]);
    // A file where the directory should be stops root, too.
    cx.write(".agentv/runs", "");
    let ran = eval(&cx, &[]);
    ran.success().stderr_has("cannot make a run folder, so this run cannot be resumed");
    assert_eq!(ran.records().len(), 1);
    cx.agentv(["eval", "suite.yaml", "--resume"]).run().code(2);
}

#[test]
fn no_key_is_in_a_run_folder() {
    let cx = context();
    let key = "sk-very-secret";
    let target = openai_target("default", "http://127.0.0.1:9/v1")
        + "    api_key: ${{ MY_KEY }}\n    max_retries: 0\n";
    cx.write("targets.yaml", &targets(&[target]));
    cx.write("suite.yaml", &cases(&["a"]));
    cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).env("MY_KEY", key).run().code(3);
    let folder = folder(&cx);
    assert_eq!(info(&folder)["targets"][0]["model"], "fake-model");
    for file in ["run.json", "results.jsonl", "journal.jsonl"] {
        let text = fs::read_to_string(folder.join(file)).unwrap();
        assert!(!text.contains(key), "{file}: {text}");
    }
}

#[test]
fn runs_are_listed_newest_first() {
    let cx = mocked(&["a", "b"]);
    cx.agentv(["runs", "list"]).run().success().stdout_has("no runs in");
    cx.agentv(["runs", "show"]).run().code(2);
    eval(&cx, &["--eval-id", "a"]).success();
    eval(&cx, &[]).success();
    let listed = listed(&cx);
    let done: Vec<&Value> = listed.iter().map(|run| &run["totals"]["recorded"]).collect();
    assert_eq!(done, [2, 1]);
    assert_eq!(listed[0]["state"], "complete");
    let ran = cx.agentv(["runs", "list"]).run();
    let lines: Vec<&str> = ran.success().stdout.lines().collect();
    assert!(lines[0].starts_with("RUN") && lines[0].contains("STATE"), "{lines:?}");
    assert!(lines[1].contains("complete  2/2") && lines[2].contains("complete  1/1"), "{lines:?}");
    let run = listed[1]["run"].as_str().unwrap();
    let shown = cx.agentv(["runs", "show", run]).run();
    shown.success().stdout_has(run).stdout_has("agentv eval suite.yaml").stdout_has("1 of 1");
    let shown = cx.agentv(["runs", "show", "--format", "json"]).run();
    let shown: Value = serde_json::from_str(&shown.success().stdout).unwrap();
    assert_eq!(shown["run"], listed[0]["run"]);
}

#[test]
fn runs_are_removed_by_id_by_number_or_all() {
    let cx = mocked(&["a"]);
    for _ in 0..4 {
        eval(&cx, &[]).success();
    }
    let first = folders(&cx)[0].file_name().unwrap().to_str().unwrap().to_owned();
    cx.agentv(["runs", "rm"]).run().code(2);
    cx.agentv(["runs", "rm", &first]).run().success().stdout_has(&format!("removed {first}"));
    cx.agentv(["runs", "rm", &first]).run().code(2).stderr_has("unknown run");
    let left = folders(&cx);
    cx.agentv(["runs", "rm", "--keep", "1"]).run().success();
    assert_eq!(folders(&cx), left[2..]);
    cx.agentv(["runs", "rm", "--all"]).run().success();
    assert_eq!(folders(&cx), [] as [PathBuf; 0]);
    assert_eq!(cx.read("out.jsonl").lines().count(), 1, "the output stays");
}

#[test]
fn nothing_outside_of_the_folder_is_removed() {
    let cx = mocked(&["a"]);
    cx.write("precious/run.json", "{}");
    eval(&cx, &[]).success();
    std::os::unix::fs::symlink(cx.path("precious"), cx.path(".agentv/runs/link")).unwrap();
    for path in ["..", ".", "../../precious", "/", "link", ""] {
        cx.agentv(["runs", "rm", path]).run().code(2);
    }
    assert!(cx.path("precious/run.json").exists() && cx.path(".agentv/runs/link").exists());
}

#[test]
fn a_run_under_way_is_shown_and_not_removed() {
    let cx = mocked(&["a", "b"]);
    let mut meeting = waiting(&cx, "{EVAL_ID}");
    let running = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).start();
    meeting.next();
    meeting.let_go(1);
    meeting.next();
    // The second case is under way, so the first has its record or is about to.
    let listed = listed(&cx);
    assert_eq!(listed[0]["state"], "running");
    let run = listed[0]["run"].as_str().unwrap();
    cx.agentv(["runs", "rm", run]).run().code(2).stderr_has("is in use by process");
    meeting.let_go(1);
    running.finish().success();
    assert_eq!(self::listed(&cx)[0]["state"], "complete");
}

#[test]
fn targets_of_all_kinds_are_told_without_their_keys() {
    let cx = context();
    cx.write("targets.yaml", &targets(&[mock_target("one", "ok"), mock_target("two", "no")]));
    cx.write("suite.yaml", &cases(&["a"]));
    eval(&cx, &["--target", "one", "--target", "two"]).success();
    let info = info(&folder(&cx));
    assert_eq!(info["spec"]["targets"], serde_json::json!(["one", "two"]));
    assert_eq!(info["totals"]["targets"]["two"]["passed"], 0);
    assert_eq!(info["totals"]["mean_score"], 0.5);
    let mode = fs::metadata(folder(&cx).join("run.json")).unwrap().permissions().mode();
    assert_ne!(mode & 0o400, 0);
}
