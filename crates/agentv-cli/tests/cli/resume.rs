//! Runs that end early, and what becomes of them when they are taken up again.

use crate::runs::{folder, folders, info};
use crate::{context, eval, mocked, waiting};
use agentv_test_support::{
    Ran, TestContext, cases, cli_target, is_alive, mock_target, suite, targets,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;

/// A target that writes down each of its calls in `calls`, and answers `ok`.
fn counting(then: &str) -> String {
    cli_target("default", &format!("echo {{EVAL_ID}} >> calls; {then} echo ok"))
}

/// A judge that kills the run the first time it is asked.
const KILLER: &str = r#"#!/bin/sh
pid=$PPID
while [ "$(cat /proc/$pid/comm)" != agentv ]; do pid=$(cut -d' ' -f4 /proc/$pid/stat); done
[ -e killed ] || { touch killed; kill -9 $pid; exec sleep 600; }
echo '{"score": 1}'
"#;

/// What a target that counts its calls wrote down, sorted.
#[track_caller]
pub(crate) fn calls(cx: &TestContext) -> Vec<String> {
    let mut calls: Vec<String> = cx.read("calls").lines().map(str::to_owned).collect();
    calls.sort();
    calls
}

/// Runs `agentv eval --resume` and more.
#[track_caller]
pub(crate) fn resume(cx: &TestContext, more: &[&str]) -> Ran {
    cx.agentv(["eval", "--resume"].iter().chain(more)).run()
}

/// The ids of all records in `out.jsonl`.
#[track_caller]
fn recorded(cx: &TestContext) -> Vec<String> {
    recorded_as(cx, |record| record["eval_id"].as_str().unwrap().to_owned())
}

/// The names of all records in `out.jsonl`, sorted. Every line must be whole.
#[track_caller]
pub(crate) fn recorded_as(cx: &TestContext, name: impl Fn(Value) -> String) -> Vec<String> {
    let text = cx.read("out.jsonl");
    assert!(text.is_empty() || text.ends_with('\n'), "torn: {text}");
    let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut names: Vec<String> = records.map(name).collect();
    names.sort();
    names
}

/// A run of `a`, `b` and `c` with one worker that is ended by a signal while `b` is under way.
#[track_caller]
fn stopped(signal: &str) -> (TestContext, Ran) {
    let cx = mocked(&["a", "b", "c"]);
    let meeting = cx.meeting("meeting");
    let hold = format!("case {{EVAL_ID}} in b) {}; sleep 600;; esac;", meeting.tell("b"));
    cx.write("targets.yaml", &targets(&[counting(&format!("[ -e again ] || {hold}"))]));
    let mut running = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).start();
    meeting.next();
    // A worker may be at the next case before the record of the last one is written.
    while !running.read_line().contains("1/3  ✓ passed   1.000  a") {}
    running.signal(signal);
    let ran = running.finish();
    cx.write("again", "");
    (cx, ran)
}

#[test]
fn a_killed_run_goes_on_where_it_was() {
    let (cx, _) = stopped("KILL");
    assert_eq!(recorded(&cx), ["a"]);
    let first = cx.read("out.jsonl");
    let ran = resume(&cx, &[]);
    ran.success().stdout_has(": 1 of 3 cases are done").stdout_has("2/3  ✓ passed   1.000  b");
    ran.stdout_has("✓ 3 passed  in ");
    assert_eq!(recorded(&cx), ["a", "b", "c"]);
    assert!(cx.read("out.jsonl").starts_with(&first), "the first record is not the same any more");
    // `b` was asked twice, as it had not answered.
    assert_eq!(calls(&cx), ["a", "b", "b", "c"]);
    let info = info(&folder(&cx));
    assert_eq!((&info["ending"], &info["totals"]["recorded"]), (&"complete".into(), &3.into()));
    assert_eq!(info["resumed"].as_array().unwrap().len(), 1);
}

#[test]
fn an_interrupted_run_says_how_to_go_on() {
    let (cx, ran) = stopped("INT");
    let run = folder(&cx).file_name().unwrap().to_str().unwrap().to_owned();
    ran.code(130).stderr_has(&format!("resume it with `agentv eval --resume {run}`"));
    assert_eq!(info(&folder(&cx))["ending"], "interrupted");
    cx.agentv(["runs", "list"]).run().success().stdout_has("interrupted  1/3");
    resume(&cx, &[]).success();
    assert_eq!(recorded(&cx), ["a", "b", "c"]);
    assert_eq!(calls(&cx), ["a", "b", "b", "c"]);
}

#[test]
fn what_a_killed_run_started_is_ended() {
    let cx = mocked(&["a"]);
    let meeting = cx.meeting("meeting");
    let command = format!(
        "[ -e again ] || {{ setsid sh -c 'echo $$ > child; {}; exec sleep 600'; }}; echo ok",
        meeting.tell("child")
    );
    cx.write("targets.yaml", &targets(&[cli_target("default", &command)]));
    let running = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).start();
    meeting.next();
    running.signal("KILL");
    running.finish();
    assert!(is_alive(&cx.read("child")));
    cx.write("again", "");
    resume(&cx, &[]).success();
    assert!(!is_alive(&cx.read("child")));
}

#[test]
fn an_answer_is_not_paid_for_twice_when_grading_is_cut_off() {
    let cx = context();
    cx.script("judge.sh", KILLER);
    cx.write("suite.yaml", &suite("- {name: j, type: code_judge, script: [./judge.sh]}"));
    cx.write("targets.yaml", &targets(&[counting("")]));
    eval(&cx, &[]).code(137);
    assert_eq!((recorded(&cx), calls(&cx)), (vec![], vec!["one".to_owned()]));
    let ran = resume(&cx, &[]);
    ran.success().stdout_has("1 answered before, and only graded now");
    let record: Value = serde_json::from_str(&cx.read("out.jsonl")).unwrap();
    assert_eq!((&record["score"], &record["candidate_answer"]), (&1.into(), &"ok".into()));
    assert_eq!(calls(&cx), ["one"]);
}

#[test]
fn an_answer_whose_workspace_is_gone_is_asked_for_again() {
    let cx = context();
    cx.script("judge.sh", KILLER);
    cx.write("suite.yaml", &suite("- {name: j, type: code_judge, script: [./judge.sh]}"));
    let command = "echo one >> \"$AGENTV_EVAL_DIR\"/calls; echo ok";
    let target = cli_target("default", command) + "    workspace: {keep: never}\n";
    cx.write("targets.yaml", &targets(&[target]));
    eval(&cx, &[]).code(137);
    let ran = resume(&cx, &[]);
    ran.success().stdout_has("1 run again, since the workspace of the answer is gone");
    assert_eq!((recorded(&cx), calls(&cx).len()), (vec!["one".to_owned()], 2));
}

#[test]
fn a_torn_line_is_cut_and_its_case_done_again() {
    let cx = mocked(&["a", "b", "c"]);
    eval(&cx, &[]).success();
    let whole = cx.read("out.jsonl");
    let file = fs::File::options().write(true).open(cx.path("out.jsonl")).unwrap();
    file.set_len(whole.len() as u64 - 20).unwrap();
    let ran = resume(&cx, &[]);
    ran.success().stdout_has("1 record was cut off in the middle").stdout_has(": 2 of 3 cases");
    assert_eq!(recorded(&cx), ["a", "b", "c"]);
    let lines: Vec<&str> = whole.lines().collect();
    assert!(cx.read("out.jsonl").starts_with(&format!("{}\n{}\n", lines[0], lines[1])));
}

#[test]
fn a_torn_line_of_the_journal_costs_one_call() {
    let cx = mocked(&["a", "b"]);
    cx.write("targets.yaml", &targets(&[counting("")]));
    eval(&cx, &[]).success();
    let folder = folder(&cx);
    // As if the power had gone: the results are older than the journal, and that is torn, too.
    fs::File::options().write(true).open(folder.join("results.jsonl")).unwrap().set_len(0).unwrap();
    let journal = fs::read_to_string(folder.join("journal.jsonl")).unwrap();
    let of_a = journal.lines().filter(|line| line.contains("\"eval_id\":\"a\""));
    let torn: Vec<&str> = of_a.collect();
    fs::write(folder.join("journal.jsonl"), format!("{}\n{{\"answered\":{{\"ca", torn.join("\n")))
        .unwrap();
    resume(&cx, &[]).success().stdout_has("1 answered before, and only graded now");
    assert_eq!(recorded(&cx), ["a", "b"]);
    assert_eq!(calls(&cx), ["a", "b", "b"]);
}

#[test]
fn a_changed_case_is_run_again_and_a_moved_one_is_not() {
    let cx = mocked(&["a", "b", "c"]);
    cx.write("targets.yaml", &targets(&[counting("")]));
    eval(&cx, &[]).success();
    let changed = cases(&["c", "a", "b"]).replace("Question b", "Another question");
    cx.write("suite.yaml", &changed);
    let ran = resume(&cx, &[]);
    ran.success().stdout_has("1 changed since: run again (b)").stdout_has(": 2 of 3 cases");
    assert_eq!(recorded(&cx), ["a", "b", "c"]);
    assert_eq!(calls(&cx), ["a", "b", "b", "c"]);
    // The old record of `b` was paid for.
    let removed = fs::read_to_string(folder(&cx).join("removed.jsonl")).unwrap();
    assert_eq!(removed.lines().count(), 1);
    assert!(removed.contains("\"eval_id\":\"b\""));
    resume(&cx, &[]).success().stdout_has(": 3 of 3 cases").stdout_has("nothing is left to run");
}

#[test]
fn a_case_is_another_when_its_files_or_its_bar_are() {
    let cx = context();
    cx.write("targets.yaml", &targets(&[counting("")]));
    cx.write("note.txt", "one");
    let file = "evalcases:\n  - id: a\n    expected_outcome: x\n    \
        input: [{role: user, content: [{type: file, value: note.txt}]}]\n    \
        evaluators: [{name: e, type: contains, value: ok}]\n";
    cx.write("suite.yaml", file);
    eval(&cx, &[]).success();
    cx.write("note.txt", "two");
    resume(&cx, &[]).success().stdout_has("1 changed since: run again (a)");
    cx.write("suite.yaml", &format!("execution: {{pass_score: 0.5}}\n{file}"));
    resume(&cx, &[]).success().stdout_has("1 changed since: run again (a)");
    resume(&cx, &[]).success().stdout_has("nothing is left to run");
}

#[test]
fn a_case_that_is_gone_is_said_and_its_record_kept_aside() {
    let cx = mocked(&["a", "b"]);
    eval(&cx, &[]).success();
    cx.write("suite.yaml", &cases(&["a", "new"]));
    let ran = resume(&cx, &[]);
    ran.success().stdout_has("1 no longer wanted: moved to removed.jsonl (b)");
    assert_eq!(recorded(&cx), ["a", "new"]);
    assert!(folder(&cx).join("removed.jsonl").exists());
}

#[test]
fn errors_are_tried_again_only_if_asked() {
    let cx = mocked(&["a", "b", "c"]);
    let fails = "case {EVAL_ID} in b) [ -e again ] || exit 3;; esac;";
    cx.write("targets.yaml", &targets(&[counting(fails)]));
    eval(&cx, &[]).code(3);
    cx.write("again", "");
    let ran = resume(&cx, &[]);
    ran.code(3).stdout_has("nothing is left to run").stdout_has("--retry-errors runs them again");
    assert_eq!(calls(&cx), ["a", "b", "c"]);
    let ran = resume(&cx, &["--retry-errors"]);
    ran.success().stdout_has("1 ended in an error or ungraded: run or graded again");
    assert_eq!(recorded(&cx), ["a", "b", "c"]);
    assert_eq!(calls(&cx), ["a", "b", "b", "c"]);
    assert_eq!(info(&folder(&cx))["totals"]["errors"], 0);
}

#[test]
fn a_failed_grading_is_tried_again_without_asking() {
    let cx = context();
    cx.script("judge.sh", "#!/bin/sh\n[ -e again ] || exit 1\necho '{\"score\": 1}'\n");
    let judge = "- {name: j, type: code_judge, script: [./judge.sh], on_judge_error: fail}";
    cx.write("suite.yaml", &suite(judge));
    cx.write("targets.yaml", &targets(&[counting("")]));
    eval(&cx, &[]).code(3);
    cx.write("again", "");
    resume(&cx, &["--retry-errors"]).success();
    assert_eq!((recorded(&cx), calls(&cx)), (vec!["one".to_owned()], vec!["one".to_owned()]));
}

#[test]
fn a_finished_run_has_nothing_left() {
    let cx = mocked(&["a", "b"]);
    eval(&cx, &[]).success();
    let before = cx.read("out.jsonl");
    let ran = resume(&cx, &[]);
    ran.success().stdout_has("nothing is left to run").stdout_has("✓ 2 passed  in ");
    assert_eq!(cx.read("out.jsonl"), before);
    assert_eq!(folders(&cx).len(), 1);
}

#[test]
fn only_one_process_works_on_a_run() {
    let cx = mocked(&["a", "b"]);
    let mut meeting = waiting(&cx, "{EVAL_ID}");
    let running = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).start();
    meeting.next();
    resume(&cx, &[]).code(2).stderr_has("is in use by process");
    running.signal("KILL");
    running.finish();
    let running = cx.agentv(["eval", "--resume"]).start();
    meeting.next();
    resume(&cx, &[]).code(2).stderr_has("is in use by process");
    meeting.let_go(1);
    meeting.next();
    meeting.let_go(1);
    running.finish().success();
    assert_eq!(recorded(&cx), ["a", "b"]);
}

#[test]
fn the_run_is_found_by_id_by_files_or_as_the_last() {
    let cx = mocked(&["a"]);
    cx.write("other.yaml", &cases(&["x"]));
    cx.agentv(["eval", "--resume"]).run().code(2).stderr_has("no run to resume");
    eval(&cx, &[]).success();
    cx.agentv(["eval", "other.yaml", "--out", "other.jsonl"]).run().success();
    let id = |at: usize| folders(&cx)[at].file_name().unwrap().to_str().unwrap().to_owned();
    let said = |at: usize| format!("Resuming run {}: 1 of 1", id(at));
    resume(&cx, &[]).success().stdout_has(&said(1));
    resume(&cx, &[&id(0)]).success().stdout_has(&said(0));
    // `--resume suite.yaml` names a file and no run.
    resume(&cx, &["suite.yaml"]).success().stdout_has(&said(0));
    cx.agentv(["eval", "suite.yaml", "--resume"]).run().success().stdout_has(&said(0));
    resume(&cx, &["nonsense"]).code(2).stderr_has("unknown run `nonsense`");
    let ran = cx.agentv(["eval", "suite.yaml", "--eval-id", "a", "--resume"]).run();
    ran.code(2).stderr_has("no run of these files with these choices");
    let ran = cx.agentv(["eval", "suite.yaml", "--eval-id", "a", "--resume", &id(0)]).run();
    ran.code(2).stderr_has("other cases or targets");
    cx.agentv(["eval", "suite.yaml", "--dry-run", "--resume"]).run().code(2);
    assert_eq!(folders(&cx).len(), 2);
}

#[test]
fn flags_of_now_win_over_those_of_the_run() {
    let (cx, _) = stopped("KILL");
    let ran = resume(&cx, &["--workers", "2", "--out", "new.jsonl", "--threshold", "1"]);
    ran.success().stdout_has("new.jsonl");
    assert_eq!(cx.read("new.jsonl").lines().count(), 3);
}

#[test]
fn the_summary_and_the_gates_see_all_records() {
    let (cx, _) = stopped("KILL");
    // What is answered from now on is worth nothing, but the first record is not.
    cx.write("targets.yaml", &targets(&[mock_target("default", "no")]));
    let ran = resume(&cx, &["--threshold", "0.9"]);
    ran.code(1).stderr_has("mean of 0.333").stdout_has("mean score 0.333");
    ran.stderr_has("`targets.yaml` changed since the run began");
}

#[test]
fn yaml_output_is_whole_after_a_resume() {
    let cx = mocked(&["a", "b"]);
    let args = ["eval", "suite.yaml", "--output-format", "yaml", "--out", "out.yaml"];
    cx.agentv(args).run().success();
    let whole = cx.read("out.yaml");
    let results = folder(&cx).join("results.jsonl");
    let first = fs::read_to_string(&results).unwrap().lines().next().unwrap().to_owned();
    fs::write(&results, format!("{first}\n")).unwrap();
    resume(&cx, &[]).success();
    assert_eq!(cx.read("out.yaml").matches("eval_id: ").count(), 2);
    let start = whole.split_inclusive("\n---").next().unwrap();
    assert!(cx.read("out.yaml").starts_with(start.trim_end_matches("\n---")));
}

#[test]
fn answers_of_a_batch_are_kept() {
    let cx = context();
    cx.script("judge.sh", KILLER);
    let evaluators = "    - {name: j, type: code_judge, script: [./judge.sh]}";
    let text = cases(&["a", "b"]);
    let (_, rest) = text.split_once("evalcases:").unwrap();
    cx.write("suite.yaml", &format!("execution:\n  evaluators:\n{evaluators}\nevalcases:{rest}"));
    let lines = ["a", "b"].map(|id| json!({ "id": id, "text": "ok" }).to_string()).join("\n");
    cx.write("answers", &(lines + "\n"));
    let target = cli_target("default", "echo batch >> calls; cat answers > {OUTPUT_FILE}")
        + "    provider_batching: true\n";
    cx.write("targets.yaml", &targets(&[target]));
    eval(&cx, &[]).code(137);
    resume(&cx, &[]).success().stdout_has("2 answered before, and only graded now");
    assert_eq!((recorded(&cx), calls(&cx).len()), (vec!["a".to_owned(), "b".to_owned()], 1));
}

#[test]
fn each_case_has_a_record_after_results_were_cut_off() {
    let cx = mocked(&["one", "two", "other"]);
    cx.write("targets.yaml", &targets(&[counting("")]));
    eval(&cx, &[]).success();
    let whole = cx.read("out.jsonl");
    let file = fs::File::options().write(true).open(cx.path("out.jsonl")).unwrap();
    file.set_len(whole.lines().next().unwrap().len() as u64 + 1).unwrap();
    resume(&cx, &[]).success().stdout_has("2 answered before");
    assert_eq!(recorded(&cx), ["one", "other", "two"]);
    assert_eq!(calls(&cx).len(), 3);
}

#[test]
fn a_dataset_goes_on_line_by_line() {
    let cx = context();
    let case = |id: usize| {
        json!({ "id": format!("c{id}"), "input": "q", "expected_outcome": "o",
        "evaluators": [{ "name": "e", "type": "contains", "value": "ok" }] })
    };
    let lines: Vec<String> = (0..100).map(|id| case(id).to_string()).collect();
    cx.write("suite.jsonl", &lines.join("\n"));
    cx.write("targets.yaml", &targets(&[counting("")]));
    cx.agentv(["eval", "suite.jsonl", "--workers", "4", "--out", "out.jsonl"]).run().success();
    let whole = cx.read("out.jsonl");
    let kept: String = whole.split_inclusive('\n').take(40).collect();
    fs::write(cx.path("out.jsonl"), &kept).unwrap();
    let ran = resume(&cx, &[]);
    ran.success().stdout_has(": 40 of 100 cases are done").stdout_has("60 answered before");
    assert_eq!(recorded(&cx).len(), 100);
    assert_eq!(calls(&cx).len(), 100);
}

/// The bare promise: whenever it is killed, every case has one record in the end, and no call is wasted but those that were
/// under way.
#[test]
fn runs_killed_at_any_moment_lose_nothing() {
    const CASES: usize = 60;
    const WORKERS: usize = 4;
    let ids: Vec<String> = (0..CASES).map(|number| format!("case-{number}")).collect();
    for round in 0..5 {
        let cx = mocked(&ids.iter().map(String::as_str).collect::<Vec<_>>());
        cx.write("targets.yaml", &targets(&[counting("") + "    workers: 4\n"]));
        let mut running = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).start();
        // Each round a little later, by what it has told.
        for _ in 0..2 + round * 12 {
            running.read_line();
        }
        running.signal("KILL");
        running.finish().code(137);
        resume(&cx, &[]).success();
        let mut expected = ids.clone();
        expected.sort();
        assert_eq!(recorded(&cx), expected);
        let made = calls(&cx);
        assert!(made.len() <= CASES + WORKERS, "{} calls", made.len());
        let mut times: BTreeMap<&str, usize> = BTreeMap::new();
        for id in &made {
            *times.entry(id).or_default() += 1;
        }
        assert_eq!(times.len(), CASES);
        assert!(times.values().all(|times| *times <= 2), "{times:?}");
    }
}

/// On a disk that is full the run ends with a clear word, and goes on when there is room again.
#[test]
fn a_full_disk_ends_the_run_and_loses_nothing() {
    let cx = mocked(&[]);
    let ids: Vec<String> = (0..40).map(|number| format!("case-{number}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    fs::create_dir(cx.path("small")).unwrap();
    #[expect(clippy::disallowed_methods, reason = "a test has no runtime to ask")]
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=256k", "tmpfs"])
        .arg(cx.path("small"))
        .stderr(std::process::Stdio::null())
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        eprintln!("skipped: mounting is not permitted here");
        return;
    }
    let small = Mounted(cx.path("small"));
    cx.write("small/suite.yaml", &cases(&ids));
    // The calls are counted where there is room.
    let calls = cx.path("calls");
    let answer = format!("ok {}", "x".repeat(6000));
    cx.write("answer", &answer);
    let command =
        format!("echo {{EVAL_ID}} >> {}; cat {}", calls.display(), cx.path("answer").display());
    cx.write("small/targets.yaml", &targets(&[cli_target("default", &command)]));
    let args = ["eval", "suite.yaml", "--workers", "2", "--out", "out.jsonl"];
    let ran = cx.agentv(args).cwd("small").run();
    ran.code(3).stderr_has("results could not be written").stderr_has("--resume");
    let text = cx.read("small/out.jsonl");
    assert!(text.ends_with("}\n") && text.lines().count() < 40);
    #[expect(clippy::disallowed_methods, reason = "a test has no runtime to ask")]
    let grown = std::process::Command::new("mount")
        .args(["-o", "remount,size=8m"])
        .arg(&small.0)
        .status()
        .unwrap();
    assert!(grown.success());
    cx.agentv(["eval", "--resume"]).cwd("small").run().success();
    assert_eq!(cx.read("small/out.jsonl").lines().count(), 40);
    let made = cx.read("calls").lines().count();
    assert!(made <= 40 + 2, "{made} calls");
}

/// A file system of a test's own, taken away with it.
struct Mounted(std::path::PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        #[expect(clippy::disallowed_methods, reason = "a test has no runtime to ask")]
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn errors_and_failures_can_end_a_run_early() {
    let cx = mocked(&["a", "b", "c", "d"]);
    let fails = "case {EVAL_ID} in b|c) exit 3;; esac;";
    cx.write("targets.yaml", &targets(&[counting(fails)]));
    let ran = eval(&cx, &["--max-errors", "2", "--allow-errors"]);
    ran.code(3).stderr_has("--max-errors stopped the run").stderr_has("--resume");
    assert_eq!(recorded(&cx), ["a", "b", "c"]);
    assert_eq!(info(&folder(&cx))["ending"], "stopped");
    // Nothing is stopped by the last case of all.
    let ran = eval(&cx, &["--max-errors", "2", "--allow-errors", "--eval-id", "[bc]"]);
    ran.success().stderr_lacks("stopped the run");
    let ran = eval(&cx, &["--fail-fast"]);
    ran.code(3).stderr_has("--fail-fast stopped the run");
    assert_eq!(recorded(&cx), ["a", "b"]);
    cx.write("targets.yaml", &targets(&[mock_target("default", "no")]));
    eval(&cx, &["--fail-fast"]).code(1);
    assert_eq!(recorded(&cx), ["a"]);
    // The last case of all stops nothing, and is a failure all the same.
    let ran = eval(&cx, &["--fail-fast", "--eval-id", "d"]);
    ran.code(1);
    eval(&cx, &["--max-errors", "0"]).code(2);
    // It goes on as ever.
    cx.write("targets.yaml", &targets(&[mock_target("default", "ok")]));
    cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl", "--resume"]).run();
    assert_eq!(recorded(&cx), ["a", "b", "c", "d"]);
}

#[test]
fn what_is_told_is_in_the_journal_first() {
    let cx = mocked(&["a", "b"]);
    let mut meeting = cx.meeting("meeting");
    let judge = format!("#!/bin/sh\n{}\necho '{{\"score\": 1}}'\n", meeting.attend("judge"));
    cx.script("judge.sh", &judge);
    cx.write("suite.yaml", &suite("- {name: j, type: code_judge, script: [./judge.sh]}"));
    cx.write("targets.yaml", &targets(&[counting("")]));
    let running = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).start();
    assert_eq!(meeting.next(), "judge");
    // The judge is at work: the answer is kept, and there is no record.
    let journal = fs::read_to_string(folder(&cx).join("journal.jsonl")).unwrap();
    let lines: Vec<&str> = journal.lines().collect();
    assert!(lines[0].starts_with("{\"begun\":") && journal.ends_with("}\n"), "{journal}");
    assert!(lines[1].starts_with("{\"spent\":"), "{journal}");
    assert!(lines[2].starts_with("{\"answered\":"), "{journal}");
    assert_eq!(cx.read("out.jsonl"), "");
    meeting.let_go(1);
    running.finish().success();
    let journal = fs::read_to_string(folder(&cx).join("journal.jsonl")).unwrap();
    assert_eq!(journal.lines().count(), 4);
    assert!(journal.lines().last().unwrap().starts_with("{\"recorded\":"));
}

#[test]
fn lines_of_others_do_not_stay_in_the_results() {
    let cx = mocked(&["a", "b"]);
    eval(&cx, &[]).success();
    let mut file = fs::File::options().append(true).open(cx.path("out.jsonl")).unwrap();
    writeln!(file, "{{\"eval_id\":\"stranger\"}}").unwrap();
    resume(&cx, &[]).success().stdout_has("1 lines of the results are not from this run");
    assert_eq!(recorded(&cx), ["a", "b"]);
}
