//! What cases, suites, runs and projects are known by.

use crate::resume::calls;
use crate::runs::folder;
use crate::{context, eval, mocked};
use agentv_test_support::{GRADER, Ran, TestContext, cases, cli_target, mock_target, targets};
use serde_json::Value;
use std::collections::BTreeSet;
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
fn a_run_is_resumed_from_any_folder_of_its_project() {
    let cx = project();
    cx.write("suite.yaml", &cases(&["c"]));
    cx.agentv(["eval", "suite.yaml"]).cwd("evals").run().success();
    let ran = cx.agentv(["eval", "--resume"]).run();
    ran.success().stdout_has("nothing is left to run");
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

/// `a/cases.yaml` and `b/cases.yaml`, with the same ids. The command runs in the suite's folder; it writes down each call in
/// `calls`, and fails for case `y` of `b` until there is a file `again`.
#[track_caller]
fn two_suites() -> TestContext {
    let cx = context();
    let command = "here=$(basename \"$PWD\"); echo $here/{EVAL_ID} >> ../calls; \
        case $here/{EVAL_ID} in b/y) [ -e ../again ] || exit 3;; esac; echo ok";
    cx.write("targets.yaml", &targets(&[cli_target("default", command)]));
    for folder in ["a", "b"] {
        cx.write(format!("{folder}/cases.yaml"), &cases(&["x", "y"]));
    }
    cx
}

const TWO_SUITES: [&str; 5] = ["eval", "a/cases.yaml", "b/cases.yaml", "--out", "out.jsonl"];

/// All works of some records or events, sorted.
fn works<'v>(of: impl IntoIterator<Item = &'v Value>) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let work = |of: &Value| format!("{}#{}", text(&of["suite"]), text(&of["eval_id"]));
    let mut works: Vec<String> = of.into_iter().map(work).collect();
    works.sort();
    works
}

const FOUR_WORKS: [&str; 4] =
    ["a/cases.yaml#x", "a/cases.yaml#y", "b/cases.yaml#x", "b/cases.yaml#y"];

#[test]
fn files_of_one_name_in_two_folders_are_two_suites() {
    let cx = two_suites();
    let ran = cx.agentv(TWO_SUITES).run();
    assert_eq!(works(&ran.code(3).records()), FOUR_WORKS);
    assert_eq!(calls(&cx), ["a/x", "a/y", "b/x", "b/y"]);

    // Only what failed is run again, and its record replaces its own and no other.
    cx.write("again", "");
    let ran = cx.agentv(["eval", "--resume", "--retry-errors", "--out", "out.jsonl"]).run();
    ran.success().stdout_has(": 3 of 4 cases are done");
    assert_eq!(works(&ran.records()), FOUR_WORKS);
    assert!(ran.records().iter().all(|record| record["outcome"] == "pass"));
    assert_eq!(calls(&cx), ["a/x", "a/y", "b/x", "b/y", "b/y"]);

    // A run compared with itself has four cases, not two with two trials each.
    let run = folder(&cx).display().to_string();
    let ran = cx.agentv(["compare", &run, &run, "--format", "json"]).run();
    let compared: Value = serde_json::from_str(&ran.success().stdout).unwrap();
    assert_eq!(compared["summary"]["matched"], 4, "{compared:#}");
}

#[test]
fn events_name_the_suite_of_their_case() {
    let cx = two_suites();
    cx.write("again", "");
    let ran = cx.agentv(TWO_SUITES.iter().chain(&["--format", "json"])).run();
    let lines = ran.success().stdout.lines();
    let events: Vec<Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    for kind in ["started", "answered", "finished"] {
        let found = events.iter().filter(|event| event["event"] == kind);
        assert_eq!(works(found), FOUR_WORKS, "{kind}");
    }
}

#[test]
fn a_file_that_is_spelled_two_ways_keeps_all_records_when_resumed() {
    let cx = mocked(&["a", "b"]);
    let args = ["eval", "suite.yaml", "./suite.yaml", "--out", "out.jsonl"];
    assert_eq!(cx.agentv(args).run().success().records().len(), 2);
    let before = cx.read("out.jsonl");
    cx.agentv(args.iter().chain(&["--resume"])).run().success().stdout_has(": 2 of 2 cases");
    assert_eq!(cx.read("out.jsonl"), before);
}

/// Runs a file of these cases, once as it is and once without what is invalid.
#[track_caller]
fn twice(name: &str, text: &str) -> (TestContext, [Ran; 2]) {
    let cx = mocked(&[]);
    cx.write(name, text);
    if !name.ends_with("yaml") {
        cx.write("data.yaml", &format!("execution:\n  evaluators:\n    - {GRADER}\n"));
    }
    let args = ["eval", name, "--out", "out.jsonl"];
    let ran = cx.agentv(args).run();
    let skipping = cx.agentv(args.iter().chain(&["--skip-invalid"])).run();
    (cx, [ran, skipping])
}

/// Whatever the format, the later of two cases with one id is refused, or left out.
#[track_caller]
fn refuses_duplicate(name: &str, text: &str, first_line: usize, place: &str) {
    let (_cx, [ran, skipping]) = twice(name, text);
    let message = format!("duplicate id \"a\" (first used at line {first_line})");
    ran.code(2).stderr_has(&message).stderr_has(place);
    skipping.success().stderr_has(&message);
    let records = skipping.records();
    let ids: BTreeSet<&str> =
        records.iter().map(|record| record["eval_id"].as_str().unwrap()).collect();
    assert_eq!((records.len(), ids), (2, BTreeSet::from(["a", "b"])));
}

/// A suite in YAML with these cases, each in flow style.
fn suite_of(cases: &[String]) -> String {
    let list = cases.join("\n  - ");
    format!("execution:\n  evaluators:\n    - {GRADER}\nevalcases:\n  - {list}\n")
}

#[test]
fn an_id_is_used_once_in_a_suite() {
    let case = |id: &str| format!("{{\"id\": \"{id}\", \"input\": \"q\", \"criteria\": \"c\"}}");
    let rows = ["a", "b", "a"].map(case);
    refuses_duplicate("data.jsonl", &format!("\n{}", rows.join("\n")), 2, "data.jsonl:4:8");
    refuses_duplicate("data.json", &format!("[\n{}]", rows.join(",\n")), 2, "data.json:4:8");
    refuses_duplicate("suite.yaml", &suite_of(&rows), 5, "suite.yaml:7:12");
    let table = "id,input,criteria\na,q,c\n\nb,\"q\nq\",c\na,q,c\n";
    refuses_duplicate("data.csv", table, 2, "data.csv:6:1");
}

#[test]
fn an_id_is_used_once_in_a_suite_that_is_read_in_pieces_or_streamed() {
    let long = "q".repeat(300);
    let case =
        |id: String| format!("{{\"id\": \"{id}\", \"input\": \"{long}\", \"criteria\": \"c\"}}");
    let ids = (0..1500).map(|number| format!("c{number}")).chain(["c3".to_owned()]);
    let rows: Vec<String> = ids.map(case).collect();
    for (name, text, first) in
        [("suite.yaml", suite_of(&rows), 8), ("data.jsonl", rows.join("\n"), 4)]
    {
        let (_cx, [ran, skipping]) = twice(name, &text);
        let message = format!("duplicate id \"c3\" (first used at line {first})");
        ran.code(2).stderr_has(&message);
        skipping.success().stderr_has(&message);
        assert_eq!(skipping.records().len(), 1500);
    }
}

#[test]
fn what_is_not_wanted_may_repeat_an_id() {
    let cx = mocked(&["a", "b", "a"]);
    assert_eq!(eval(&cx, &["--filter", "b"]).success().records().len(), 1);
    eval(&cx, &["--filter", "a"]).code(2);
}

/// The ids of the records of a dataset without ids, in the order of its rows.
#[track_caller]
fn ids(cx: &TestContext, name: &str, text: &str, more: &[&str]) -> Vec<String> {
    cx.write(name, text);
    let args = ["eval", name, "--out", "out.jsonl", "--workers", "1"];
    let ran = cx.agentv(args.iter().chain(more)).run();
    let records = ran.success().records();
    records.iter().map(|record| record["eval_id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn rows_without_an_id_have_one_that_stays_when_rows_are_added() {
    let cx = mocked(&[]);
    cx.write("data.yaml", &format!("execution:\n  evaluators:\n    - {GRADER}\n"));
    let row = |input: &str| format!("{{\"input\": \"{input}\", \"criteria\": \"c\"}}\n");
    let before = ids(&cx, "data.jsonl", &(row("one") + &row("two")), &[]);
    assert!(before.iter().all(|id| id.len() == 14 && id.starts_with("row-")), "{before:?}");
    let text = row("zero") + &row("one") + &row("two") + &row("one");
    let after = ids(&cx, "data.jsonl", &text, &[]);
    assert_eq!(after[1..], [before[0].clone(), before[1].clone(), format!("{}-2", before[0])]);
    fs::remove_file(cx.path("data.jsonl")).unwrap();
    let table = "input,criteria\nzero,c\none,c\ntwo,another\none,c\n";
    assert_eq!(ids(&cx, "data.csv", table, &[]), after);
    assert_eq!(ids(&cx, "data.csv", table, &["--filter", &before[1]]), [before[1].clone()]);
    let ran = cx.agentv(["validate", "data.csv"]).run();
    ran.success().stderr_has("each case gets an id from a hash of its input");
}

#[test]
fn equal_rows_of_a_streamed_dataset_are_numbered() {
    let cx = mocked(&[]);
    cx.write("data.yaml", &format!("execution:\n  evaluators:\n    - {GRADER}\n"));
    let long = "q".repeat(300);
    let row = |number: usize| {
        format!(
            "{{\"input\": \"{long} {number}\", \"criteria\": \"c\", \"tags\": [\"t{number}\"]}}\n"
        )
    };
    let rows: String = (0..1200).chain([7, 7]).map(row).collect();
    let all = ids(&cx, "data.jsonl", &rows, &[]);
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 1202);
    let seventh = [all[7].clone(), format!("{}-2", all[7]), format!("{}-3", all[7])];
    assert_eq!(ids(&cx, "data.jsonl", &rows, &["--tag", "t7"]), seventh);
    let shards: Vec<String> = ["1/2", "2/2"]
        .iter()
        .flat_map(|shard| ids(&cx, "data.jsonl", &rows, &["--shard", shard]))
        .collect();
    assert_eq!(shards.into_iter().collect::<BTreeSet<_>>(), all.into_iter().collect());
}

#[test]
fn evaluators_of_one_name_are_warned_of() {
    let cx = mocked(&["a"]);
    let two = format!("{GRADER}\n    - {GRADER}");
    cx.write("suite.yaml", &cases(&["a"]).replace(GRADER, &two));
    let ran = eval(&cx, &[]);
    ran.success().stderr_has("duplicate evaluator name \"says-ok\"").stderr_has("suite.yaml:4:");
    assert_eq!(ran.record()["evaluator_results"].as_array().unwrap().len(), 2);

    // `rubrics` are an evaluator named `rubric`.
    let named = cases(&["a"]).replace("name: says-ok", "name: rubric") + "    rubrics: [Says ok]\n";
    cx.write("suite.yaml", &named);
    let ran = cx.agentv(["validate", "suite.yaml"]).run();
    ran.success().stderr_has("duplicate evaluator name \"rubric\"").stderr_has("suite.yaml:8:14");
}

#[test]
fn metadata_that_is_not_a_mapping_is_left_out() {
    let cx = mocked(&["a"]);
    let suite = cx.read("suite.yaml");
    cx.write("suite.yaml", &format!("{suite}    metadata: {{owner: billing, ids: [1, 2]}}\n"));
    eval(&cx, &[]).success().stderr_lacks("metadata");
    cx.write("suite.yaml", &format!("{suite}    metadata: billing\n"));
    eval(&cx, &[]).success().stderr_has("`metadata` of case `a` is left out");
}
