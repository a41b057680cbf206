use super::*;
use crate::providers::chat::testing::{
    KEY, answered, ask, complaints, conversation, fixture, keeps_the_common_promises, provider,
    with,
};
use agentv_test_support::FakeLlm;
use serde_json::{Value, json};

fn keys(url: &str) -> Value {
    json!({ "endpoint": url, "api_key": "${{ KEY }}", "deployment": "my-deploy" })
}

/// Where a target with these keys calls.
#[track_caller]
fn check_url(more: &Value, expected: &str) {
    let azure: Azure = provider(&with(&keys("https://a.example"), more));
    assert_eq!(azure.url.as_str(), expected);
}

#[tokio::test]
async fn a_request_is_as_2_x_sent_it() {
    let server = FakeLlm::answering("ok");
    let more = json!({ "temperature": 0.2, "max_output_tokens": 512 });
    let azure: Azure = provider(&with(&keys(&server.url()), &more));
    ask(&azure, &conversation()).await.unwrap();
    let asked = server.only();
    assert_eq!(asked.method, "POST");
    assert_eq!(asked.path, "/openai/deployments/my-deploy/chat/completions");
    assert_eq!(asked.query, "api-version=2024-10-01-preview");
    assert_eq!(asked.header("api-key"), KEY);
    assert_eq!(asked.body, fixture(include_str!("fixtures/request.json")));
}

#[tokio::test]
async fn settings_that_are_absent_are_not_sent() {
    let server = FakeLlm::answering("ok");
    ask(&provider::<Azure>(&keys(&server.url())), &conversation()).await.unwrap();
    let expected = fixture(include_str!("fixtures/request_without_settings.json"));
    assert_eq!(server.only().body, expected);
}

#[tokio::test]
async fn an_answer_comes_with_its_numbers_but_without_a_guessed_price() {
    let body = include_str!("fixtures/response.json");
    let response = answered::<Azure>(keys, 200, body).await.unwrap();
    assert_eq!(
        serde_json::to_value(&response).unwrap(),
        json!({
            "messages": [{ "role": "assistant", "content": "Stub réply." }],
            "reported": { "token_usage": { "input": 101.0, "output": 23.0, "cached": 40.0 } },
            "metadata": {
                "model": "my-deploy",
                "response_id": "chatcmpl_stub000001",
                "finish_reason": "stop",
            },
        })
    );
}

#[tokio::test]
async fn a_price_of_ones_own_counts() {
    let priced = |url: &str| {
        let pricing = json!({ "pricing": { "input": 10, "output": "20", "cached": 1 } });
        with(&keys(url), &pricing)
    };
    let body = include_str!("fixtures/response.json");
    let response = answered::<Azure>(priced, 200, body).await.unwrap();
    // 61 × 10 + 40 × 1 + 23 × 20.
    assert_eq!(response.reported.cost_usd, Some(0.001_11));
}

#[test]
fn a_resource_is_an_address_or_a_name() {
    let path = "/openai/deployments/my-deploy/chat/completions?api-version=2024-10-01-preview";
    check_url(&json!({}), &format!("https://a.example{path}"));
    check_url(&json!({ "endpoint": "https://a.example/" }), &format!("https://a.example{path}"));
    check_url(
        &json!({ "endpoint": "https://a.example/openai/" }),
        &format!("https://a.example{path}"),
    );
    check_url(
        &json!({ "endpoint": "my-resource" }),
        &format!("https://my-resource.openai.azure.com{path}"),
    );
    for host in ["my-res.openai.azure.com", "my-res.openai.azure.com/openai/"] {
        let expected = format!("https://my-res.openai.azure.com{path}");
        check_url(&json!({ "endpoint": host }), &expected);
    }
}

#[test]
fn every_name_of_a_key_is_known() {
    for (key, value) in [
        ("resourceName", "b.example"),
        ("resource", "https://b.example"),
        ("resourceName", "https://b.example"),
        ("resource_name", "https://b.example"),
        ("base_url", "https://b.example"),
    ] {
        let azure: Azure = provider(&json!({ "apiKey": "${{ KEY }}", "model": "m", key: value }));
        assert_eq!(azure.url.host_str(), Some("b.example"), "{key}");
    }
    for key in ["deployment", "deploymentName", "deployment_name", "model"] {
        let azure: Azure = provider(
            &json!({ "endpoint": "https://h", "api_key": "${{ KEY }}", key: "${{ NAME }}" }),
        );
        assert_eq!(azure.settings.deployment, "from-env", "{key}");
    }
}

#[test]
fn a_version_is_taken_with_or_without_its_name() {
    for (key, version) in [
        ("version", "2025-01-01"),
        ("api_version", "api-version=2025-01-01"),
        ("apiVersion", " api_version=2025-01-01"),
    ] {
        let azure: Azure = provider(&with(&keys("https://a.example"), &json!({ key: version })));
        assert_eq!(azure.url.query(), Some("api-version=2025-01-01"), "{version}");
    }
    let azure: Azure =
        provider(&with(&keys("https://a.example"), &json!({ "version": "${{ NOT_SET }}" })));
    assert_eq!(azure.url.query(), Some("api-version=2024-10-01-preview"));
}

#[test]
fn what_is_missing_is_told_all_at_once() {
    assert_eq!(
        complaints::<Azure>(&json!({ "endpoint": "no name" })),
        [
            "`endpoint` of target `t` must be an address that begins with `http://` or `https://` / write it like `https://example.com/v1`",
            "target `t` needs `api_key` / add `api_key: ${{ AZURE_OPENAI_API_KEY }}`",
            "target `t` needs `deployment`",
        ]
    );
}

#[tokio::test]
async fn the_common_promises_are_kept() {
    keeps_the_common_promises::<Azure>(keys).await;
}
