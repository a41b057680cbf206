//! `agentv convert`: the same cases in another format, and nothing lost in silence.

use crate::{context, mocked};
use agentv_test_support::{Ran, TestContext, mock_target, targets};
use serde_json::{Value, json};
use std::fs;

#[track_caller]
fn convert(cx: &TestContext, args: &[&str]) -> Ran {
    cx.agentv(["convert"].iter().chain(args)).run()
}

/// What a run gives, without what differs from run to run.
#[track_caller]
fn outcomes(cx: &TestContext, file: &str) -> Vec<Value> {
    let ran = cx.agentv(["eval", file, "--strict", "--out", "out.jsonl"]).run();
    let outcome = |record: Value| {
        json!([
            record["eval_id"],
            record["score"],
            record["tags"],
            record["lm_provider_request"],
            record["evaluator_results"]
        ])
    };
    ran.success().records().into_iter().map(outcome).collect()
}

#[test]
fn records_become_documents_as_they_always_did() {
    let cx = context();
    let records = [
        json!({"eval_id": "a", "score": 0.5, "candidate_answer": "one\ntwo\n", "filePath": {"B": [1, {"c": null}]}}),
        json!({"eval_id": "b", "reasoning": "x".repeat(100) + " " + &"y".repeat(100)}),
    ];
    cx.write("results.jsonl", &format!("{}\n\n{}\n", records[0], records[1]));
    let ran = convert(&cx, &["results.jsonl"]);
    let out = fs::canonicalize(cx.path("results.yaml")).unwrap();
    ran.success().stdout_has(&format!("Converted 2 records to {}", out.display()));
    let expected = format!(
        "---\n\
         eval_id: a\n\
         score: 0.5\n\
         candidate_answer: |\n  \
           one\n  \
           two\n\
         filePath:\n  \
           B:\n    \
             - 1\n    \
             - c: null\n\
         \n\
         ---\n\
         eval_id: b\n\
         reasoning: {} {}\n",
        "x".repeat(100),
        "y".repeat(100)
    );
    assert_eq!(cx.read("results.yaml"), expected);
    convert(&cx, &["results.yaml", "-o", "again.jsonl"]).success();
    let again: Vec<Value> =
        cx.read("again.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(again, records);
}

#[test]
fn nothing_is_replaced_unless_that_is_wanted() {
    let cx = context();
    cx.write("a.jsonl", "{\"x\": 1}\n");
    cx.write("a.yaml", "mine\n");
    let ran = convert(&cx, &["a.jsonl"]);
    ran.code(2).stderr_has("a.yaml` already exists").stderr_has("--force");
    assert_eq!(cx.read("a.yaml"), "mine\n");
    convert(&cx, &["a.jsonl", "--force"]).success();
    assert_eq!(cx.read("a.yaml"), "---\nx: 1\n");
}

/// A suite with all that makes formats differ.
const SUITE: &str = "\
# About cities.
description: Cities
vars: {greeting: Dear}
execution:
  evaluators:
    - {name: long, type: regex, pattern: 'a'}
evalcases:
  - id: rome
    input: \"{{ greeting }} {{ who }}, \\\"where\\\" is it?\\nSay.\"
    expected_outcome: Names it
    expected_output: {city: Rome, people: 2.8}
    tags: [south, 'a;b']
    vars: {who: Ada, n: 3}
  - id: '007'
    criteria: 'yes'
    input_messages:
      - {role: system, content: Be short.}
      - {role: user, content: 'no, {{ who }}'}
    evaluators: [{name: own, type: contains, value: '1e3'}]
    vars: {who: Bob}
";

#[test]
fn a_suite_runs_the_same_in_every_format() {
    let cx = context();
    cx.write("targets.yaml", &targets(&[mock_target("default", "a city")]));
    cx.write("suite.yaml", SUITE);
    let expected = outcomes(&cx, "suite.yaml");
    assert_eq!(expected[0][3]["question"], "Dear Ada, \"where\" is it?\nSay.");
    let mut from = "suite.yaml".to_owned();
    for ending in ["csv", "json", "jsonl", "tsv", "yaml"] {
        let to = format!("as-{ending}.{ending}");
        let ran = convert(&cx, &[&from, "--out", &to, "--suite"]);
        ran.success().stdout_has("Converted 2 records to ");
        if from == "suite.yaml" {
            ran.stderr_has("comments are not carried over").stdout_has("Settings: ");
        }
        assert_eq!(outcomes(&cx, &to), expected, "{to}");
        from = to;
    }
    let csv = cx.read("as-csv.csv");
    let header = "id,input,input_messages,expected_outcome,criteria,expected_output:json,tags:json,evaluators,vars,who";
    assert_eq!(csv.lines().next(), Some(header));
    assert_eq!(cx.read("as-csv.yaml").lines().next(), Some("description: Cities"));
}

#[test]
fn what_a_format_cannot_hold_is_said_and_not_lost_in_silence() {
    let cx = context();
    let cases = json!([{"id": "a", "input": "q", "criteria": "x", "metadata": {"owner": "me"}}, {"input": "r", "metadata": 1}]);
    cx.write("a.json", &cases.to_string());
    let ran = convert(&cx, &["a.json", "-o", "a.csv"]);
    ran.code(2).stderr_has(
        "CSV cannot hold all of it: `metadata` of 2 cases, the place of 1 case without an `id`",
    );
    assert!(!cx.path("a.csv").exists());
    convert(&cx, &["a.json", "-o", "a.csv", "--force"]).success();
    assert_eq!(cx.read("a.csv"), "id,input,criteria\na,q,x\n,r,\n");
}

#[test]
fn settings_go_beside_a_dataset_and_never_over_the_input() {
    let cx = mocked(&["a"]);
    let bare = "evalcases:\n  - {id: a, input: q, criteria: x}\n";
    cx.write("bare.yaml", bare);
    convert(&cx, &["bare.yaml", "-o", "bare.jsonl"]).success().stdout_lacks("Settings");
    cx.write("named.yaml", &format!("dataset: d\n{}", cx.read("suite.yaml")));
    let ran = convert(&cx, &["named.yaml", "-o", "named.jsonl"]);
    ran.code(2)
        .stderr_has("named.yaml`, which is the input")
        .stderr_has("another name with `--out`");
    assert!(!cx.path("named.jsonl").exists());
    cx.write("taken.yaml", "mine\n");
    let ran = convert(&cx, &["named.yaml", "-o", "taken.jsonl"]);
    ran.code(2).stderr_has("taken.yaml` already exists");
    assert!(!cx.path("taken.jsonl").exists());
    // What stands beside a dataset already stays there.
    cx.write("set.csv", "id,input,criteria\na,q,x\n");
    cx.write("set.yaml", "# why\ndataset: d\n");
    convert(&cx, &["set.csv", "-o", "set.json"]).success();
    assert_eq!(cx.read("set.json").trim_start().chars().next(), Some('['));
    convert(&cx, &["set.csv", "-o", "new.jsonl"]).success();
    assert_eq!(cx.read("new.yaml"), "# why\ndataset: d\n");
    convert(&cx, &["set.csv", "-o", "inside.json"]).success();
    let inside: Value = serde_json::from_str(&cx.read("inside.json")).unwrap();
    assert_eq!(inside["dataset"], "d");
}

#[test]
fn what_is_wrong_is_shown_and_nothing_is_written() {
    let cx = context();
    cx.write("a.jsonl", "{\"id\": 1}\n\n[1]\n{oops\n");
    let ran = convert(&cx, &["a.jsonl"]);
    ran.code(2).stderr_has("case number 2 must be a mapping").stderr_has("a.jsonl:3:1");
    ran.stderr_has("not valid JSON").stderr_has("a.jsonl:4:2").stderr_has("nothing was written");
    cx.write("b.csv", "id,input,criteria\na,b\n");
    convert(&cx, &["b.csv"]).code(2).stderr_has("b.csv:2:3");
    cx.write("c.yaml", "evalcases: [\n");
    convert(&cx, &["c.yaml", "-o", "c.csv"]).code(2).stderr_has("c.yaml:");
    convert(&cx, &["missing.jsonl"]).code(2).stderr_has("cannot be read");
    convert(&cx, &["c.yaml"]).code(2).stderr_has("already is YAML");
    convert(&cx, &["c.txt"]).code(2).stderr_has("eval files end in .yaml");
    convert(&cx, &["b.csv", "-o", "no/such/dir.yaml"]).code(2);
    cx.write("d.csv", "id,input,criteria\na,b,c\n");
    convert(&cx, &["d.csv", "-o", "no/such/dir.yaml"]).code(3).stderr_has("cannot be written: ");
    for ending in ["yaml", "csv.yaml"] {
        assert!(!cx.path(format!("a.{ending}")).exists());
    }
}

#[test]
fn a_dataset_as_documents_is_told_of_suites() {
    let cx = context();
    cx.write("a.jsonl", "{\"id\": \"a\", \"input\": \"q\", \"criteria\": \"x\"}\n");
    convert(&cx, &["a.jsonl"]).success().stderr_has("`--suite` writes an eval suite");
    // What lies beside the dataset now is nothing about it, and nothing to run.
    let ran = cx.agentv(["validate", "."]).run();
    ran.success().stdout_has("Total files: 1").stderr_has("has cases or records of its own");
    convert(&cx, &["a.jsonl", "--suite", "--force"]).success().stderr_lacks("--suite");
    assert_eq!(cx.read("a.yaml"), "evalcases:\n  - id: a\n    input: q\n    criteria: x\n");
    cx.agentv(["validate", "a.yaml"]).run().success();
}
