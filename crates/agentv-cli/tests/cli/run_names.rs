//! `latest` and `previous`, wherever a run is named, and the runs that `agentv compare` takes by itself.

use crate::runs::folders;
use crate::{eval, mocked};
use agentv_test_support::{TestContext, cases};

/// Two runs of `suite.yaml`; the ids of both, the older one first.
#[track_caller]
fn twice() -> (TestContext, [String; 2]) {
    let cx = mocked(&["a"]);
    eval(&cx, &[]).success();
    eval(&cx, &[]).success();
    let ids = ids(&cx);
    (cx, ids.try_into().unwrap())
}

#[track_caller]
fn ids(cx: &TestContext) -> Vec<String> {
    let name = |path: &std::path::PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    folders(cx).iter().map(name).collect()
}

#[test]
fn latest_and_previous_name_a_run_in_every_command() {
    let (cx, [previous, latest]) = twice();
    for (name, id) in [("latest", &latest), ("previous", &previous)] {
        cx.agentv(["runs", "show", name]).run().success().stdout_has(id);
        cx.agentv(["verify", name]).run().success().stdout_has(id);
        cx.agentv(["report", name]).run().success();
        assert!(cx.path(format!(".agentv/runs/{id}/report.html")).is_file(), "{name}");
        cx.agentv(["convert", name]).run().success();
        assert!(cx.read(format!("{id}.yaml")).contains("eval_id: a"), "{name}");
        cx.agentv(["plan", name, "--difference", "0.1"]).run().code(0);
        cx.agentv(["merge", name, "--out", "merged.jsonl"]).run().success();
        cx.agentv(["eval", "--resume", name]).run().success().stdout_has(id);
        let judge = ["judge", "test", "--record", name, "--", "echo", "{\"score\": 1}"];
        cx.agentv(judge).run().success();
    }
    cx.agentv(["compare", "previous", "latest"])
        .run()
        .success()
        .stdout_has(&format!("Comparing: {previous} → {latest}"));
    cx.agentv(["grade", "previous"]).run().success().stdout_has(&previous);
    cx.agentv(["grade", "latest"]).run().success().stdout_has(&latest);
}

#[test]
fn both_names_are_known_before_the_first_is_removed() {
    let (cx, [previous, latest]) = twice();
    let ran = cx.agentv(["runs", "rm", "latest", "previous"]).run();
    ran.success().stdout_has(&format!("removed {latest}\nremoved {previous}\n"));
    assert!(folders(&cx).is_empty());
}

#[test]
fn a_run_that_is_not_there_is_said() {
    let cx = mocked(&["a"]);
    for command in [vec!["report"], vec!["report", "latest"], vec!["runs", "show"]] {
        cx.agentv(command).run().code(2).stderr_has("`latest`: there are no runs in this project");
    }
    cx.agentv(["compare"]).run().code(2).stderr_has("there are no complete runs in this project");
    eval(&cx, &[]).success();
    for command in [["report", "previous"], ["grade", "previous"], ["convert", "previous"]] {
        cx.agentv(command).run().code(2).stderr_has("there is only one run in this project");
    }
    let ran = cx.agentv(["compare"]).run();
    ran.code(2).stderr_has("there is no earlier complete run of the suites of");
    let ran = cx.agentv(["compare", "latest"]).run();
    ran.code(2).stderr_has("only one run to compare: `latest`");
}

#[test]
fn a_misspelt_name_is_answered_with_the_one_that_was_meant() {
    let (cx, [previous, latest]) = twice();
    for command in [
        &["report", "lates"][..],
        &["runs", "show", "lates"],
        &["runs", "rm", "lates"],
        &["verify", "lates"],
        &["convert", "lates"],
        &["plan", "lates", "--difference", "0.1"],
        &["merge", "lates", "--out", "merged.jsonl"],
        &["eval", "--resume", "lates"],
        &["grade", "lates"],
        &["compare", "previous", "lates"],
        &["judge", "test", "--record", "lates", "--", "echo", "x"],
    ] {
        let ran = cx.agentv(command).run();
        ran.code(2).stderr_has("`lates`: no such file, folder or run; did you mean `latest`?");
    }
    cx.agentv(["report", "preivous"]).run().code(2).stderr_has("did you mean `previous`?");
    for id in [previous, latest] {
        let typo = format!("{id}x");
        let help = format!("did you mean `{id}`?");
        cx.agentv(["report", &typo]).run().code(2).stderr_has(&help);
    }
    let ran = cx.agentv(["report", "nothing-like-it"]).run();
    ran.code(2).stderr_has("no such file, folder or run").stderr_lacks("did you mean");
}

#[test]
fn compare_takes_the_last_two_runs_of_the_same_suites() {
    let (cx, [previous, latest]) = twice();
    cx.write("other.yaml", &cases(&["b"]));
    cx.agentv(["compare"]).run().stdout_has(&format!("Comparing: {previous} → {latest}"));
    cx.agentv(["eval", "other.yaml"]).run().success();
    cx.agentv(["eval", "suite.yaml"]).run().success();
    let newest = ids(&cx).pop().unwrap();
    cx.agentv(["compare"]).run().stdout_has(&format!("Comparing: {latest} → {newest}"));
    // A run of some cases in between is passed over, and compared only if it is the last.
    cx.agentv(["eval", "suite.yaml", "--filter", "a"]).run().success();
    let part = ids(&cx).pop().unwrap();
    cx.agentv(["compare"]).run().stdout_has(&format!("Comparing: {newest} → {part}"));
    cx.agentv(["eval", "suite.yaml"]).run().success();
    let whole = ids(&cx).pop().unwrap();
    cx.agentv(["compare"]).run().stdout_has(&format!("Comparing: {newest} → {whole}"));
}
