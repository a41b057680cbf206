//! A low limit of open files makes calls wait for each other; none fails for it.

use crate::context;
use agentv_test_support::{
    FakeLlm, FakeReply, Ran, TestContext, cases, cli_target, mock_target, openai_target, targets,
};
use serde_json::{Value, json};
use std::time::Duration;

/// The program under this limit, as `ulimit` takes it: `-n 256` cannot be raised again, `-Sn 256` can.
fn limited(limit: &str) -> TestContext {
    let outside = context();
    let binary = env!("CARGO_BIN_EXE_agentv");
    let wrapper = format!("#!/bin/sh\nulimit {limit} || exit 70\nexec '{binary}' \"$@\"\n");
    let cx = TestContext::new(outside.script("limited", &wrapper));
    // The script has to outlive this function.
    std::mem::forget(outside);
    cx
}

fn write_cases(cx: &TestContext, count: usize) {
    let ids: Vec<String> = (0..count).map(|number| format!("case-{number}")).collect();
    cx.write("suite.yaml", &cases(&ids.iter().map(String::as_str).collect::<Vec<_>>()));
}

#[track_caller]
fn eval(cx: &TestContext) -> Ran {
    cx.agentv(["eval", "suite.yaml", "--workers", "500", "--out", "out.jsonl"]).run()
}

#[track_caller]
fn check(ran: &Ran, count: usize) {
    ran.success().stderr_lacks("panicked");
    let records = ran.records();
    assert_eq!(records.len(), count);
    // A retry after an error is not a wait.
    let is_bad = |record: &&Value| {
        record["outcome"] != "pass" || !record["provider_metadata"]["tries"].is_null()
    };
    let bad = records.iter().find(is_bad);
    assert!(bad.is_none(), "{bad:#?}");
}

#[test]
fn commands_wait_for_each_other() {
    let cx = limited("-n 256");
    write_cases(&cx, 2000);
    cx.write("targets.yaml", &targets(&[cli_target("default", "echo ok")]));
    check(&eval(&cx), 2000);
}

#[test]
fn requests_wait_for_each_other() {
    let cx = limited("-n 256");
    write_cases(&cx, 1000);
    // Slow enough for all of them to be under way at once.
    let llm = FakeLlm::start(|asked| FakeReply::text(asked, "ok").after(Duration::from_millis(50)));
    cx.write("targets.yaml", &targets(&[openai_target("default", &llm.url())]));
    check(&eval(&cx), 1000);
}

#[test]
fn judges_with_a_proxy_wait_for_each_other() {
    let cx = limited("-n 128");
    // Each script has two connections open while it waits for the model, which is a program itself.
    cx.write(
        "judge.py",
        "import json, os, sys, threading, urllib.request\n\
         json.load(sys.stdin)\n\
         def ask():\n    \
             body = json.dumps({'question': 'ok?'}).encode()\n    \
             head = {'authorization': 'Bearer ' + os.environ['AGENTV_TARGET_PROXY_TOKEN'], 'content-type': 'application/json'}\n    \
             request = urllib.request.Request(os.environ['AGENTV_TARGET_PROXY_URL'] + '/invoke', body, head)\n    \
             answers.append(json.load(urllib.request.urlopen(request)))\n\
         answers = []\n\
         threads = [threading.Thread(target=ask) for _ in range(2)]\n\
         [thread.start() for thread in threads]\n\
         [thread.join() for thread in threads]\n\
         print(json.dumps({'score': len(answers) / 2}))\n",
    );
    let judge = json!({
        "name": "judge", "type": "code_judge", "script": ["python3", "judge.py"], "target": true,
    });
    let ids: Vec<Value> = (0..60)
        .map(|id| json!({ "id": format!("case-{id}"), "input": "x", "criteria": "y" }))
        .collect();
    let suite = json!({ "execution": { "evaluators": [judge] }, "evalcases": ids });
    cx.write("suite.yaml", &suite.to_string());
    let judge = cli_target("judge", "echo yes");
    let answering = mock_target("default", "ok") + "    judge_target: judge\n";
    cx.write("targets.yaml", &targets(&[answering, judge]));
    check(&eval(&cx), 60);
}

#[test]
fn a_limit_that_can_be_raised_is_raised_where_that_is_needed() {
    let cx = limited("-Sn 80");
    write_cases(&cx, 100);
    let mut meeting = crate::waiting(&cx, "{EVAL_ID}");
    let running =
        cx.agentv(["eval", "suite.yaml", "--workers", "100", "--out", "out.jsonl"]).start();
    // All of them run at the same time.
    for _ in 0..100 {
        meeting.next();
    }
    meeting.let_go(100);
    check(&running.finish(), 100);
}

#[test]
fn commands_keep_the_limit_of_the_user_where_it_is_enough() {
    let cx = limited("-Sn 80");
    write_cases(&cx, 1);
    cx.write("targets.yaml", &targets(&[cli_target("default", "echo ok $(ulimit -Sn)")]));
    assert_eq!(eval(&cx).success().record()["candidate_answer"], "ok 80");
}

#[test]
fn a_limit_that_leaves_no_room_is_refused() {
    for limit in [6, 12, 20, 40, 63] {
        let cx = limited(&format!("-n {limit}"));
        write_cases(&cx, 1);
        cx.write("targets.yaml", &targets(&[cli_target("default", "echo ok")]));
        let ran = eval(&cx);
        ran.code(2)
            .stderr_lacks("panicked")
            .stderr_has("raise the limit, as with `ulimit -n 1024`");
        ran.stderr_has(&format!(
            "only {limit} files may be open at a time; AgentV needs at least 64"
        ));
    }
    let cx = limited("-n 64");
    write_cases(&cx, 50);
    cx.write("targets.yaml", &targets(&[cli_target("default", "echo ok")]));
    check(&eval(&cx), 50);
}
