//! Targets of kind `cli`: their checks, placeholders, failures and what they print.

use crate::context;
use agentv_test_support::{Ran, TestContext, cases, cli_target, is_alive, mock_target, targets};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs `evals/suite.yaml` with this one target.
#[track_caller]
fn eval(cx: &TestContext, entry: String) -> Ran {
    cx.write("targets.yaml", &targets(&[entry]));
    cx.agentv(["eval", "evals/suite.yaml", "--out", "out.jsonl", "--max-retries", "0"]).run()
}

/// The same with three plain cases.
#[track_caller]
fn eval_three(cx: &TestContext, entry: String) -> Ran {
    cx.write("evals/suite.yaml", &cases(&["a", "b", "c"]));
    eval(cx, entry)
}

/// Keeps its arguments in files, as they came, and where it was started. Its answer goes to the fifth argument.
const DUMP: &str = r#"#!/bin/sh
here=$(dirname "$0")
pwd > "$here/cwd"
count=0
for argument in "$@"; do
  count=$((count + 1))
  printf %s "$argument" > "$here/argument-$count"
done
echo noise
printf 'ok from the file' > "$5"
"#;

/// A case with a guideline, a file and this question.
fn suite_with_files(question: &str) -> Value {
    let content = json!([
        {"type": "file", "value": "data one.txt"},
        {"type": "text", "value": question},
        {"type": "file", "value": "house.instructions.md"},
    ]);
    json!({"evalcases": [{
        "id": "case/1",
        "expected_outcome": "Says ok",
        "input_messages": [{"role": "user", "content": content}],
        "evaluators": [{"name": "says-ok", "type": "contains", "value": "ok"}],
    }]})
}

#[track_caller]
fn dumping(question: &str, more_keys: &str) -> (TestContext, Ran) {
    let cx = context();
    cx.write("evals/suite.yaml", &suite_with_files(question).to_string());
    cx.write("evals/data one.txt", "the data");
    cx.write("evals/house.instructions.md", "be kind");
    fs::create_dir(cx.path("evals/inner")).unwrap();
    let script = cx.script("agent/dump.sh", DUMP);
    let command = format!(
        "'{}' {{PROMPT}} {{GUIDELINES}} {{EVAL_ID}} {{ATTEMPT}} {{OUTPUT_FILE}} {{FILES}}",
        script.display()
    );
    let ran = eval(&cx, cli_target("default", &command) + more_keys);
    (cx, ran)
}

#[test]
fn s025_s081_a_template_is_rendered_and_run_and_its_file_is_the_answer() {
    let (cx, ran) = dumping("What is it?", "");
    let record = ran.success().record();
    assert_eq!(record["candidate_answer"], "ok from the file");
    assert_eq!(record["score"], 1);
    assert_eq!(
        cx.read("agent/argument-1"),
        "<file: path=\"data one.txt\">\n\nWhat is it?\n\n<Attached: house.instructions.md>"
    );
    assert_eq!(
        cx.read("agent/argument-2"),
        "<file path=\"house.instructions.md\">\nbe kind\n</file>"
    );
    assert_eq!(cx.read("agent/argument-3"), "case/1");
    assert_eq!(cx.read("agent/argument-4"), "0");
    // Guidelines come first.
    let files = ["evals/house.instructions.md", "evals/data one.txt"];
    for (argument, file) in ["agent/argument-6", "agent/argument-7"].iter().zip(files) {
        assert_eq!(cx.read(argument), cx.path(file).display().to_string());
    }
    assert!(!cx.path("agent/argument-8").exists());
    assert_eq!(cx.read("agent/cwd").trim_end(), cx.path("evals").display().to_string());
    // The answer's file was in the place for temporary files, and is gone.
    let output_file = cx.read("agent/argument-5");
    assert!(output_file.starts_with(&cx.temp().display().to_string()), "{output_file}");
    assert_eq!(fs::read_dir(cx.temp()).unwrap().count(), 0);
}

#[test]
fn s025_s081_cwd_is_relative_to_the_eval_file_and_files_have_a_format() {
    let (cx, ran) =
        dumping("?", "    cwd: inner\n    files_format: '--file {path} --as {basename}'\n");
    ran.success();
    assert_eq!(cx.read("agent/cwd").trim_end(), cx.path("evals/inner").display().to_string());
    let path = cx.path("evals/house.instructions.md").display().to_string();
    let expected = ["--file", &path, "--as", "house.instructions.md", "--file"];
    for (number, expected) in (6..).zip(expected) {
        assert_eq!(cx.read(format!("agent/argument-{number}")), expected);
    }
}

#[test]
fn s025_s081_the_file_is_kept_only_on_request() {
    let (cx, ran) = dumping("?", "    keep_temp_files: true\n");
    ran.success();
    assert_eq!(fs::read_to_string(cx.read("agent/argument-5")).unwrap(), "ok from the file");
}

#[test]
fn s025_s081_without_an_output_file_the_answer_is_what_was_printed() {
    let cx = context();
    cx.write("evals/suite.yaml", &cases(&["a"]));
    let ran = eval(&cx, cli_target("default", "echo '  ok: printed'; echo not this >&2"));
    assert_eq!(ran.success().record()["candidate_answer"], "  ok: printed");
}

/// Runs one case on a command that fails.
#[track_caller]
fn failing(command: &str, more_keys: &str) -> (TestContext, Value) {
    let cx = context();
    cx.write("evals/suite.yaml", &cases(&["a"]));
    let ran = eval(&cx, cli_target("default", command) + more_keys);
    let record = ran.code(3).record();
    assert_eq!(record["score"], 0);
    assert_eq!(record["status"], "fail");
    (cx, record)
}

#[test]
fn s025_s081_failures_show_stderr_and_exit_code() {
    let check = |command: &str, expected: &str| {
        let (_, record) = failing(command, "");
        assert_eq!(record["error"], expected);
        assert_eq!(record["candidate_answer"], format!("Error occurred: {expected}"));
        assert_eq!(record["misses"], json!([format!("Error: {expected}")]));
        assert_eq!(record["lm_provider_request"]["error"], expected);
    };
    check("echo said; echo 'no such model' >&2; exit 2", "no such model (exit code 2)");
    check("echo only stdout; exit 3", "only stdout (exit code 3)");
    check("exit 4", "CLI exited with code 4");
    let (cx, record) = failing("true {OUTPUT_FILE}", "");
    let error = record["error"].as_str().unwrap();
    let start = format!("Failed to read output file '{}/", cx.temp().display());
    assert!(error.starts_with(&start), "{error}");
}

#[test]
fn s025_s081_a_command_that_takes_too_long_is_ended_with_all_that_it_started() {
    let cx = context();
    let meeting = cx.meeting("meeting");
    // A child in a session of its own, which a process group would not catch.
    let command =
        format!("setsid sh -c 'echo $$ > child; {}; sleep 600' & sleep 600", meeting.tell("child"));
    cx.write("evals/suite.yaml", &cases(&["a"]));
    let ran = eval(&cx, cli_target("default", &command) + "    timeout_seconds: 1\n");
    let record = ran.code(3).record();
    assert_eq!(record["error"], "CLI provider timed out after 1s");
    assert_eq!(meeting.next(), "child");
    assert!(!is_alive(&cx.read("evals/child")));
}

#[test]
fn s026_s082_a_health_check_runs_once_before_the_first_request() {
    for check in [
        "type: command, command_template: 'echo check {EVAL_ID} {ATTEMPT} >> log'",
        "type: command, command: 'echo check {EVAL_ID} {ATTEMPT} >> ../log', cwd: inner",
    ] {
        let cx = context();
        fs::create_dir_all(cx.path("evals/inner")).unwrap();
        let entry = cli_target("default", "echo ask >> log; echo ok")
            + &format!("    healthcheck: {{{check}}}\n    workers: 3\n");
        let ran = eval_three(&cx, entry);
        ran.success();
        assert_eq!(ran.records().len(), 3);
        assert_eq!(cx.read("evals/log"), "check healthcheck 0\nask\nask\nask\n");
    }
}

#[test]
fn s026_s082_a_health_check_runs_once_for_all_eval_files() {
    let cx = context();
    let log = cx.path("checks");
    let check = format!("type: command, command: 'echo check >> {}'", log.display());
    let target = |name: &str| {
        cli_target(name, "echo ok") + &format!("    healthcheck: {{{check}}}\n    workers: 3\n")
    };
    cx.write("targets.yaml", &targets(&[target("one"), target("two")]));
    let files = ["a/one.yaml", "b/two.yaml", "b/three.yaml"];
    for file in files {
        cx.write(file, &cases(&["x", "y"]));
    }
    let args = ["eval", "--out", "out.jsonl", "--target", "one", "--target", "two"];
    let ran = cx.agentv(args.into_iter().chain(files)).run();
    assert_eq!(ran.success().records().len(), 12);
    assert_eq!(cx.read("checks"), "check\ncheck\n", "one check for each target");
}

#[test]
fn s026_s082_a_health_check_that_fails_keeps_the_command_from_being_run() {
    for (check, reason) in [
        ("type: command, command_template: 'echo off >&2; exit 5'", "off (exit code 5)"),
        ("type: command, command_template: 'sleep 600', timeout_seconds: 0.2", "timed out"),
    ] {
        let cx = context();
        let entry = cli_target("default", "echo ask >> log; echo ok")
            + &format!("    healthcheck: {{{check}}}\n");
        let ran = eval_three(&cx, entry);
        ran.code(3);
        assert!(!cx.path("evals/log").exists());
        for id in ["a", "b", "c"] {
            let record = ran.record_of(id);
            let error = record["error"].as_str().unwrap();
            assert!(error.starts_with("CLI healthcheck failed for 'default': "), "{error}");
            assert!(error.contains(reason), "{error}");
        }
    }
}

/// Answers every request with this status, or not at all. Gives the address and the number of requests so far.
#[track_caller]
fn http_server(status: Option<&'static str>) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/health", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&count);
    // Ends with the test's process.
    std::thread::spawn(move || {
        let mut unanswered = Vec::new();
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            assert_eq!(lines.next().unwrap().unwrap(), "GET /health HTTP/1.1");
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            counter.fetch_add(1, Ordering::SeqCst);
            match status {
                Some(status) => {
                    write!(
                        stream,
                        "HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                    )
                    .unwrap();
                }
                None => unanswered.push(stream),
            }
        }
    });
    (url, count)
}

#[test]
fn s026_s082_a_health_check_may_be_an_http_request() {
    let check = |status: Option<&'static str>, error: Option<&str>| {
        let cx = context();
        let (url, count) = http_server(status);
        let limit = if status.is_some() { "60" } else { "0.5" };
        let entry = cli_target("default", "echo ask >> log; echo ok")
            + &format!("    healthcheck: {{type: http, url: '{url}', timeout_seconds: {limit}}}\n");
        let ran = eval_three(&cx, entry);
        assert_eq!(count.load(Ordering::SeqCst), 1);
        assert_eq!(ran.records().len(), 3);
        match error {
            None => {
                ran.success();
                assert_eq!(cx.read("evals/log").lines().count(), 3);
            }
            Some(error) => {
                ran.code(3);
                let expected = format!("CLI healthcheck failed for 'default': {error}");
                assert_eq!(ran.record_of("a")["error"], expected);
                assert!(!cx.path("evals/log").exists());
            }
        }
    };
    check(Some("204 No Content"), None);
    check(Some("503 Service Unavailable"), Some("HTTP 503 Service Unavailable"));
    check(None, Some("timed out after 500ms"));
}

/// Checks that a target is refused by both commands, before anything runs, with all of these texts.
#[track_caller]
fn refused(keys: &str, expected: &[&str]) {
    let cx = context();
    let entry =
        format!("  - name: agent\n    provider: cli\n    {}\n", keys.replace('\n', "\n    "));
    cx.write("targets.yaml", &targets(&[mock_target("other", "ok"), entry]));
    cx.write("evals/suite.yaml", &cases(&["a"]));
    let validated = cx.agentv(["validate", "targets.yaml"]).run();
    let evaluated =
        cx.agentv(["eval", "evals/suite.yaml", "--target", "agent", "--out", "out.jsonl"]).run();
    for ran in [validated, evaluated] {
        ran.code(2);
        for text in expected {
            ran.stderr_has(text);
        }
    }
    assert!(!cx.path("evals/ran").exists() && !cx.path("out.jsonl").exists());
}

#[test]
fn s027_s083_a_template_is_needed_and_keys_are_checked() {
    refused("cwd: .", &["target `agent` needs `command_template`", "targets.yaml:7:"]);
    refused("command_template: ''", &["`command_template` of target `agent` must not be empty"]);
    refused("commandTemplate: '  '", &["`command_template` of target `agent` must not be empty"]);
    refused("command_template: 5", &["`command_template` of target `agent` must be text, not `5`"]);
    let run = "command_template: touch ran\n";
    for (keys, expected) in [
        ("timeout_seconds: '5'", "`timeout_seconds` of target `agent` must be a number of seconds"),
        ("timeoutSeconds: 0", "`timeout_seconds` of target `agent` must be a number of seconds"),
        ("timeout_seconds: -1", "a number of seconds above 0, not `-1`"),
        ("files_format: [a]", "`files_format` of target `agent` must be text, not a list"),
        ("cwd: 7", "`cwd` of target `agent` must be text, not `7`"),
        ("verbose: maybe", "`verbose` of target `agent` must be `true` or `false`"),
        ("healthcheck: yes", "`healthcheck` of target `agent` must be a mapping"),
    ] {
        refused(&format!("{run}{keys}"), &[expected, "targets.yaml:8:"]);
    }
}

#[test]
fn s027_s083_unsupported_keys_are_refused_with_the_nearest_known_one() {
    refused(
        "command_template: touch ran\ntimeout_second: 5\nendpoint: x",
        &[
            "target `agent` has no key `timeout_second`",
            "did you mean `timeout_seconds`?",
            "target `agent` has no key `endpoint`",
            "known keys: `command_template`",
        ],
    );
}

#[test]
fn s027_s083_optional_keys_are_accepted_in_either_spelling() {
    for keys in [
        "files_format: '{path}'\n    cwd: .\n    timeout_seconds: 60\n    verbose: true\n    \
         healthcheck: {type: command, command_template: 'true', cwd: ., timeout_seconds: 60}\n",
        "filesFormat: '{path}'\n    cwd: .\n    timeoutSeconds: 60\n    cliVerbose: true\n    \
         healthcheck: {type: command, commandTemplate: 'true', timeoutSeconds: 60}\n",
        "attachments_format: '{path}'\n    keep_output_files: false\n",
    ] {
        let cx = context();
        cx.write("evals/suite.yaml", &cases(&["a"]));
        let ran = eval(&cx, cli_target("default", "echo ok") + "    " + keys);
        assert_eq!(ran.success().record()["score"], 1);
        let validated = cx.agentv(["validate", "targets.yaml"]).run();
        validated.success().stdout_lacks("warnings");
        assert_eq!(validated.stderr, "");
    }
}

#[test]
fn s028_s084_values_are_quoted_for_the_shell() {
    let question = "it's \"quoted\" $(touch pwned) `touch pwned` $HOME \\ * ; touch pwned\nsecond {PROMPT} line";
    let (cx, ran) = dumping(question, "");
    ran.success();
    let prompt = cx.read("agent/argument-1");
    assert!(prompt.contains(question), "{prompt}");
    assert!(!cx.path("evals/pwned").exists());
}

#[test]
fn s028_s084_an_unknown_placeholder_is_refused_and_lower_case_is_not_ours() {
    refused("command_template: touch ran {FOO}", &["`{FOO}`", "`{PROMPT}`", "`{OUTPUT_FILE}`"]);
    refused("command_template: touch ran {EVAL_FILE}", &["`{EVAL_FILE}`", "`{EVAL_ID}`"]);
    refused(
        "command_template: touch ran\nhealthcheck: {type: command, command_template: 'true {BAR}'}",
        &["`{BAR}`"],
    );
    let cx = context();
    cx.write("evals/suite.yaml", &cases(&["a"]));
    let ran = eval(&cx, cli_target("default", "x=1; echo \"ok ${x} {lower} {}\""));
    assert_eq!(ran.success().record()["candidate_answer"], "ok 1 {lower} {}");
}

#[test]
fn s029_s085_a_health_check_is_an_http_request_or_a_command_and_nothing_else() {
    let check = |healthcheck: &str, expected: &[&str]| {
        refused(&format!("command_template: touch ran\nhealthcheck: {healthcheck}"), expected);
    };
    check(
        "{type: tcp, port: 80}",
        &["`healthcheck` of target `agent`", "`tcp`", "use `http` or `command`"],
    );
    check("{url: 'http://127.0.0.1/'}", &["`healthcheck` of target `agent` needs `type`"]);
    check("{type: http}", &["`healthcheck` of target `agent` needs `url`"]);
    check("{type: http, url: 'ftp://x'}", &["`url`", "must begin with `http://` or `https://`"]);
    check("{type: command}", &["`healthcheck` of target `agent` needs `command_template`"]);
    check("{type: command, command_template: ''}", &["`command_template`", "must not be empty"]);
    check(
        "{type: http, url: 'http://x', cwd: .}",
        &["`healthcheck` of target `agent` has no key `cwd`"],
    );
    check(
        "{type: http, url: 'http://x', timeout_seconds: none}",
        &["`timeout_seconds`", "a number of seconds"],
    );
    check("{type: command, command_template: 'true', retries: 1}", &["has no key `retries`"]);
}
