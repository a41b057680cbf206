//! `agentv eval --watch`: what is run again, and how it ends.

use crate::context;
use crate::runs::folders;
use agentv_test_support::{GRADER, Running, TestContext, cases, cli_target, mock_target, targets};
use serde_json::Value;

/// Two suites; a case of the first one reads `question.md`.
#[track_caller]
fn project() -> TestContext {
    let cx = context();
    cx.write("targets.yaml", &targets(&[mock_target("default", "ok")]));
    let input = "[{role: user, content: [{type: file, value: question.md}]}]";
    cx.write(
        "evals/one.yaml",
        &format!(
            "execution:\n  evaluators:\n    - {GRADER}\nevalcases:\n  \
             - {{id: reads, expected_outcome: o, input_messages: {input}}}\n  \
             - {{id: plain, expected_outcome: o, input: q}}\n"
        ),
    );
    cx.write("evals/question.md", "What?");
    cx.write("evals/two.yaml", &cases(&["other"]));
    cx
}

#[track_caller]
fn start(cx: &TestContext, more: &[&str]) -> Running {
    let mut running = cx.agentv(["eval", "--watch"].iter().chain(more)).start();
    until_watching(&mut running);
    running
}

#[track_caller]
fn until_watching(running: &mut Running) {
    loop {
        let line = running.read_line();
        assert!(!line.is_empty(), "it ended");
        if line.contains("Watching for changes") {
            return;
        }
    }
}

/// The ids of the records of the newest run.
#[track_caller]
fn newest(cx: &TestContext) -> Vec<String> {
    let results = folders(cx).pop().unwrap().join("results.jsonl");
    let text = std::fs::read_to_string(results).unwrap();
    let id = |line: &str| {
        let record: Value = serde_json::from_str(line).unwrap();
        record["eval_id"].as_str().unwrap().to_owned()
    };
    let mut ids: Vec<String> = text.lines().map(id).collect();
    ids.sort();
    ids
}

#[test]
fn a_changed_file_runs_the_cases_that_depend_on_it() {
    let cx = project();
    let mut running = start(&cx, &["-o", "out.jsonl"]);
    assert_eq!(newest(&cx), ["other", "plain", "reads"]);
    // No case depends on the first one, so it starts nothing.
    cx.write("notes.md", "nothing");
    cx.write("evals/question.md", "What else?");
    until_watching(&mut running);
    assert_eq!(newest(&cx), ["reads"]);
    cx.write("evals/two.yaml", &cases(&["other", "more"]));
    until_watching(&mut running);
    assert_eq!(newest(&cx), ["more", "other"]);
    cx.write("evals/deep/new.yaml", &cases(&["new"]));
    until_watching(&mut running);
    assert_eq!(newest(&cx), ["new"]);
    cx.write("targets.yaml", &targets(&[mock_target("default", "no")]));
    until_watching(&mut running);
    assert_eq!(newest(&cx).len(), 5);
    running.signal("INT");
    running.finish().success();
    assert_eq!(folders(&cx).len(), 5);
}

#[test]
fn a_broken_file_is_shown_and_the_exit_code_is_that_of_the_last_run() {
    let cx = project();
    let mut running = start(&cx, &["evals/two.yaml", "--threshold", "0.5"]);
    cx.write("evals/two.yaml", "evalcases: [\n");
    until_watching(&mut running);
    assert_eq!(folders(&cx).len(), 1);
    cx.write("evals/two.yaml", &cases(&["other"]).replace("value: ok", "value: never"));
    until_watching(&mut running);
    assert_eq!(folders(&cx).len(), 2);
    running.signal("INT");
    running.finish().code(1).stderr_has("evals/two.yaml");
}

#[test]
fn a_target_that_writes_into_its_own_input_does_not_run_forever() {
    let cx = project();
    let command = format!("echo more >> {}; echo ok", cx.path("evals/question.md").display());
    cx.write("targets.yaml", &targets(&[cli_target("default", &command)]));
    let running = start(&cx, &["evals/one.yaml"]);
    running.signal("INT");
    running.finish().success();
    assert_eq!(folders(&cx).len(), 2);
}

#[test]
fn a_changed_script_of_a_target_runs_all_cases() {
    let cx = project();
    let target = cli_target("agent", "sh agent.sh {PROMPT}") + "    cwd: ../agents\n";
    let other = cli_target("other", "./other.sh {PROMPT}") + "    cwd: ../agents\n";
    cx.write("targets.yaml", &targets(&[target, other]));
    cx.write("agents/agent.sh", "echo ok\n");
    cx.write("agents/other.sh", "echo ok\n");
    let mut running = start(&cx, &["--target", "agent"]);
    assert_eq!(newest(&cx).len(), 3);
    // Another target does not run, and what the script reads is not known.
    cx.write("agents/other.sh", "echo changed\n");
    cx.write("agents/notes.txt", "changed\n");
    cx.write("evals/question.md", "What else?");
    until_watching(&mut running);
    assert_eq!(newest(&cx), ["reads"]);
    cx.write("agents/agent.sh", "echo still ok\n");
    until_watching(&mut running);
    assert_eq!(newest(&cx).len(), 3);
    running.signal("INT");
    running.finish().success();
}
