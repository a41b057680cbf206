//! Workspaces: a copy of a template for each attempt, and what the agent changed in it.

mod changes;

use crate::{context, eval};
use agentv_test_support::{
    FakeLlm, FakeReply, JudgeDump, Ran, TestContext, cli_target, openai_target, result_of, suite,
    targets,
};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// A repository with a small template, an agent that does what a test says, and a judge that tells what it was given.
struct Bench {
    cx: TestContext,
    judge: JudgeDump,
    /// Keys of the target, each on a line of its own.
    keys: String,
}

impl Bench {
    #[track_caller]
    fn new() -> Self {
        let cx = context();
        cx.write("template/README.md", "# Calculator\n");
        cx.write("template/src/add.py", "def add(a, b):\n    return a - b\n");
        let judge = cx.judge_dump("judge", r#"{"score": 1}"#);
        Self { cx, judge, keys: "    workspace: template\n".to_owned() }
    }

    /// With other keys than `workspace: template`.
    fn with(self, keys: &str) -> Self {
        Self { keys: format!("{keys}\n"), ..self }
    }

    /// Writes an agent that runs this script in its workspace, its target and a suite of one case.
    #[track_caller]
    fn write(&self, agent: &str) {
        self.cx.script("agent.sh", &format!("#!/bin/sh\nset -e\n{agent}\necho done\n"));
        let command = "exec \"$AGENTV_EVAL_DIR\"/agent.sh {EVAL_ID} {ATTEMPT}";
        let target = cli_target("default", command) + &self.keys;
        self.cx.write("targets.yaml", &targets(&[target]));
        self.cx.write("suite.yaml", &suite(json!([self.judge.evaluator()])));
    }

    /// Runs the suite.
    #[track_caller]
    fn eval(&self, more: &[&str]) -> Ran {
        eval(&self.cx, more)
    }

    /// Runs one case on an agent that runs this script in its workspace.
    #[track_caller]
    fn run(&self, agent: &str) -> Ran {
        self.write(agent);
        self.eval(&[])
    }

    /// What is said of a file after the agent has run: `status path +added -deleted`, with ` binary` and the old path.
    #[track_caller]
    fn changes(&self, agent: &str) -> Vec<String> {
        let ran = self.run(agent);
        ran.success();
        listed(&ran.record())
    }

    /// The diff that judges get.
    fn diff(&self) -> String {
        self.judge.payload()["file_changes"].as_str().unwrap().to_owned()
    }

    /// What is left in the directory for temporary files.
    fn left(&self) -> usize {
        fs::read_dir(self.cx.temp()).unwrap().count()
    }
}

#[track_caller]
fn listed(record: &Value) -> Vec<String> {
    let files = record["file_changes"]["files"].as_array().unwrap();
    let line = |file: &Value| {
        let text = |key: &str| file[key].as_str().unwrap_or_default().to_owned();
        let from = file["old_path"].as_str().map(|old| format!(" from {old}")).unwrap_or_default();
        let binary = if file["binary"] == true { " binary" } else { "" };
        let (status, path) = (text("status"), text("path"));
        format!("{status} {path}{from}{binary} +{} -{}", file["additions"], file["deletions"])
    };
    files.iter().map(line).collect()
}

#[test]
fn what_is_no_file_is_left_out_of_the_copy_and_told() {
    let bench = Bench::new();
    // A directory with named pipes.
    let _pipes = bench.cx.meeting("template/pipes");
    let ran = bench.run("test -z \"$(ls -A pipes)\"");
    ran.success().stderr_has("of the template is not a file, directory or link: not copied");
}

#[test]
fn a_dataset_takes_its_workspace_from_the_file_beside_it() {
    let bench = Bench::new().with("    workers: 1");
    bench.write("cat README.md > copy.md");
    let judge = bench.judge.evaluator();
    bench.cx.write("evals/project/README.md", "# Other\n");
    bench.cx.write(
        "evals/data.yaml",
        &format!("workspace: project\nexecution: {{evaluators: [{judge}]}}\n"),
    );
    bench.cx.write(
        "evals/data.jsonl",
        "{\"id\": \"one\", \"expected_outcome\": \"x\", \"input\": \"x\"}\n",
    );
    fs::copy(bench.cx.path("agent.sh"), bench.cx.path("evals/agent.sh")).unwrap();
    let ran = bench.cx.agentv(["eval", "evals/data.jsonl", "--out", "out.jsonl"]).run();
    assert_eq!(listed(&ran.record()), ["added copy.md +1 -0"]);
    assert!(bench.diff().contains("+# Other\n"));
}

#[test]
fn modes_are_kept_and_directories_without_the_right_to_write_are_removed() {
    let bench = Bench::new();
    bench.cx.script("template/tool.sh", "#!/bin/sh\n");
    bench.cx.write("template/locked/file", "1\n");
    let set = |mode| {
        fs::set_permissions(bench.cx.path("template/locked"), fs::Permissions::from_mode(mode))
            .unwrap();
    };
    set(0o555);
    let changes = bench.changes(
        "./tool.sh\nstat -c %a locked > mode\nmkdir -p x/y\necho 1 > x/y/z\nchmod 500 x/y x",
    );
    set(0o755);
    assert_eq!(changes, ["added mode +1 -0", "added x/y/z +1 -0"]);
    assert!(bench.diff().contains("+555\n"));
    assert_eq!(bench.left(), 0);
}

#[test]
fn setup_runs_before_the_baseline_and_in_the_copy() {
    let bench = Bench::new().with(
        "    workspace:\n      template: template\n      setup: [[touch, made.txt], [sh, -c, 'echo \"$AGENTV_EVAL_DIR\" > where']]",
    );
    bench.cx.write("expected", "");
    let changes = bench.changes("rm made.txt\ntest \"$(cat where)\" = \"$AGENTV_EVAL_DIR\"");
    assert_eq!(changes, ["deleted made.txt +0 -0"]);
    assert!(!bench.cx.path("template/made.txt").exists());
}

#[test]
fn a_setup_that_fails_says_what_the_command_said() {
    let bench = Bench::new().with(
        "    workspace:\n      template: template\n      setup: [sh, -c, 'echo no network >&2; exit 7']\n      keep: never",
    );
    let ran = bench.run("touch \"$AGENTV_EVAL_DIR\"/asked");
    ran.code(3);
    let error = ran.record()["error"].as_str().unwrap().to_owned();
    let expected = "the setup of the workspace failed: `sh -c echo no network >&2; exit 7` ended with exit code 7: no network";
    assert_eq!(error, expected);
    assert!(!bench.cx.path("asked").exists(), "the agent was asked all the same");
    assert_eq!(bench.left(), 0);
}

#[test]
fn workspaces_of_failed_cases_stay_unless_told_otherwise() {
    let keys = |keep: &str| format!("    workspace:\n      template: template\n{keep}");
    for (keep, score, kept) in [
        ("", 1, false),
        ("", 0, true),
        ("      keep: on_failure", 0, true),
        ("      keep: always", 1, true),
        ("      keep: never", 0, false),
    ] {
        let mut bench = Bench::new().with(&keys(keep));
        bench.judge = bench.cx.judge_dump("other", &json!({ "score": score }).to_string());
        let ran = bench.run("echo 1 > new.txt");
        let record = ran.record();
        assert_eq!(record["workspace"].is_string(), kept, "{keep} {score}");
        // Nothing but the workspace itself stays.
        assert_eq!(bench.left(), usize::from(kept), "{keep} {score}");
        if kept {
            let path = record["workspace"].as_str().unwrap();
            assert_eq!(fs::read_to_string(Path::new(path).join("new.txt")).unwrap(), "1\n");
            ran.stdout_has("\nWorkspaces kept  ").stdout_has(path);
        } else {
            ran.stdout_lacks("Workspaces kept");
        }
    }
}

#[test]
fn a_case_wins_over_its_suite_and_its_target_key_by_key() {
    let bench = Bench::new().with("    workspace: {template: template, keep: never}");
    bench.write("true");
    bench.cx.write("evals/other/only.txt", "1\n");
    let text = |case: &str, suite: &str| {
        format!(
            "execution: {{workspace: {suite}}}\nevalcases:\n  - id: one\n    expected_outcome: x\n    input: x\n    \
             workspace: {case}\n    evaluators: [{}]\n",
            bench.judge.evaluator()
        )
    };
    let run = |text: &str| {
        bench.cx.script("evals/agent.sh", "#!/bin/sh\nls > files\n");
        bench.cx.write("evals/suite.yaml", text);
        bench.cx.agentv(["eval", "evals/suite.yaml", "--out", "out.jsonl"]).run()
    };
    // The template is taken from the directory of the file that names it.
    let record = run(&text("{keep: always}", "{template: other, keep: never}")).record();
    assert!(record["workspace"].is_string());
    assert!(record["file_changes"]["diff"].as_str().unwrap().contains("+files\n+only.txt\n"));
    let record = run(&text("{}", "{}")).record();
    assert_eq!(record.get("workspace"), None);
    assert!(record["file_changes"]["diff"].as_str().unwrap().contains("+README.md\n"));
}

#[test]
fn without_a_template_the_workspace_is_empty() {
    let bench = Bench::new().with("    workspace: {}");
    assert_eq!(bench.changes("test -z \"$(ls -A)\"\necho 1 > a"), ["added a +1 -0"]);
}

#[test]
fn a_code_judge_runs_tests_in_the_workspace() {
    let bench = Bench::new();
    let judge = bench.cx.script(
        "tests.py",
        "#!/usr/bin/env python3\n\
         import json, subprocess, sys\n\
         payload = json.load(sys.stdin)\n\
         ran = subprocess.run([sys.executable, '-c', 'from src.add import add; assert add(1, 2) == 3'],\n    \
         cwd=payload['workspace_path'], capture_output=True)\n\
         assert '+    return a + b' in payload['file_changes']\n\
         print(json.dumps({'score': 1 if ran.returncode == 0 else 0}))\n",
    );
    bench.write("sed -i 's/a - b/a + b/' src/add.py");
    bench.cx.write(
        "suite.yaml",
        &suite(json!([{ "name": "tests", "type": "code_judge", "script": [judge] }])),
    );
    let ran = bench.eval(&[]);
    let record = ran.record();
    assert_eq!(result_of(&record, "tests")["score"], 1, "{record:#}");
    // What the judge left there is no change of the agent's.
    assert_eq!(listed(&record), ["modified src/add.py +1 -1"]);
}

#[test]
fn llm_judges_are_shown_the_diff() {
    let bench = Bench::new();
    let model = FakeLlm::start(|asked| FakeReply::text(asked, r#"{"score": 1, "checks": []}"#));
    bench.write("true");
    let agent = cli_target("default", "echo 1 > new.txt; echo done")
        + "    workspace: template\n    judge_target: judge\n";
    bench.cx.write("targets.yaml", &targets(&[agent, openai_target("judge", &model.url())]));
    let evaluators = json!([
        { "name": "default", "type": "llm_judge" },
        { "name": "own", "type": "llm_judge", "prompt": "Look: {{ candidate_answer }} {{ file_changes }}!" },
        { "name": "items", "type": "llm_judge", "rubrics": ["adds a file"] },
    ]);
    bench.cx.write("suite.yaml", &suite(evaluators));
    let ran = bench
        .cx
        .agentv(["eval", "suite.yaml", "--out", "out.jsonl"])
        .env("OPENAI_API_KEY", "k")
        .run();
    let record = ran.record();
    let diff = "diff --git a/new.txt b/new.txt\nnew file mode 100644\nindex 0000000..d00491f\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+1";
    for (name, expected) in [
        ("default", format!("\n\n[[ ## file_changes ## ]]\n{diff}")),
        ("own", format!("Look: done {diff}!")),
        ("items", format!("\n\n[[ ## file_changes ## ]]\n{diff}\n\n[[ ## rubrics ## ]]\n")),
    ] {
        let prompt = &result_of(&record, name)["evaluator_provider_request"]["user_prompt"];
        assert!(prompt.as_str().unwrap().contains(&expected), "{name}: {prompt:#}");
    }
}

#[test]
fn workers_do_not_see_each_others_copy() {
    let bench = Bench::new().with("    workspace: template\n    workers: 2");
    let mut meeting = bench.cx.meeting("meeting");
    // Both have written before either goes on.
    bench.write(&format!("touch \"$1\"\n{}", meeting.attend("there")));
    let case = |id: &str| {
        let judge = bench.judge.evaluator();
        format!("  - {{id: {id}, expected_outcome: x, input: x, evaluators: [{judge}]}}\n")
    };
    bench.cx.write("suite.yaml", &format!("evalcases:\n{}{}", case("one"), case("two")));
    let running = bench.cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).start();
    meeting.next();
    meeting.next();
    meeting.let_go(2);
    let ran = running.finish();
    for id in ["one", "two"] {
        assert_eq!(listed(&ran.record_of(id)), [format!("added {id} +0 -0")]);
    }
}

#[test]
fn an_attempt_after_a_time_out_has_a_fresh_copy() {
    let bench = Bench::new().with("    workspace: template\n    timeout_seconds: 3");
    bench.write("echo 1 > \"attempt-$2\"\nif [ \"$2\" = 0 ]; then sleep 600; fi");
    let ran = bench.eval(&["--max-retries", "1"]);
    assert_eq!(listed(&ran.record()), ["added attempt-1 +1 -0"]);
    assert_eq!(bench.left(), 0);
}

#[test]
fn a_target_that_fails_still_shows_what_it_changed() {
    let bench = Bench::new();
    let ran = bench.run("echo 1 > half-done.txt; exit 9");
    ran.code(3);
    assert_eq!(listed(&ran.record()), ["added half-done.txt +1 -0"]);
    assert!(Path::new(ran.record()["workspace"].as_str().unwrap()).join("half-done.txt").exists());
}

#[test]
fn an_interrupted_run_leaves_no_workspace() {
    for setup in [true, false] {
        let bench = Bench::new();
        bench.write("true");
        let meeting = bench.cx.meeting("meeting");
        let wait = bench
            .cx
            .script("wait.sh", &format!("#!/bin/sh\n{}\nsleep 600\n", meeting.tell("there")));
        let wait = wait.display().to_string();
        let (setup, command) =
            if setup { (format!("[[{wait}]]"), "true") } else { ("[]".to_owned(), wait.as_str()) };
        let target = cli_target("default", command)
            + &format!("    workspace: {{template: template, keep: always, setup: {setup}}}\n");
        bench.cx.write("targets.yaml", &targets(&[target]));
        let running = bench.cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).start();
        meeting.next();
        assert!(bench.left() > 0);
        running.signal("INT");
        running.finish().code(130);
        assert_eq!(bench.left(), 0);
    }
}

#[test]
fn a_batch_leaves_cases_with_workspaces_out() {
    let bench = Bench::new().with("    workspace: template\n    provider_batching: true");
    let ran = bench.run("echo 1 > new.txt");
    ran.success().stderr_has("1 case with a workspace runs one by one");
    assert_eq!(listed(&ran.record()), ["added new.txt +1 -0"]);
}

#[test]
fn what_is_wrong_with_a_workspace_is_shown_with_its_place() {
    let bench = Bench::new().with(
        "    workspace:\n      template: templat\n      setup: [npm ci, npm test]\n      keep: on_failur\n      setp: []",
    );
    let ran = bench.run("true");
    ran.code(2);
    for text in [
        "the template `templat` of `workspace` of target `default` does not exist",
        "targets.yaml:6:17",
        "names the program `npm ci`, with a space in it",
        "did you mean `on_failure`?",
        "did you mean `setup`?",
    ] {
        ran.stderr_has(text);
    }
}

#[test]
fn a_missing_template_costs_only_its_case() {
    let bench = Bench::new();
    bench.write("true");
    let case = |id: &str, template: &str| {
        let judge = bench.judge.evaluator();
        format!(
            "  - {{id: {id}, expected_outcome: x, input: x, workspace: {template}, evaluators: [{judge}]}}\n"
        )
    };
    bench.cx.write(
        "suite.yaml",
        &format!("evalcases:\n{}{}", case("good", "template"), case("bad", "suite.yaml")),
    );
    let ran = bench.eval(&["--skip-invalid"]);
    ran.success()
        .stderr_has("the template `suite.yaml` of `workspace` of case `bad` is not a directory");
    assert_eq!(ran.records().len(), 1);
}

#[test]
fn a_template_around_the_temporary_files_is_refused() {
    let bench = Bench::new().with("    workspace: .");
    let ran = bench.run("true");
    ran.code(3).stdout_has("cannot be copied into itself");
}

#[test]
fn without_git_the_error_names_it() {
    let bench = Bench::new();
    bench.write("true");
    // All that the case needs besides Git.
    bench.cx.write("bin/.keep", "");
    let ran = bench
        .cx
        .agentv(["eval", "suite.yaml", "--out", "out.jsonl"])
        .env("PATH", bench.cx.path("bin"))
        .run();
    ran.code(3).stdout_has("a workspace needs the program `git`");
}

#[test]
fn a_dry_run_makes_no_workspace() {
    let bench =
        Bench::new().with("    workspace: {template: template, setup: [touch, /nowhere/x]}");
    bench.write("true");
    let ran = bench.eval(&["--dry-run"]);
    ran.success();
    assert_eq!(ran.record().get("file_changes"), None);
}
