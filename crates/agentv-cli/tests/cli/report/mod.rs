//! `agentv report` and `eval --report`: which run, which formats, and what happens when a report cannot be written.

mod formats;
mod github;
mod html;

use crate::runs::folder;
use crate::{context, eval, mocked};
use agentv_test_support::TestContext;
use serde_json::{Value, json};
use std::fs;

/// Five records that have everything: a pass, a failure, an error, a failed grading, a trial.
pub(super) fn records() -> Vec<Value> {
    let record = |more: Value| {
        let mut record = json!({
            "timestamp": "2026-01-02T03:04:05.678Z",
            "dataset": "support",
            "score": 1,
            "status": "pass",
            "hits": ["says ok"],
            "misses": [],
            "candidate_answer": "ok",
            "target": "gpt",
        });
        let more = more.as_object().cloned().unwrap_or_default();
        record.as_object_mut().into_iter().for_each(|record| record.extend(more.clone()));
        record
    };
    let metrics = json!({
        "duration_ms": 1234.5,
        "cost_usd": 0.0125,
        "token_usage": { "input": 1200, "output": 340 },
    });
    vec![
        record(json!({
            "eval_id": "refund",
            "tags": ["billing", "smoke"],
            "execution_metrics": metrics,
            "trace_summary": {
                "event_count": 2, "tool_names": ["search"], "tool_calls_by_name": { "search": 2 }, "error_count": 0,
            },
            "evaluator_results": [grade("correct", 1.0), grade("polite", 1.0)],
        })),
        record(json!({
            "eval_id": "greeting, \"formal\"",
            "score": 0.5,
            "status": "fail",
            "misses": ["says <b>hi</b> | not @you"],
            "candidate_answer": "=HYPERLINK(\"http://x\")\nsecond line",
            "reasoning": "polite: too short",
            "evaluator_results": [grade("correct", 1.0), grade("polite", 0.0)],
        })),
        record(json!({
            "eval_id": "slow",
            "target": "claude",
            "score": 0,
            "status": "fail",
            "misses": ["Error: timed out"],
            "candidate_answer": "Error occurred: timed out after 2s",
            "error": "timed out after 2s",
        })),
        record(json!({
            "eval_id": "judged",
            "target": "claude",
            "evaluator_results": [grade("correct", 1.0), json!({
                "name": "polite", "type": "llm_judge", "score": 0, "weight": 0, "verdict": "fail", "hits": [], "misses": [],
                "error": { "kind": "parse", "message": "no JSON\nin the reply" },
            })],
        })),
        record(json!({ "eval_id": "again", "trial": 1, "target": "claude" })),
    ]
}

fn grade(name: &str, score: f64) -> Value {
    json!({
        "name": name, "type": "contains", "score": score, "weight": 1, "verdict": "pass", "hits": [], "misses": [],
    })
}

/// A directory with these records in `results.jsonl`.
#[track_caller]
pub(super) fn with_results(records: &[Value]) -> TestContext {
    let cx = context();
    let lines: Vec<String> = records.iter().map(ToString::to_string).collect();
    cx.write("results.jsonl", &(lines.join("\n") + "\n"));
    cx
}

/// What one format says of the results, on stdout.
#[track_caller]
pub(super) fn printed(cx: &TestContext, flag: &str) -> String {
    cx.agentv(["report", "results.jsonl", flag, "-"]).run().success().stdout.clone()
}

#[test]
fn without_a_format_the_page_is_written_beside_the_results() {
    let cx = with_results(&records());
    let ran = cx.agentv(["report", "results.jsonl"]).run();
    ran.success()
        .stdout_has("Report written to: results.html (html)")
        .stdout_has("✗ 3 of 5 cases passed, mean score 0.875 (0.270 to 0.987, n=4)");
    assert!(cx.read("results.html").starts_with("<!DOCTYPE html>"));
}

#[test]
fn a_run_is_found_by_its_id_its_folder_and_as_the_last() {
    let cx = mocked(&["a", "b"]);
    eval(&cx, &[]).success();
    let folder = folder(&cx);
    let id = folder.file_name().unwrap().to_str().unwrap();
    for name in [vec![], vec!["latest"], vec![id], vec![folder.to_str().unwrap()]] {
        let ran = cx.agentv(["report"].iter().chain(&name)).run();
        ran.success().stdout_has("✓ 2 cases passed, mean score 1.000");
        let report = folder.join("report.html");
        ran.stdout_has(&format!("Report written to: .agentv/runs/{id}/report.html (html)"));
        fs::remove_file(report).unwrap();
    }
}

#[test]
fn what_is_not_there_is_told() {
    let cx = context();
    cx.agentv(["report"]).run().code(2).stderr_has("there are no runs in this project");
    cx.agentv(["report", "nowhere"]).run().code(2).stderr_has("no such file, folder or run");
    cx.write("bad.jsonl", "{}\n");
    cx.agentv(["report", "bad.jsonl", "--json", "out.json"])
        .run()
        .code(2)
        .stderr_has("bad.jsonl:1: not a result: missing field `eval_id`");
    assert!(!cx.path("out.json").exists());
}

#[test]
fn all_formats_are_written_at_once_from_yaml_too() {
    let cx = context();
    cx.write("r.yaml", "---\neval_id: x\nscore: 0.25\ntarget: t\n");
    let flags = ["html", "junit", "markdown", "csv", "json"];
    let args = flags.iter().flat_map(|flag| [format!("--{flag}"), format!("new/{flag}")]);
    let ran = cx.agentv(["report", "r.yaml"].map(str::to_owned).into_iter().chain(args)).run();
    for flag in flags {
        ran.success().stdout_has(&format!("Report written to: new/{flag} ({flag})"));
        assert!(cx.read(format!("new/{flag}")).contains('x'));
    }
}

#[test]
fn a_torn_tail_is_left_out_and_told() {
    let cx = with_results(&records()[..1]);
    let text = cx.read("results.jsonl") + "{\"eval_id\":\"half";
    cx.write("results.jsonl", &text);
    let ran = cx.agentv(["report", "results.jsonl", "--csv", "-"]).run();
    ran.success().stderr_has("results.jsonl:2: the last record was cut off and is left out");
    assert_eq!(ran.stdout.lines().count(), 2);
}

#[test]
fn reports_do_not_mix_and_do_not_replace_their_input() {
    let cx = with_results(&records()[..1]);
    let before = cx.read("results.jsonl");
    for (args, message) in [
        (["--json", "-", "--csv", "-"], "two reports would both go to `-`"),
        (["--json", "a", "--csv", "a"], "two reports would both go to `"),
        (["--json", "a", "--csv", "results.jsonl"], "results.jsonl` is an input of the report"),
    ] {
        let ran = cx.agentv(["report", "results.jsonl"].iter().chain(&args)).run();
        ran.code(2).stderr_has(message);
        assert!(!cx.path("a").exists());
    }
    assert_eq!(cx.read("results.jsonl"), before);
}

#[test]
fn what_cannot_be_written_is_told_and_the_rest_is_there() {
    let cx = with_results(&records());
    cx.write("folder/file", "");
    let ran = cx
        .agentv(["report", "results.jsonl", "--csv", "folder/file/x", "--markdown", "good.md"])
        .run();
    ran.code(3)
        .stderr_has("folder/file/x` cannot be written: ")
        .stdout_has("Report written to: good.md (markdown)");
    // A device has no room that could be made.
    cx.agentv(["report", "results.jsonl", "--html", "/dev/full"])
        .run()
        .code(3)
        .stderr_has("`/dev/full` cannot be written: No space left on device");
}

#[test]
fn a_full_disk_leaves_the_old_report_and_no_half_one() {
    let cx = with_results(&records());
    cx.write("report.html", "as before");
    // Files may have no more than 4 kB here, as if the disk were full.
    let script = "trap '' XFSZ; ulimit -f 8; exec \"$0\" report results.jsonl --html report.html";
    let ran = shell(&cx, script);
    assert_eq!(ran.0, Some(3), "{}", ran.1);
    assert!(ran.1.contains("report.html` cannot be written: File too large"), "{}", ran.1);
    assert_eq!(cx.read("report.html"), "as before");
    let mut names: Vec<String> = fs::read_dir(cx.dir())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, [".git", ".home", ".tmp", "report.html", "results.jsonl"]);
}

/// The exit code and stderr of a shell script, whose `$0` is the program.
fn shell(cx: &TestContext, script: &str) -> (Option<i32>, String) {
    #[expect(clippy::disallowed_methods, reason = "tests run programs from outside")]
    let output = std::process::Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_agentv")])
        .current_dir(cx.dir())
        .env_remove("GITHUB_ACTIONS")
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let many: Vec<Value> = (0..2_000).map(|_| records()[0].clone()).collect();
    let cx = with_results(&many);
    let ran = shell(&cx, "set -e; \"$0\" report results.jsonl --json - | head -c 10 >/dev/null");
    assert_eq!(ran, (Some(0), String::new()));
}

#[test]
fn eval_writes_reports_when_it_is_over() {
    let cx = mocked(&["a", "b"]);
    let ran = eval(&cx, &["--report", "junit=ci/junit.xml", "--report", "json=report.json"]);
    ran.success()
        .stdout_has("Report written to: ci/junit.xml (junit)")
        .stdout_has("Report written to: report.json (json)");
    let report: Value = serde_json::from_str(&cx.read("report.json")).unwrap();
    assert_eq!(report["summary"]["passed"], 2);
    assert_eq!(report["cases"][1]["file"], "suite.yaml");
    assert_eq!(report["cases"][1]["line"], 8);
    assert_eq!(report["run"]["ending"], "complete");
    assert!(report["summary"]["wall_ms"].is_number());
    // Without a run folder, cases are found by their ids.
    let ran = eval(&cx, &["--no-run-folder", "--report", "json=other.json"]);
    ran.success();
    let report: Value = serde_json::from_str(&cx.read("other.json")).unwrap();
    assert_eq!(report["cases"][0]["line"], 5);
    assert!(report.get("run").is_none());
}

#[test]
fn eval_refuses_reports_that_cannot_be_before_it_asks_anybody() {
    let cx = mocked(&["a"]);
    for (report, message) in [
        ("pdf=x", "`--report pdf=x`: there is no format `pdf`"),
        ("html", "`--report html` names no file"),
        ("html=", "`--report html=` names no file"),
        ("html=.git", ".git` is a directory"),
        ("csv=suite.yaml", "suite.yaml` is an input of the report"),
        ("csv=out.jsonl", "out.jsonl` is an input of the report"),
    ] {
        cx.write("out.jsonl", "as before");
        eval(&cx, &["--report", report]).code(2).stderr_has(message);
        assert_eq!(cx.read("out.jsonl"), "as before");
    }
}

#[test]
fn a_run_that_is_resumed_may_name_its_report_again() {
    let cx = mocked(&["a"]);
    eval(&cx, &["--report", "csv=out.csv"]).success();
    fs::remove_file(cx.path("out.csv")).unwrap();
    let ran = cx.agentv(["eval", "--resume", "--report", "csv=out.csv"]).run();
    ran.success().stdout_has("Report written to: out.csv (csv)");
    assert_eq!(cx.read("out.csv").lines().count(), 2);
}

#[test]
fn a_report_that_fails_makes_the_run_incomplete() {
    let cx = mocked(&["a"]);
    let ran = eval(&cx, &["--report", "html=/dev/full"]);
    ran.code(3).stdout_has("\nResults  out.jsonl\n").stderr_has("`/dev/full` cannot be written");
}
