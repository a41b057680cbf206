//! An answer comes first, then its grades: what runs at the same time, and what never does.
//!
//! Servers and scripts wait for each other. If the program did not overlap what it should, a server would lose its
//! patience and refuse, and the run would not exit with 0.

use crate::resume::{calls, resume};
use crate::{context, eval};
use agentv_test_support::{
    FakeLlm, FakeReply, GRADER, TestContext, cases, cli_target, openai_target, result_of, suite,
    targets,
};
use serde_json::json;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// No server waits longer than this for a request that should come.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a test waits for a request that must not come.
const GRACE: Duration = Duration::from_millis(200);

const GOOD: &str = r#"{"score": 1, "hits": [], "misses": [], "reasoning": "fine"}"#;
const LLM_JUDGE: &str = "{name: good, type: llm_judge, max_asks: 1}";

/// Counts what has happened, and lets others wait for it.
#[derive(Debug, Default, Clone)]
struct Counter(Arc<(Mutex<usize>, Condvar)>);

impl Counter {
    fn add(&self) {
        *self.0.0.lock().unwrap() += 1;
        self.0.1.notify_all();
    }

    fn get(&self) -> usize {
        *self.0.0.lock().unwrap()
    }

    /// Whether it reaches this number before patience is lost.
    fn reaches(&self, wanted: usize) -> bool {
        let (count, changed) = &*self.0;
        let count = count.lock().unwrap();
        let waited = changed.wait_timeout_while(count, PATIENCE, |count| *count < wanted).unwrap();
        !waited.1.timed_out()
    }
}

/// A model that counts its requests and answers `ok`.
#[track_caller]
fn counted(requests: &Counter) -> FakeLlm {
    let requests = requests.clone();
    FakeLlm::start(move |asked| {
        requests.add();
        FakeReply::text(asked, "ok")
    })
}

/// The verdict of a judge that waited for something; a refusal if it did not happen.
fn verdict(asked: &agentv_test_support::LlmCall, has_happened: bool) -> FakeReply {
    if has_happened {
        FakeReply::text(asked, GOOD)
    } else {
        // Not retried.
        FakeReply::error(401, "what the judge waited for did not happen")
    }
}

/// These cases, each graded by a model: `api` answers, `judge` grades.
#[track_caller]
fn judged_cases(ids: &[&str], api: &FakeLlm, judge: &FakeLlm) -> TestContext {
    let candidate = openai_target("default", &api.url()) + "    judge_target: judge\n";
    with_judge(&cases(ids).replace(GRADER, LLM_JUDGE), candidate, judge)
}

/// A suite on a target that has this judge.
#[track_caller]
fn with_judge(suite: &str, candidate: String, judge: &FakeLlm) -> TestContext {
    let cx = context();
    cx.write("targets.yaml", &targets(&[candidate, openai_target("judge", &judge.url())]));
    cx.write("suite.yaml", suite);
    cx
}

#[test]
fn the_next_case_is_asked_while_the_last_is_graded() {
    let requests = Counter::default();
    let api = counted(&requests);
    let ids = ["a", "b", "c", "d"];
    let judge = FakeLlm::start(move |asked| {
        let next = (asked.number + 2).min(ids.len());
        verdict(asked, requests.reaches(next))
    });
    let cx = judged_cases(&ids, &api, &judge);
    let ran = eval(&cx, &["--workers", "1"]);
    assert_eq!(ran.success().records().len(), ids.len());
}

/// Whether a file gets this many lines with this text before patience is lost.
fn gets_lines(file: &Path, text: &str, wanted: usize) -> bool {
    let until = Instant::now() + PATIENCE;
    let lines = || fs::read_to_string(file).unwrap_or_default().matches(text).count();
    while lines() < wanted {
        if Instant::now() > until {
            return false;
        }
        thread::sleep(Duration::from_millis(5));
    }
    true
}

#[test]
fn a_worker_that_waits_for_its_turn_still_grades() {
    // One worker for two targets. Each answers only when all that the other has answered is recorded.
    let cx = context();
    let judge = FakeLlm::answering(GOOD);
    let answered = [Counter::default(), Counter::default()];
    let names = ["first", "second"];
    let api = |own: usize| {
        let (out, answered, other) = (cx.path("out.jsonl"), answered.clone(), 1 - own);
        let record = format!(r#""target":"{}""#, names[other]);
        FakeLlm::start(move |asked| {
            if !gets_lines(&out, &record, answered[other].get()) {
                return FakeReply::error(401, "the other target's cases are not graded");
            }
            answered[own].add();
            FakeReply::text(asked, "ok")
        })
    };
    let apis = [api(0), api(1)];
    let candidate =
        |own: usize| openai_target(names[own], &apis[own].url()) + "    judge_target: judge\n";
    let entries = [candidate(0), candidate(1), openai_target("judge", &judge.url())];
    cx.write("targets.yaml", &targets(&entries));
    cx.write("suite.yaml", &cases(&["a", "b", "c", "d"]).replace(GRADER, LLM_JUDGE));
    let ran = eval(&cx, &["--workers", "1", "--target", "first", "--target", "second"]);
    assert_eq!(ran.success().records().len(), 8);
}

#[test]
fn judges_of_one_case_are_asked_together_and_recorded_in_order() {
    let names = ["first", "second", "third"];
    let (asked_judges, answered) = (Counter::default(), Counter::default());
    let judge = FakeLlm::start(move |asked| {
        asked_judges.add();
        let prompt = asked.body["messages"].to_string();
        let at = names.iter().position(|name| prompt.contains(&format!("as the {name}"))).unwrap();
        // The last one answers first.
        let is_turn = asked_judges.reaches(names.len()) && answered.reaches(names.len() - 1 - at);
        answered.add();
        let score = [0.25, 0.5, 0.75][at];
        if is_turn {
            FakeReply::text(asked, &json!({ "score": score, "reasoning": "fine" }).to_string())
        } else {
            verdict(asked, false)
        }
    });
    let evaluator = |name: &str| {
        let prompt = format!("Judge {{{{ candidate_answer }}}} as the {name}");
        json!({ "name": name, "type": "llm_judge", "prompt": prompt, "max_asks": 1 })
    };
    let candidate = cli_target("default", "echo Done") + "    judge_target: judge\n";
    let cx = with_judge(&suite(json!(names.map(evaluator))), candidate, &judge);
    let record = eval(&cx, &[]).success().record();
    let results = record["evaluator_results"].as_array().unwrap();
    let found: Vec<_> = results.iter().map(|one| (&one["name"], &one["score"])).collect();
    let expected = [("first", 0.25), ("second", 0.5), ("third", 0.75)];
    let expected = expected.map(|(name, score)| (json!(name), json!(score)));
    assert_eq!(found, expected.iter().map(|(name, score)| (name, score)).collect::<Vec<_>>());
}

#[test]
fn no_program_sees_the_files_of_another_case() {
    let judge = FakeLlm::answering(GOOD);
    let command = "printf %s {EVAL_ID} > answer.txt; cat answer.txt";
    let candidate = cli_target("default", command) + "    cwd: shared\n    judge_target: judge\n";
    let ids: Vec<String> = (0..40).map(|number| format!("case-{number}-end")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let evaluators =
        format!("{LLM_JUDGE}\n    - {{name: file, type: code_judge, script: [./judge.sh]}}");
    let cx = with_judge(&cases(&ids).replace(GRADER, &evaluators), candidate, &judge);
    cx.write("shared/answer.txt", "");
    cx.script(
        "judge.sh",
        "#!/bin/sh\nanswer=$(cat)\ncase \"$answer\" in\n\
         *\"\\\"$(cat shared/answer.txt)\\\"\"*) echo '{\"score\": 1}';;\n\
         *) echo '{\"score\": 0}';;\nesac\n",
    );
    let ran = eval(&cx, &["--workers", "1"]);
    for record in ran.success().records() {
        assert_eq!(record["candidate_answer"], record["eval_id"]);
        assert_eq!(result_of(&record, "file")["score"], 1, "{record:#}");
    }
    assert_eq!(judge.asked().len(), ids.len());
}

#[test]
fn a_command_in_a_shared_directory_waits_until_the_last_case_is_graded() {
    let cx = context();
    let log = cx.path("calls");
    let judge = FakeLlm::start(move |asked| {
        // A command that does not wait would start now.
        thread::sleep(GRACE);
        let started = fs::read_to_string(&log).unwrap().lines().count();
        verdict(asked, started == asked.number + 1)
    });
    let command = "echo {EVAL_ID} >> calls; echo ok";
    let candidate = cli_target("default", command)
        + &format!("    cwd: {}\n    judge_target: judge\n", cx.dir().display());
    cx.write("targets.yaml", &targets(&[candidate, openai_target("judge", &judge.url())]));
    cx.write("suite.yaml", &cases(&["a", "b", "c"]).replace(GRADER, LLM_JUDGE));
    eval(&cx, &["--workers", "1"]).success();
    assert_eq!(calls(&cx), ["a", "b", "c"]);
}

#[test]
fn a_slow_judge_does_not_hold_up_other_cases() {
    let requests = Counter::default();
    let api = counted(&requests);
    let ids = ["a", "b", "c", "d", "e", "f"];
    let judge = FakeLlm::start(move |asked| {
        let is_first = asked.number == 0;
        verdict(asked, !is_first || requests.reaches(ids.len()))
    });
    let cx = judged_cases(&ids, &api, &judge);
    assert_eq!(eval(&cx, &["--workers", "2"]).success().records().len(), ids.len());
}

#[test]
fn at_most_twice_as_many_cases_are_under_way_as_there_are_workers() {
    let (requests, judged, released) = (Counter::default(), Counter::default(), Counter::default());
    let api = counted(&requests);
    let (asked_judges, release) = (judged.clone(), released.clone());
    let judge = FakeLlm::start(move |asked| {
        asked_judges.add();
        verdict(asked, release.reaches(1))
    });
    let ids = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
    let cx = judged_cases(&ids, &api, &judge);
    let args = ["eval", "suite.yaml", "--out", "out.jsonl", "--workers", "2"];
    let running = cx.agentv(args).start();
    // Two are graded; two more have their answers and keep the workers.
    assert!(requests.reaches(4) && judged.reaches(2), "{} cases", requests.get());
    thread::sleep(GRACE);
    let under_way = (requests.get(), judged.get());
    released.add();
    let ran = running.finish();
    assert_eq!(under_way, (4, 2));
    assert_eq!(ran.success().records().len(), ids.len());
}

#[test]
fn a_judge_that_hangs_is_ended_by_its_time_out() {
    let api = FakeLlm::answering("ok");
    let never = Counter::default();
    let judge = FakeLlm::start(move |asked| {
        let question = asked.body["messages"].to_string();
        verdict(asked, !question.contains("Question stuck") || never.reaches(1))
    });
    let cx = judged_cases(&["a", "stuck", "b", "c"], &api, &judge);
    let ran = eval(&cx, &["--workers", "1", "--agent-timeout", "2"]);
    ran.code(3).stdout_has("✓ 3 passed  ? 1 ungraded  in ");
    let stuck = ran.record_of("stuck");
    assert_eq!(stuck["outcome"], "ungraded");
    assert_eq!(result_of(&stuck, "good")["error"]["kind"], "timeout");
}

#[test]
fn ungraded_cases_are_graded_later_from_their_kept_answers() {
    let api = FakeLlm::answering("ok");
    let is_repaired = Arc::new(AtomicBool::new(false));
    let repaired = Arc::clone(&is_repaired);
    let judge = FakeLlm::start(move |asked| verdict(asked, repaired.load(Ordering::SeqCst)));
    let cx = judged_cases(&["a", "b", "c"], &api, &judge);
    let ran = eval(&cx, &[]);
    ran.code(3).stdout_has("3 ungraded");
    assert!(ran.records().iter().all(|record| record["outcome"] == "ungraded"));
    is_repaired.store(true, Ordering::SeqCst);

    // Only with `--retry-errors`.
    resume(&cx, &[]).code(3).stdout_has("nothing is left to run");
    assert_eq!((api.asked().len(), judge.asked().len()), (3, 3));

    let ran = resume(&cx, &["--retry-errors", "--out", "out.jsonl"]);
    assert!(ran.success().records().iter().all(|record| record["outcome"] == "pass"));
    assert_eq!(ran.records().len(), 3);
    assert_eq!((api.asked().len(), judge.asked().len()), (3, 6));
    resume(&cx, &["--retry-errors"]).success().stdout_has("nothing is left to run");
    assert_eq!((api.asked().len(), judge.asked().len()), (3, 6));
}
