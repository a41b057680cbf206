//! `agentv judge test`: a judge on its own.

use crate::context;
use agentv_test_support::{TestContext, mock_target, targets};
use serde_json::{Value, json};

/// A context with a judge that says what it read, and asks the proxy if there is one.
fn with_judge() -> TestContext {
    let cx = context();
    cx.write(
        "judge.py",
        r#"
import json, os, sys, urllib.request
payload = json.load(sys.stdin)
reply = None
if "AGENTV_TARGET_PROXY_URL" in os.environ:
    request = urllib.request.Request(os.environ["AGENTV_TARGET_PROXY_URL"] + "/invoke", b'{"question": "?"}',
        {"Authorization": "Bearer " + os.environ["AGENTV_TARGET_PROXY_TOKEN"]})
    reply = json.load(urllib.request.urlopen(request))["rawText"]
print(json.dumps({"score": 0.5, "hits": ["read " + payload["candidate_answer"]], "misses": ["more"],
    "reasoning": "so so", "details": {"reply": reply}}))
"#,
    );
    cx.write("payload.json", r#"{"candidate_answer": "forty-two"}"#);
    cx
}

const SCRIPT: [&str; 3] = ["--", "python3", "judge.py"];

fn judge_test<'a>(cx: &TestContext, args: &[&'a str]) -> agentv_test_support::Ran {
    let args: Vec<&'a str> =
        ["judge", "test"].into_iter().chain(args.iter().copied()).chain(SCRIPT).collect();
    cx.agentv(args).run()
}

#[test]
fn a_payload_file_gives_a_verdict() {
    let ran = judge_test(&with_judge(), &["--payload", "payload.json"]);
    ran.success()
        .stdout_has("Score: 0.500 (fail)\n  ✓ read forty-two\n  ✗ more\nReasoning: so so\n")
        .stdout_lacks("Proxy:");
}

#[test]
fn a_record_of_results_gives_a_payload() {
    let cx = with_judge();
    cx.write("targets.yaml", &targets(&[mock_target("default", "from a run")]));
    cx.write("suite.yaml", &agentv_test_support::cases(&["a", "b"]));
    cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).run().success();
    judge_test(&cx, &["--record", "out.jsonl", "--eval-id", "b"])
        .success()
        .stdout_has("read from a run");
    judge_test(&cx, &["--record", "out.jsonl", "--eval-id", "c"])
        .code(2)
        .stderr_has("no record of `c`");
}

#[test]
fn a_record_brings_the_config_of_its_judge() {
    let cx = with_judge();
    let show = "import json, sys\nconfig = json.load(sys.stdin)['config']\n\
                print(json.dumps({'score': 1, 'reasoning': 'limit ' + str(config and config['limit'])}))\n";
    cx.write("evals/judge.py", show);
    cx.write("targets.yaml", &targets(&[mock_target("default", "ok")]));
    let judge = "{name: j, type: code_judge, script: [python3, judge.py], limit: 3}";
    let other = judge.replace("judge.py", "./judge.py").replace("3}", "4}").replace("j,", "k,");
    cx.write("evals/suite.yaml", &agentv_test_support::suite(format!("- {judge}")));
    let eval = ["eval", "evals/suite.yaml", "--out", "out.jsonl"];
    cx.agentv(eval).run().success();
    let test = |words: &[&str]| {
        let args = ["judge", "test", "--record", "../out.jsonl", "--"];
        cx.agentv(args.iter().chain(words)).cwd("evals").run()
    };
    test(&["python3", "judge.py"]).success().stdout_has("limit 3").stderr_lacks("warning");
    // The only judge of the case is meant, however its script is spelled.
    test(&["python3", "../evals/judge.py"]).success().stdout_has("limit 3");
    cx.write("evals/suite.yaml", &agentv_test_support::suite(format!("- {judge}\n- {other}")));
    test(&["python3", "./judge.py"]).success().stdout_has("limit 4");
    let ran = test(&["python3", "../evals/judge.py"]);
    ran.success().stdout_has("limit None").stderr_has("the payload has no `config`: no code judge");
    std::fs::remove_file(cx.path("evals/suite.yaml")).unwrap();
    test(&["python3", "judge.py"]).stderr_has("`evals/suite.yaml` cannot be read");
}

#[test]
fn the_proxy_serves_a_stand_in_or_a_target() {
    let cx = with_judge();
    cx.write("targets.yaml", &targets(&[mock_target("gpt", "from gpt")]));
    let details = |args: &[&str]| -> Value {
        let ran =
            judge_test(&cx, &[&["--payload", "payload.json", "--format", "json"], args].concat());
        serde_json::from_str::<Value>(&ran.success().stdout).unwrap()["details"].clone()
    };
    assert_eq!(details(&["--serve-proxy", "gpt"]), json!({"reply": "from gpt"}));
    assert!(details(&["--serve-proxy"])["reply"].as_str().unwrap().contains("Mock"));
    let text = judge_test(&cx, &["--payload", "payload.json", "--serve-proxy", "gpt"]);
    text.success().stdout_has("Proxy: 1 of 50 calls to \"gpt\"");
    judge_test(&cx, &["--payload", "payload.json", "--serve-proxy", "gpd"])
        .code(2)
        .stderr_has("unknown target `gpd`");
}

#[test]
fn a_judge_that_fails_is_told_apart() {
    let cx = with_judge();
    cx.write("judge.py", "import sys; sys.exit('no luck')");
    let ran = judge_test(&cx, &["--payload", "payload.json"]);
    ran.code(3).stdout_has("Score: 0.000 (fail)").stdout_has("exited with code 1: no luck");
}

#[test]
fn wrong_input_is_named() {
    let cx = with_judge();
    cx.write("broken.json", "{");
    judge_test(&cx, &["--payload", "broken.json"]).code(2).stderr_has("`broken.json` is not JSON");
    judge_test(&cx, &["--payload", "none.json"]).code(2).stderr_has("`none.json` cannot be read");
    judge_test(&cx, &[]).code(2).stderr_has("name a payload");
    cx.agentv(["judge", "test", "--payload", "payload.json"]).run().code(2).stderr_has("SCRIPT");
}

#[test]
fn what_a_judge_prints_is_masked_as_in_a_run() {
    let cx = with_judge();
    cx.write(".agentv.yaml", "redact: ['EMP-[0-9]+']\n");
    cx.write(".env", "SERVICE_TOKEN=canary-of-the-file-55\n");
    cx.write("payload.json", r#"{"candidate_answer": "EMP-4711 canary-of-the-file-55"}"#);
    let ran = judge_test(&cx, &["--payload", "payload.json"]);
    ran.success().stdout_has("✓ read [redacted] [redacted]\n");
}
