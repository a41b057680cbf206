use super::*;
use crate::providers::chat::testing::{
    KEY, answered, ask, complaints, conversation, fixture, keeps_the_common_promises, provider,
    question, read, with,
};
use agentv_test_support::FakeLlm;
use serde_json::{Value, json};

fn keys(url: &str) -> Value {
    json!({ "base_url": url, "api_key": "${{ KEY }}", "model": "claude-sonnet-4-20250514" })
}

async fn sent(more: Value) -> Value {
    let server = FakeLlm::answering("ok");
    let anthropic: Anthropic = provider(&with(&keys(&server.url()), &more));
    ask(&anthropic, &conversation()).await.unwrap();
    server.only().body
}

#[tokio::test]
async fn a_request_is_as_2_x_sent_it() {
    let server = FakeLlm::answering("ok");
    let more = json!({ "temperature": 0.3, "max_output_tokens": 1000 });
    let anthropic: Anthropic = provider(&with(&keys(&server.url()), &more));
    ask(&anthropic, &conversation()).await.unwrap();
    let asked = server.only();
    assert_eq!((asked.method.as_str(), asked.path.as_str()), ("POST", "/v1/messages"));
    assert_eq!(asked.header("x-api-key"), KEY);
    assert_eq!(asked.header("anthropic-version"), "2023-06-01");
    assert_eq!(asked.body, fixture(include_str!("fixtures/request.json")));
}

#[tokio::test]
async fn thoughts_come_on_top_of_the_answer_and_without_temperature() {
    let more = json!({ "temperature": 0.3, "maxTokens": 1000, "thinkingBudget": "2048" });
    let body = sent(more.clone()).await;
    assert_eq!(body, fixture(include_str!("fixtures/request_thinking.json")));
    assert_eq!(
        complaints::<Anthropic>(&with(&keys("http://h"), &more)),
        [
            "`temperature` of target `t` is not sent, since `thinking_budget` is set / remove `temperature`"
        ]
    );
}

#[tokio::test]
async fn an_answer_may_be_as_long_as_the_model_can() {
    assert_eq!(sent(json!({})).await["max_tokens"], 4096);
    assert_eq!(sent(json!({ "thinking_budget": 1024 })).await["max_tokens"], 5120);
    let known = |more: Value| with(&json!({ "model": "claude-sonnet-4-5" }), &more);
    assert_eq!(sent(known(json!({}))).await["max_tokens"], 64_000);
    assert_eq!(sent(known(json!({ "thinking_budget": 1024 }))).await["max_tokens"], 64_000);
    assert_eq!(sent(known(json!({ "max_tokens": 10 }))).await["max_tokens"], 10);
}

#[tokio::test]
async fn thinking_stays_out_of_the_answer() {
    let body = include_str!("fixtures/response.json");
    let response = answered::<Anthropic>(keys, 200, body).await.unwrap();
    assert_eq!(
        serde_json::to_value(&response).unwrap(),
        json!({
            "messages": [{ "role": "assistant", "content": "Stub réply." }],
            // 101 fresh, 40 read from and 7 written to the cache.
            "reported": { "token_usage": { "input": 148.0, "output": 23.0, "cached": 40.0 } },
            "metadata": {
                "model": "claude-sonnet-4-20250514",
                "response_id": "msg_stub000010",
                "finish_reason": "end_turn",
            },
        })
    );
}

#[tokio::test]
async fn what_was_written_to_a_cache_has_its_own_price() {
    let known = |url: &str| with(&keys(url), &json!({ "model": "claude-sonnet-4-5" }));
    let body = include_str!("fixtures/response.json");
    let response = answered::<Anthropic>(known, 200, body).await.unwrap();
    // 101 × 3 + 40 × 0.3 + 7 × 3.75 + 23 × 15.
    let cost = response.reported.cost_usd.unwrap();
    assert!((cost - 0.000_686_25).abs() < 1e-12, "{cost}");
}

#[tokio::test]
async fn tool_calls_are_part_of_the_message() {
    let body = json!({
        "content": [
            { "type": "text", "text": "Let me look." },
            { "type": "tool_use", "id": "t1", "name": "search", "input": { "q": 1 } },
        ],
        "stop_reason": "tool_use",
    });
    let response = answered::<Anthropic>(keys, 200, &body.to_string()).await.unwrap();
    assert_eq!(
        serde_json::to_value(response.messages).unwrap(),
        json!([{ "role": "assistant", "content": "Let me look.", "tool_calls": [
            { "tool": "search", "input": { "q": 1 }, "id": "t1" },
        ] }])
    );
}

#[tokio::test]
async fn a_refusal_is_told_apart() {
    let body = r#"{"content": [], "stop_reason": "refusal"}"#;
    let response = answered::<Anthropic>(keys, 200, body).await.unwrap();
    assert_eq!(
        Value::Object(response.metadata),
        json!({ "finish_reason": "refusal", "refusal": "The model declined to answer." })
    );
}

#[tokio::test]
async fn a_last_word_of_the_assistant_ends_without_a_space() {
    let server = FakeLlm::answering("ok");
    let mut request = conversation();
    request.chat.as_mut().unwrap().pop();
    request.chat.as_mut().unwrap()[2].content = "out \n".to_owned();
    ask(&provider::<Anthropic>(&keys(&server.url())), &request).await.unwrap();
    assert_eq!(server.only().body["messages"][1]["content"][0]["text"], "@[Tool]: out");
}

#[test]
fn the_version_may_be_part_of_the_address() {
    let url = |text: &str| url(Some(&text.parse().unwrap())).to_string();
    assert_eq!(url("https://a.example"), "https://a.example/v1/messages");
    assert_eq!(url("https://a.example/v1/"), "https://a.example/v1/messages");
    assert_eq!(url("https://a.example/anthropic"), "https://a.example/anthropic/v1/messages");
    assert_eq!(super::url(None).as_str(), "https://api.anthropic.com/v1/messages");
}

#[test]
fn every_name_of_the_model_is_known() {
    for key in ["model", "deployment", "variant"] {
        let (settings, notes) =
            read::<Anthropic>(&json!({ "apiKey": "${{ KEY }}", key: "${{ NAME }}" }));
        assert_eq!((settings.unwrap().model.as_str(), notes.len()), ("from-env", 0));
    }
    assert_eq!(
        complaints::<Anthropic>(&json!({ "api_key": "${{ KEY }}" })),
        ["target `t` needs `model`"]
    );
}

#[tokio::test]
async fn the_common_promises_are_kept() {
    keeps_the_common_promises::<Anthropic>(keys).await;
}

#[tokio::test]
async fn a_question_of_a_judge_has_its_system_text() {
    let server = FakeLlm::answering("ok");
    ask(&provider::<Anthropic>(&keys(&server.url())), &question("Hello?")).await.unwrap();
    assert_eq!(server.only().body["system"], json!([{ "type": "text", "text": "SYS" }]));
}
