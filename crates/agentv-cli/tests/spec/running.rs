//! The run: targets, workers, batches, and failures that stay where they are.

use crate::context;
use agentv_test_support::{Ran, TestContext, cases, cli_target, mock_target, targets};

#[test]
fn s018_s074_mock_returns_its_canned_answer_after_its_delay() {
    let cx = context();
    let delays =
        ["delay_ms: 300", "delayMs: 300", "delay_min_ms: 300", "delayMinMs: 300, delayMaxMs: 310"];
    let mut entries = vec![mock_target("quick", "ok, \"at once\"\n")];
    for (number, delay) in delays.iter().enumerate() {
        let keys = delay.replace(", ", "\n    ");
        entries.push(mock_target(&format!("slow-{number}"), "ok, later") + "    " + &keys + "\n");
    }
    cx.write("targets.yaml", &targets(&entries));
    cx.write("suite.yaml", &cases(&["a"]));
    let mut args = vec!["eval", "suite.yaml", "--out", "out.jsonl"];
    for name in ["slow-0", "slow-1", "slow-2", "slow-3", "quick"] {
        args.extend(["--target", name]);
    }
    // Any call to the outside would fail: the environment's proxies lead nowhere.
    let records = cx.agentv(args).run().success().records();
    assert_eq!(records.len(), 5);
    // All targets are asked at once, so whoever waits comes later, though it was named first.
    assert_eq!(records[0]["target"], "quick");
    assert_eq!(records[0]["candidate_answer"], "ok, \"at once\"\n");
    for slow in &records[1..] {
        assert_eq!(slow["candidate_answer"], "ok, later");
        assert_eq!(slow["score"], 1);
        let took = slow["execution_metrics"]["duration_ms"].as_f64().unwrap();
        assert!(took >= 300.0, "{took} ms");
    }
}

/// Runs five cases that note when they begin and end; gives how many ran at once at most. So many must: none of them is let
/// go before all have come.
#[track_caller]
fn most_at_once(target_workers: Option<usize>, flag: Option<&str>, expected: usize) -> i32 {
    let cx = context();
    let mut meeting = cx.meeting("meeting");
    let command =
        format!("echo begin >> log; {}; echo end >> log; echo ok", meeting.attend("{EVAL_ID}"));
    let workers = target_workers.map(|workers| format!("    workers: {workers}\n"));
    let entry = cli_target("default", &command) + &workers.unwrap_or_default();
    cx.write("targets.yaml", &targets(&[entry]));
    cx.write("suite.yaml", &cases(&["a", "b", "c", "d", "e"]));
    let mut args = vec!["eval", "suite.yaml", "--out", "out.jsonl"];
    args.extend(flag.into_iter().flat_map(|workers| ["--workers", workers]));
    let running = cx.agentv(args).start();
    for _ in 0..expected {
        meeting.next();
    }
    for _ in expected..5 {
        meeting.let_go(1);
        meeting.next();
    }
    meeting.let_go(expected);
    assert_eq!(running.finish().success().records().len(), 5);
    let (log, mut at_once) = (cx.read("log"), 0);
    let counts = log.lines().map(|line| {
        at_once += if line == "begin" { 1 } else { -1 };
        at_once
    });
    counts.max().unwrap()
}

#[test]
fn s019_s075_cases_at_once_are_the_flag_else_the_targets_workers_else_one() {
    assert_eq!(most_at_once(Some(2), Some("3"), 3), 3);
    assert_eq!(most_at_once(Some(2), None, 2), 2);
    assert_eq!(most_at_once(None, None, 1), 1);
}

#[test]
fn s020_s076_a_failing_case_does_not_block_the_others() {
    let cx = context();
    let mut meeting = cx.meeting("meeting");
    let command = format!(
        "test {{EVAL_ID}} = bad && {{ echo broken >&2; exit 1; }}; {}; echo ok",
        meeting.attend("{EVAL_ID}")
    );
    cx.write("targets.yaml", &targets(&[cli_target("default", &command)]));
    cx.write("suite.yaml", &cases(&["first", "bad", "second", "third"]));
    let running = cx.agentv(["eval", "suite.yaml", "--workers", "2", "--out", "out.jsonl"]).start();
    // While the first case is still held, the worker that failed has gone on to the next.
    let mut held = [meeting.next(), meeting.next()];
    held.sort();
    assert_eq!(held, ["first", "second"]);
    meeting.let_go(3);
    let ran = running.finish();
    ran.code(3);
    assert_eq!(ran.records().len(), 4);
    let bad = ran.record_of("bad");
    assert_eq!(bad["error"], "broken (exit code 1)");
    assert_eq!(bad["score"], 0);
    for good in ["first", "second", "third"] {
        let record = ran.record_of(good);
        assert_eq!(record["score"], 1);
        assert!(record.get("error").is_none(), "{record}");
    }
}

/// Runs three cases on a target that asks for batches and notes each of its runs.
#[track_caller]
fn batched(cx: &TestContext, script: &str) -> Ran {
    cx.script("agent.sh", &format!("#!/bin/sh\necho \"$1\" >> runs\n{script}\n"));
    let entry = cli_target("default", "./agent.sh {EVAL_ID} {OUTPUT_FILE} {PROMPT}");
    cx.write("targets.yaml", &targets(&[entry + "    provider_batching: true\n"]));
    cx.write("suite.yaml", &cases(&["a", "b", "c"]));
    cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).run()
}

#[test]
fn s021_s077_a_batch_is_one_call_mapped_by_id() {
    let cx = context();
    let ran = batched(
        &cx,
        r#"printf '%s\n' '{"id":"c","text":"ok c"}' '' '{"id":"x","text":"?"}' \
        '{"id":"b","output_messages":[{"role":"assistant","content":"no b"}]}' '{"id":"a","text":"ok a"}' > "$2""#,
    );
    assert_eq!(cx.read("runs"), "batch\n");
    let records = ran.success().records();
    assert_eq!(records.len(), 3);
    for (id, answer, score) in [("a", "ok a", 1), ("b", "no b", 0), ("c", "ok c", 1)] {
        let record = ran.record_of(id);
        assert_eq!(record["candidate_answer"], answer);
        assert_eq!(record["score"], score);
    }
}

#[test]
fn s021_s077_a_batch_that_fails_is_asked_case_by_case() {
    let broken = [
        "echo no JSON > \"$2\"",
        "echo '{\"text\":\"no id\"}' > \"$2\"",
        "printf '%s\\n' '{\"id\":\"a\"}' '{\"id\":\"a\"}' > \"$2\"",
        "exit 7",
        ":",
    ];
    for batch in broken {
        let cx = context();
        let script =
            format!("case $1 in batch) {batch};; *) printf '%s' \"ok $1: $3\" > \"$2\";; esac");
        let ran = batched(&cx, &script);
        ran.success();
        assert_eq!(cx.read("runs"), "batch\na\nb\nc\n", "{batch}");
        for id in ["a", "b", "c"] {
            assert_eq!(ran.record_of(id)["candidate_answer"], format!("ok {id}: Question {id}"));
        }
    }
}

#[test]
fn s021_s077_a_case_that_a_batch_leaves_out_fails_alone() {
    let cx = context();
    let ran =
        batched(&cx, r#"printf '%s\n' '{"id":"a","text":"ok"}' '{"id":"c","text":"ok"}' > "$2""#);
    ran.code(3);
    assert_eq!(cx.read("runs"), "batch\n");
    let missing = ran.record_of("b");
    assert_eq!(missing["error"], "Batch output missing id 'b'");
    assert_eq!(missing["candidate_answer"], "Error: Batch output missing id 'b'");
    for id in ["a", "c"] {
        let record = ran.record_of(id);
        assert_eq!(record["score"], 1);
        assert!(record.get("error").is_none(), "{record}");
    }
}

#[test]
fn s022_s078_a_provider_that_cannot_batch_is_asked_case_by_case() {
    let cx = context();
    let entry = mock_target("default", "ok") + "    provider_batching: true\n";
    cx.write("targets.yaml", &targets(&[entry]));
    cx.write("suite.yaml", &cases(&["a", "b"]));
    let validated = cx.agentv(["validate", "targets.yaml", "suite.yaml"]).run();
    validated.success().stdout_has("Valid: 2").stdout_lacks("warnings");

    let silent = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).run();
    silent.success().stdout_lacks("batch").stderr_lacks("batch");
    assert_eq!(silent.records().len(), 2);

    let verbose = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl", "--verbose"]).run();
    verbose.success().stdout_has(
        "default [provider=mock]: provider_batching is set, but this provider has no batch call",
    );
    assert_eq!(verbose.records().len(), 2);
}
