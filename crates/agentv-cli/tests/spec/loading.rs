//! Eval files, datasets and targets: what is read from where.

use crate::context;
use agentv_test_support::{JudgeDump, TestContext, mock_target, targets};
use serde_json::{Value, json};
use std::path::PathBuf;

/// A repository with a case in `evals/` that names these files, which hold `<text of NAME>`, and a judge that keeps what it
/// is given.
struct Guided {
    cx: TestContext,
    judge: JudgeDump,
    record: Value,
}

impl Guided {
    #[track_caller]
    fn run(cx: TestContext, files: &[&str]) -> Self {
        for file in files {
            let written = file.replace('\\', "/");
            cx.write(format!("evals/{written}"), &format!("<text of {written}>\n"));
        }
        let judge = cx.judge_dump("judge", r#"{"score":1}"#);
        let parts: Vec<Value> = [json!({"type": "text", "value": "Do it"})]
            .into_iter()
            .chain(files.iter().map(|file| json!({"type": "file", "value": file})))
            .collect();
        let suite = json!({"evalcases": [{
            "id": "one",
            "expected_outcome": "It is done",
            "input_messages": [{"role": "user", "content": parts}],
            "evaluators": [{"name": "judge", "type": "code_judge", "script": [judge.script]}],
        }]});
        cx.write("evals/suite.yaml", &suite.to_string());
        cx.write("targets.yaml", &targets(&[mock_target("default", "done")]));
        let ran = cx.agentv(["eval", "evals/suite.yaml", "--out", "out.jsonl"]).run();
        let record = ran.success().record();
        Self { cx, judge, record }
    }

    /// Checks which files were guidelines; all others must have been part of the question.
    #[track_caller]
    fn check(&self, guidelines: &[&str], inputs: &[&str]) {
        let payload = self.judge.payload();
        assert_eq!(paths(&payload["guideline_files"]), self.absolute(guidelines));
        assert_eq!(paths(&payload["input_files"]), self.absolute(inputs));
        let request = &self.record["lm_provider_request"];
        let (question, rules) =
            (request["question"].as_str().unwrap(), request["guidelines"].as_str().unwrap());
        for (here, there, names) in [(rules, question, guidelines), (question, rules, inputs)] {
            for name in names {
                let text = format!("<text of {name}>");
                assert!(here.contains(&text) && !there.contains(&text), "{name}: {request:#}");
            }
        }
        assert!(question.contains("Do it"), "{request:#}");
    }

    fn absolute(&self, names: &[&str]) -> Vec<PathBuf> {
        names.iter().map(|name| self.cx.path("evals").join(name)).collect()
    }
}

#[track_caller]
fn paths(list: &Value) -> Vec<PathBuf> {
    serde_json::from_value(list.clone()).unwrap()
}

#[test]
fn s033_s089_patterns_of_agentv_yaml_choose_the_guidelines() {
    let cx = context();
    cx.write("evals/.agentv.yaml", "guideline_patterns: ['**/*.rules.md']\n");
    // Looked at only where the directory of the eval file says nothing.
    cx.write(".agentv/config.yaml", "guideline_patterns: ['**/*']\n");
    let run = Guided::run(cx, &["house.rules.md", "notes.md", "x.instructions.md"]);
    run.check(&["house.rules.md"], &["notes.md", "x.instructions.md"]);
}

#[test]
fn s033_s089_an_empty_list_means_no_guidelines() {
    let cx = context();
    cx.write("evals/.agentv.yaml", "guideline_patterns: []\n");
    Guided::run(cx, &["x.instructions.md"]).check(&[], &["x.instructions.md"]);
}

#[test]
fn s034_s090_without_configuration_the_default_patterns_hold() {
    let files = [
        "x.instructions.md",
        "instructions/deep/b.txt",
        "y.prompt.md",
        "prompts/a.md",
        "notes.md",
        "prompts.md",
    ];
    let run = Guided::run(context(), &files);
    run.check(&files[..4], &files[4..]);
}

#[test]
fn s034_s090_hidden_folders_have_guidelines_too() {
    let files = [".github/instructions/a.md", ".github/prompts/b.txt", ".github/notes.md"];
    Guided::run(context(), &files).check(&files[..2], &files[2..]);
    let cx = context();
    cx.write(".agentv/config.yaml", "guideline_patterns: ['**/rules/*.md']\n");
    Guided::run(cx, &[".team/rules/a.md", "b.md"]).check(&[".team/rules/a.md"], &["b.md"]);
}

#[test]
fn s035_s091_patterns_of_agentv_yaml_start_at_its_folder_or_at_the_root() {
    let cx = context();
    cx.write("evals/.agentv.yaml", "guideline_patterns: ['one/*.md', 'evals/two/*.md']\n");
    let run = Guided::run(cx, &["one/a.md", "two/b.md", "three/one/c.md"]);
    run.check(&["one/a.md", "two/b.md"], &["three/one/c.md"]);
    // Those of the project start at the root.
    let cx = context();
    cx.write(".agentv/config.yaml", "guideline_patterns: ['one/*.md', 'evals/two/*.md']\n");
    Guided::run(cx, &["one/a.md", "two/b.md"]).check(&["two/b.md"], &["one/a.md"]);
}

#[test]
fn s035_s091_patterns_see_forward_slashes_and_know_stars() {
    let cx = context();
    cx.write(
        "evals/.agentv.yaml",
        "guideline_patterns: ['evals/one/*.md', '**/deep/**', '**/{a,b}.txt']\n",
    );
    let files = ["one/a.md", "one/two/b.md", "x/deep/y/z.rs", "x/b.txt", "x/c.txt", "other.md"];
    Guided::run(cx, &files)
        .check(&["one/a.md", "x/deep/y/z.rs", "x/b.txt"], &["one/two/b.md", "x/c.txt", "other.md"]);
}

#[test]
fn s035_s091_a_windows_style_reference_is_the_same_file() {
    let cx = context();
    cx.write("evals/.agentv.yaml", "guideline_patterns: ['evals/one/*.md']\n");
    let run = Guided::run(cx, &["one\\a.md", "two\\b.md"]);
    run.check(&["one/a.md"], &["two/b.md"]);
}
