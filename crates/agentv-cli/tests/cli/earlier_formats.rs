//! What earlier versions left on disk: read where it can be, refused where it would be misunderstood.

use crate::context;
use agentv_test_support::{
    FakeLlm, GRADER, Ran, TestContext, cases, mock_target, openai_target, targets,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const RUN: &str = "2026-11-01T10-00-00-000Z-0001";

/// A record as it was written before records named their suite and their outcome.
fn record(id: &str, score: f64, status: &str) -> Value {
    json!({
        "timestamp": "2026-11-01T10:00:01.000Z", "eval_id": id, "dataset": "suite",
        "score": score, "status": status, "hits": [], "misses": [],
        "candidate_answer": "ok", "target": "default",
        "evaluator_results": [{
            "name": "says-ok", "type": "contains", "score": score, "weight": 1, "verdict": status,
            "hits": [], "misses": [],
        }],
    })
}

/// A journal's line of format 1, which knew a case by its file and its place there.
fn journal_lines(id: &str, ordinal: usize) -> [Value; 2] {
    let case = json!({
        "file": "suite.yaml", "eval_id": id, "ordinal": ordinal, "target": "default",
        "fingerprint": "00".repeat(32), "asked": "11".repeat(32),
    });
    let response = json!({ "text": "ok" });
    let answered = json!({ "case": case, "attempt": 0, "wall_ms": 1.5, "response": response });
    let recorded = json!({ "case": case, "sum": "22".repeat(8) });
    [json!({ "answered": answered }), json!({ "recorded": recorded })]
}

fn lines<'v>(values: impl IntoIterator<Item = &'v Value>) -> String {
    values.into_iter().flat_map(|value| [value.to_string(), "\n".to_owned()]).collect()
}

/// A project with one run of the cases `a`, `b` and `c`, in a folder of format 1. It was interrupted before `c`.
#[track_caller]
fn project_with_old_run() -> TestContext {
    let cx = context();
    cx.write("targets.yaml", &targets(&[mock_target("default", "ok")]));
    cx.write("suite.yaml", &cases(&["a", "b", "c"]));
    let folder = PathBuf::from(".agentv/runs").join(RUN);
    let of_target = json!({ "recorded": 2, "passed": 1, "errors": 0, "mean_score": 0.5 });
    let info = json!({
        "run": RUN, "version": "3.0.0-alpha.0",
        "command": ["eval", "suite.yaml"], "working_dir": cx.dir(),
        "started": "2026-11-01T10:00:00.000Z", "ended": "2026-11-01T10:00:02.000Z",
        "ending": "interrupted", "exit_code": 130,
        "out": cx.path(".agentv/results/old.jsonl"),
        "files": [{ "path": "suite.yaml", "kind": "eval", "sha256": "33".repeat(32) }],
        "targets": [{ "name": "default", "provider": "mock" }],
        "choice": {}, "cases": 3,
        "totals": {
            "recorded": 2, "passed": 1, "errors": 0, "judge_errors": 0, "mean_score": 0.5,
            "targets": { "default": of_target },
        },
    });
    cx.write(folder.join("run.json"), &format!("{info:#}\n"));
    let records = [record("a", 1.0, "pass"), record("b", 0.0, "fail")];
    cx.write(folder.join("results.jsonl"), &lines(&records));
    let journal = [journal_lines("a", 0), journal_lines("b", 1)].concat();
    cx.write(folder.join("journal.jsonl"), &lines(&journal));
    cx
}

/// Every file below a directory, with what is in it.
fn tree(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.insert(path.clone(), fs::read(path).unwrap());
            }
        }
    }
    found
}

#[test]
fn a_run_folder_of_format_1_is_neither_resumed_nor_graded() {
    let cx = project_with_old_run();
    let before = tree(cx.dir());
    let message = format!("run `{RUN}` was made by an earlier version of AgentV");
    for args in [
        &["eval", "--resume"][..],
        &["eval", "--resume", RUN],
        &["eval", "--resume", RUN, "--retry-errors"],
        &["eval", "suite.yaml", "--resume", RUN],
        &["grade", RUN],
        &["grade", RUN, "suite.yaml"],
        &["grade", "latest"],
    ] {
        let ran = cx.agentv(args).run();
        ran.code(2).stderr_has(&message).stderr_has("start a new run");
        assert_eq!(before, tree(cx.dir()), "{args:?} changed something");
    }
    // No run of today is found by its files, either.
    cx.agentv(["eval", "suite.yaml", "--resume"]).run().code(2);
    assert_eq!(before, tree(cx.dir()));
}

#[test]
fn a_run_folder_of_format_1_is_still_reported_and_compared() {
    let cx = project_with_old_run();
    let before = tree(cx.dir());
    let json = |args: &[&str]| -> Value {
        serde_json::from_str(&cx.agentv(args).run().success().stdout).unwrap()
    };
    let counts = |of: &Value| ["passed", "failed", "ungraded", "errors"].map(|key| of[key].clone());
    let report = json(&["report", RUN, "--json", "-"]);
    assert_eq!(counts(&report["summary"]), [1, 1, 0, 0]);
    let show = json(&["runs", "show", RUN, "--format", "json"]);
    assert_eq!(counts(&show["totals"]), [1, 1, 0, 0]);
    let list = json(&["runs", "list", "--format", "json"]);
    assert_eq!(counts(&list["runs"][0]["totals"]), [1, 1, 0, 0]);
    for args in [&["runs", "list"][..], &["runs", "show", RUN]] {
        cx.agentv(args).run().success().stdout_has("interrupted");
    }
    for format in ["--csv", "--markdown", "--junit"] {
        cx.agentv(["report", RUN, format, "-"]).run().success();
    }
    let compared = json(&["compare", RUN, RUN, "--json"]);
    assert_eq!(compared["summary"]["matched"], 2);
    assert_eq!(before, tree(cx.dir()));
}

/// Two suites whose cases have different ids, with a model that answers and a model that grades.
#[track_caller]
fn recorded_project() -> (TestContext, FakeLlm) {
    let api = FakeLlm::answering(r#"{"score": 0.75, "reasoning": "ok"}"#);
    let cx = context();
    let candidate = openai_target("default", &api.url()) + "    judge_target: judge\n";
    cx.write("targets.yaml", &targets(&[candidate, openai_target("judge", &api.url())]));
    for (name, ids) in [("suite.yaml", ["a", "b"]), ("other.yaml", ["c", "d"])] {
        cx.write(name, &cases(&ids).replace(GRADER, "{name: good, type: llm_judge}"));
    }
    (cx, api)
}

#[track_caller]
fn eval(cx: &TestContext, suites: &[&str], more: &[&str]) -> Ran {
    cx.agentv([&["eval", "--out", "out.jsonl"], suites, more].concat()).run()
}

/// A cassette of today as version 1 had it: a call names its case, but neither its suite nor the candidate.
fn as_version_1(tape: &str) -> String {
    let mut lines: Vec<Value> =
        tape.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    lines[0] = json!({ "agentv_cassette": 1 });
    for line in &mut lines[1..] {
        let call = line["call"].as_object_mut().unwrap();
        let work = call.remove("work").unwrap();
        let (_, rest) = work.as_str().unwrap().split_once('#').unwrap();
        let (eval_id, target) = rest.split_once('@').unwrap();
        call.insert("eval_id".into(), eval_id.into());
        if let Some((_, trial)) = target.split_once('~') {
            call.insert("trial".into(), trial.parse::<u32>().unwrap().into());
        }
    }
    self::lines(&lines)
}

#[test]
fn a_cassette_of_version_1_is_replayed_for_one_suite() {
    let (cx, api) = recorded_project();
    let trials = ["--trials", "2"];
    eval(&cx, &["suite.yaml"], &[&trials[..], &["--record", "new.jsonl"]].concat()).success();
    let (recorded, asked) = (scores(&cx), api.asked().len());
    assert_eq!((recorded.len(), asked), (4, 8));
    let old = as_version_1(&cx.read("new.jsonl"));
    assert!(!old.contains("suite.yaml") && old.contains(r#""trial":1"#), "{old}");
    cx.write("old.jsonl", &old);
    eval(&cx, &["suite.yaml"], &[&trials[..], &["--replay", "old.jsonl"]].concat()).success();
    assert_eq!((scores(&cx), api.asked().len()), (recorded, asked));
}

#[test]
fn a_cassette_of_version_1_is_refused_for_two_suites() {
    let (cx, api) = recorded_project();
    let both = ["suite.yaml", "other.yaml"];
    eval(&cx, &both, &["--record", "new.jsonl"]).success();
    let asked = api.asked().len();
    cx.write("old.jsonl", &as_version_1(&cx.read("new.jsonl")));
    fs::remove_file(cx.path("out.jsonl")).unwrap();
    let ran = eval(&cx, &both, &["--replay", "old.jsonl"]);
    ran.code(2)
        .stderr_has("did not note the suite of a call")
        .stderr_has("one eval file at a time");
    assert!(!cx.path("out.jsonl").exists());
    // One file after the other, as the message says.
    for suite in both {
        eval(&cx, &[suite], &["--replay", "old.jsonl"]).success();
    }
    eval(&cx, &both, &["--replay", "new.jsonl"]).success();
    assert_eq!(api.asked().len(), asked);
}

/// The records in `out.jsonl` by case and trial, without what differs from run to run.
#[track_caller]
fn scores(cx: &TestContext) -> BTreeMap<String, Value> {
    let text = cx.read("out.jsonl");
    let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    records
        .map(|mut record| {
            record.as_object_mut().unwrap().remove("timestamp");
            (format!("{}~{}", record["eval_id"], record["trial"]), record)
        })
        .collect()
}
