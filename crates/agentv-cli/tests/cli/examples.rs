//! Every example runs as its README says and gives what its `expected.json` says.

use crate::context;
use agentv_test_support::{FakeLlm, FakeReply, TestContext};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// All but those with a `package.json`, which need Node or bun and are run in `tests/spec/sdk.rs`, and those without
/// targets: there is nothing to run.
fn examples() -> Vec<PathBuf> {
    let root = repository().join("examples");
    let features = fs::read_dir(root.join("features")).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<PathBuf> =
        features.chain(["quickstart", "rag"].map(|name| root.join(name))).collect();
    all.retain(|example| !example.join("package.json").exists());
    all.retain(|example| example.join("targets.yaml").exists());
    all.sort();
    all
}

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        // What builds and earlier runs have left is no part of an example.
        if ["node_modules", ".agentv"].iter().any(|left| path.ends_with(left)) {
            continue;
        }
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, target).unwrap();
        }
    }
}

/// What `agentv eval` is given: the eval files of an example, which are `*.eval.yaml` and datasets, and its cassette.
fn arguments(dir: &Path) -> Vec<String> {
    // Other tables are what agents work on.
    let is_table =
        |name: &str| name.contains(".csv") && dir.join(name).with_extension("yaml").is_file();
    let mut arguments = ["eval", "--out", "out.jsonl"].map(str::to_owned).to_vec();
    for entry in fs::read_dir(dir).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.ends_with(".cassette.jsonl") {
            arguments.extend(["--replay".to_owned(), name]);
        } else if name.contains(".eval.") || name.contains(".jsonl") || is_table(&name) {
            arguments.push(name);
        }
    }
    arguments
}

/// What an example gave, by case and trial: of each record what `expected` names, so that an example may promise its misses, too.
fn results(cx: &TestContext, arguments: &[String], expected: &Value) -> Value {
    let model = model();
    // As if the Python SDK were installed.
    let ran = cx
        .agentv(arguments)
        .env("MODEL_URL", model.url())
        .env("MODEL", "llama3.2")
        .env("CLAUDE_EXECUTABLE", "./stand-in.sh")
        .env("VSCODE_CMD", cx.fake_code(".bin/code").program())
        .env("CODEX_EXECUTABLE", "./stand-in.sh")
        .env("PYTHONPATH", repository().join("packages/python"))
        .run();
    ran.success().stderr_lacks("error[").stderr_lacks("warning[");
    let one = |record: Value| {
        let name = name(&record);
        let outcome = outcome(&record, &expected[&name]);
        (name, outcome)
    };
    Value::Object(ran.records().into_iter().map(one).collect())
}

/// The case, and which trial of it if there are several.
fn name(record: &Value) -> String {
    let id = record["eval_id"].as_str().unwrap();
    record.get("trial").map_or_else(|| id.to_owned(), |trial| format!("{id}, trial {trial}"))
}

/// What examples with a real model talk to: a judge where it is asked for a verdict, else a shop.
pub(crate) fn model() -> FakeLlm {
    FakeLlm::start(|asked| {
        let is_judge = asked.body.to_string().contains("single JSON object");
        let verdict = r#"{"score": 1, "hits": ["names the 30 days"], "reasoning": "Polite."}"#;
        let answer = "You can return the lamp within 30 days.";
        FakeReply::text(asked, if is_judge { verdict } else { answer })
    })
}

fn outcome(record: &Value, expected: &Value) -> Value {
    let mut outcome = json!({ "score": record["score"], "status": record["status"] });
    for key in expected.as_object().into_iter().flat_map(|expected| expected.keys()) {
        outcome[key] = record[key].clone();
    }
    outcome
}

#[test]
fn every_example_gives_what_it_promises() {
    for example in examples() {
        let cx = context();
        copy(&example, cx.dir());
        let text = fs::read_to_string(example.join("expected.json")).unwrap_or_default();
        let expected: Value = serde_json::from_str(&text).unwrap_or_default();
        let found = results(&cx, &arguments(&example), &expected);
        assert_eq!(found, expected, "{}", example.display());
        assert!(example.join("README.md").is_file(), "{} has no README.md", example.display());
    }
}

#[test]
fn the_recorded_runs_compare_as_their_readme_says() {
    let example = repository().join("examples/features/compare");
    let cx = context();
    copy(&example, cx.dir());
    let readme = fs::read_to_string(example.join("README.md")).unwrap();
    let guide = fs::read_to_string(repository().join("docs/guide/compare.md")).unwrap();
    let ran = cx.agentv(["compare", "before.jsonl", "after.jsonl"]).run();
    ran.success();
    // The whole table, as it stands.
    assert!(readme.contains(ran.stdout.trim()), "{}", ran.stdout);
    assert!(guide.contains(ran.stdout.trim()), "{}", ran.stdout);
    // Two cases of the baseline cannot be compared.
    cx.agentv(["compare", "before.jsonl", "after.jsonl", "--strict"]).run().code(3);
    let ran = cx.agentv(["compare", "before.jsonl", "after.jsonl", "--format", "json"]).run();
    let printed: Value = serde_json::from_str(&ran.stdout).unwrap();
    let text = fs::read_to_string(example.join("expected.json")).unwrap();
    let expected: Value = serde_json::from_str(&text).unwrap();
    for key in ["summary", "verdict"] {
        assert_eq!(printed[key], expected[key], "{key}");
    }
}
