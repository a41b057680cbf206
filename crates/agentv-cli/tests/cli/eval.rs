//! `agentv eval`: exit codes, what is printed, what is written, who is asked.

use crate::{context, eval, ids, mocked};
use agentv_test_support::{GRADER, Ran, TestContext, cases, cli_target, mock_target, targets};
use std::fs;

#[test]
fn low_scores_are_no_failure_and_gates_are() {
    let cx = mocked(&["a", "b"]);
    cx.write("targets.yaml", &targets(&[mock_target("default", "no")]));
    eval(&cx, &[]).success();
    eval(&cx, &["--threshold", "0.1"])
        .code(1)
        .stderr_has("target `default` has a mean of 0.000, below --threshold 0.1");
    eval(&cx, &["--case-threshold", "0.1"])
        .code(1)
        .stderr_has("a case scores 0.000, below --case-threshold 0.1");
    eval(&cx, &["--threshold", "0", "--case-threshold", "0"]).success();
}

#[test]
fn the_mean_is_gated_by_target_and_cases_one_by_one() {
    let cx = mocked(&["a", "b"]);
    let command = "test {EVAL_ID} = a && echo ok || echo no";
    cx.write("targets.yaml", &targets(&[mock_target("good", "ok"), cli_target("half", command)]));
    let both = ["--target", "good", "--target", "half"];
    let ran = |gate: [&'static str; 2]| eval(&cx, &[&both[..], &gate].concat());
    // The mean of all four is 0.75, but that is nobody's.
    ran(["--threshold", "0.75"]).code(1).stderr_has("`half`").stderr_lacks("`good`");
    ran(["--threshold", "0.5"]).success();
    ran(["--case-threshold", "0.5"]).code(1);
}

#[test]
fn a_mean_that_is_the_threshold_but_for_rounding_holds() {
    let cx = context();
    cx.write("targets.yaml", &targets(&[mock_target("default", "ok")]));
    let ids: Vec<String> = (0..10).map(|number| format!("case-{number}")).collect();
    let suite = cases(&ids.iter().map(String::as_str).collect::<Vec<_>>());
    let tenth = format!("{GRADER}\n    - {{name: other, type: contains, value: never, weight: 9}}");
    cx.write("suite.yaml", &suite.replace(GRADER, &tenth));
    // Ten times 0.1, summed up, is a little less than 1.
    let ran = eval(&cx, &["--threshold", "0.1", "--case-threshold", "0.1"]);
    assert_eq!(ran.success().records()[0]["score"], 0.1);
}

/// Two cases, of which `bad` ends in an error.
#[track_caller]
fn half_broken() -> TestContext {
    let cx = mocked(&["good", "bad"]);
    let command = "test {EVAL_ID} = bad && { echo broken >&2; exit 1; }; echo ok";
    cx.write("targets.yaml", &targets(&[cli_target("default", command)]));
    cx
}

#[test]
fn an_error_in_a_record_is_exit_code_3_unless_allowed() {
    let cx = half_broken();
    eval(&cx, &[]).code(3);
    eval(&cx, &["--allow-errors"]).success();
    // What could not be done weighs more than a gate that was missed.
    eval(&cx, &["--threshold", "0.9"]).code(3);
    eval(&cx, &["--threshold", "0.9", "--allow-errors"]).code(1);
}

#[test]
fn scripts_of_2x_can_rely_on_every_line() {
    let cx = half_broken();
    let ran = eval(&cx, &["--compat", "2x"]);
    assert_eq!(
        cx.redact(&ran.stdout),
        "\
Output path: [DIR]/out.jsonl
Using target: default [provider=cli]
0/2   🔄 good | default [provider=cli]
1/2   ✅ good | default [provider=cli]
1/2   🔄 bad | default [provider=cli]
2/2   ❌ bad | default [provider=cli]: broken (exit code 1)

==================================================
ERRORS
==================================================

❌ bad
   broken (exit code 1)

==================================================
EVALUATION SUMMARY
==================================================
Total eval cases: 2
Failed: 1
Passed: 1
Mean score: 0.500
Median score: 0.500
Min score: 0.000
Max score: 1.000
Std deviation: 0.707
Score distribution:
  0.0-0.2: 1
  0.2-0.4: 0
  0.4-0.6: 0
  0.6-0.8: 0
  0.8-1.0: 1
Top performing eval cases:
  1. good: 1.000
  2. bad: 0.000
Lowest performing eval cases:
  1. good: 1.000
  2. bad: 0.000

Status: 1 pass, 0 fail, 1 error
Pass rate: 50.0 % (9.5 % to 90.5 %)
Mean of graded cases: 1.000 (0.207 to 1.000, n=1)

Results written to: [DIR]/out.jsonl
"
    );
    assert_eq!(ran.stderr, "");
}

#[test]
fn without_errors_there_is_no_word_of_them() {
    let ran = eval(&mocked(&["only"]), &["--compat", "2x"]);
    ran.success().stdout_lacks("ERRORS").stdout_lacks("Failed:").stdout_lacks("Passed:");
    // The deviation of one number is none.
    ran.stdout_has("Total eval cases: 1\nMean score: 1.000\n").stdout_lacks("Std deviation");
}

#[test]
fn verbose_says_where_things_come_from() {
    let cx = mocked(&["a"]);
    let ran = eval(&cx, &["--verbose"]);
    let said = cx.redact(&ran.success().stdout);
    let expected = "Using target (default): default [provider=mock] via [DIR]/targets.yaml\n";
    assert!(said.contains(expected), "{said}");
    assert!(said.contains("No .env file found in hierarchy\n"), "{said}");
    cx.write(".env", "A=1\n");
    let suite = cx.read("suite.yaml").replace("execution:\n", "execution:\n  target: default\n");
    cx.write("suite.yaml", &suite);
    let said = cx.redact(&eval(&cx, &["--verbose"]).success().stdout);
    assert!(said.contains("Using target (test-file): default"), "{said}");
    assert!(said.contains("Loaded environment from: [DIR]/.env\n"), "{said}");
    let said = eval(&cx, &["--verbose", "--target", "default", "--dry-run"]);
    said.success().stdout_has("default [provider=mock (dry-run)] via ");
}

#[test]
fn numbers_are_written_as_javascript_writes_them() {
    let cx = mocked(&["a"]);
    let two_thirds =
        format!("{GRADER}\n    - {{name: other, type: contains, value: never, weight: 0.5}}");
    cx.write("suite.yaml", &cases(&["a"]).replace(GRADER, &two_thirds));
    eval(&cx, &[]).success();
    let line = cx.read("out.jsonl");
    for text in [
        "\"score\":0.6666666666666666,",
        "\"score\":1,\"weight\":1,",
        "\"score\":0,\"weight\":0.5,",
    ] {
        assert!(line.contains(text), "{text} in {line}");
    }
}

#[test]
fn keys_of_a_record_have_a_fixed_order() {
    let cx = mocked(&["a"]);
    let suite = cx.read("suite.yaml") + "    conversation_id: talk\n    tags: [x]\n";
    cx.write("suite.yaml", &suite);
    let record = eval(&cx, &[]).success().record();
    let keys: Vec<&str> = record.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = [
        "timestamp",
        "eval_id",
        "dataset",
        "suite",
        "conversation_id",
        "score",
        "status",
        "outcome",
        "simulated",
        "hits",
        "misses",
        "candidate_answer",
        "target",
        "tags",
        "lm_provider_request",
        "evaluator_results",
        "trace_summary",
        "execution_metrics",
    ];
    assert_eq!(keys, expected);
    let stamp = record["timestamp"].as_str().unwrap();
    assert!(stamp.len() == "2026-01-30T10:01:43.123Z".len() && stamp.ends_with('Z'), "{stamp}");
    assert_eq!(record["dataset"], "suite");
}

#[test]
fn results_go_to_a_dated_file_unless_told_otherwise() {
    let cx = mocked(&["a"]);
    let ran = cx.agentv(["eval", "suite.yaml"]).run();
    assert_eq!(ran.success().record()["eval_id"], "a");
    let path = ran.stdout.lines().next().unwrap().strip_prefix("Output path: ").unwrap();
    let path = cx.redact(path);
    let name = path.strip_prefix("[DIR]/.agentv/results/eval_").unwrap();
    assert_eq!(name.len(), "2026-01-30T10-01-43-123Z.jsonl".len(), "{name}");
    assert!(name.ends_with("Z.jsonl"), "{name}");
}

#[test]
fn the_results_file_is_made_with_its_folders_and_begun_anew() {
    let cx = mocked(&["a"]);
    let args = ["eval", "suite.yaml", "--out", "deep/er/out.jsonl"];
    cx.agentv(args).run().success();
    cx.write("deep/er/out.jsonl", "much that is old\n".repeat(100).as_str());
    assert_eq!(cx.agentv(args).run().success().records().len(), 1);
}

#[test]
fn yaml_results_are_one_document_for_each_record() {
    let cx = mocked(&["a", "b"]);
    let args = ["eval", "suite.yaml", "--out", "out.yaml", "--output-format", "yaml"];
    cx.agentv(args).run().success();
    let text = cx.read("out.yaml");
    assert!(text.starts_with("---\ntimestamp: "), "{text}");
    let documents: Vec<&str> = text.split("\n---\n").collect();
    assert_eq!(documents.len(), 2, "{text}");
    for (document, id) in documents.iter().zip(["a", "b"]) {
        assert!(document.contains(&format!("\neval_id: {id}\n")), "{document}");
        assert!(document.contains("\nscore: 1\n"), "{document}");
    }
    let unnamed = cx.agentv(["eval", "suite.yaml", "--output-format", "yaml"]).run();
    let path = unnamed.success().stdout.lines().next().unwrap();
    assert!(path.ends_with("Z.yaml"), "{path}");
}

#[test]
fn a_dry_run_needs_no_keys() {
    let cx = mocked(&["a"]);
    let keyless = "  - name: default\n    provider: openai\n    model: m\n".to_owned();
    cx.write("targets.yaml", &targets(&[keyless]));
    eval(&cx, &[]).code(2).stderr_has("target `default` needs `api_key`");
    eval(&cx, &["--dry-run"]).success().stdout_has("default [provider=mock (dry-run)]");
}

#[test]
fn a_dry_run_calls_nobody_and_needs_no_variables() {
    let cx = mocked(&["a", "b"]);
    let entry = "  - name: default\n    provider: cli\n    command_template: ${{ NOT_SET }}\n";
    cx.write("targets.yaml", &targets(&[entry.to_owned(), cli_target("real", "touch called")]));
    let ran = eval(&cx, &["--dry-run", "--target", "default", "--target", "real"]);
    ran.success().stdout_has("Using target: real [provider=mock (dry-run)]\n");
    assert!(!cx.path("called").exists());
    let records = ran.records();
    assert_eq!(records.len(), 4);
    for record in &records {
        let target = record["target"].as_str().unwrap();
        assert!(["default-dry-run", "real-dry-run"].contains(&target), "{target}");
        assert_eq!(record["candidate_answer"], "{\"answer\":\"Mock dry-run response\"}");
    }
    eval(&cx, &["--dry-run", "--target", "nobody"]).code(2);
}

#[test]
fn a_dry_run_can_take_its_time() {
    let cx = mocked(&["a"]);
    for delay in [
        &["--dry-run-delay", "60"][..],
        &["--dry-run-delay-min", "60", "--dry-run-delay-max", "70"],
    ] {
        let record = eval(&cx, &[&["--dry-run"], delay].concat()).success().record();
        let took = record["execution_metrics"]["duration_ms"].as_f64().unwrap();
        assert!(took >= 60.0, "{took} ms");
    }
}

#[test]
fn cases_are_chosen_by_a_glob_on_their_id() {
    let cx = mocked(&["billing-1", "billing-2", "billing/x", "other", ".hidden"]);
    let chosen = |glob: &str| ids(&eval(&cx, &["--eval-id", glob]));
    assert_eq!(chosen("billing-*"), ["billing-1", "billing-2"]);
    assert_eq!(chosen("other"), ["other"]);
    assert_eq!(chosen("billing?[12]"), ["billing-1", "billing-2"]);
    assert_eq!(chosen("{other,billing-1}"), ["billing-1", "other"]);
    // A star stops at a slash, and does not take what is hidden.
    assert_eq!(chosen("*"), ["billing-1", "billing-2", "other"]);
    assert_eq!(chosen("**"), ["billing-1", "billing-2", "billing/x", "other"]);
}

#[test]
fn a_glob_chooses_lines_of_a_dataset_too() {
    let cx = mocked(&[]);
    let line = |id: &str| {
        format!(
            "{{\"id\":\"{id}\",\"input\":\"q\",\"expected_outcome\":\"x\",\"evaluators\":[{{\"type\":\"contains\",\"value\":\"ok\"}}]}}\n"
        )
    };
    cx.write("data.jsonl", &(line("a-1") + &line("b-1") + "{\"id\":\"a-2\"}\n"));
    let args = |glob| cx.agentv(["eval", "data.jsonl", "--out", "out.jsonl", "--eval-id", glob]);
    // What is not chosen is not looked at.
    assert_eq!(ids(&args("b-*").run()), ["b-1"]);
    args("a-*").run().code(2).stderr_has("case `a-2` has no `criteria`");
}

#[test]
fn several_files_share_one_run() {
    let cx = mocked(&["a"]);
    cx.write("more/two.yaml", &cases(&["b"]));
    cx.write("more/three.yml", &cases(&["c"]));
    cx.write("more/notes.txt", "not an eval file");
    let ran =
        cx.agentv(["eval", "more/**/*", "suite.yaml", "more/two.yaml", "--out", "out.jsonl"]).run();
    assert_eq!(ids(&ran), ["a", "b", "c"]);
    ran.stdout_has("1/3  ✓ passed   1.000  c").stdout_has("3/3  ✓ passed   1.000  a");
    assert_eq!(ran.record_of("b")["dataset"], "two");
}

#[test]
fn several_targets_each_answer_every_case() {
    let cx = mocked(&["a", "b"]);
    let entries =
        [mock_target("default", "?"), mock_target("one", "ok 1"), mock_target("two", "ok 2")];
    cx.write("targets.yaml", &targets(&entries));
    let ran = eval(&cx, &["--target", "one", "--target=two", "--target", "one"]);
    let mut seen: Vec<(String, String)> = Vec::new();
    for record in ran.success().records() {
        let answer = if record["target"] == "one" { "ok 1" } else { "ok 2" };
        assert_eq!(record["candidate_answer"], answer);
        seen.push((record["target"].to_string(), record["eval_id"].to_string()));
    }
    seen.sort();
    let expected = [("one", "a"), ("one", "b"), ("two", "a"), ("two", "b")];
    assert_eq!(seen, expected.map(|(target, id)| (format!("\"{target}\""), format!("\"{id}\""))));
    ran.stdout_has("\none     1.000 (0.342–1.000)  2/2 (34–100 %)       0  ");
}

#[test]
fn the_command_line_wins_over_the_case_and_the_case_over_the_file() {
    let cx = context();
    let entries = ["default", "file", "case", "line"].map(|name| mock_target(name, "ok"));
    cx.write("targets.yaml", &targets(&entries));
    let suite = cases(&["plain", "special"]) + "    execution: {target: case}\n";
    let target_of = |ran: &Ran, id: &str| ran.record_of(id)["target"].as_str().unwrap().to_owned();
    cx.write("suite.yaml", &suite);
    let ran = eval(&cx, &[]);
    ran.success().stdout_has("Using target: case [provider=mock]\n");
    assert_eq!(
        (target_of(&ran, "plain"), target_of(&ran, "special")),
        ("default".into(), "case".into())
    );

    for head in [
        suite.replacen("execution:\n", "execution:\n  target: file\n", 1),
        format!("target: file\n{suite}"),
    ] {
        cx.write("suite.yaml", &head);
        let ran = eval(&cx, &[]);
        assert_eq!(
            (target_of(&ran, "plain"), target_of(&ran, "special")),
            ("file".into(), "case".into())
        );
        // `default` has always meant "as the files say".
        let ran = eval(&cx, &["--target", "default"]);
        assert_eq!(target_of(&ran, "plain"), "file");
        let ran = eval(&cx, &["--target", "line"]);
        assert_eq!(
            (target_of(&ran, "plain"), target_of(&ran, "special")),
            ("line".into(), "line".into())
        );
    }
}

/// Runs one case on a command that writes down its attempts, and gives them.
#[track_caller]
fn attempts(cx: &TestContext, command: &str) -> (Ran, String) {
    cx.write("attempts", "");
    let command = format!("echo {{ATTEMPT}} >> attempts; {command}");
    let entry = cli_target("default", &command) + "    timeout_seconds: 0.6\n";
    cx.write("targets.yaml", &targets(&[entry]));
    let ran = eval(cx, &["--max-retries", "1"]);
    (ran, cx.read("attempts"))
}

#[test]
fn only_what_took_too_long_is_asked_again() {
    let cx = mocked(&["a"]);
    let (ran, seen) = attempts(&cx, "test {ATTEMPT} = 1 || sleep 600; echo ok");
    assert_eq!(seen, "0\n1\n");
    assert_eq!(ran.success().record()["score"], 1);

    let (ran, seen) = attempts(&cx, "sleep 600");
    assert_eq!(seen, "0\n1\n");
    assert_eq!(ran.code(3).record()["error"], "CLI provider timed out after 600ms");

    // The word alone is not enough.
    let (ran, seen) = attempts(&cx, "echo timeout, timed out >&2; exit 1");
    assert_eq!(seen, "0\n");
    assert_eq!(ran.code(3).record()["error"], "timeout, timed out (exit code 1)");
}

#[test]
fn the_limit_of_an_attempt_is_a_time_out_too() {
    let cx = mocked(&["a"]);
    let command = "echo {ATTEMPT} >> attempts; test {ATTEMPT} = 2 || sleep 600; echo ok";
    cx.write("targets.yaml", &targets(&[cli_target("default", command)]));
    let ran = eval(&cx, &["--agent-timeout", "0.6"]);
    assert_eq!(ran.success().record()["score"], 1);
    assert_eq!(cx.read("attempts"), "0\n1\n2\n");
}

#[test]
fn values_of_env_files_are_kept_out_of_records_and_of_sight() {
    let cx = mocked(&["good", "bad"]);
    let secret = "sk-very-secret-0123456789";
    cx.write(".env", &format!("API_KEY={secret}\n"));
    let command = "test -n \"$TOKEN\" || exit 9; test {EVAL_ID} = good && echo ok || exit 1";
    let entry = cli_target("default", command) + "    env: {TOKEN: '${{ API_KEY }}'}\n";
    cx.write("targets.yaml", &targets(&[entry]));
    let ran = eval(&cx, &["--verbose"]);
    assert_eq!(ran.code(3).record_of("good")["score"], 1);
    assert_eq!(ran.record_of("bad")["error"], "CLI exited with code 1");
    ran.stdout_lacks(secret).stderr_lacks(secret);
    assert!(!cx.read("out.jsonl").contains(secret));
}

#[test]
fn a_probe_that_fails_does_not_show_its_address() {
    let cx = mocked(&["a"]);
    cx.write(".env", "PROBE=http://127.0.0.1:9/health?key=sk-very-secret\n");
    let entry =
        cli_target("default", "echo ok") + "    healthcheck: {type: http, url: '${{ PROBE }}'}\n";
    cx.write("targets.yaml", &targets(&[entry]));
    let ran = eval(&cx, &["--verbose"]);
    let error = ran.code(3).record()["error"].as_str().unwrap().to_owned();
    assert!(error.starts_with("CLI healthcheck failed for 'default': "), "{error}");
    ran.stdout_lacks("sk-very-secret").stderr_lacks("sk-very-secret");
    assert!(!cx.read("out.jsonl").contains("sk-very-secret"));
}

#[test]
fn a_results_file_that_cannot_be_opened_or_written_is_exit_code_3() {
    let cx = mocked(&["a"]);
    fs::create_dir(cx.path("taken")).unwrap();
    let ran = cx.agentv(["eval", "suite.yaml", "--out", "taken"]).run();
    ran.code(3).stderr_has("/taken` cannot be written: ");
    if fs::exists("/dev/full").unwrap() {
        let ran = cx.agentv(["eval", "suite.yaml", "--out", "/dev/full"]).run();
        ran.code(3).stderr_has("results could not be written: ");
    }
}
