//! `agentv init`, and `agentv eval` without a path: a new user's first minutes.

use crate::context;
use agentv_test_support::{TestContext, mock_target, targets};
use std::path::Path;

const ENTER: &str = "\r";
const SPACE: &str = " ";
const DOWN: &str = "\x1b[B";
const CTRL_C: &str = "\x03";

const KEY: &str = "sk-planted-and-never-to-be-seen";

/// A folder with a stand-in for `claude`, and nothing else on `PATH` but what the shell needs.
fn with_claude(cx: &TestContext) -> String {
    cx.script("bin/claude", "#!/bin/sh\necho '2.0.1 (Claude Code)'\n");
    format!("{}:/usr/bin:/bin", cx.path("bin").display())
}

/// Every file below a directory of the test, from there.
fn files(cx: &TestContext, dir: &str) -> Vec<String> {
    fn walk(dir: &Path, top: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, top, found);
            } else {
                found.push(path.strip_prefix(top).unwrap().display().to_string());
            }
        }
    }
    let mut found = Vec::new();
    walk(&cx.path(dir), &cx.path(dir), &mut found);
    found.sort();
    found
}

const WRITTEN: [&str; 8] = [
    ".agentv/schema/config.schema.json",
    ".agentv/schema/eval.schema.json",
    ".agentv/schema/targets.schema.json",
    ".agentv/targets.yaml",
    ".env.example",
    ".github/workflows/agentv.yml",
    ".gitignore",
    "evals/help-desk.eval.yaml",
];

#[test]
fn the_directory_may_be_named_by_a_flag() {
    let cx = context();
    let ran = cx.agentv(["init", "--path", "new/shop", "--yes"]).run();
    ran.success().stdout_has("cd new/shop");
    assert_eq!(files(&cx, "new/shop"), WRITTEN);
    cx.agentv(["init", "shop", "--path", "shop", "--yes"]).run().code(2);
}

#[test]
fn a_new_user_answers_the_questions_runs_a_first_eval_and_looks_at_it() {
    let cx = context();
    let path = with_claude(&cx);
    let init = cx.agentv(["init", "shop"]).env("PATH", &path).env("OPENAI_API_KEY", KEY);
    let mut terminal = init.on_terminal(40, 100);
    let screen = terminal.wait_for("Which of these become targets?");
    assert!(screen.contains("openai       OPENAI_API_KEY is set"), "{screen}");
    assert!(screen.contains("claude-code  `claude` is on PATH"), "{screen}");
    // The first one is unmarked, which leaves Claude Code.
    terminal.press(SPACE);
    terminal.press(ENTER);
    terminal.wait_for("Default target?");
    terminal.press(DOWN);
    terminal.wait_for("❯ claude-code");
    terminal.press(ENTER);
    terminal.wait_for("Which template?");
    terminal.press(ENTER);
    terminal.wait_for("Write a GitHub workflow");
    terminal.press("y");
    let done = terminal.finish();
    assert_eq!(done.code, 0, "{}", done.screen);
    for line in [
        "wrote     evals/help-desk.eval.yaml",
        "agentv eval ",
        "run the suite on claude-code",
        "agentv doctor",
    ] {
        assert!(done.screen.contains(line), "{line}\n{}", done.screen);
    }
    assert_eq!(files(&cx, "shop"), WRITTEN);
    let targets = cx.read("shop/.agentv/targets.yaml");
    assert!(targets.contains("  - name: default\n    provider: claude-code\n"), "{targets}");
    assert!(!targets.contains("openai"), "{targets}");

    let mut eval = cx.agentv(["eval", "--target", "mock"]).cwd("shop").on_terminal(40, 100);
    eval.wait_for("Next     agentv report");
    let done = eval.finish();
    assert_eq!(done.code, 0, "{}", done.screen);
    assert!(!String::from_utf8_lossy(&done.bytes).contains(KEY));

    let report = cx.agentv(["report", "--html", "report.html"]).cwd("shop").on_terminal(40, 100);
    report.finish().code(0).has("report.html");
    let page = cx.read("shop/report.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("help-desk"), "{page:.300}");
}

#[test]
fn without_questions_what_was_found_becomes_a_target_and_the_mock_answers() {
    let cx = context();
    let path = with_claude(&cx);
    let init = cx.agentv(["init", "--yes", "shop"]).env("PATH", &path).env("OPENAI_API_KEY", KEY);
    let ran = init.run();
    ran.success().stdout_has("agentv eval --target openai").stdout_lacks(KEY);
    assert_eq!(files(&cx, "shop"), WRITTEN);
    let targets = cx.read("shop/.agentv/targets.yaml");
    assert!(targets.contains("  - name: default\n    # Always gives the same answer"), "{targets}");
    assert!(targets.contains("api_key: ${{ OPENAI_API_KEY }}"), "{targets}");
    assert!(targets.contains("provider: claude-code\n    judge_target: openai\n"), "{targets}");
    let workflow = cx.read("shop/.github/workflows/agentv.yml");
    assert!(workflow.contains("OPENAI_API_KEY: ${{ secrets.OPENAI_API_KEY }}"), "{workflow}");
    // Nothing that is not published yet is needed.
    let is_npm = |line: &&str| line.contains("npm") && !line.trim_start().starts_with('#');
    assert_eq!(workflow.lines().find(is_npm), None);
    assert!(workflow.contains("cargo install --locked --path"), "{workflow}");
    for file in WRITTEN {
        assert!(!cx.read(format!("shop/{file}")).contains(KEY), "{file} holds the key");
    }

    let ran = cx.agentv(["eval"]).cwd("shop").run();
    ran.success()
        .stdout_has("Found 1 suite: evals/help-desk.eval.yaml")
        .stdout_has("✓ 3 passed  in ");
    let all = ["validate", "--strict", "evals", ".agentv/targets.yaml"];
    cx.agentv(all).env("OPENAI_API_KEY", KEY).cwd("shop").run().success();
}

#[test]
fn with_nothing_on_the_machine_there_is_a_mock() {
    let cx = context();
    let ran = cx.agentv(["init", "--yes"]).env("PATH", "/nowhere").run();
    ran.success().stdout_has("Found no agent on PATH and no key in the environment");
    assert!(!cx.read(".agentv/targets.yaml").contains("judge_target"));
    assert!(!cx.read(".github/workflows/agentv.yml").contains("secrets."));
    cx.agentv(["eval"]).run().success().stdout_has("✓ 3 passed  in ");
}

#[test]
fn what_is_there_stays() {
    let cx = context();
    cx.write("targets.yaml", "targets: []\n");
    cx.write(".env.example", "MINE=\n");
    cx.write(".gitignore", "/dist");
    cx.write("evals/mine.yaml", "evalcases: []\n");
    let ran = cx.agentv(["init", "--yes"]).env("PATH", "/nowhere").run();
    ran.success()
        .stdout_has("kept      targets.yaml  (already exists)")
        .stdout_has("kept      .env.example  (already exists)")
        .stdout_has("extended  .gitignore  (5 lines)")
        .stdout_lacks("help-desk");
    assert_eq!(cx.read("targets.yaml"), "targets: []\n");
    assert_eq!(cx.read(".env.example"), "MINE=\n");
    assert!(cx.read(".gitignore").starts_with("/dist\n.agentv/results/\n"));
    assert!(!cx.path(".agentv/targets.yaml").exists());
    // A second time there is nothing left to do.
    let ran = cx.agentv(["init", "--yes"]).env("PATH", "/nowhere").run();
    ran.success().stdout_lacks("wrote").stdout_lacks("extended");
}

#[test]
fn a_file_is_replaced_only_by_a_yes() {
    let cx = context();
    cx.write(".env.example", "MINE=\n");
    let answer = |key: &str| {
        let mut terminal = cx.agentv(["init"]).env("PATH", "/nowhere").on_terminal(40, 100);
        terminal.wait_for("Which template?");
        terminal.press(ENTER);
        terminal.wait_for("Write a GitHub workflow");
        terminal.press("n");
        terminal.wait_for("`.env.example` exists. Replace it?");
        terminal.press(key);
        terminal.finish()
    };
    let done = answer("n");
    assert!(done.screen.contains("kept      .env.example"), "{}", done.screen);
    assert_eq!(cx.read(".env.example"), "MINE=\n");
    assert!(!cx.path(".github").exists());

    // Now there are suites, too, so there is one question more.
    let mut terminal = cx.agentv(["init"]).env("PATH", "/nowhere").on_terminal(40, 100);
    terminal.wait_for("There are suites here already.");
    terminal.press("n");
    terminal.wait_for("Write a GitHub workflow");
    terminal.press("n");
    terminal.wait_for("`.env.example` exists. Replace it?");
    terminal.press("y");
    assert!(terminal.finish().screen.contains("replaced  .env.example"));
    assert!(cx.read(".env.example").contains("# OPENAI_API_KEY="));
}

#[test]
fn ctrl_c_writes_nothing_and_gives_the_cursor_back() {
    let cx = context();
    let path = with_claude(&cx);
    let mut terminal = cx.agentv(["init", "shop"]).env("PATH", &path).on_terminal(40, 100);
    terminal.wait_for("Which of these become targets?");
    terminal.wait_for("claude-code");
    terminal.press(CTRL_C);
    let done = terminal.finish();
    assert_eq!(done.code, 130, "{}", done.screen);
    assert!(done.screen.contains("interrupted; nothing was written"), "{}", done.screen);
    assert!(done.is_cursor_visible);
    assert!(!cx.path("shop").exists());
}

#[test]
fn without_a_terminal_it_says_so() {
    let cx = context();
    let help = "use `agentv init --yes`, which takes the defaults";
    cx.agentv(["init"]).run().code(2).stderr_has(help);
    let done = cx.agentv(["init"]).env("CI", "true").on_terminal(40, 100).finish();
    assert_eq!(done.code, 2);
    assert!(done.screen.contains(help), "{}", done.screen);
    assert!(!cx.path(".agentv").exists());
}

const TEMPLATES: [&str; 5] = ["rag", "coding-agent", "support", "extraction", "classification"];

#[test]
fn every_template_runs_at_once_and_names_the_lines_to_change() {
    for name in TEMPLATES {
        let cx = context();
        let init = ["init", "shop", "--template", name];
        let ran = cx.agentv(init).env("PATH", "/nowhere").run();
        let suite = format!("evals/{name}.eval.yaml");
        ran.success().stdout_has(&format!("wrote     {suite}")).stdout_has("Change these lines:");
        for file in [&suite, ".agentv/targets.yaml"] {
            let text = cx.read(format!("shop/{file}"));
            let marked = text.lines().enumerate().filter(|(_, line)| line.contains("CHANGE: "));
            for (index, line) in marked {
                let what = line.split_once("CHANGE: ").unwrap().1;
                let shown = ran.stdout.lines().find(|shown| shown.ends_with(what)).unwrap();
                assert!(shown.contains(&format!("{file}:{} ", index + 1)), "{shown}");
                assert!(shown.chars().count() <= 80, "{shown}");
            }
            assert!(text.contains("CHANGE: "), "{file} names no line to change");
        }
        let all = ["validate", "--strict", "evals", ".agentv/targets.yaml"];
        cx.agentv(all).cwd("shop").run().success();
        let gates = ["eval", "--strict", "--case-threshold", "1", "--out", "../out.jsonl"];
        let ran = cx.agentv(gates).cwd("shop").run();
        ran.success();
        let records = cx.read("out.jsonl");
        assert!(records.lines().count() > 0);
        assert!(records.lines().all(|line| line.contains(r#""outcome":"pass""#)), "{records}");
    }
}

#[test]
fn beside_targets_of_the_project_a_template_brings_its_own() {
    for name in TEMPLATES {
        for file in ["targets.yaml", ".agentv/targets.yaml"] {
            let cx = context();
            let own = targets(&[mock_target("default", "mine")]);
            cx.write(file, &own);
            let init = ["init", "--template", name];
            let ran = cx.agentv(init).env("PATH", "/nowhere").run();
            let suite = format!("evals/{name}.eval.yaml");
            let extra = format!(".agentv/{name}.targets.yaml");
            let command = format!("agentv eval {suite} --targets {extra}");
            ran.success()
                .stdout_has(&format!("kept      {file}  (already exists)"))
                .stdout_has(&format!("wrote     {extra}"))
                .stdout_has(&format!("  {command}  "));
            assert_eq!(cx.read(file), own);
            // The command works as it is shown.
            let words = command.split(' ').skip(1).chain(["--case-threshold", "1"]);
            cx.agentv(words).run().success();
            // A bare run takes the suites and nothing else.
            cx.agentv(["eval"]).run().stdout_lacks("targets.yaml:");
            // Once more, and everything stays.
            let again = cx.agentv(init).env("PATH", "/nowhere").run();
            again.success().stdout_lacks("wrote");
        }
    }
}

#[test]
fn the_commented_target_of_a_template_works_once_it_is_uncommented() {
    for name in TEMPLATES {
        let cx = context();
        cx.agentv(["init", "--yes", "--template", name]).env("PATH", "/nowhere").run().success();
        let targets = cx.read(".agentv/targets.yaml");
        let uncommented: String = targets
            .lines()
            .map(|line| match line.strip_prefix("  # ").filter(|_| !line.contains("CHANGE")) {
                Some(rest) => format!("  {rest}\n"),
                None => format!("{line}\n"),
            })
            .collect();
        assert_ne!(targets.lines().count(), 0);
        assert!(uncommented.contains("\n  - name: my-"), "{uncommented}");
        cx.write(".agentv/targets.yaml", &uncommented);
        let all = ["validate", "--strict", ".agentv/targets.yaml"];
        cx.agentv(all).run().success();
    }
}

#[test]
fn a_template_with_a_judge_keeps_to_its_mocks_until_they_are_changed() {
    let cx = context();
    let path = with_claude(&cx);
    let init = cx.agentv(["init", "--yes", "--template", "rag"]);
    init.env("PATH", &path).env("OPENAI_API_KEY", KEY).run().success();
    let targets = cx.read(".agentv/targets.yaml");
    assert!(targets.contains("provider: claude-code\n    judge_target: openai\n"), "{targets}");
    // No key is there now, so a real judge could not answer.
    cx.agentv(["eval", "--case-threshold", "1"]).run().success();
}

#[test]
fn an_unknown_template_names_those_there_are() {
    let cx = context();
    let ran = cx.agentv(["init", "--template", "ragg"]).run();
    ran.code(2).stderr_has("rag").stderr_has("coding-agent").stderr_has("classification");
    let help = cx.agentv(["init", "--help"]).run();
    help.success().stdout_has("Answers from retrieved passages: facts, sources, faithfulness");
}

#[test]
fn a_template_can_be_chosen_by_a_question() {
    let cx = context();
    let mut terminal = cx.agentv(["init"]).env("PATH", "/nowhere").on_terminal(40, 100);
    terminal.wait_for("Which template?");
    terminal.wait_for("rag: Answers from retrieved passages");
    terminal.press(DOWN);
    terminal.wait_for("❯ rag");
    terminal.press(ENTER);
    terminal.wait_for("Write a GitHub workflow");
    terminal.press("n");
    let done = terminal.finish();
    assert_eq!(done.code, 0, "{}", done.screen);
    assert!(done.screen.contains("evals/rag.eval.yaml:8"), "{}", done.screen);
}

#[test]
fn eval_finds_suites_and_nothing_else() {
    let cx = crate::mocked(&[]);
    let suite = agentv_test_support::cases(&["a"]);
    cx.write("evals/one.yaml", &suite);
    cx.write("deep/two.eval.yaml", &suite);
    cx.write("evals/data.jsonl", "{\"id\": \"line\", \"criteria\": \"x\", \"input\": \"y\", \"evaluators\": [{\"name\": \"c\", \"type\": \"contains\", \"value\": \"ok\"}]}\n");
    cx.write("evals/data.yaml", "description: beside the dataset\n");
    cx.write("evals/compose.yaml", "services: {}\n");
    cx.write("evals/old/three.yaml", &suite);
    cx.write(".gitignore", "old/\n");
    let ran = cx.agentv(["eval", "--out", "out.jsonl"]).run();
    ran.success()
        .stdout_has("Found 3 suites: deep/two.eval.yaml, evals/data.jsonl, evals/one.yaml\n")
        .stdout_has("Left out 1 file without cases: evals/compose.yaml\n");
    assert_eq!(ran.records().len(), 3);
    // From inside of `evals`, too.
    let ran = cx.agentv(["eval", "--out", "out.jsonl"]).cwd("evals").run();
    ran.success().stdout_has("Found 2 suites: data.jsonl, one.yaml\n");
}

#[test]
fn without_suites_eval_names_init() {
    let cx = context();
    cx.agentv(["eval"])
        .run()
        .code(2)
        .stderr_has("No eval paths provided, and there are no suites here")
        .stderr_has("run `agentv init` for a first one");
}
