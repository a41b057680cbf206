//! Files that others name or write: regular ones, up to a size.

use super::fifo;
use crate::{context, eval, mocked};
use agentv_test_support::{
    GRADER, Ran, TestContext, cases, cli_target, mock_target, suite, targets,
};
use serde_json::Value;

/// A run of these cases on a command that does what its case is called.
#[track_caller]
fn by_case(cx: &TestContext, commands: &[(&str, &str)]) -> Ran {
    let arms: Vec<String> =
        commands.iter().map(|(id, command)| format!("{id}) {command};;")).collect();
    let command = format!("case {{EVAL_ID}} in {} esac", arms.join(" "));
    cx.write("targets.yaml", &targets(&[cli_target("default", &command)]));
    cx.write("suite.yaml", &cases(&commands.iter().map(|(id, _)| *id).collect::<Vec<_>>()));
    eval(cx, &["--workers", "2"])
}

#[track_caller]
fn error_has(record: &Value, text: &str) {
    let error = record["error"].as_str().unwrap_or_default();
    assert!(error.contains(text), "expected `{text}` in {record:#}");
}

#[test]
fn an_output_file_that_is_none_costs_only_its_case() {
    let cx = context();
    let ran = by_case(
        &cx,
        &[
            ("fifo", "mkfifo {OUTPUT_FILE}"),
            ("zero", "ln -s /dev/zero {OUTPUT_FILE}"),
            ("pipe", "mkfifo pipe; ln -s \"$PWD/pipe\" {OUTPUT_FILE}"),
            ("folder", "mkdir {OUTPUT_FILE}"),
            ("sparse", "truncate -s 8G {OUTPUT_FILE}"),
            ("linked", "echo ok > there; ln -s \"$PWD/there\" {OUTPUT_FILE}"),
            ("plain", "echo ok > {OUTPUT_FILE}"),
        ],
    );
    ran.code(3);
    for (id, why) in [
        ("fifo", "it is a FIFO, not a regular file"),
        ("pipe", "it is a FIFO, not a regular file"),
        ("zero", "it is a device, not a regular file"),
        ("folder", "it is a directory, not a regular file"),
        ("sparse", "it is larger than 10 MiB"),
    ] {
        let record = ran.record_of(id);
        error_has(&record, "Failed to read output file '");
        error_has(&record, why);
    }
    for id in ["linked", "plain"] {
        assert_eq!(ran.record_of(id)["score"], 1, "{id}");
    }
}

/// Runs one case whose input is this file.
#[track_caller]
fn with_attachment(cx: &TestContext, file: &str) -> Ran {
    let input = format!("[{{role: user, content: [{{type: file, value: {file}}}]}}]");
    cx.write("suite.yaml", &suite(format!("[{GRADER}]")).replace("Do it", &input));
    eval(cx, &[])
}

#[test]
fn a_file_that_a_case_names_is_a_regular_one() {
    let cx = mocked(&[]);
    fifo(&cx, "notes.md");
    with_attachment(&cx, "notes.md").code(2).stderr_has("it is a FIFO, not a regular file");
    with_attachment(&cx, "/dev/zero").code(2).stderr_has("it is a device, not a regular file");
    let large = std::fs::File::create(cx.path("large.md")).unwrap();
    large.set_len(8 << 30).unwrap();
    with_attachment(&cx, "large.md").code(2).stderr_has("it is larger than 64 MiB");
}

#[test]
fn a_file_that_an_evaluator_names_is_a_regular_one() {
    for evaluator in ["{type: is_json, schema: pipe.md}", "{type: llm_judge, prompt: pipe.md}"] {
        let cx = mocked(&[]);
        fifo(&cx, "pipe.md");
        cx.write("suite.yaml", &suite(format!("[{evaluator}]")));
        let ran = eval(&cx, &[]);
        ran.code(2).stderr_has("pipe.md").stderr_has("it is a FIFO, not a regular file");
    }
}

#[test]
fn recordings_that_a_target_names_are_a_regular_file() {
    let cx = mocked(&["a"]);
    fifo(&cx, "answers.jsonl");
    let target = "  - {name: default, provider: replay, file: answers.jsonl}\n".to_owned();
    cx.write("targets.yaml", &targets(&[target]));
    error_has(&eval(&cx, &[]).code(3).record(), "it is a FIFO, not a regular file");
}

#[test]
fn a_file_of_variables_that_cannot_be_read_is_a_warning() {
    let cx = mocked(&["a"]);
    fifo(&cx, ".env");
    let ran = eval(&cx, &[]);
    ran.success().stderr_has("warning[env::unreadable]").stderr_has("it is a FIFO");
    // A virtual environment of Python.
    let cx = mocked(&["a"]);
    cx.write(".env/bin/activate", "");
    assert_eq!(eval(&cx, &[]).success().stderr, "");
}

#[test]
fn pipes_among_other_files_are_passed_over() {
    let cx = context();
    cx.write("targets.yaml", &targets(&[mock_target("default", "ok")]));
    cx.write("evals/a.yaml", &cases(&["a"]));
    for name in
        ["evals/b.yaml", "evals/c.jsonl", "evals/a.csv", ".agentv.yaml", ".agentv/config.yaml"]
    {
        fifo(&cx, name);
    }
    for args in [&["eval"][..], &["eval", "evals/*"], &["eval", "evals/**/*.yaml"]] {
        let ran = cx.agentv(args.iter().chain(&["--out", "out.jsonl"])).run();
        assert_eq!(ran.success().record()["eval_id"], "a", "{args:?}");
    }
    cx.agentv(["validate", "."]).run().success();
}

#[test]
fn a_line_without_an_end_is_refused() {
    let cx = mocked(&[]);
    let data = std::fs::File::create(cx.path("data.jsonl")).unwrap();
    data.set_len(8 << 30).unwrap();
    let ran = cx.agentv(["eval", "data.jsonl", "--out", "out.jsonl"]).run();
    ran.code(2).stderr_has("a line of it is longer than 64 MiB");
    std::fs::rename(cx.path("data.jsonl"), cx.path("data.yaml")).unwrap();
    let ran = cx.agentv(["eval", "data.yaml", "--out", "out.jsonl"]).run();
    ran.code(2).stderr_has("it is larger than 64 MiB");
}
