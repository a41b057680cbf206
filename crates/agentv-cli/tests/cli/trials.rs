//! Cases that are asked several times: each trial on its own, and what all of them come to.

use crate::resume::{calls, recorded_as, resume};
use crate::runs::{folder, folders, info};
use crate::{context, eval, mocked, waiting};
use agentv_test_support::{
    FakeLlm, FakeReply, TestContext, cases, cli_target, mock_target, openai_target, suite, targets,
};
use serde_json::{Value, json};
use std::fs;

/// A target that writes down each of its calls in `calls`, and answers `ok`.
fn counting(then: &str) -> String {
    cli_target("default", &format!("echo {{EVAL_ID}} {{TRIAL}} >> calls; {then} echo ok"))
}

/// A mock with an answer for each trial.
fn moody(responses: &[&str]) -> String {
    format!("  - name: default\n    provider: mock\n    responses: {}\n", json!(responses))
}

/// The records in `out.jsonl` as `id trial`.
#[track_caller]
fn recorded(cx: &TestContext) -> Vec<String> {
    recorded_as(cx, |record| format!("{} {}", record["eval_id"].as_str().unwrap(), record["trial"]))
}

/// What `agentv runs show` says of the newest run.
#[track_caller]
fn shown(cx: &TestContext) -> Value {
    let ran = cx.agentv(["runs", "show", "--format", "json"]).run();
    serde_json::from_str(&ran.success().stdout).unwrap()
}

/// The lines of a results file without their times.
#[track_caller]
fn timeless(cx: &TestContext) -> Vec<Value> {
    let text = cx.read("out.jsonl");
    let record = |line| {
        let mut record: Value = serde_json::from_str(line).unwrap();
        record.as_object_mut().unwrap().remove("timestamp");
        record
    };
    text.lines().map(record).collect()
}

/// Four cases that a mock who says `a b`, `a c` and `a` passes 3, 1, 1 and 0 times of 3.
fn mixed() -> String {
    let case = |(id, value)| {
        let evaluators = json!([{ "name": "e", "type": "contains", "value": value }]);
        format!("  - {{id: {id}, expected_outcome: x, input: q, evaluators: {evaluators}}}\n")
    };
    let cases = [("always", "a"), ("first", "b"), ("second", "c"), ("never", "z")].map(case);
    format!("evalcases:\n{}", cases.concat())
}

/// `data.jsonl` with so many cases, which look for these words in turn.
#[track_caller]
fn write_dataset(cx: &TestContext, cases: usize, words: &[&str]) {
    let case = |at: usize| {
        let word = words[at % words.len()];
        let evaluators = json!([{ "name": "e", "type": "contains", "value": word }]);
        let id = format!("case-{at}");
        json!({ "id": id, "input": "q", "expected_outcome": "x", "evaluators": evaluators })
    };
    let lines: Vec<String> = (0..cases).map(|at| case(at).to_string()).collect();
    cx.write("data.jsonl", &lines.join("\n"));
}

const MOODS: [&str; 3] = ["a b", "a c", "a"];

#[test]
fn each_trial_is_a_call_and_a_record_of_its_own() {
    let cx = mocked(&["a", "b"]);
    let target = "echo {EVAL_ID} {TRIAL} $AGENTV_TRIAL >> calls; echo ok {TRIAL}";
    cx.write("targets.yaml", &targets(&[cli_target("default", target)]));
    let ran = eval(&cx, &["--trials", "3"]);
    ran.success().stdout_has("6/6  ✓ passed   1.000  b (trial 3)  default\n");
    assert_eq!(calls(&cx), ["a 0 0", "a 1 1", "a 2 2", "b 0 0", "b 1 1", "b 2 2"]);
    assert_eq!(recorded(&cx), ["a 0", "a 1", "a 2", "b 0", "b 1", "b 2"]);
    for record in ran.records() {
        assert_eq!(record["candidate_answer"], format!("ok {}", record["trial"]));
    }
    // A trial is where it belongs in the record, and the whole record is as the contract has it.
    assert!(cx.read("out.jsonl").contains("\"target\":\"default\",\"trial\":0,"));
    assert_eq!(info(&folder(&cx))["cases"], 6);
}

#[test]
fn one_trial_leaves_everything_as_it_was() {
    let cx = mocked(&["a", "b"]);
    eval(&cx, &[]).success();
    let without = timeless(&cx);
    let ran = eval(&cx, &["--trials", "1"]);
    ran.success().stdout_lacks("Trials");
    assert_eq!(timeless(&cx), without);
    assert!(!cx.read("out.jsonl").contains("trial"));
    for folder in folders(&cx) {
        assert_eq!(info(&folder)["totals"].get("trials"), None);
    }
    assert_eq!(shown(&cx).get("case_trials"), None);
}

#[test]
fn suites_have_trials_of_their_own_and_the_flag_wins() {
    let cx = mocked(&["a"]);
    let often = cases(&["b"]).replace("execution:\n", "execution:\n  trials: 2\n");
    cx.write("often.yaml", &often);
    cx.write(
        "data.jsonl",
        &format!("{}\n", json!({ "id": "c", "input": "q", "expected_outcome": "x" })),
    );
    cx.write(
        "data.yaml",
        "execution: {trials: 3, evaluators: [{name: e, type: contains, value: ok}]}\n",
    );
    let args = ["eval", "suite.yaml", "often.yaml", "data.jsonl", "--out", "out.jsonl"];
    let ran = cx.agentv(args).run();
    ran.success().stdout_has("Trials of often on default:").stdout_has("1 case, 2 times each");
    ran.stdout_has("Trials of data on default:").stdout_lacks("Trials of suite");
    assert_eq!(recorded(&cx), ["a null", "b 0", "b 1", "c 0", "c 1", "c 2"]);
    let of: Vec<Value> = info(&folder(&cx))["totals"]["trials"].as_array().unwrap().clone();
    let of: Vec<&Value> = of.iter().map(|totals| &totals["dataset"]).collect();
    assert_eq!(of, ["data", "often"]);
    cx.agentv(args.iter().chain(&["--trials", "1"])).run().success();
    assert_eq!(recorded(&cx), ["a null", "b null", "c null"]);
}

#[test]
fn a_bad_number_of_trials_is_refused_with_its_place() {
    let cx = mocked(&["a"]);
    for bad in ["0", "1001", "1.5", "-1", "\"many\"", "1e9"] {
        cx.write("suite.yaml", &format!("execution:\n  trials: {bad}\n{}", mixed()));
        let ran = eval(&cx, &[]);
        let said = "`trials` must be a whole number from 1 to 1000, not `";
        ran.code(2).stderr_has(said).stderr_has("suite.yaml:2:11");
        ran.stderr_has("leave `trials` out to run each case once");
    }
    cx.write("suite.yaml", &cases(&["a"]));
    for bad in ["0", "1001", "x"] {
        eval(&cx, &["--trials", bad]).code(2).stderr_has("--trials");
    }
    assert!(folders(&cx).is_empty());
}

#[test]
fn the_figures_are_those_of_the_reference() {
    let cx = context();
    cx.write("targets.yaml", &targets(&[moody(&MOODS)]));
    cx.write("suite.yaml", &mixed());
    let ran = eval(&cx, &["--trials", "3", "--workers", "4"]);
    // Passed 3, 1, 1 and 0 times of 3. pass@2 of a case that passed once: 1 − C(2,2)/C(3,2) = 2/3.
    ran.success().stdout_has(
        "\nTrials of suite on default:
  4 cases, 3 times each: 5 of 12 passed
  Mean score: 0.417 (95 % interval 0.122 to 0.785)
     k  pass@k  95 % interval   pass^k  95 % interval
     1   0.417  0.122 to 0.785   0.417  0.122 to 0.785
     2   0.583  0.195 to 0.890   0.250  0.046 to 0.699
     3   0.750  0.301 to 0.954   0.250  0.046 to 0.699
  Flaky cases: 2
    1/3 passed  first
    1/3 passed  second
",
    );
    // The lines of 2.x are as they were, but that a case is placed once, by its mean.
    let lines = cx
        .agentv(["eval", "suite.yaml", "--trials", "3", "--compat", "2x", "--no-run-folder"])
        .run();
    let ran = lines.success().stdout_has("Total eval cases: 12\nMean score: 0.417\n");
    ran.stdout_has("  1. always: 1.000\n  2. first: 0.333\n  3. second: 0.333\n");
    let totals = info(&folder(&cx))["totals"]["trials"][0].clone();
    let third = 1.0 / 3.0;
    let near = |found: &Value, expected: f64| {
        assert!((found.as_f64().unwrap() - expected).abs() < 1e-12, "{found} is not {expected}");
    };
    let expected = [
        (1, (1.0 + third + third) / 4.0, (1.0 + third + third) / 4.0),
        (2, (1.0 + 2.0 * third + 2.0 * third) / 4.0, 0.25),
        (3, 0.75, 0.25),
    ];
    for (found, (k, any, all)) in totals["pass"].as_array().unwrap().iter().zip(expected) {
        assert_eq!((&found["k"], &found["cases"]), (&k.into(), &4.into()));
        near(&found["pass_at_k"], any);
        near(&found["pass_hat_k"], all);
    }
    near(&totals["mean_score"], 5.0 / 12.0);
    // Wilson's for 100/21 independent records, as in `group_interval.json`.
    near(&totals["interval"]["low"], 0.122_348_152_632_236_97);
    near(&totals["interval"]["high"], 0.785_402_951_220_211_3);
    assert_eq!((&totals["cases"], &totals["recorded"]), (&4.into(), &12.into()));
    let shown = shown(&cx);
    assert_eq!(shown["totals"]["trials"][0], totals);
    let first =
        shown["case_trials"].as_array().unwrap().iter().find(|case| case["eval_id"] == "first");
    let first = first.unwrap();
    assert_eq!((&first["trials"], &first["passed"]), (&3.into(), &1.into()));
    near(&first["mean_score"], third);
    // Wilson's for 1 in 3.
    near(&first["pass_interval"]["low"], 0.061_491_944_720_396_21);
    near(&first["pass_interval"]["high"], 0.792_340_399_197_952_2);
}

#[test]
fn the_interval_of_a_pass_rate_is_wilsons() {
    let cx = context();
    cx.write("targets.yaml", &targets(&[mock_target("default", "ok")]));
    for (cases, passed, expected) in [
        (10, 8, "80.0 % (49.0 % to 94.3 %)"),
        (10, 10, "100.0 % (72.2 % to 100.0 %)"),
        (50, 40, "80.0 % (67.0 % to 88.8 %)"),
        (6, 5, "83.3 % (43.6 % to 97.0 %)"),
        (1, 0, "0.0 % (0.0 % to 79.3 %)"),
    ] {
        let words: Vec<&str> = (0..cases).map(|at| if at < passed { "ok" } else { "no" }).collect();
        write_dataset(&cx, cases, &words);
        let ran = cx.agentv(["eval", "data.jsonl", "--out", "out.jsonl"]).run();
        ran.success().stdout_has(&format!("\npass rate {expected}, 95 % interval in brackets\n"));
    }
}

#[test]
fn an_interval_is_about_cases_and_not_about_trials() {
    let cx = context();
    // Ten cases, of which half pass, whatever the trial.
    write_dataset(&cx, 10, &["ok", "no"]);
    cx.write("targets.yaml", &targets(&[mock_target("default", "ok")]));
    for trials in ["2", "50"] {
        let args = ["eval", "data.jsonl", "--trials", trials, "--out", "out.jsonl"];
        // 5 in 10, with each number of trials.
        let ran = cx.agentv(args).run();
        ran.success().stdout_has("Mean score: 0.500 (95 % interval 0.237 to 0.763)");
        ran.stdout_has("\nmean score 0.500 (0.237 to 0.763)\n");
        ran.stdout_has("\npass rate 50.0 % (23.7 % to 76.3 %), ");
    }
}

#[test]
fn flaky_cases_are_named_worst_first_and_not_without_end() {
    let cx = context();
    let ids: Vec<String> = (0..12).map(|number| format!("case-{number:02}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    cx.write("suite.yaml", &cases(&ids));
    // The last one passes once in four trials, the others three times.
    let command = "case {EVAL_ID}{TRIAL} in case-11[012]|*3) echo no;; *) echo ok;; esac";
    cx.write("targets.yaml", &targets(&[cli_target("default", command)]));
    let ran = eval(&cx, &["--trials", "4", "--workers", "4"]);
    ran.success().stdout_has("  Flaky cases: 11\n    3/4 passed  case-00\n");
    ran.stdout_has("    3/4 passed  case-09\n    … and 1 more\n").stdout_lacks("pass  case-11");
    let command = "case {EVAL_ID}{TRIAL} in case-11[012]|case-0?3) echo no;; *) echo ok;; esac";
    cx.write("targets.yaml", &targets(&[cli_target("default", command)]));
    let ran = eval(&cx, &["--trials", "4", "--workers", "4"]);
    ran.success()
        .stdout_has("  Flaky cases: 11\n    1/4 passed  case-11\n    3/4 passed  case-00\n");
}

#[test]
fn trials_of_one_case_run_at_the_same_time() {
    let cx = mocked(&["a"]);
    let mut meeting = waiting(&cx, "{TRIAL}");
    let args = ["eval", "suite.yaml", "--out", "out.jsonl", "--trials", "3", "--workers", "3"];
    let running = cx.agentv(args).start();
    let mut there = [meeting.next(), meeting.next(), meeting.next()];
    there.sort();
    assert_eq!(there, ["0", "1", "2"]);
    meeting.let_go(3);
    running.finish().success();
    assert_eq!(recorded(&cx), ["a 0", "a 1", "a 2"]);
}

#[test]
fn a_killed_run_goes_on_with_the_trials_that_are_left() {
    let cx = mocked(&["a", "b"]);
    let meeting = cx.meeting("meeting");
    let hold = format!("case {{EVAL_ID}}{{TRIAL}} in b1) {}; sleep 600;; esac;", meeting.tell("b"));
    cx.write("targets.yaml", &targets(&[counting(&format!("[ -e again ] || {hold}"))]));
    let args = ["eval", "suite.yaml", "--out", "out.jsonl", "--trials", "3"];
    let mut running = cx.agentv(args).start();
    meeting.next();
    while !running.read_line().contains("4/6  ✓ passed   1.000  b") {}
    running.signal("KILL");
    running.finish();
    assert_eq!(recorded(&cx), ["a 0", "a 1", "a 2", "b 0"]);
    // What is known so far: one case is whole, the other is not.
    let totals = shown(&cx)["totals"]["trials"][0].clone();
    assert_eq!(
        (&totals["cases"], &totals["trials"], &totals["recorded"]),
        (&2.into(), &3.into(), &4.into())
    );
    let text = cx.agentv(["runs", "show"]).run();
    text.success().stdout_has("2 cases, 3 times at most: 4 of 4 passed");
    // Two trials are known of one case only.
    text.stdout_has("     1   1.000  0.342 to 1.000   1.000  0.342 to 1.000\n");
    text.stdout_has("     2   1.000  0.207 to 1.000   1.000  0.207 to 1.000  1 of 2 cases\n");
    cx.agentv(["report", "--markdown", "-"]).run().success().stdout_has("| 1 of 2 | 2 | 1.000 (");
    cx.write("again", "");
    let ran = resume(&cx, &[]);
    ran.success()
        .stdout_has(": 4 of 6 trials are done")
        .stdout_has("2 cases, 3 times each: 6 of 6 passed");
    assert_eq!(recorded(&cx), ["a 0", "a 1", "a 2", "b 0", "b 1", "b 2"]);
    assert_eq!(calls(&cx), ["a 0", "a 1", "a 2", "b 0", "b 1", "b 1", "b 2"]);
}

#[test]
fn an_answer_of_a_trial_is_graded_without_asking_again() {
    let cx = context();
    let killer = r#"#!/bin/sh
grep -q 'trial 1' && [ ! -e killed ] && {
    touch killed
    pid=$PPID
    while [ "$(cat /proc/$pid/comm)" != agentv ]; do pid=$(cut -d' ' -f4 /proc/$pid/stat); done
    kill -9 $pid; exec sleep 600
}
echo '{"score": 1}'
"#;
    cx.script("judge.sh", killer);
    cx.write("suite.yaml", &suite("- {name: j, type: code_judge, script: [./judge.sh]}"));
    cx.write("targets.yaml", &targets(&[counting("echo trial {TRIAL};")]));
    eval(&cx, &["--trials", "3"]).code(137);
    assert_eq!(recorded(&cx), ["one 0"]);
    resume(&cx, &[]).success().stdout_has("1 answered before, and only graded now");
    assert_eq!(recorded(&cx), ["one 0", "one 1", "one 2"]);
    assert_eq!(calls(&cx), ["one 0", "one 1", "one 2"]);
}

#[test]
fn only_the_trials_that_ended_in_an_error_are_tried_again() {
    let cx = mocked(&["a", "b"]);
    let fails = "case {EVAL_ID}{TRIAL} in b1) [ -e again ] || exit 3;; esac;";
    cx.write("targets.yaml", &targets(&[counting(fails)]));
    let ran = eval(&cx, &["--trials", "2"]);
    ran.code(3)
        .stdout_has("2 cases, 2 times each: 3 of 4 passed, 1 error")
        .stdout_has("1/2 passed  b");
    cx.write("again", "");
    let ran = resume(&cx, &["--retry-errors"]);
    ran.success()
        .stdout_has("1 ended in an error or ungraded: run or graded again")
        .stdout_has("Flaky cases: none");
    assert_eq!(recorded(&cx), ["a 0", "a 1", "b 0", "b 1"]);
    assert_eq!(calls(&cx), ["a 0", "a 1", "b 0", "b 1", "b 1"]);
    assert_eq!(info(&folder(&cx))["totals"]["trials"][0]["errors"], 0);
}

#[test]
fn a_resume_may_have_more_trials_or_fewer() {
    let cx = mocked(&["a", "b"]);
    cx.write("targets.yaml", &targets(&[counting("")]));
    eval(&cx, &[]).success();
    let once = cx.read("out.jsonl");
    // More: only those that are missing are asked for. What there was is the first trial.
    let ran = resume(&cx, &["--trials", "3"]);
    ran.success().stdout_has(": 2 of 6 trials are done").stdout_has("2 cases, 3 times each");
    assert!(cx.read("out.jsonl").starts_with(&once), "a record is not what it was");
    assert_eq!(recorded(&cx), ["a 1", "a 2", "a null", "b 1", "b 2", "b null"]);
    assert_eq!(calls(&cx), ["a 0", "a 1", "a 2", "b 0", "b 1", "b 2"]);
    assert_eq!(shown(&cx)["case_trials"][0]["trials"], 3);
    // Fewer: the rest is kept aside.
    let ran = resume(&cx, &["--trials", "2"]);
    ran.success().stdout_has("2 no longer wanted: moved to removed.jsonl (a, b)");
    assert_eq!(recorded(&cx), ["a 1", "a null", "b 1", "b null"]);
    assert_eq!(calls(&cx).len(), 6);
    let removed = fs::read_to_string(folder(&cx).join("removed.jsonl")).unwrap();
    assert_eq!(removed.matches("\"trial\":2").count(), 2);
}

#[test]
fn a_batch_is_one_call_for_each_trial() {
    let cx = mocked(&["a", "b"]);
    let script = "echo {EVAL_ID} {TRIAL} >> calls; for id in a b; do \
        echo '{\"id\": \"'$id'\", \"text\": \"ok '{TRIAL}'\"}'; done";
    let target = cli_target("default", script) + "    provider_batching: true\n";
    cx.write("targets.yaml", &targets(&[target]));
    let ran = eval(&cx, &["--trials", "2"]);
    ran.success();
    assert_eq!(calls(&cx), ["batch 0", "batch 1"]);
    assert_eq!(recorded(&cx), ["a 0", "a 1", "b 0", "b 1"]);
    for record in ran.records() {
        assert_eq!(record["candidate_answer"], format!("ok {}", record["trial"]));
    }
    // A run that goes on asks for what is missing, in a batch of its own.
    resume(&cx, &["--trials", "3"]).success();
    assert_eq!(calls(&cx), ["batch 0", "batch 1", "batch 2"]);
}

#[test]
fn all_trials_of_a_case_are_in_one_shard_and_shards_merge() {
    let ids = ["a", "b", "c", "d", "e", "f"];
    let cx = mocked(&ids);
    let mut all = Vec::new();
    for (shard, out) in [("1/2", "one.jsonl"), ("2/2", "two.jsonl")] {
        let args = ["eval", "suite.yaml", "--trials", "3", "--shard", shard, "--out", out];
        cx.agentv(args).run().success();
        let records: Vec<Value> =
            cx.read(out).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(!records.is_empty());
        let mine: Vec<String> =
            records.iter().map(|record| record["eval_id"].to_string()).collect();
        for id in &mine {
            assert_eq!(mine.iter().filter(|other| *other == id).count(), 3, "{mine:?}");
        }
        all.extend(mine);
    }
    assert_eq!(all.len(), 18);
    cx.agentv(["merge", "one.jsonl", "two.jsonl", "--out", "merged.jsonl"]).run().success();
    assert_eq!(cx.read("merged.jsonl").lines().count(), 18);
    // A sample and a filter choose cases, not trials.
    eval(&cx, &["--trials", "3", "--sample", "2"]).success().stdout_has("Selected: 2 of 6 cases");
    assert_eq!(recorded(&cx).len(), 6);
    eval(&cx, &["--trials", "3", "--filter", "c"]).success();
    assert_eq!(recorded(&cx), ["c 0", "c 1", "c 2"]);
}

#[test]
fn yaml_has_trials_too() {
    let cx = mocked(&["a"]);
    let args =
        ["eval", "suite.yaml", "--trials", "2", "--output-format", "yaml", "--out", "out.yaml"];
    cx.agentv(args).run().success();
    let text = cx.read("out.yaml");
    assert!(text.contains("target: default\ntrial: 0\n"), "{text}");
    assert!(text.contains("target: default\ntrial: 1\n"), "{text}");
}

#[test]
fn a_cache_knows_trials_apart_and_the_first_from_before() {
    let api = FakeLlm::start(|asked| {
        let is_judge = asked.body.to_string().contains("single JSON object");
        FakeReply::text(asked, if is_judge { r#"{"score": 1}"# } else { "Done" })
    });
    let cx = context();
    cx.write("targets.yaml", &targets(&[openai_target("default", &api.url())]));
    cx.write("suite.yaml", &suite("- {name: j, type: llm_judge}"));
    // A candidate and a judge each.
    eval(&cx, &["--cache"]).success();
    assert_eq!(api.asked().len(), 2);
    eval(&cx, &["--cache", "--trials", "3"]).success();
    assert_eq!(api.asked().len(), 6);
    eval(&cx, &["--cache", "--trials", "3"]).success().stdout_has("3 of 3 passed");
    eval(&cx, &["--cache"]).success();
    assert_eq!(api.asked().len(), 6);
}

#[test]
fn a_cassette_has_each_trial_and_the_first_is_good_for_a_run_without() {
    let cx = mocked(&["a"]);
    cx.write("targets.yaml", &targets(&[counting("echo {TRIAL};")]));
    eval(&cx, &["--trials", "3", "--record", "tape.jsonl"]).success();
    let (recorded, asked) = (timeless(&cx), calls(&cx));
    eval(&cx, &["--trials", "3", "--replay", "tape.jsonl"]).success();
    assert_eq!(timeless(&cx), recorded);
    eval(&cx, &["--replay", "tape.jsonl"]).success();
    assert_eq!(timeless(&cx)[0]["candidate_answer"], recorded[0]["candidate_answer"]);
    let ran = eval(&cx, &["--trials", "4", "--replay", "tape.jsonl"]);
    ran.code(3).stdout_has("trial 3");
    assert_eq!(calls(&cx), asked);
}

#[test]
fn two_runs_with_trials_compare() {
    let cx = mocked(&["a", "b", "c"]);
    let run = |always: &str, out: &str| {
        let command =
            format!("case {{EVAL_ID}}{{TRIAL}} in {always}|b0) echo ok;; *) echo no;; esac");
        cx.write("targets.yaml", &targets(&[cli_target("default", &command)]));
        cx.agentv(["eval", "suite.yaml", "--trials", "4", "--out", out]).run().success();
    };
    run("a[01]", "before.jsonl");
    run("a?|c?", "after.jsonl");
    let ran = cx.agentv(["compare", "before.jsonl", "after.jsonl", "--format", "json"]).run();
    let found: Value = serde_json::from_str(&ran.success().stdout).unwrap();
    let scores: Vec<(f64, f64)> = found["matched"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| (case["score1"].as_f64().unwrap(), case["score2"].as_f64().unwrap()))
        .collect();
    assert_eq!(scores, [(0.5, 1.0), (0.25, 0.25), (0.0, 1.0)]);
    assert_eq!(found["matched"][0]["trials1"], 4);
    assert_eq!(found["statistics"]["cases"], 3);
}

#[test]
fn gates_look_at_the_mean_of_all_trials() {
    let cx = context();
    cx.write("targets.yaml", &targets(&[moody(&["ok", "no"])]));
    cx.write("suite.yaml", &cases(&["a", "b"]));
    eval(&cx, &["--trials", "4", "--threshold", "0.5"]).success();
    let ran = eval(&cx, &["--trials", "4", "--threshold", "0.6"]);
    ran.code(1).stderr_has("target `default` has a mean of 0.500");
    eval(&cx, &["--trials", "4", "--case-threshold", "0.5"]).code(1);
}

/// The most memory that a run of so many cases takes, with three trials each, in KiB.
#[track_caller]
fn peak(cx: &TestContext, cases: usize) -> u64 {
    write_dataset(cx, cases, &["a", "b", "c", "z"]);
    let script = "import resource, subprocess, sys\n\
        ended = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)\n\
        print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n\
        sys.exit(ended.returncode)\n";
    #[expect(clippy::disallowed_methods, reason = "tests run programs from outside")]
    let ran = std::process::Command::new("python3")
        .args(["-c", script, env!("CARGO_BIN_EXE_agentv"), "eval", "data.jsonl"])
        .args(["--trials", "3", "--workers", "4", "--out", "out.jsonl"])
        .current_dir(cx.dir())
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(cx.read("out.jsonl").lines().count(), cases * 3);
    String::from_utf8(ran.stdout).unwrap().trim().parse().unwrap()
}

#[test]
fn memory_does_not_grow_with_cases_and_trials() {
    let cx = context();
    cx.write("targets.yaml", &targets(&[moody(&MOODS)]));
    let (few, many) = (peak(&cx, 500), peak(&cx, 5_000));
    // 13 500 records more. One of them is half a KiB, and more in memory; what may be kept of it is 8 bytes.
    assert!(many < few + 4096, "{few} KiB, then {many} KiB");
    let totals = info(folders(&cx).last().unwrap())["totals"]["trials"][0].clone();
    assert_eq!((&totals["cases"], &totals["flaky"]), (&5000.into(), &2500.into()));
    let pass = &totals["pass"][2];
    assert_eq!((&pass["k"], &pass["cases"]), (&3.into(), &5000.into()));
    assert_eq!((&pass["pass_at_k"], &pass["pass_hat_k"]), (&json!(0.75), &json!(0.25)));
}
