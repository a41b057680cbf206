//! One request against a server that misbehaves.

use super::*;
use agentv_core::provider::ProviderErrorKind;
use agentv_core::{CallContext, ProviderError, Secret};
use agentv_test_support::{FakeLlm, FakeReply};
use serde_json::{Value, json};

async fn ask(url: &str) -> Result<Value, ProviderError> {
    let (url, key) = (url.parse().unwrap(), Secret::new("canary"));
    let key = Some(KeyHeader { name: "x-api-key", prefix: "", key: &key });
    let post_it = HttpPost { url: &url, key, headers: &[], body: &json!({}) };
    post(&post_it, &CallContext::quiet()).await?.json()
}

async fn failure(reply: FakeReply) -> ProviderError {
    let server = FakeLlm::start(move |_| reply.clone());
    ask(&format!("{}/path?secret=canary", server.url())).await.unwrap_err()
}

#[tokio::test]
async fn a_broken_connection_is_the_networks_fault() {
    let cut = FakeReply::json(200, &json!({ "text": "a long answer" })).cut();
    for (reply, what) in [
        (FakeReply::dropped(), "the connection was lost to 127.0.0.1:"),
        (cut, "the answer was cut off by 127.0.0.1:"),
    ] {
        let error = failure(reply).await;
        assert_eq!(error.kind, ProviderErrorKind::Network);
        assert!(error.message.starts_with(what) && !error.message.contains("canary"), "{error}");
    }
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = ask(&format!("http://{nobody}/")).await.unwrap_err();
    assert_eq!(error.kind, ProviderErrorKind::Unreachable);
    assert!(error.message.starts_with(&format!("cannot connect to {nobody}: ")), "{error}");
}

#[tokio::test]
async fn an_answer_without_end_is_not_kept() {
    let error = failure(FakeReply::raw(200, vec![b' '; (64 << 20) + 1])).await;
    assert_eq!(error.kind, ProviderErrorKind::Failed);
    assert!(error.message.ends_with("is larger than 64 MiB"), "{error}");
}

#[tokio::test]
async fn a_key_is_not_taken_to_another_host() {
    let other = FakeLlm::start(|_| FakeReply::json(200, &json!({})));
    let elsewhere = format!("{}/elsewhere", other.url());
    let error = failure(FakeReply::raw(307, "").header("location", &elsewhere)).await;
    assert_eq!(error.http_status(), Some(307));
    assert!(other.asked().is_empty());
    let server = FakeLlm::start(|asked| match asked.path.as_str() {
        "/old" => FakeReply::raw(308, "").header("location", "/new"),
        _ => FakeReply::json(200, &json!({ "method": asked.method })),
    });
    assert_eq!(ask(&format!("{}/old", server.url())).await.unwrap(), json!({ "method": "POST" }));
    let lost = failure(FakeReply::raw(307, "").header("location", "/round")).await;
    assert_eq!(lost.http_status(), Some(307), "no redirect is followed for ever");
}
