//! Commands as people type them: folders, short flags, aliases, `--last-failed`, `report --open`.

use crate::runs::{folders, info};
use crate::{context, eval, ids, mocked};
use agentv_test_support::{TestContext, cases, cli_target, mock_target, suite, targets};
use std::path::Path;

/// Two suites; the target says `ok`, but `no` to cases with this text in their question.
#[track_caller]
fn failing(text: &str) -> TestContext {
    let cx = context();
    cx.write("evals/one.yaml", &cases(&["a", "b", "c"]));
    cx.write("evals/two.yaml", &cases(&["a", "bad-d"]));
    fail(&cx, text);
    cx
}

#[track_caller]
fn fail(cx: &TestContext, text: &str) {
    let command = format!("case {{PROMPT}} in *{text}*) echo no;; *) echo ok;; esac");
    cx.write("targets.yaml", &targets(&[cli_target("default", &command)]));
}

#[test]
fn a_folder_stands_for_all_suites_below_it() {
    let cx = mocked(&["outside"]);
    cx.write("checks/a.yaml", &cases(&["a"]));
    cx.write("checks/deep/b.eval.yaml", &cases(&["b"]));
    cx.write("checks/deep/notes.yaml", "title: no cases\n");
    for folder in ["checks", "checks/", "./checks"] {
        let ran = cx.agentv(["eval", folder]).run();
        assert_eq!(ids(&ran), ["a", "b"], "{folder}");
        ran.stdout_has("Found 2 suites: checks/a.yaml, checks/deep/b.eval.yaml");
    }
    let ran = cx.agentv(["eval", "checks/deep", "suite.yaml"]).run();
    assert_eq!(ids(&ran), ["b", "outside"]);
    cx.agentv(["doctor", "checks", "--offline"]).run().success();
}

#[test]
fn run_is_eval_and_short_flags_work() {
    let cx = mocked(&["a", "b"]);
    let more = [mock_target("default", "ok"), mock_target("other", "ok")];
    cx.write("targets.yaml", &targets(&more));
    let ran = cx.agentv(["run", "suite.yaml", "-t", "other", "-o", "short.jsonl", "-j", "2"]).run();
    ran.success();
    assert!(cx.read("short.jsonl").contains("\"target\":\"other\""));
    let folder = folders(&cx).pop().unwrap();
    assert_eq!(info(&folder)["spec"]["workers"], 2);
    cx.agentv(["eval", "-v"]).run().success().stdout_has("agentv");
    let ran = cx.agentv(["compare", "short.jsonl", "short.jsonl", "-t", "0.5"]).run();
    ran.success().stdout_has("2 ties");
}

#[test]
fn validate_without_a_path_checks_what_eval_would_run() {
    let cx = context();
    cx.agentv(["validate"]).run().code(2).stderr_has("there are no suites here");
    cx.write("targets.yaml", &targets(&[mock_target("default", "ok")]));
    cx.write("evals/good.yaml", &cases(&["a"]));
    cx.write("elsewhere/suite.yaml", "evalcases: 1\n");
    let ran = cx.agentv(["validate"]).run();
    ran.success().stdout_has("✓ evals/good.yaml\n✓ targets.yaml\n").stdout_has("Total files: 2");
    cx.write("targets.yaml", "targets: 1\n");
    cx.agentv(["validate"]).run().code(2).stdout_has("✗ targets.yaml");
}

#[test]
fn last_failed_runs_what_did_not_pass() {
    let cx = failing("b");
    assert_eq!(ids(&cx.agentv(["eval"]).run()), ["a", "a", "b", "bad-d", "c"]);
    let ran = cx.agentv(["eval", "--last-failed"]).run();
    assert_eq!(ids(&ran), ["b", "bad-d"]);
    ran.stdout_has("Selected: 2 of 5 cases");
    // It is the last run now: `c` and `a` are not in it.
    fail(&cx, "bad");
    assert_eq!(ids(&cx.agentv(["eval", "evals", "--last-failed"]).run()), ["b", "bad-d"]);
    assert_eq!(ids(&cx.agentv(["eval", "--last-failed"]).run()), ["bad-d"]);
    fail(&cx, "nothing");
    assert_eq!(ids(&cx.agentv(["eval", "--last-failed"]).run()), ["bad-d"]);
    let ran = cx.agentv(["eval", "--last-failed"]).run();
    ran.success().stderr_has("nothing to run: all cases of run").stderr_has("passed");
    assert_eq!(folders(&cx).len(), 5);
    // A run that was stopped says nothing about the cases that it did not reach.
    let stopped = ["eval", "evals/two.yaml", "--max-errors", "1"];
    cx.write("targets.yaml", &targets(&[cli_target("default", "exit 1")]));
    cx.agentv(stopped).run().code(3);
    let results = folders(&cx).pop().unwrap().join("results.jsonl");
    std::fs::write(results, "").unwrap();
    let ran = cx.agentv(["eval", "--last-failed"]).run();
    ran.code(2).stderr_has("is not complete").stderr_has("agentv eval --resume");
}

#[test]
fn last_failed_tells_suites_and_targets_apart() {
    let cx = failing("a");
    cx.agentv(["eval", "evals/one.yaml"]).run().success();
    let ran = cx.agentv(["eval", "--last-failed"]).run();
    assert_eq!(ids(&ran), ["a"]);
    assert_eq!(ran.record()["suite"], "evals/one.yaml");
    let ran = cx.agentv(["eval", "evals/two.yaml", "--last-failed"]).run();
    ran.code(2).stderr_has("`--last-failed` needs an earlier run of these suites");
    let ran = cx.agentv(["eval", "--last-failed", "-t", "other"]).run();
    ran.code(2).stderr_has("`--last-failed` needs an earlier run of these suites");
    // A resumed run has the cases of the run, not those of now.
    let ran = cx.agentv(["eval", "--resume", "latest"]).run();
    assert_eq!(ids(&ran), ["a"]);
}

#[test]
fn errors_and_ungraded_cases_count_as_not_passed() {
    let cx = context();
    let command = "case {PROMPT} in *bad*) exit 1;; *) echo ok;; esac";
    cx.write("targets.yaml", &targets(&[cli_target("default", command)]));
    cx.write("suite.yaml", &cases(&["a", "bad"]));
    eval(&cx, &[]).code(3);
    let ran = eval(&cx, &["--last-failed"]);
    ran.code(3);
    assert_eq!(ran.record()["eval_id"], "bad");
    cx.write("suite.yaml", &suite("- {name: broken, type: code_judge, script: [\"false\"]}"));
    eval(&cx, &[]).code(3);
    let ran = eval(&cx, &["--last-failed"]);
    ran.code(3);
    assert_eq!(ran.record()["eval_id"], "one");
}

/// The commands that a help text lists.
fn commands(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.split_whitespace().next()).map(str::to_owned);
    names.filter(|name| name != "help").collect()
}

#[test]
fn the_help_of_every_command_has_examples() {
    let cx = context();
    let mut open: Vec<Vec<String>> = vec![Vec::new()];
    let mut seen = 0;
    while let Some(command) = open.pop() {
        let ran = cx.agentv(command.iter().map(String::as_str).chain(["--help"])).run();
        let example = format!("\nExamples:\n  agentv {}", command.join(" "));
        assert!(ran.success().stdout.contains(example.trim_end()), "{command:?}\n{}", ran.stdout);
        let below = commands(&ran.stdout).into_iter();
        open.extend(below.map(|name| [command.clone(), vec![name]].concat()));
        seen += 1;
    }
    assert!(seen > 25, "{seen}");
}

#[test]
fn options_of_eval_are_grouped() {
    let help = context().agentv(["eval", "--help"]).run().success().stdout.clone();
    let headings: Vec<&str> =
        help.lines().filter(|line| line.ends_with(':') && !line.starts_with(' ')).collect();
    let expected = "Arguments: Options: Selecting cases: Targets: Running: Output: Gates: Budget: \
                    Safety: Caching: Examples:";
    assert_eq!(headings.join(" "), expected);
    let ungrouped = help.split("\n\n").find(|part| part.starts_with("Options:")).unwrap();
    assert_eq!(ungrouped.lines().count(), 3, "only --help and --version: {ungrouped}");
}

/// A directory with this script as the program that opens files.
#[track_caller]
fn with_opener(cx: &TestContext, script: &str) -> String {
    for name in ["xdg-open", "open"] {
        cx.script(format!("bin/{name}"), &format!("#!/bin/sh\n{script}\n"));
    }
    format!("{}:/usr/bin:/bin", cx.path("bin").display())
}

#[test]
fn a_report_is_opened_with_the_systems_opener() {
    let cx = mocked(&["a"]);
    eval(&cx, &[]).success();
    let path = with_opener(&cx, "echo \"$1\" > opened.txt");
    let open =
        |args: &[&str]| cx.agentv(["report", "--open"].iter().chain(args)).env("PATH", &path).run();
    open(&[]).success();
    let page = folders(&cx)[0].join("report.html");
    assert_eq!(Path::new(cx.read("opened.txt").trim()), page);
    assert!(page.is_file());
    open(&["--html", "page.html", "--json", "-"]).success();
    assert_eq!(Path::new(cx.read("opened.txt").trim()), cx.path("page.html"));
    open(&["--html", "-"]).code(2).stderr_has("`--open` cannot open standard output");
}

#[test]
fn an_opener_that_fails_is_told_with_the_path() {
    let cx = mocked(&["a"]);
    eval(&cx, &[]).success();
    let path = with_opener(&cx, "exit 3");
    let ran = cx.agentv(["report", "--html", "page.html", "--open"]).env("PATH", path).run();
    ran.code(3).stderr_has("failed").stderr_has("open `page.html` in a browser");
    let ran = cx.agentv(["report", "--html", "page.html", "--open"]).env("PATH", "/none").run();
    ran.code(3).stderr_has("cannot be started").stderr_has("open `page.html` in a browser");
}
