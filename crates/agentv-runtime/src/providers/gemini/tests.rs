use super::*;
use crate::providers::chat::testing::{
    KEY, answered, ask, complaints, conversation, fixture, keeps_the_common_promises, provider,
    with,
};
use agentv_test_support::FakeLlm;
use serde_json::{Value, json};

fn keys(url: &str) -> Value {
    json!({ "base_url": url, "api_key": "${{ KEY }}" })
}

async fn sent(more: Value) -> Value {
    let server = FakeLlm::answering("ok");
    let gemini: Gemini = provider(&with(&keys(&server.url()), &more));
    ask(&gemini, &conversation()).await.unwrap();
    server.only().body
}

#[tokio::test]
async fn a_request_is_as_2_x_sent_it() {
    let server = FakeLlm::answering("ok");
    let more = json!({ "temperature": 0.1, "max_output_tokens": 300 });
    let gemini: Gemini = provider(&with(&keys(&server.url()), &more));
    ask(&gemini, &conversation()).await.unwrap();
    let asked = server.only();
    assert_eq!(asked.method, "POST");
    assert_eq!(asked.path, "/v1beta/models/gemini-2.5-flash:generateContent");
    assert_eq!((asked.query.as_str(), asked.header("x-goog-api-key")), ("", KEY));
    assert_eq!(asked.body, fixture(include_str!("fixtures/request.json")));
}

#[tokio::test]
async fn settings_go_out_only_where_they_are_set() {
    assert_eq!(sent(json!({})).await.get("generationConfig"), None);
    let body = sent(json!({ "thinking_budget": -1 })).await;
    assert_eq!(body["generationConfig"], json!({ "thinkingConfig": { "thinkingBudget": -1 } }));
    assert_eq!(
        complaints::<Gemini>(&with(&keys("http://h"), &json!({ "thinkingBudget": -2 }))),
        ["`thinking_budget` of target `t` must be a whole number from -1 up, not `-2`"]
    );
}

#[tokio::test]
async fn thoughts_stay_out_of_the_answer_but_count_as_output() {
    let body = include_str!("fixtures/response.json");
    let response = answered::<Gemini>(keys, 200, body).await.unwrap();
    let cost = response.reported.cost_usd.unwrap();
    // 61 × 0.3 + 40 × 0.03 + 28 × 2.5.
    assert!((cost - 0.000_089_5).abs() < 1e-12, "{cost}");
    assert_eq!(
        serde_json::to_value(&response.messages).unwrap(),
        json!([{ "role": "assistant", "content": "Stub réply." }])
    );
    assert_eq!(
        serde_json::to_value(response.reported.token_usage).unwrap(),
        json!({ "input": 101.0, "output": 28.0, "cached": 40.0 })
    );
    assert_eq!(
        Value::Object(response.metadata),
        json!({
            "model": "gemini-2.5-flash",
            "response_id": "resp_stub000014",
            "finish_reason": "STOP",
        })
    );
}

#[tokio::test]
async fn tool_calls_are_part_of_the_message() {
    let call = json!({ "functionCall": { "id": "f1", "name": "search", "args": { "q": 1 } } });
    let body =
        json!({ "candidates": [{ "content": { "parts": [call] }, "finishReason": "STOP" }] });
    let response = answered::<Gemini>(keys, 200, &body.to_string()).await.unwrap();
    assert_eq!(
        serde_json::to_value(response.messages).unwrap(),
        json!([{ "role": "assistant", "tool_calls": [
            { "tool": "search", "input": { "q": 1 }, "id": "f1" },
        ] }])
    );
}

#[tokio::test]
async fn a_blocked_prompt_and_a_filtered_answer_are_told_apart() {
    let body = r#"{"promptFeedback": {"blockReason": "SAFETY"}}"#;
    let response = answered::<Gemini>(keys, 200, body).await.unwrap();
    assert_eq!(
        Value::Object(response.metadata),
        json!({ "finish_reason": "SAFETY", "refusal": "The prompt was blocked: SAFETY." })
    );
    let body = r#"{"candidates": [{"finishReason": "RECITATION"}]}"#;
    let response = answered::<Gemini>(keys, 200, body).await.unwrap();
    assert_eq!(
        Value::Object(response.metadata),
        json!({ "finish_reason": "RECITATION", "empty_answer": true })
    );
}

#[test]
fn every_name_of_the_model_is_known() {
    let url = |more: Value| provider::<Gemini>(&with(&keys("https://h/v1"), &more)).url.to_string();
    for key in ["model", "deployment", "variant"] {
        assert_eq!(
            url(json!({ key: "models/gemini-x" })),
            "https://h/v1/models/gemini-x:generateContent"
        );
    }
    assert_eq!(
        url(json!({ "model": "${{ NOT_SET }}" })),
        "https://h/v1/models/gemini-2.5-flash:generateContent"
    );
    assert_eq!(
        super::url(None, "m").as_str(),
        "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent"
    );
}

#[tokio::test]
async fn the_common_promises_are_kept() {
    keeps_the_common_promises::<Gemini>(keys).await;
}
