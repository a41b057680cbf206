//! Code judges that ask models through the target proxy.

use crate::context;
use agentv_test_support::{Ran, TestContext, cli_target, mock_target, targets};
use serde_json::{Value, json};

/// Sends the requests that its `config` lists and keeps what came back in `details`. A request without a token of its own
/// gets the right one.
const JUDGE: &str = r#"
import json, os, sys, http.client, urllib.parse
payload = json.load(sys.stdin)
url = urllib.parse.urlparse(os.environ.get("AGENTV_TARGET_PROXY_URL", "http://127.0.0.1:1"))
replies = []
for request in payload["config"]["requests"]:
    token = request.get("token", "Bearer " + os.environ.get("AGENTV_TARGET_PROXY_TOKEN", ""))
    headers = {"Authorization": token} if token else {}
    for _ in range(request.get("times", 1)):
        connection = http.client.HTTPConnection(url.hostname, url.port)
        body = request.get("raw", json.dumps(request.get("body"))) if request["method"] == "POST" else None
        connection.request(request["method"], request["path"], body, headers)
        reply = connection.getresponse()
        text = reply.read().decode()
        replies.append({"status": reply.status, "body": json.loads(text) if text else None})
env = {name: value for name, value in os.environ.items() if "PROXY_" in name and name.startswith("AGENTV")}
print(json.dumps({"score": 1, "details": {"replies": replies, "env": env, "seen": sorted(os.environ)}}))
"#;

/// A case whose judge sends these requests, with these keys beside its script.
fn ask_with(cx: &TestContext, keys: &Value, requests: &Value, targets_file: &str) -> Ran {
    cx.write("judge.py", JUDGE);
    cx.write("targets.yaml", targets_file);
    let mut judge = json!({"name": "j", "type": "code_judge", "script": ["python3", "judge.py"], "requests": requests});
    for (key, value) in keys.as_object().unwrap() {
        judge[key] = value.clone();
    }
    let case = json!({"id": "c", "expected_outcome": "x", "input": "q", "evaluators": [judge]});
    cx.write("suite.yaml", &json!({ "evalcases": [case] }).to_string());
    cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).run()
}

fn three() -> String {
    let main = format!("{}    judge_target: judge\n", mock_target("default", "from the candidate"));
    targets(&[main, mock_target("judge", "from the judge"), mock_target("other", "from another")])
}

fn ask(keys: &Value, requests: &Value) -> (Value, Vec<Value>) {
    let cx = context();
    let record = ask_with(&cx, keys, requests, &three()).record();
    let result = record["evaluator_results"][0].clone();
    let replies = result["details"]["replies"].as_array().cloned().unwrap_or_default();
    (result, replies)
}

fn get(path: &str) -> Value {
    json!({"method": "GET", "path": path})
}

fn post(path: &str, body: &Value) -> Value {
    json!({"method": "POST", "path": path, "body": body})
}

#[test]
fn s001_s145_info_names_the_target_the_limit_and_the_count() {
    let (_, replies) = ask(
        &json!({"target": {"max_calls": 7}}),
        &json!([get("/info"), post("/invoke", &json!({"question": "?"})), get("/info")]),
    );
    assert_eq!(replies[0]["status"], 200);
    assert_eq!(
        replies[0]["body"],
        json!({"targetName": "judge", "maxCalls": 7, "callCount": 0, "availableTargets": ["judge", "default", "other"]})
    );
    assert_eq!(replies[2]["body"]["callCount"], 1);
}

#[test]
fn s002_s061_s146_d04_without_the_token_nobody_is_let_in() {
    let wrong = |token: &str| {
        json!([
            {"method": "GET", "path": "/info", "token": token},
            {"method": "POST", "path": "/invoke", "body": {"question": "?"}, "token": token},
            {"method": "POST", "path": "/invokeBatch", "body": {"requests": []}, "token": token},
            {"method": "GET", "path": "/nowhere", "token": token},
        ])
    };
    for token in ["", "Bearer wrong", "wrong", "Bearer ", "bearer x"] {
        let (result, replies) = ask(&json!({"target": true}), &wrong(token));
        assert!(replies.iter().all(|reply| reply["status"] == 401), "{replies:?}");
        assert_eq!(replies[0]["body"], json!({"error": "Unauthorized"}));
        assert_eq!(result["evaluator_provider_request"]["target_proxy"]["call_count"], 0);
    }
}

#[test]
fn s003_s147_another_target_answers_and_counts() {
    let (_, replies) = ask(
        &json!({"target": true}),
        &json!([post("/invoke", &json!({"question": "?", "target": "other"})), get("/info")]),
    );
    assert_eq!(replies[0]["body"]["rawText"], "from another");
    assert_eq!(replies[1]["body"]["callCount"], 1);
}

#[test]
fn s004_s148_without_a_name_the_judge_answers_or_else_the_candidate() {
    let question = json!([post("/invoke", &json!({"question": "?"}))]);
    let (_, replies) = ask(&json!({"target": true}), &question);
    assert_eq!(
        replies[0]["body"],
        json!({"outputMessages": [{"role": "assistant", "content": "from the judge"}], "rawText": "from the judge"})
    );
    let cx = context();
    let alone = targets(&[mock_target("default", "from the candidate")]);
    let record = ask_with(&cx, &json!({"target": true}), &question, &alone).record();
    let replies = &record["evaluator_results"][0]["details"]["replies"];
    assert_eq!(replies[0]["body"]["rawText"], "from the candidate");
}

#[test]
fn s005_s149_an_unknown_target_is_refused_with_the_list() {
    let (result, replies) = ask(
        &json!({"target": true}),
        &json!([post("/invoke", &json!({"question": "?", "target": "nonexistent"}))]),
    );
    assert_eq!(replies[0]["status"], 400);
    let error = replies[0]["body"]["error"].as_str().unwrap();
    for name in ["nonexistent", "judge", "default", "other"] {
        assert!(error.contains(name), "{error}");
    }
    assert_eq!(result["evaluator_provider_request"]["target_proxy"]["call_count"], 0);
}

#[test]
fn s058_d01_d02_d05_every_spelling_opens_the_proxy_by_url_and_token_alone() {
    for keys in [json!({"use_judge_provider": true}), json!({"judge": {}}), json!({"target": true})]
    {
        let (result, replies) = ask(
            &keys,
            &json!([post(
                "/invoke",
                &json!({"evalCaseId": "c", "attempt": 1, "question": "?", "systemPrompt": "s"})
            )]),
        );
        assert_eq!(replies[0]["status"], 200, "{keys}");
        let env = result["details"]["env"].as_object().unwrap();
        let names: Vec<&String> = env.keys().collect();
        assert_eq!(names.len(), 4, "{names:?}");
        assert_eq!(env["AGENTV_JUDGE_PROXY_URL"], env["AGENTV_TARGET_PROXY_URL"]);
        assert_eq!(env["AGENTV_JUDGE_PROXY_TOKEN"], env["AGENTV_TARGET_PROXY_TOKEN"]);
        assert!(env["AGENTV_TARGET_PROXY_URL"].as_str().unwrap().starts_with("http://127.0.0.1:"));
        assert_eq!(env["AGENTV_TARGET_PROXY_TOKEN"].as_str().unwrap().len(), 64);
    }
}

#[test]
fn s059_d14_without_being_asked_for_there_is_no_proxy() {
    for keys in [json!({}), json!({"use_judge_provider": false}), json!({"target": false})] {
        let (result, _) = ask(&keys, &json!([]));
        assert_eq!(result["details"]["env"], json!({}));
        assert_eq!(result["score"], 1);
        assert_eq!(result["evaluator_provider_request"].get("target_proxy"), None);
    }
}

#[test]
fn s060_without_a_judge_the_evaluator_fails_before_the_script_starts() {
    let cx = context();
    let main = format!("{}    judge_target: nobody\n", mock_target("default", "x"));
    let ran = ask_with(&cx, &json!({"use_judge_provider": true}), &json!([]), &targets(&[main]));
    let result = &ran.record()["evaluator_results"][0];
    assert_eq!(result["score"], 0);
    assert_eq!(result["error"]["kind"], "provider");
    let message = result["error"]["message"].as_str().unwrap();
    assert!(message.contains("unknown target `nobody`"), "{message}");
    assert_eq!(result.get("details"), None);
}

#[test]
#[cfg(target_os = "linux")]
fn s062_only_loopback_can_reach_it() {
    let cx = context();
    // The port's line in the kernel's table says on which address it listens: 127.0.0.1 is 0100007F.
    let script = "import json, os; port = int(os.environ['AGENTV_TARGET_PROXY_URL'].rsplit(':')[-1])\n\
        lines = [line.split()[1] for line in open('/proc/self/net/tcp').readlines()[1:]]\n\
        mine = [line for line in lines if int(line.split(':')[1], 16) == port]\n\
        print(json.dumps({'score': 1, 'details': {'listening': sorted(set(mine))}}))";
    cx.write("where.py", script);
    let keys = json!({"target": true, "script": ["python3", "where.py"]});
    let record = ask_with(&cx, &keys, &json!([]), &three()).record();
    let listening =
        record["evaluator_results"][0]["details"]["listening"].as_array().unwrap().clone();
    assert!(!listening.is_empty());
    assert!(
        listening.iter().all(|line| line.as_str().unwrap().starts_with("0100007F:")),
        "{listening:?}"
    );
}

#[test]
fn s063_d08_fifty_calls_are_allowed_unless_said_otherwise() {
    let invoke =
        json!({"method": "POST", "path": "/invoke", "body": {"question": "?"}, "times": 51});
    let (result, replies) = ask(&json!({"target": true}), &json!([invoke]));
    // The verdict with its details counts for nothing now, so the count is in the request.
    assert!(replies.is_empty());
    let proxy = &result["evaluator_provider_request"]["target_proxy"];
    assert_eq!((&proxy["call_count"], &proxy["max_calls"]), (&json!(50), &json!(50)));
    assert_eq!(result["score"], 0);
}

#[test]
fn s064_the_eleventh_of_ten_calls_fails_the_evaluator() {
    let invoke = |times| json!({"method": "POST", "path": "/invoke", "body": {"question": "?"}, "times": times});
    let keys = json!({"use_judge_provider": true, "judge_provider": {"max_calls": 10}});
    let (result, replies) = ask(&keys, &json!([invoke(10)]));
    assert_eq!((replies.len(), &result["score"]), (10, &json!(1)));

    let (result, _) = ask(&keys, &json!([invoke(11)]));
    assert_eq!(result["score"], 0);
    assert_eq!(
        result["error"]["message"],
        "the script made more than 10 calls; raise `max_calls`, or make fewer"
    );
    assert_eq!(result["evaluator_provider_request"]["target_proxy"]["call_count"], 10);
}

#[test]
fn d03_every_run_of_a_judge_has_a_token_of_its_own() {
    let token = || {
        ask(&json!({"target": true}), &json!([])).0["details"]["env"]["AGENTV_TARGET_PROXY_TOKEN"]
            .clone()
    };
    assert_ne!(token(), token());
}

#[test]
fn d06_d07_a_batch_is_answered_in_order() {
    let requests = json!([
        {"question": "a", "target": "other"}, {"question": " "}, {"question": "b"}, {"question": "c", "target": "none"},
    ]);
    let (result, replies) = ask(
        &json!({"target": true}),
        &json!([post("/invokeBatch", &json!({ "requests": requests }))]),
    );
    let texts: Vec<&str> = replies[0]["body"]["responses"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["rawText"].as_str().unwrap())
        .collect();
    assert_eq!((texts[0], texts[2]), ("from another", "from the judge"));
    assert!(
        texts[1].starts_with("Error: ") && texts[3].starts_with("Error: Unknown target 'none'"),
        "{texts:?}"
    );
    let proxy = &result["evaluator_provider_request"]["target_proxy"];
    assert_eq!((&proxy["call_count"], &proxy["batch_used"]), (&json!(2), &json!(true)));
}

#[test]
fn d09_d10_the_proxy_is_gone_when_the_script_is() {
    let cx = context();
    let script = "import json, os, sys; open('url', 'w').write(os.environ['AGENTV_TARGET_PROXY_URL']); print('{\"score\": 1}')";
    cx.write("leave.py", script);
    // The next evaluator runs right after the first one's script has ended.
    cx.write("judge.py", JUDGE);
    cx.write("knock.py", "import json, socket\nport = int(open('url').read().rsplit(':')[-1])\ntry:\n    socket.create_connection(('127.0.0.1', port), 5); reached = True\nexcept OSError:\n    reached = False\nprint(json.dumps({'score': 1, 'details': {'reached': reached}}))");
    cx.write("targets.yaml", &three());
    let judges = json!([
        {"name": "a", "type": "code_judge", "script": ["python3", "leave.py"], "target": true},
        {"name": "b", "type": "code_judge", "script": ["python3", "knock.py"]},
    ]);
    let case = json!({"id": "c", "expected_outcome": "x", "input": "q", "evaluators": judges});
    cx.write("suite.yaml", &json!({ "evalcases": [case] }).to_string());
    let record = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).run().record();
    assert_eq!(record["evaluator_results"][1]["details"], json!({"reached": false}));
}

#[test]
fn d11_d12_d13_the_record_says_who_was_asked_and_how_often() {
    let cx = context();
    let judge = cx.cli_target_answering(
        "judge",
        r#"{"text": "ok", "token_usage": {"input": 10, "output": 2}, "cost_usd": 0.5}"#,
    );
    let main = format!("{}    judge_target: judge\n", mock_target("default", "x"));
    let invoke =
        json!({"method": "POST", "path": "/invoke", "body": {"question": "?"}, "times": 2});
    let record = ask_with(
        &cx,
        &json!({"target": {"max_calls": 3}}),
        &json!([invoke]),
        &targets(&[main, judge]),
    )
    .record();
    let result = &record["evaluator_results"][0];
    let usage = json!({"token_usage": {"input": 20, "output": 4}, "cost_usd": 1});
    assert_eq!(
        result["evaluator_provider_request"]["target_proxy"],
        json!({"target_name": "judge", "call_count": 2, "max_calls": 3, "batch_used": false, "usage": usage})
    );
    assert_eq!(result["usage"], usage);
    assert_eq!(record["execution_metrics"].get("cost_usd"), None);
}

#[test]
fn odd_requests_get_clear_answers_and_cost_nothing() {
    let (result, replies) = ask(
        &json!({"target": true}),
        &json!([
            {"method": "POST", "path": "/invoke", "raw": "no json"},
            post("/invoke", &json!({"systemPrompt": "s"})),
            post("/invokeBatch", &json!({"requests": 3})),
            get("/info?x"), get("/"), {"method": "GET", "path": "/invoke"},
            {"method": "OPTIONS", "path": "/invoke", "token": ""},
        ]),
    );
    let statuses: Vec<&Value> = replies.iter().map(|reply| &reply["status"]).collect();
    assert_eq!(statuses, [400, 400, 400, 404, 404, 404, 204]);
    assert_eq!(result["evaluator_provider_request"]["target_proxy"]["call_count"], 0);
    assert_eq!(result["score"], 1);
}

#[test]
fn a_failing_target_is_an_answer_and_counts() {
    let cx = context();
    let main = format!("{}    judge_target: judge\n", mock_target("default", "x"));
    let file = targets(&[main, cli_target("judge", "echo broken >&2; exit 3")]);
    let record = ask_with(
        &cx,
        &json!({"target": true}),
        &json!([post("/invoke", &json!({"question": "?"}))]),
        &file,
    )
    .record();
    let result = &record["evaluator_results"][0];
    assert_eq!(result["details"]["replies"][0]["status"], 500);
    assert!(result["details"]["replies"][0]["body"]["error"].as_str().unwrap().contains("broken"));
    assert_eq!(result["evaluator_provider_request"]["target_proxy"]["call_count"], 1);
}

/// Sends a thousand requests at once: all are on their way before the first reply is read.
const STORM: &str = r#"
import json, os, resource, socket, sys, urllib.parse
json.load(sys.stdin)
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
if soft < 1024:
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
url = urllib.parse.urlparse(os.environ["AGENTV_TARGET_PROXY_URL"])
body = json.dumps({"question": "?"})
token = os.environ["AGENTV_TARGET_PROXY_TOKEN"]
request = f"POST /invoke HTTP/1.1\r\nHost: proxy\r\nAuthorization: Bearer {token}\r\nContent-Length: {len(body)}\r\n\r\n{body}"
connections = []
for _ in range(1000):
    connections.append(socket.create_connection((url.hostname, url.port)))
    connections[-1].sendall(request.encode())
statuses = []
for connection in connections:
    statuses.append(int(connection.makefile("rb").readline().split()[1]))
    connection.close()
open("statuses", "w").write(json.dumps({"ok": statuses.count(200), "refused": statuses.count(429)}))
print('{"score": 1}')
"#;

#[test]
fn of_a_thousand_requests_at_once_exactly_ten_reach_the_target() {
    let cx = context();
    cx.write("storm.py", STORM);
    let main = format!("{}    judge_target: judge\n", mock_target("default", "x"));
    let count = cli_target("judge", "echo x >> asked; echo ok");
    let keys = json!({"target": {"max_calls": 10}, "script": ["python3", "storm.py"]});
    let record = ask_with(&cx, &keys, &json!([]), &targets(&[main, count])).record();
    assert_eq!(cx.read("asked").lines().count(), 10);
    let statuses: Value = serde_json::from_str(&cx.read("statuses")).unwrap();
    assert_eq!(statuses, json!({"ok": 10, "refused": 990}));
    assert_eq!(record["evaluator_results"][0]["score"], 0);
}

#[test]
fn a_judge_with_a_proxy_does_not_see_the_keys_of_the_targets() {
    let cx = context();
    let main = format!("{}    judge_target: judge\n", mock_target("default", "x"));
    let paid = "  - name: paid\n    provider: openai\n    base_url: http://127.0.0.1:9\n    model: m\n    api_key: ${{ CANARY_KEY }}\n";
    let file = targets(&[main, mock_target("judge", "ok"), paid.to_owned()]);
    let seen = |keys: &Value| {
        ask_with(&cx, keys, &json!([]), &file);
        let ran = cx
            .agentv(["eval", "suite.yaml", "--out", "out.jsonl"])
            .env("CANARY_KEY", "sk-canary")
            .run();
        let seen =
            ran.record()["evaluator_results"][0]["details"]["seen"].as_array().unwrap().clone();
        seen.contains(&json!("CANARY_KEY"))
    };
    assert!(!seen(&json!({"target": true})));
    assert!(seen(&json!({"target": true, "pass_env": ["CANARY_KEY"]})));
    assert!(seen(&json!({})));
    cx.write(".agentv/config.yaml", "judges: {env: scrub}\n");
    assert!(!seen(&json!({})));
    assert!(seen(&json!({"pass_env": ["CANARY_KEY"]})));
}
