use super::*;
use crate::providers::chat::testing::{
    KEY, answered, ask, complaints, fixture, keeps_the_common_promises, provider, question, read,
    with,
};
use agentv_test_support::FakeLlm;
use serde_json::{Value, json};

fn keys(url: &str) -> Value {
    json!({ "base_url": format!("{url}/v1"), "api_key": "${{ KEY }}", "model": "gpt-4o" })
}

/// What is sent with these keys besides the usual ones.
async fn sent(more: Value) -> Value {
    let server = FakeLlm::answering("ok");
    let openai: OpenAi = provider(&with(&keys(&server.url()), &more));
    ask(&openai, &question("Hello?")).await.unwrap();
    server.only().body
}

#[tokio::test]
async fn a_request_is_as_the_official_client_sends_it() {
    let server = FakeLlm::answering("ok");
    ask(&provider::<OpenAi>(&keys(&server.url())), &question("Hello?")).await.unwrap();
    let asked = server.only();
    assert_eq!((asked.method.as_str(), asked.path.as_str()), ("POST", "/v1/chat/completions"));
    assert_eq!(asked.query, "");
    assert_eq!(asked.header("authorization"), format!("Bearer {KEY}"));
    assert_eq!(asked.header("content-type"), "application/json");
    assert_eq!(asked.body, fixture(include_str!("fixtures/request.json")));
}

#[tokio::test]
async fn an_answer_comes_with_its_numbers() {
    let body = include_str!("fixtures/response.json");
    let response = answered::<OpenAi>(keys, 200, body).await.unwrap();
    assert_eq!(
        serde_json::to_value(&response).unwrap(),
        json!({
            "messages": [{ "role": "assistant", "content": "Stub réply." }],
            // 61 × 2.5 + 40 × 1.25 + 23 × 10, in millionths of a dollar.
            "reported": {
                "token_usage": { "input": 101.0, "output": 23.0, "cached": 40.0 },
                "cost_usd": 0.000_432_5,
            },
            "metadata": {
                "model": "gpt-4o",
                "response_id": "chatcmpl_stub000004",
                "finish_reason": "stop",
            },
        })
    );
}

#[tokio::test]
async fn tool_calls_are_part_of_the_message() {
    let body = json!({ "choices": [{ "finish_reason": "tool_calls", "message": {
        "content": null,
        "tool_calls": [
            { "id": "c1", "type": "function",
              "function": { "name": "search", "arguments": "{\"q\": 1}" } },
            { "id": "c2", "function": { "name": "broken", "arguments": "{\"q\":" } },
        ],
    } }] });
    let response = answered::<OpenAi>(keys, 200, &body.to_string()).await.unwrap();
    assert_eq!(
        serde_json::to_value(response.messages).unwrap(),
        json!([{ "role": "assistant", "tool_calls": [
            { "tool": "search", "input": { "q": 1 }, "id": "c1" },
            { "tool": "broken", "input": "{\"q\":", "id": "c2" },
        ] }])
    );
    assert_eq!(response.metadata["finish_reason"], "tool_calls");
}

async fn metadata_of(message: Value, finish_reason: &str) -> (Value, Value) {
    let choice = json!({ "message": message, "finish_reason": finish_reason });
    let body = json!({ "choices": [choice] }).to_string();
    let response = answered::<OpenAi>(keys, 200, &body).await.unwrap();
    let content = response.messages.unwrap().remove(0).content.unwrap();
    (content, Value::Object(response.metadata))
}

#[tokio::test]
async fn a_refusal_a_filter_and_an_empty_answer_are_told_apart() {
    let refusal = json!({ "content": null, "refusal": "I cannot help with that." });
    assert_eq!(
        metadata_of(refusal, "stop").await,
        (
            json!("I cannot help with that."),
            json!({ "finish_reason": "stop", "refusal": "I cannot help with that." })
        )
    );
    assert_eq!(
        metadata_of(json!({ "content": "Half an ans" }), "content_filter").await,
        (json!("Half an ans"), json!({ "finish_reason": "content_filter" }))
    );
    assert_eq!(
        metadata_of(json!({ "content": "" }), "length").await,
        (json!(""), json!({ "finish_reason": "length", "empty_answer": true }))
    );
}

#[tokio::test]
async fn settings_go_out_only_where_they_are_set() {
    let body = sent(json!({ "temperature": "0.5", "max_output_tokens": 64 })).await;
    assert_eq!((&body["temperature"], &body["max_tokens"]), (&json!(0.5), &json!(64)));
    assert_eq!(body.get("max_completion_tokens"), None);
    let body = sent(json!({ "max_tokens": 64, "model": "o3" })).await;
    assert_eq!((&body["max_completion_tokens"], body.get("max_tokens")), (&json!(64), None));
    let body = sent(json!({ "maxCompletionTokens": 9, "maxOutputTokens": 64 })).await;
    assert_eq!((&body["max_completion_tokens"], body.get("max_tokens")), (&json!(9), None));
}

#[test]
fn an_address_without_a_path_means_its_first_version() {
    let url = |text: &str| url(Some(&text.parse().unwrap())).to_string();
    assert_eq!(url("http://localhost:11434"), "http://localhost:11434/v1/chat/completions");
    assert_eq!(url("https://a.example/api/v1/"), "https://a.example/api/v1/chat/completions");
    assert_eq!(url("https://a.example/openai"), "https://a.example/openai/chat/completions");
    assert_eq!(super::url(None).as_str(), "https://api.openai.com/v1/chat/completions");
}

#[tokio::test]
async fn a_server_of_ones_own_needs_no_key() {
    let server = FakeLlm::answering("ok");
    let keys = json!({ "base_url": server.url(), "model": "NAME" });
    ask(&provider::<OpenAi>(&keys), &question("q")).await.unwrap();
    assert_eq!(server.only().headers.get("authorization"), None);
    assert_eq!(
        complaints::<OpenAi>(&json!({ "model": "gpt-4o" })),
        ["target `t` needs `api_key` / add `api_key: ${{ OPENAI_API_KEY }}`"]
    );
}

#[tokio::test]
async fn a_gateway_may_tell_an_error_with_success() {
    let body = json!({ "error": { "code": 502, "message": "upstream is down" } }).to_string();
    let error = answered::<OpenAi>(keys, 200, &body).await.unwrap_err();
    assert_eq!(error.http_status(), Some(502));
    let error = answered::<OpenAi>(keys, 200, r#"{"error": "no such model"}"#).await.unwrap_err();
    assert!(error.message.ends_with("answered with an error: no such model"), "{error}");
}

#[tokio::test]
async fn the_common_promises_are_kept() {
    keeps_the_common_promises::<OpenAi>(keys).await;
}

#[track_caller]
fn check(more: &Value, expected: &str) {
    assert_eq!(complaints::<OpenAi>(&with(&keys("http://h"), more)), [expected]);
}

#[test]
fn each_bad_key_is_told_once() {
    check(
        &json!({ "api_key": "sk-literal" }),
        "`api_key` of target `t` is written in the file / write `api_key: ${{ OPENAI_API_KEY }}` and set `OPENAI_API_KEY` in the environment or in a `.env` file",
    );
    check(
        &json!({ "api_key": "${{ NOT_SET }}" }),
        "environment variable `NOT_SET`, required for `api_key` of target `t`, is not set / set `NOT_SET` in the environment or in a `.env` file",
    );
    check(
        &json!({ "api_key": "${{ BLANK }}" }),
        "environment variable `BLANK`, required for `api_key` of target `t`, is empty / set `BLANK` in the environment or in a `.env` file",
    );
    check(
        &json!({ "api_key": "${{ BROKEN }}" }),
        "environment variable `BROKEN`, required for `api_key` of target `t`, has characters that no key has / set `BROKEN` in the environment or in a `.env` file",
    );
    check(
        &json!({ "model": "${{ NOT_SET }}" }),
        "environment variable `NOT_SET`, required for `model` of target `t`, is not set / set `NOT_SET` in the environment or in a `.env` file",
    );
    check(
        &json!({ "base_url": "example.com" }),
        "`base_url` of target `t` must be an address that begins with `http://` or `https://` / write it like `https://example.com/v1`",
    );
    check(
        &json!({ "temperature": "warm" }),
        "`temperature` of target `t` must be a number, not the text `warm`",
    );
    check(
        &json!({ "max_retries": -1 }),
        "`max_retries` of target `t` must be a whole number from 0 to 1000, not `-1`",
    );
    check(
        &json!({ "retry_status_codes": [429, 1000] }),
        "`retry_status_codes` of target `t` must be a list of HTTP statuses, each from 100 to 599, not a list",
    );
    check(
        &json!({ "retry_backoff_factor": 0.5 }),
        "`retry_backoff_factor` of target `t` must be a number from 1 up, not `0.5`",
    );
    check(&json!({ "rpm": 0 }), "`rpm` of target `t` must be a whole number from 1 up, not `0`");
    check(&json!({ "pricing": { "input": 1 } }), "`pricing` of target `t` needs `output`");
    check(
        &json!({ "pricing": { "input": 1, "output": -2 } }),
        "`output` of `pricing` of target `t` must be a number of dollars from 0 up, not `-2`",
    );
    check(
        &json!({ "max_retry": 3 }),
        "target `t` has no key `max_retry` / did you mean `max_retries`?",
    );
}

#[test]
fn both_spellings_of_the_retry_keys_are_read() {
    let snake = json!({
        "max_retries": "5", "retry_initial_delay_ms": 10, "retry_max_delay_ms": 20,
        "retry_backoff_factor": 3, "retry_status_codes": [418, "429"],
    });
    let camel = json!({
        "maxRetries": 5, "retryInitialDelayMs": 10, "retryMaxDelayMs": 20,
        "retryBackoffFactor": 3, "retryStatusCodes": [418, 429],
    });
    for more in [snake, camel] {
        let (settings, notes) = read::<OpenAi>(&with(&keys("http://h"), &more));
        assert_eq!(notes, Vec::<String>::new());
        let retry = OpenAi::policy(&settings.unwrap()).retry.unwrap();
        assert_eq!(
            retry,
            agentv_core::RetryPolicy {
                max_retries: 5,
                initial_delay: std::time::Duration::from_millis(10),
                max_delay: std::time::Duration::from_millis(20),
                backoff_factor: 3.0,
                status_codes: vec![418, 429],
            }
        );
    }
}
