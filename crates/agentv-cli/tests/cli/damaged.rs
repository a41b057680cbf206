//! Run folders whose `run.json` is damaged or gone: they are named, and what is whole is still of use.

use crate::runs::folder;
use crate::{eval, mocked};
use agentv_test_support::{TestContext, cases, cli_target, targets};
use std::fs;

fn damaged(text: Option<&str>) -> (TestContext, String) {
    let cx = mocked(&[]);
    cx.write("targets.yaml", &targets(&[cli_target("default", "echo ok > {OUTPUT_FILE}")]));
    cx.write("suite.yaml", &cases(&["a", "b"]));
    eval(&cx, &[]).success();
    let info = folder(&cx).join("run.json");
    match text {
        Some(text) => fs::write(info, text).unwrap(),
        None => fs::remove_file(info).unwrap(),
    }
    let run = folder(&cx).file_name().unwrap().to_str().unwrap().to_owned();
    (cx, run)
}

#[test]
fn a_run_is_known_by_its_journal_if_run_json_is_damaged() {
    for text in [Some("{\"run\": "), Some(""), None] {
        let (cx, run) = damaged(text);
        // No case runs again: the target would fail.
        cx.write("targets.yaml", &targets(&[cli_target("default", "exit 1")]));
        let listed = cx.agentv(["runs", "list"]).run();
        listed.success().stdout_has(&run).stdout_has("suite.yaml").stderr_has("is damaged");
        listed
            .stderr_has("has 2 records and 2 answers")
            .stderr_has(&format!("agentv eval --resume {run}"));
        cx.agentv(["runs", "show"]).run().success().stdout_has("2 of 2").stderr_has("is damaged");
        cx.agentv(["report", "latest", "--markdown", "-"]).run().success().stdout_has(&run);
        cx.agentv(["grade", &run, "--out", "graded.jsonl"])
            .run()
            .success()
            .stdout_has("Grading 2 answers");
        let resumed = cx.agentv(["eval", "--resume", &run]).run();
        resumed.success().stdout_has("2 of 2 cases are done");
        assert_eq!(cx.agentv(["runs", "list"]).run().success().stderr, "");
    }
}

#[test]
fn a_run_of_an_earlier_version_is_named_with_what_can_be_done() {
    let (cx, run) = damaged(Some("nothing"));
    let journal = folder(&cx).join("journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    let begun: Vec<&str> = text.lines().filter(|line| !line.starts_with("{\"begun\"")).collect();
    fs::write(&journal, begun.join("\n") + "\n").unwrap();
    let listed = cx.agentv(["runs", "list"]).run();
    listed.success().stderr_has(&run).stderr_has("is damaged").stderr_has("agentv grade");
    cx.agentv(["eval", "--resume", &run])
        .run()
        .code(2)
        .stderr_has("is damaged")
        .stderr_has("agentv grade");
    cx.agentv(["eval", "--resume"]).run().code(2).stderr_has("is damaged");
    cx.agentv(["runs", "show", &run]).run().code(2).stderr_has("is damaged");
    cx.agentv(["report", &run, "--csv", "-"]).run().success();
    cx.agentv(["grade", &run, "suite.yaml", "--out", "graded.jsonl"]).run().success();
}
