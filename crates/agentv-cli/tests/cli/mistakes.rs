//! Mistakes of the first hour: each message names the cause, its place, and what to do.

use crate::{context, eval, mocked};
use agentv_test_support::{GRADER, TestContext, cases, cli_target, mock_target, suite, targets};

/// A mock, and a suite with this text.
#[track_caller]
fn with_suite(text: &str) -> TestContext {
    let cx = mocked(&[]);
    cx.write("suite.yaml", text);
    cx
}

/// Checks what a run of this suite is refused with: the first lines of stderr.
#[track_caller]
fn refused(suite: &str, expected: &str) {
    let ran = eval(&with_suite(suite), &[]);
    ran.code(2);
    assert!(ran.stderr.starts_with(expected), "{}\n--- expected\n{expected}", ran.stderr);
}

#[test]
fn a_tab_is_named_and_shown_where_it_is() {
    refused(
        "evalcases:\n  - id: a\n\tcriteria: x\n",
        "\
error[yaml::syntax]: tab in the indentation
 --> suite.yaml:3:1
  |
3 | →criteria: x
  | ^
  |
  = help: indent with spaces: YAML does not allow tabs there
",
    );
    for (suite, place) in [
        ("evalcases:\n\t- id: a\n", "suite.yaml:2:1"),
        ("evalcases:\n  - id: a\n    input:\n  \t  - role: user\n", "suite.yaml:4:3"),
        ("evalcases:\n  - id: a\n    input: |\n\thello\n", "suite.yaml:4:1"),
        ("evalcases:\n  - id: a\n    input: \"x\"\n\tcriteria: x\n", "suite.yaml:4:1"),
        ("evalcases:\n  - id: a\n    tags: [b,\n\tc]\n", "suite.yaml:4:1"),
    ] {
        refused(suite, &format!("error[yaml::syntax]: tab in the indentation\n --> {place}\n"));
    }
}

#[test]
fn an_unclosed_quote_is_shown_where_it_opens() {
    refused(
        "evalcases:\n  - id: a\n    criteria: \"says hello\n    input: hi\n",
        "\
error[yaml::syntax]: unclosed double quote
 --> suite.yaml:3:15
  |
3 |     criteria: \"says hello
  |               ^
  |
  = help: add the closing `\"`
",
    );
    for (suite, kind, place) in [
        ("description: \"x\nevalcases:\n  - id: \"a\"\n", "double", "1:14"),
        ("evalcases:\n  - id: a\n    criteria: \"x", "double", "3:15"),
        ("# don't\nevalcases:\n  - id: 'a\n    input: b\n", "single", "3:9"),
        ("evalcases:\n  - id: \"b\"\n    tags: [\"a, b]\n    input: b\n", "double", "3:12"),
        ("evalcases:\n  - id: a\n    e: [{value: \"x}]\n    input: \"y\"\n", "double", "3:17"),
        ("evalcases:\n  - id: \"a\n  - id: \"b\"\n", "double", "2:9"),
    ] {
        let expected =
            format!("error[yaml::syntax]: unclosed {kind} quote\n --> suite.yaml:{place}\n");
        refused(suite, &expected);
    }
}

#[test]
fn text_after_a_closing_quote_names_the_opening_one() {
    refused(
        "evalcases:\n  - id: a\n    input: 'it's me'\n",
        "\
error[yaml::syntax]: text after the closing quote (opened in column 12)
 --> suite.yaml:3:16
  |
3 |     input: 'it's me'
  |                ^
  |
  = help: write `''` for a quote inside single quotes, or use double quotes
",
    );
}

#[test]
fn other_slips_in_yaml_say_what_to_do() {
    for (line, message, help) in [
        ("criteria: note: x", "unexpected `:`", "put the value in quotes"),
        (" criteria: x", "unexpected `:`", "check the indentation"),
        ("input: @x", "`@` cannot start a value", "put the value in quotes"),
        ("input: *x", "unknown alias", "put the value in quotes"),
        ("input: \"\\d\"", "unknown escape in double quotes", "use single quotes"),
        ("criteria x\n    input: y", "this line has no `:`", "write `key: value`"),
    ] {
        let cx = with_suite(&format!("evalcases:\n  - id: a\n    {line}\n"));
        let ran = eval(&cx, &[]);
        ran.code(2).stderr_has(&format!("error[yaml::syntax]: {message}")).stderr_has(help);
    }
    let ran = eval(&with_suite("evalcases:\n  - id: a\n   criteria: x\n"), &[]);
    ran.code(2).stderr_has("unexpected indentation").stderr_has("suite.yaml:3:4");
}

#[test]
fn a_duplicate_key_names_both_places() {
    refused(
        "evalcases:\n  - id: a\n    input: x\n    id: b\n",
        "error[yaml::duplicate-key]: duplicate key `id` (first used at line 2, column 5)\n --> suite.yaml:4:5\n",
    );
}

#[test]
fn a_suite_without_cases_is_an_error() {
    for (suite, place) in
        [("evalcases: []\n", "suite.yaml:1:12"), ("description: x\ntests: []\n", "suite.yaml:2:8")]
    {
        let cx = with_suite(suite);
        let ran = eval(&cx, &[]);
        ran.code(2).stderr_has(place).stderr_has("` is empty: there are no cases to run");
        ran.stderr_has("help: add a case with an `id` and an `input`");
        cx.agentv(["validate", "suite.yaml"]).run().code(2).stderr_has("is empty");
    }
    let cx = mocked(&[]);
    cx.write("data.jsonl", "\n");
    cx.agentv(["eval", "data.jsonl"]).run().code(2).stderr_has("the file has no cases");
}

#[test]
fn an_unknown_target_is_shown_where_it_is_named() {
    let cx = with_suite(&(cases(&["a", "b"]) + "    execution:\n      target: gpd\n"));
    cx.write("targets.yaml", &targets(&[mock_target("default", "ok"), mock_target("gpt", "ok")]));
    let ran = eval(&cx, &[]);
    ran.code(2);
    let line = cx.read("suite.yaml").lines().count();
    assert_eq!(
        cx.redact(&ran.stderr),
        format!(
            "\
error[targets::unknown]: unknown target `gpd` in `[DIR]/targets.yaml`
  --> suite.yaml:{line}:15
   |
{line} |       target: gpd
   |               ^^^
   |
   = help: did you mean `gpt`? available: default, gpt

error: nothing was run: 1 error in the files
"
        )
    );
    // At the head of the file, and in a dataset.
    let head = "execution: {target: gpd}\n";
    cx.write("suite.yaml", &(head.to_owned() + &suite(format!("- {GRADER}"))));
    eval(&cx, &[]).code(2).stderr_has("suite.yaml:1:21").stderr_has("available: default, gpt");
    let row =
        |id: &str, more: &str| format!(r#"{{"id": "{id}", "criteria": "x", "input": "y"{more}}}"#);
    let rows = [row("a", ""), row("b", r#", "execution": {"target": "gpd"}"#)];
    cx.write("data.jsonl", &rows.join("\n"));
    cx.agentv(["eval", "data.jsonl"]).run().code(2).stderr_has("data.jsonl:2:");
}

#[test]
fn evaluators_of_one_name_are_both_shown() {
    let twice = "    evaluators:\n      - {name: n, type: contains, value: ok}\n      - {name: n, type: contains, value: k}\n";
    let cx = with_suite(&format!("evalcases:\n  - id: a\n    input: x\n{twice}"));
    eval(&cx, &[])
        .success()
        .stderr_has("duplicate evaluator name \"n\" (first used at line 5, column 16)")
        .stderr_has("suite.yaml:6:16");
    let rubric = "    rubrics: [says hi]\n    evaluators:\n      - {name: rubric, type: contains, value: ok}\n";
    let cx = with_suite(&format!("evalcases:\n  - id: a\n    criteria: y\n    input: x\n{rubric}"));
    let ran = cx.agentv(["validate", "suite.yaml"]).run();
    ran.stderr_has("duplicate evaluator name \"rubric\" (first used at line 7, column 16)");
}

#[test]
fn a_report_cannot_be_a_directory() {
    let cx = mocked(&["a"]);
    eval(&cx, &[]).success();
    for flag in ["--html", "--junit", "--csv"] {
        let ran = cx.agentv(["report", flag, "."]).run();
        ran.code(2).stderr_has("is a directory").stderr_has("help: name a file");
        ran.stdout_lacks("passed");
    }
    let ran = cx.agentv(["report", "--html", "."]).run();
    ran.stderr_has(&format!("help: name a file: `{}`", cx.path("report.html").display()));
    cx.agentv(["eval", "suite.yaml", "--report", "html=."]).run().code(2).stderr_has("name a file");
}

/// A project without Git: `.agentv` alone makes it one.
#[track_caller]
fn outside_of_git() -> TestContext {
    let cx = context();
    std::fs::remove_dir(cx.path(".git")).unwrap();
    cx.write(".agentv/targets.yaml", &targets(&[mock_target("default", "ok")]));
    cx.write("evals/deep/suite.yaml", &cases(&["a"]));
    cx
}

#[test]
fn a_run_in_a_subfolder_belongs_to_the_project_above() {
    let cx = outside_of_git();
    for dir in ["evals/deep", "evals"] {
        cx.agentv(["eval"]).cwd(dir).run().success().stdout_has("Found 1 suite");
        cx.agentv(["grade", "latest"]).cwd(dir).run().success();
        cx.agentv(["report", "--html", "report.html"]).cwd(dir).run().success();
    }
    assert!(!cx.path("evals/.agentv").exists() && !cx.path("evals/deep/.agentv").exists());
    assert_eq!(std::fs::read_dir(cx.path(".agentv/runs")).unwrap().count(), 4);
}

#[test]
fn logs_of_agents_go_to_the_project_too() {
    let cx = context();
    let agent = cx.fake_agent("claude", "echo '{\"type\": \"result\", \"result\": \"ok\"}'");
    let target = format!(
        "  - name: default\n    provider: claude-code\n    executable: {}\n",
        agent.executable.display()
    );
    cx.write("targets.yaml", &format!("targets:\n{target}"));
    cx.write("evals/suite.yaml", &cases(&["a"]));
    cx.agentv(["eval", "suite.yaml"]).cwd("evals").run();
    assert!(cx.path(".agentv/logs/claude-code").is_dir());
    assert!(!cx.path("evals/.agentv").exists());
}

/// A suite on a `cli` target with this command.
#[track_caller]
fn with_command(command: &str, more: &str) -> TestContext {
    let cx = context();
    cx.write("targets.yaml", &targets(&[cli_target("default", command) + more]));
    cx.write("suite.yaml", &cases(&["a"]));
    cx
}

#[test]
fn a_placeholder_in_another_letter_case_is_a_warning() {
    let cx = with_command("echo ok {prompt} {Eval_Id} {lower} ${files}", "");
    let ran = eval(&cx, &[]);
    ran.success()
        .stderr_has("warning[cli::placeholder]: `{prompt}` of target `default` is not replaced")
        .stderr_has("did you mean `{PROMPT}`?")
        .stderr_has("did you mean `{EVAL_ID}`?")
        .stderr_lacks("{FILES}")
        .stderr_lacks("does not get the prompt");
    cx.agentv(["validate", "targets.yaml"]).run().stderr_has("did you mean `{PROMPT}`?");
    // With the placeholder itself, the other one is meant for the command.
    let cx = with_command("echo ok {PROMPT} '{prompt}'", "");
    eval(&cx, &["--strict"]).success().stderr_lacks("is not replaced");
}

#[test]
fn a_command_that_does_not_get_the_prompt_is_noted() {
    let noted = "note[cli::prompt]: the command of target `default` does not get the prompt";
    for (command, more, is_noted) in [
        ("sh agent.sh", "", true),
        ("./agent.sh > {OUTPUT_FILE}", "", true),
        ("./agent.sh > {OUTPUT_FILE}", "    provider_batching: true\n", false),
        ("sh agent.sh {PROMPT}", "", false),
        ("sh agent.sh {FILES}", "", false),
        ("sh agent.sh {EVAL_ID}", "", false),
        ("cat agent.sh", "", false),
        ("echo ok", "", false),
    ] {
        let cx = with_command(command, more);
        cx.script("agent.sh", "#!/bin/sh\necho ok\n");
        // It is not a warning, so that `--strict` accepts it.
        let ran = eval(&cx, &["--strict"]);
        assert_eq!(ran.stderr.contains(noted), is_noted, "{command}\n{}", ran.stderr);
        assert_eq!(ran.stderr.matches("cli::prompt").count(), usize::from(is_noted));
    }
}

#[test]
fn a_script_that_is_not_there_is_named_with_its_directory() {
    let cx = with_command("python3 agent.py {PROMPT}", "    cwd: inner\n");
    cx.write("inner/other.py", "");
    let inner = cx.path("inner").display().to_string();
    let ran = cx.agentv(["doctor", "suite.yaml"]).run();
    ran.code(1)
        .stdout_has("✗ default (cli): the script `agent.py` was not found in `inner`")
        .stdout_has("fix: correct `command_template` or `cwd` of the target");
    let error = eval(&cx, &[]).records()[0]["error"].as_str().unwrap().to_owned();
    let expected = format!("; the script `agent.py` is not in `{inner}`, where the command runs");
    assert!(error.contains(&expected), "{error}");

    let cx = with_command("no-such-program {PROMPT}", "");
    let error = eval(&cx, &[]).records()[0]["error"].as_str().unwrap().to_owned();
    let here = cx.path("").display().to_string();
    let expected = format!("the command runs in `{}`", here.trim_end_matches('/'));
    assert!(error.contains(&expected), "{error}");

    let cx = with_command("sh agent.sh {PROMPT}", "    cwd: nowhere\n");
    cx.agentv(["doctor", "suite.yaml"])
        .run()
        .code(1)
        .stdout_has("the directory `nowhere` does not exist");
}

#[test]
fn doctor_looks_for_a_script_only_where_it_is_known_to_be() {
    for (command, more) in [
        ("sh agents/{EVAL_ID}.sh", ""),
        ("python3 -c 'print(1)' {PROMPT}", ""),
        ("sh agent.sh {PROMPT}", "    workspace: template\n"),
        ("sh there.sh {PROMPT}", ""),
    ] {
        let cx = with_command(command, more);
        cx.write("template/agent.sh", "");
        cx.write("there.sh", "");
        cx.agentv(["doctor", "suite.yaml"]).run().success().stdout_lacks("was not found");
    }
}

#[test]
fn the_end_of_a_traceback_is_shown() {
    let frames = "  File \"/usr/lib/python3/some/rather/long/path/to/a/module.py\", line 1, in f\n";
    let script = format!(
        "#!/bin/sh\ncat >&2 <<'END'\nTraceback (most recent call last):\n{}ValueError: no key in config\nEND\nexit 1\n",
        frames.repeat(9)
    );
    let cx = with_command("./agent.sh {PROMPT}", "");
    cx.script("agent.sh", &script);
    let ran = eval(&cx, &[]);
    let shown = ran.stdout.split("\nErrors ").nth(1).unwrap();
    assert!(
        shown.contains("Traceback") && shown.contains("ValueError: no key in config"),
        "{shown}"
    );

    // The same of a judge.
    let cx = mocked(&[]);
    cx.script("judge.sh", &script);
    cx.write(
        "suite.yaml",
        "evalcases:\n  - id: a\n    input: x\n    criteria: c\n    evaluators: [{name: j, type: code_judge, script: ./judge.sh}]\n",
    );
    let ran = eval(&cx, &[]);
    let shown = ran.stdout.split("Grading errors").nth(1).unwrap();
    assert!(shown.contains("ValueError: no key in config"), "{shown}");
    let ran = cx.agentv(["report", "--junit", "-"]).run();
    ran.stdout_has("ValueError: no key in config");
}
