//! `agentv validate`: the same eyes as a run, for files and folders.

use crate::{context, mocked};
use agentv_test_support::{TestContext, cases, mock_target, targets};
use serde_json::{Value, json};

/// A repository with two sound files, one of each fault, and things that are none of ours.
#[track_caller]
fn mixed() -> TestContext {
    let cx = context();
    cx.write("targets.yaml", &targets(&[mock_target("default", "ok")]));
    cx.write("evals/good.yaml", &cases(&["a"]));
    cx.write("evals/odd.yaml", &(cases(&["b"]) + "    colour: blue\n"));
    cx.write("evals/deep/bad.eval.yaml", "evalcases:\n  - id: c\n    input: q\n");
    cx.write("evals/data.jsonl", "{\"id\":\"d\"}\n");
    cx.write("evals/data.yaml", "execution: {evaluators: [{type: contains, value: ok}]}\n");
    cx.write("evals/compose.yaml", "services: {web: {image: x}}\n");
    cx.write("evals/notes.txt", "no eval file");
    cx.write("evals/.hidden/bad.yaml", "evalcases: 1\n");
    cx.write("evals/node_modules/x/bad.yaml", "evalcases: 1\n");
    cx
}

#[test]
fn a_folder_is_walked_and_summed_up() {
    let cx = mixed();
    let ran = cx.agentv(["validate", "evals", "targets.yaml"]).run();
    ran.code(2);
    assert_eq!(
        ran.stdout,
        "\nValidation Summary\n\n\
         ✗ evals/data.jsonl\n✗ evals/deep/bad.eval.yaml\n✓ evals/good.yaml\n✓ evals/odd.yaml\n✓ targets.yaml\n\n\
         Total files: 5\nValid: 3\nInvalid: 2\nFiles with warnings: 1\n"
    );
    ran.stderr_has("case `c` has no `criteria`").stderr_has("evals/deep/bad.eval.yaml:2:9");
    ran.stderr_has("case `d` has no input").stderr_has("evals/data.jsonl:1:");
    ran.stderr_has("case `b` has no key `colour`");
    // Nothing is written, whatever was found.
    assert!(!cx.path(".agentv").exists());
}

#[test]
fn sound_files_are_valid_and_warnings_do_not_change_that() {
    let cx = mixed();
    let ran = cx.agentv(["validate", "evals/good.yaml"]).run();
    ran.success().stdout_has("✓ evals/good.yaml").stdout_lacks("warnings");
    assert_eq!(ran.stderr, "");
    let args = ["validate", "evals/good.yaml", "evals/odd.yaml"];
    cx.agentv(args).run().success().stdout_has("Valid: 2\nInvalid: 0\nFiles with warnings: 1\n");
    cx.agentv(args.iter().chain(&["--strict"])).run().code(2).stdout_has("✗ evals/odd.yaml");
}

#[test]
fn json_has_every_note_with_its_place() {
    let cx = mixed();
    let ran = cx.agentv(["validate", "evals/deep", "evals/good.yaml", "--format", "json"]).run();
    ran.code(2);
    assert_eq!(ran.stderr, "");
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["summary"], json!({"total": 2, "valid": 1, "invalid": 1}));
    let (bad, good) = (&report["files"][0], &report["files"][1]);
    assert_eq!(
        (&good["valid"], &good["kind"], &good["notes"]),
        (&true.into(), &"eval".into(), &json!([]))
    );
    assert_eq!(bad["valid"], false);
    let note = &bad["notes"][0];
    assert_eq!(note["code"], "case::missing");
    assert_eq!(note["message"], "case `c` has no `criteria`");
    assert_eq!((&note["place"]["line"], &note["place"]["column"]), (&2.into(), &9.into()));
    assert!(note["place"]["path"].as_str().unwrap().ends_with("evals/deep/bad.eval.yaml"));
    assert_eq!(note["help"], "say in a sentence what a good answer does");
}

/// Rows of a large dataset are checked on all cores. What is said of them does not depend on who was first.
#[test]
fn notes_on_a_large_dataset_come_in_the_order_of_its_lines() {
    let cx = context();
    let faulty = [3, 700, 1500, 1501, 2999];
    let row = |number: usize| {
        let criteria = if faulty.contains(&number) { json!(1) } else { json!("x".repeat(200)) };
        let row = json!({"id": format!("c{number}"), "input": "q", "criteria": criteria});
        format!("{row}\n")
    };
    // A blank line counts as a line, and an id is used twice, far apart.
    let duplicate = json!({"id": "c2", "input": "q", "criteria": "x"});
    let rows: String = (2..3000).map(row).collect();
    cx.write("large.jsonl", &format!("\n{rows}{duplicate}\n"));
    let ran = cx.agentv(["validate", "large.jsonl", "--format", "json"]).run();
    ran.code(2);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let notes = report["files"][0]["notes"].as_array().unwrap();
    let lines: Vec<u64> =
        notes.iter().map(|note| note["place"]["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [3, 700, 1500, 1501, 2999, 3000]);
    assert!(
        notes[5]["message"]
            .as_str()
            .unwrap()
            .contains("duplicate id \"c2\" (first used at line 2)")
    );
}

#[test]
fn a_path_that_is_not_there_is_an_error_and_so_is_an_empty_folder() {
    let cx = mixed();
    let ran = cx.agentv(["validate", "evals/good.yaml", "gone.yaml"]).run();
    ran.code(2).stderr_has("`gone.yaml` cannot be read").stdout_has("✓ evals/good.yaml");
    std::fs::create_dir(cx.path("empty")).unwrap();
    cx.agentv(["validate", "empty"]).run().code(2).stderr_has("no eval files were found");
}

#[test]
fn targets_and_configuration_are_known_by_schema_or_name() {
    let cx = context();
    cx.write(".agentv/targets.yaml", "targets: [{name: a, provider: mock}]\n");
    cx.write(".agentv/config.yaml", "guideline_patterns: 5\n");
    cx.write("mine.yaml", "$schema: agentv-targets-v2.2\ntargets: [{name: a}]\n");
    let args = ["validate", ".agentv/targets.yaml", ".agentv/config.yaml", "mine.yaml"];
    let ran = cx.agentv(args.iter().chain(&["--format", "json"])).run();
    let report: Value = serde_json::from_str(&ran.code(2).stdout).unwrap();
    let found: Vec<(&str, bool)> = report["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| (file["kind"].as_str().unwrap(), file["valid"].as_bool().unwrap()))
        .collect();
    assert_eq!(found, [("config", false), ("targets", true), ("targets", false)]);
}

#[test]
fn a_target_that_only_lacks_a_variable_is_valid() {
    let cx = mocked(&["a"]);
    cx.write("targets.yaml", "targets: [{name: a, provider: cli, command: '${{ NOT_SET }}'}]\n");
    let ran = cx.agentv(["validate", "targets.yaml"]).run();
    ran.success().stderr_has("warning[config::env]").stderr_has("`NOT_SET`");
}

#[test]
fn what_a_run_refuses_is_invalid_and_what_it_runs_is_valid() {
    for (from, to, valid) in [
        ("", "", true),
        ("contains", "nothing", false),
        ("value: ok", "value: []", false),
        ("name: says-ok", "weight: -1", false),
        ("    input: \"Question a\"\n", "", false),
        (
            "    input: \"Question a\"\n",
            "    input_messages: [{role: tool, content: {a: 1}}]\n",
            true,
        ),
        (
            "    input: \"Question a\"\n",
            "    input_messages: [{role: nobody, content: x}]\n",
            false,
        ),
        ("Says ok", "''", false),
        // No judge reads them.
        ("    expected_outcome: Says ok\n", "", true),
        ("    expected_outcome: Says ok\n", "    evaluators: [{type: llm_judge}]\n", false),
        ("evalcases:", "evalcases: 3\nother:", false),
    ] {
        let cx = mocked(&[]);
        cx.write("suite.yaml", &cases(&["a"]).replacen(from, to, 1));
        let code = if valid { 0 } else { 2 };
        cx.agentv(["validate", "suite.yaml"]).run().code(code);
        crate::eval(&cx, &[]).code(code);
    }
}
