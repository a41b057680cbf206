//! Models over HTTP: what is sent, what is retried and when, and that no key is ever seen.

use crate::context;
use agentv_test_support::{FakeLlm, FakeReply, LlmCall, Ran, TestContext, cases, targets};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

const KEY: &str = "canary-0123456789-from-the-environment";

/// An entry of `targets.yaml`: its name, its provider and these keys.
fn target(name: &str, provider: &str, keys: &Value) -> String {
    let mut entry = format!("  - name: {name}\n    provider: {provider}\n");
    for (key, value) in keys.as_object().unwrap() {
        entry.extend(["    ", key, ": ", &value.to_string(), "\n"]);
    }
    entry
}

/// Runs one case, `one`, on the target `default` of this provider; `base` is where its server is.
#[track_caller]
fn eval(cx: &TestContext, provider: &str, base: &str, keys: &Value, more: &[&str]) -> Ran {
    cx.write("targets.yaml", &targets(&[target("default", provider, keys)]));
    cx.write("suite.yaml", &cases(&["one"]));
    let mut args = vec!["eval", "suite.yaml", "--out", "out.jsonl"];
    args.extend(more);
    cx.agentv(args).env("BASE", base).env("KEY", KEY).env("MODEL", "my-model").run()
}

/// The keys of an Azure target whose server is `BASE`, and these.
fn azure(more: &Value) -> Value {
    let mut keys = json!({
        "endpoint": "${{ BASE }}", "api_key": "${{ KEY }}", "deployment": "${{ MODEL }}",
    });
    keys.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    keys
}

/// No wait of these is worth noticing.
fn quick(more: &Value) -> Value {
    let mut keys = azure(more);
    for (key, value) in [("retry_initial_delay_ms", 1), ("retry_max_delay_ms", 5)] {
        keys.as_object_mut().unwrap().entry(key).or_insert(json!(value));
    }
    keys
}

#[test]
fn s013_s069_azure_asks_a_deployment() {
    for provider in ["azure", "azure-openai", "Azure"] {
        let server = FakeLlm::answering("ok then");
        let keys = azure(&json!({ "temperature": 0.2, "max_output_tokens": 512 }));
        let record = eval(&context(), provider, &server.url(), &keys, &[]).success().record();
        let asked = server.only();
        assert_eq!((asked.method.as_str(), asked.header("api-key")), ("POST", KEY));
        assert_eq!(asked.path, "/openai/deployments/my-model/chat/completions");
        assert_eq!(asked.query, "api-version=2024-10-01-preview");
        assert_eq!(asked.body["messages"][1], json!({ "role": "user", "content": "Question one" }));
        assert_eq!(asked.body["messages"][0]["role"], "system");
        assert_eq!(
            (&asked.body["temperature"], &asked.body["max_tokens"]),
            (&json!(0.2), &json!(512))
        );

        assert_eq!((&record["candidate_answer"], &record["score"]), (&json!("ok then"), &json!(1)));
        assert_eq!(
            record["execution_metrics"]["token_usage"],
            json!({ "input": 101, "output": 23, "cached": 40 })
        );
        assert!(record["execution_metrics"]["duration_ms"].is_number(), "{record}");
        assert_eq!(record["execution_metrics"].get("cost_usd"), None);
        assert_eq!(record["trace_summary"]["event_count"], 0);
        assert_eq!(
            record["provider_metadata"],
            json!({ "model": "my-model", "response_id": "chatcmpl_fake", "finish_reason": "stop" })
        );
        assert_eq!(record["lm_provider_request"]["question"], "Question one");
    }
}

#[test]
fn s013_s069_azure_takes_a_version_and_a_price() {
    let server = FakeLlm::answering("ok");
    let keys = azure(&json!({
        "version": "api-version=2025-03-01", "pricing": { "input": 10, "output": 20, "cached": 1 },
    }));
    let record = eval(&context(), "azure", &server.url(), &keys, &[]).success().record();
    assert_eq!(server.only().query, "api-version=2025-03-01");
    assert_eq!(record["execution_metrics"]["cost_usd"], 0.00111);
}

#[test]
fn s014_s070_anthropic_asks_a_model_with_a_budget_to_think() {
    let server = FakeLlm::answering("ok");
    let keys = json!({
        "base_url": "${{ BASE }}", "api_key": "${{ KEY }}", "model": "claude-literal",
        "max_output_tokens": 1000, "thinking_budget": 2048,
    });
    let record = eval(&context(), "anthropic", &server.url(), &keys, &[]).success().record();
    let asked = server.only();
    assert_eq!((asked.path.as_str(), asked.header("x-api-key")), ("/v1/messages", KEY));
    assert_eq!(asked.header("anthropic-version"), "2023-06-01");
    let LlmCall { body, .. } = asked;
    assert_eq!((&body["model"], &body["max_tokens"]), (&json!("claude-literal"), &json!(3048)));
    assert_eq!(body["thinking"], json!({ "type": "enabled", "budget_tokens": 2048 }));
    assert_eq!(
        record["execution_metrics"]["token_usage"],
        json!({ "input": 141, "output": 23, "cached": 40 })
    );
}

#[test]
fn s015_s071_gemini_has_a_default_model() {
    for provider in ["gemini", "google", "google-gemini"] {
        let server = FakeLlm::answering("ok");
        let keys = json!({ "base_url": "${{ BASE }}", "api_key": "${{ KEY }}", "temperature": 0 });
        let record = eval(&context(), provider, &server.url(), &keys, &[]).success().record();
        let asked = server.only();
        assert_eq!(asked.path, "/v1beta/models/gemini-2.5-flash:generateContent");
        assert_eq!(asked.header("x-goog-api-key"), KEY);
        assert_eq!(asked.body["contents"][0]["parts"][0]["text"], "Question one");
        assert!(record["execution_metrics"]["cost_usd"].as_f64().unwrap() > 0.0);
    }
    let server = FakeLlm::answering("ok");
    let keys = json!({ "base_url": "${{ BASE }}", "api_key": "${{ KEY }}", "model": "gemini-x" });
    let record = eval(&context(), "gemini", &server.url(), &keys, &[]).success().record();
    assert_eq!(server.only().path, "/v1beta/models/gemini-x:generateContent");
    assert_eq!(record["execution_metrics"].get("cost_usd"), None, "no price is guessed");
}

#[test]
fn an_openai_compatible_server_needs_no_key() {
    let server = FakeLlm::answering("ok");
    let keys = json!({ "base_url": "${{ BASE }}", "model": "llama3.2" });
    eval(&context(), "openai", &server.url(), &keys, &[]).success();
    let asked = server.only();
    assert_eq!((asked.path.as_str(), asked.header("authorization")), ("/v1/chat/completions", ""));
    assert_eq!(asked.body["model"], "llama3.2");
}

#[test]
fn s030_s086_all_spellings_of_the_retry_keys_hold() {
    let snake = json!({
        "max_retries": 2, "retry_initial_delay_ms": 1, "retry_max_delay_ms": 2,
        "retry_backoff_factor": 1.5, "retry_status_codes": [418],
    });
    let camel = json!({
        "maxRetries": 2, "retryInitialDelayMs": 1, "retryMaxDelayMs": 2,
        "retryBackoffFactor": 1.5, "retryStatusCodes": [418],
    });
    // The names of the specification, which may also be in a mapping.
    let short = json!({
        "max_retries": 2, "initial_delay_ms": 1, "max_delay_ms": 2, "backoff_factor": 1.5,
        "retryable_status_codes": [418],
    });
    let short_camel = json!({
        "maxRetries": 2, "initialDelayMs": 1, "maxDelayMs": 2, "backoffFactor": 1.5,
        "retryableStatusCodes": [418],
    });
    let nested = [json!({ "retry": short }), json!({ "retry": short_camel })];
    // A key of the target itself wins.
    let mixed = json!({ "max_retries": 2, "retry": {
        "max_retries": 9, "retryInitialDelayMs": 1, "retry_status_codes": [418],
    }});
    for keys in [snake, camel, short, short_camel, mixed].into_iter().chain(nested) {
        let teapot = || FakeReply::error(418, "I am a teapot");
        let server = FakeLlm::after([teapot(), teapot()], "ok");
        let cx = context();
        let ran = eval(&cx, "azure", &server.url(), &azure(&keys), &[]);
        let record = ran.success().stderr_lacks("has no key").record();
        assert_eq!(
            (&record["score"], &record["provider_metadata"]["tries"]),
            (&json!(1), &json!(3))
        );
        assert_eq!(server.asked().len(), 3);

        let server = FakeLlm::start(move |_| FakeReply::error(418, "I am a teapot"));
        let record = eval(&context(), "azure", &server.url(), &azure(&keys), &[]).code(3).record();
        assert_eq!(server.asked().len(), 3);
        let error = record["error"].as_str().unwrap();
        assert!(error.ends_with("I am a teapot (after 3 tries)"), "{error}");

        // The list stands in place of the usual one.
        let server = FakeLlm::start(move |_| FakeReply::error(503, "busy"));
        eval(&context(), "azure", &server.url(), &azure(&keys), &[]).code(3);
        assert_eq!(server.asked().len(), 1);
    }
}

#[test]
fn s031_s087_a_busy_server_is_asked_four_times_with_growing_waits() {
    let busy = || FakeReply::error(503, "busy");
    let server = FakeLlm::after([busy(), busy(), busy()], "ok");
    let ran = eval(&context(), "azure", &server.url(), &azure(&json!({})), &["--verbose"]);
    ran.success().stdout_has("default: one retries in ");
    let gaps = server.gaps();
    assert_eq!(gaps.len(), 3);
    for (gap, expected) in gaps.iter().map(Duration::as_secs_f64).zip([1.0, 2.0, 4.0]) {
        // A loaded machine may be late, but nobody may be early.
        assert!(gap >= expected * 0.75 && gap <= expected * 1.25 + 1.0, "{gap} s of {expected} s");
    }
}

#[test]
fn s032_s088_a_refusal_is_final() {
    for status in [400, 401, 403, 404, 418] {
        let server = FakeLlm::start(move |_| FakeReply::error(status, "no"));
        let record =
            eval(&context(), "azure", &server.url(), &quick(&json!({})), &[]).code(3).record();
        assert_eq!(server.asked().len(), 1, "{status}");
        let error = record["error"].as_str().unwrap();
        assert!(error.starts_with(&format!("HTTP {status} ")), "{error}");
        assert_eq!(record["provider_metadata"], json!({ "http_status": status }));
        assert_eq!((&record["score"], &record["status"]), (&json!(0), &json!("fail")));
    }
}

#[test]
fn s032_s088_a_refused_key_is_final_even_if_its_status_is_listed() {
    for status in [401, 403] {
        let server = FakeLlm::start(move |_| FakeReply::error(status, "no"));
        let keys = quick(&json!({ "retryableStatusCodes": [status, 500] }));
        let ran = eval(&context(), "azure", &server.url(), &keys, &[]);
        ran.code(3)
            .stderr_has("warning[retry::never]")
            .stderr_has(&format!("status {status} is never retried"));
        assert_eq!(server.asked().len(), 1, "{status}");
    }
}

#[test]
fn an_overloaded_server_is_asked_again() {
    let server = FakeLlm::after([FakeReply::error(529, "overloaded")], "ok");
    eval(&context(), "azure", &server.url(), &quick(&json!({})), &[]).success();
    assert_eq!(server.asked().len(), 2);
}

#[test]
fn broken_connections_and_cut_answers_are_asked_again() {
    let replies = [
        FakeReply::dropped(),
        FakeReply::completion("m", "half an answer").cut(),
        FakeReply::raw(200, "{\"choices\": [{"),
    ];
    let server = FakeLlm::after(replies, "ok");
    eval(&context(), "azure", &server.url(), &quick(&json!({})), &[]).success();
    assert_eq!(server.asked().len(), 4);
    // An answer that is whole and yet nonsense would be the same again.
    let server = FakeLlm::start(|_| FakeReply::raw(200, "<html>"));
    eval(&context(), "azure", &server.url(), &quick(&json!({})), &[]).code(3);
    assert_eq!(server.asked().len(), 1);
}

#[test]
fn a_server_is_obeyed_but_not_for_longer_than_the_cap() {
    let wait = |seconds: &str| FakeReply::error(429, "slow down").header("retry-after", seconds);
    let server = FakeLlm::after([wait("1")], "ok");
    let keys = azure(&json!({ "retry_initial_delay_ms": 1 }));
    eval(&context(), "azure", &server.url(), &keys, &[]).success();
    assert!(server.gaps()[0] >= Duration::from_secs(1), "{:?}", server.gaps());
    let server = FakeLlm::after([wait("3600")], "ok");
    eval(&context(), "azure", &server.url(), &quick(&json!({})), &[]).success();
    assert!(server.gaps()[0] < Duration::from_secs(30), "{:?}", server.gaps());
}

#[test]
fn stopping_the_run_ends_a_wait_at_once() {
    let (cx, server) = (context(), FakeLlm::start(|_| FakeReply::error(503, "busy")));
    let keys = azure(&json!({ "retry_initial_delay_ms": 60_000 }));
    cx.write("targets.yaml", &targets(&[target("default", "azure", &keys)]));
    cx.write("suite.yaml", &cases(&["one"]));
    let args = ["eval", "suite.yaml", "--out", "out.jsonl"];
    let running =
        cx.agentv(args).env("BASE", server.url()).env("KEY", KEY).env("MODEL", "m").start();
    while server.asked().is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let started = Instant::now();
    running.signal("INT");
    running.finish().code(130);
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

#[test]
fn too_many_requests_shrink_what_is_in_flight_and_verbose_says_so() {
    let (cx, server) = (
        context(),
        FakeLlm::start(|asked| match asked.number {
            0..8 => FakeReply::error(429, "too many").after(Duration::from_millis(300)),
            _ => FakeReply::text(asked, "ok"),
        }),
    );
    cx.write("targets.yaml", &targets(&[target("default", "azure", &quick(&json!({})))]));
    cx.write("suite.yaml", &cases(&["a", "b", "c", "d", "e", "f", "g", "h"]));
    let args = ["eval", "suite.yaml", "--out", "out.jsonl", "--workers", "8", "--verbose"];
    let ran = cx.agentv(args).env("BASE", server.url()).env("KEY", KEY).env("MODEL", "m").run();
    ran.success().stdout_has("default: too many requests; at most ");
}

/// The case that a request is about.
fn case_of(asked: &LlmCall) -> String {
    let question = asked.body["messages"][1]["content"].as_str().unwrap();
    question.strip_prefix("Question ").unwrap().to_owned()
}

#[test]
fn under_a_flaky_server_every_case_gets_its_answer_once() {
    let server = FakeLlm::start(|asked| {
        let answer = FakeReply::text(asked, &format!("ok {}", case_of(asked)));
        match asked.number % 20 {
            0 => FakeReply::error(429, "too many").header("retry-after-ms", "2"),
            3 => FakeReply::error(429, "too many"),
            6 => FakeReply::error(500, "broken"),
            9 => FakeReply::error(503, "busy"),
            12 => FakeReply::dropped(),
            15 => answer.cut(),
            18 => answer.after(Duration::from_millis(200)),
            _ => answer,
        }
    });
    let cx = context();
    let keys = quick(&json!({ "max_retries": 50 }));
    cx.write("targets.yaml", &targets(&[target("default", "azure", &keys)]));
    let ids: Vec<String> = (0..500).map(|number| format!("case-{number}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    cx.write("suite.yaml", &cases(&ids));
    let args = ["eval", "suite.yaml", "--out", "out.jsonl", "--workers", "50"];
    let ran = cx.agentv(args).env("BASE", server.url()).env("KEY", KEY).env("MODEL", "m").run();
    let records = ran.success().records();
    assert_eq!(records.len(), 500);
    for record in &records {
        let id = record["eval_id"].as_str().unwrap();
        assert_eq!(record["candidate_answer"], format!("ok {id}"));
    }
    let found: BTreeSet<&str> =
        records.iter().map(|record| record["eval_id"].as_str().unwrap()).collect();
    assert_eq!(found, ids.iter().copied().collect());
    let answered = server
        .asked()
        .into_iter()
        .filter(|asked| !matches!(asked.number % 20, 0 | 3 | 6 | 9 | 12 | 15));
    assert_eq!(answered.count(), 500, "nothing is retried after an answer");
}

/// Every file below, but for those that the test wrote itself.
fn written(dir: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            written(&path, found);
        } else if ![".env", "targets.yaml", "suite.yaml"].contains(&name.as_str()) {
            let bytes = fs::read(&path).unwrap();
            found.push((name, String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
}

#[track_caller]
fn no_canary(cx: &TestContext, ran: &Ran) {
    let mut found =
        vec![("stdout".to_owned(), ran.stdout.clone()), ("stderr".to_owned(), ran.stderr.clone())];
    written(cx.dir(), &mut found);
    for (name, text) in found {
        assert!(!text.contains("canary"), "a secret is in {name}:\n{text}");
        assert!(!text.contains("0123456789"), "a piece of a secret is in {name}:\n{text}");
    }
}

#[test]
fn no_key_is_ever_seen() {
    let said = format!("wrong key: {KEY}, {}***, canary-0123456789-from-a-file", &KEY[..17]);
    let server = FakeLlm::start(move |asked| match case_of(asked).as_str() {
        "good" => FakeReply::text(asked, "ok"),
        "refused" => FakeReply::error(401, &said),
        "busy" => FakeReply::raw(503, said.clone()),
        "nonsense" => FakeReply::raw(200, said.clone()),
        "wrong" => FakeReply::json(200, &json!({ "choices": said })),
        _ => FakeReply::dropped(),
    });
    let cx = context();
    cx.write(".env", "FILE_KEY=canary-0123456789-from-a-file\n");
    let from_file = quick(&json!({ "api_key": "${{ FILE_KEY }}" }));
    cx.write(
        "targets.yaml",
        &targets(&[
            target("default", "azure", &quick(&json!({}))),
            target("file", "azure", &from_file),
        ]),
    );
    cx.write("suite.yaml", &cases(&["good", "refused", "busy", "nonsense", "wrong", "broken"]));
    for name in ["default", "file"] {
        let args = ["eval", "suite.yaml", "--out", "out.jsonl", "--verbose", "--target", name];
        let ran = cx.agentv(args).env("BASE", server.url()).env("KEY", KEY).env("MODEL", "m").run();
        assert_eq!(ran.code(3).records().len(), 6);
        let key = if name == "file" { "canary-0123456789-from-a-file" } else { KEY };
        assert!(server.asked().iter().any(|asked| asked.header("api-key") == key));
        no_canary(&cx, &ran);
    }
}

#[test]
fn a_key_in_the_file_is_refused_and_not_shown() {
    let cx = context();
    let secret = "canary-0123456789";
    let literal = azure(&json!({ "api_key": secret, "apiKey": secret, "api_keys": secret }));
    cx.write("targets.yaml", &targets(&[target("default", "azure", &literal)]));
    cx.write("suite.yaml", &cases(&["one"]));
    for args in [&["eval", "suite.yaml", "--out", "out.jsonl"][..], &["validate", "targets.yaml"]] {
        let ran = cx.agentv(args).env("BASE", "http://127.0.0.1:9").env("MODEL", "m").run();
        assert_eq!(ran.code, 2, "{} {}", ran.stdout, ran.stderr);
        let shown = format!("{}{}", ran.stdout, ran.stderr);
        assert!(shown.contains("`api_key` of target `default` is written in the file"), "{shown}");
        assert!(shown.contains("write `api_key: ${{ AZURE_OPENAI_API_KEY }}`"), "{shown}");
        no_canary(&cx, &ran);
    }
}

#[test]
fn a_variable_that_is_missing_or_empty_is_named_only_where_it_is_needed() {
    let cx = context();
    let good = target("default", "openai", &json!({ "base_url": "${{ BASE }}", "model": "m" }));
    let unused = target("other", "anthropic", &json!({ "api_key": "${{ NO }}", "model": "m" }));
    let empty = target("empty", "gemini", &json!({ "api_key": "${{ EMPTY }}" }));
    cx.write("targets.yaml", &targets(&[good, unused, empty]));
    cx.write("suite.yaml", &cases(&["one"]));
    let server = FakeLlm::answering("ok");
    let run = |target: &str| {
        let args = ["eval", "suite.yaml", "--out", "out.jsonl", "--target", target];
        cx.agentv(args).env("BASE", server.url()).env("EMPTY", " ").run()
    };
    run("default").success();
    run("other").code(2).stderr_has(
        "environment variable `NO`, required for `api_key` of target `other`, is not set",
    );
    run("empty").code(2).stderr_has(
        "environment variable `EMPTY`, required for `api_key` of target `empty`, is empty",
    );
    assert_eq!(server.asked().len(), 1);
}
