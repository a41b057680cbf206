//! What `--format json` prints: every event names its case, phases come in their order, waits are told and counted.

use crate::context;
use agentv_test_support::{
    FakeLlm, FakeReply, Ran, TestContext, cases, cli_target, mock_target, targets,
};
use serde_json::Value;
use std::collections::BTreeMap;

/// Runs `suite.yaml` and what else is named, and reads the events.
#[track_caller]
fn events(cx: &TestContext, more: &[&str]) -> (Ran, Vec<Value>) {
    let args = [&["eval", "--out", "out.jsonl", "--format", "json"], more].concat();
    let ran = cx.agentv(args).env("KEY", "secret").run();
    let events = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (ran, events)
}

fn name(event: &Value) -> &str {
    event["event"].as_str().unwrap()
}

/// The names of the events of each case, by the four parts of its identity.
fn by_work(events: &[Value]) -> BTreeMap<String, Vec<&str>> {
    let mut works: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for event in events {
        if ["planned", "ended", "log"].contains(&name(event)) {
            continue;
        }
        let part = |key: &str| event[key].as_str().unwrap().to_owned();
        let [suite, eval_id, target] = ["suite", "eval_id", "target"].map(part);
        let trial = event["trial"].as_u64().unwrap();
        let work = format!("{suite}#{eval_id}@{target}~{trial}");
        works.entry(work).or_default().push(name(event));
    }
    works
}

/// A target `default` with a server of its own and these keys, and `suite.yaml` with these cases.
fn model(server: &FakeLlm, keys: &str, ids: &[&str]) -> TestContext {
    let cx = context();
    let head = "  - name: default\n    provider: openai\n    model: m\n    api_key: ${{ KEY }}\n";
    let target = format!("{head}    base_url: {}\n{keys}", server.url());
    cx.write("targets.yaml", &targets(&[target]));
    cx.write("suite.yaml", &cases(ids));
    cx
}

#[test]
fn every_event_of_a_case_has_its_four_parts_and_phases_come_in_order() {
    let cx = context();
    cx.write("targets.yaml", &targets(&[mock_target("default", "ok"), mock_target("b", "ok")]));
    // The same ids in two suites, of which the names of the files are the same, too.
    cx.write("one/suite.yaml", &cases(&["x", "y"]));
    cx.write("two/suite.yaml", &cases(&["x"]));
    let more = ["--trials", "2", "--target", "default", "--target", "b", "--workers", "4"];
    let suites = ["one/suite.yaml", "two/suite.yaml"];
    let (ran, events) = events(&cx, &[&suites[..], &more].concat());
    ran.success();
    let works = by_work(&events);
    let mut expected = Vec::new();
    for (suite, ids) in [("one", &["x", "y"][..]), ("two", &["x"])] {
        for (id, target) in ids.iter().flat_map(|id| ["b", "default"].map(|target| (id, target))) {
            expected
                .extend([0, 1].map(|trial| format!("{suite}/suite.yaml#{id}@{target}~{trial}")));
        }
    }
    assert_eq!(works.keys().collect::<Vec<_>>(), expected.iter().collect::<Vec<_>>());
    for (work, phases) in &works {
        assert_eq!(*phases, ["started", "answered", "grading", "finished"], "{work}");
    }
    let (planned, ended) = (&events[0], events.last().unwrap());
    assert_eq!((name(planned), name(ended)), ("planned", "ended"));
    assert_eq!((&planned["total"], &planned["done"]), (&12.into(), &0.into()));
    let first = serde_json::json!({
        "name": "default", "provider": "mock", "suite": "one/suite.yaml", "cases": 2, "trials": 2,
    });
    assert_eq!(planned["targets"][0], first);
    assert_eq!(planned["targets"].as_array().unwrap().len(), 4);
    assert_eq!((&ended["run"], &ended["exit_code"]), (&planned["run"], &0.into()));
    assert_eq!((&ended["totals"]["recorded"], &ended["retries"]), (&12.into(), &0.into()));
    assert_eq!(ended["totals"].get("retries"), None);
    let done: Vec<u64> = events.iter().filter_map(|event| event["done"].as_u64()).collect();
    assert_eq!(done, (0..=12).collect::<Vec<u64>>());
}

#[test]
fn a_retry_is_told_with_its_reason_and_counted() {
    let throttled = FakeReply::error(429, "slow down").header("retry-after-ms", "20");
    let server = FakeLlm::after([throttled], "ok");
    let cx = model(&server, "    retry_initial_delay_ms: 1\n", &["one"]);
    let (ran, events) = events(&cx, &["suite.yaml"]);
    ran.success();
    let phases = ["started", "waiting", "answered", "grading", "finished"];
    assert_eq!(by_work(&events)["suite.yaml#one@default~0"], phases);
    let wait = &events[2];
    assert_eq!((&wait["called_target"], &wait["reason"]), (&"default".into(), &"retry".into()));
    assert_eq!((&wait["throttled"], &wait["attempt"]), (&true.into(), &2.into()));
    assert!(wait["delay_ms"].as_f64().unwrap() >= 1.0, "{wait}");
    let until = wait["until"].as_str().unwrap();
    assert!(until.len() == 24 && until.ends_with('Z') && until.contains('T'), "{until}");
    let ended = events.last().unwrap();
    assert_eq!((&ended["retries"], &ended["totals"]["retries"]), (&1.into(), &1.into()));
    let run = cx.agentv(["runs", "show", "--format", "json"]).run();
    run.success().stdout_has("\"retries\"");
}

#[test]
fn retries_are_in_the_summaries_for_people_and_for_scripts() {
    for (compat, expected) in [(&["--compat", "2x"][..], "\nRetries: 2\n"), (&[], "\n2 retries\n")]
    {
        let busy = || FakeReply::error(503, "busy");
        let server = FakeLlm::after([busy(), busy()], "ok");
        let cx = model(&server, "    retry_initial_delay_ms: 1\n", &["one"]);
        let args = ["eval", "suite.yaml", "--out", "out.jsonl"];
        let ran = cx.agentv(args.iter().chain(compat)).env("KEY", "secret").run();
        ran.success().stdout_has(expected);
    }
}

#[test]
fn a_rate_limit_is_told_and_is_no_retry() {
    let server = FakeLlm::answering("ok");
    // A sixth of a minute's calls may come at once, so the eleventh waits for about a second.
    let ids = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"];
    let cx = model(&server, "    rpm: 60\n", &ids);
    let (ran, events) = events(&cx, &["suite.yaml", "--workers", "11"]);
    ran.success();
    let waits: Vec<&Value> = events.iter().filter(|event| name(event) == "waiting").collect();
    assert!(!waits.is_empty(), "{events:#?}");
    for wait in waits {
        assert_eq!((&wait["reason"], &wait["attempt"]), (&"rate_limit".into(), &1.into()));
        assert_eq!(wait.get("throttled"), None);
    }
    for phases in by_work(&events).values() {
        let rest: Vec<&str> = phases.iter().copied().filter(|name| *name != "waiting").collect();
        assert_eq!(rest, ["started", "answered", "grading", "finished"]);
        let waits: Vec<usize> = (0..phases.len()).filter(|at| phases[*at] == "waiting").collect();
        assert!(waits.iter().all(|at| *at == 1), "{phases:?}");
    }
    assert_eq!(events.last().unwrap()["retries"], 0);
}

#[test]
fn an_attempt_after_a_time_out_is_a_retry_without_a_wait() {
    let cx = context();
    cx.write("targets.yaml", &targets(&[cli_target("default", "sleep 60")]));
    cx.write("suite.yaml", &cases(&["one"]));
    let limits = ["suite.yaml", "--agent-timeout", "0.2", "--max-retries", "2"];
    let (ran, events) = events(&cx, &limits);
    ran.code(3);
    let phases = ["started", "waiting", "waiting", "answered", "finished"];
    assert_eq!(by_work(&events)["suite.yaml#one@default~0"], phases);
    let attempts = [2, 3].map(|at: usize| (&events[at]["attempt"], &events[at]["delay_ms"]));
    assert_eq!(attempts, [(&2.into(), &0.into()), (&3.into(), &0.into())]);
    assert_eq!(events.last().unwrap()["retries"], 2);
}
