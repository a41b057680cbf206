//! Answers of another shape than an API has: an error that says what came, and never an empty answer.

use crate::{context, eval};
use agentv_test_support::{FakeLlm, FakeReply, cases, targets};
use serde_json::{Value, json};

/// The record of one case that is asked of a model whose server sends this.
#[track_caller]
fn record(provider: &str, body: &str) -> Value {
    let body = body.to_owned();
    let server = FakeLlm::start(move |_| FakeReply::raw(200, body.clone()));
    let address = match provider {
        "azure" => format!("endpoint: '{}'", server.url()),
        _ => format!("base_url: '{}'", server.url()),
    };
    let cx = context();
    cx.write(".env", "KEY=canary-0123456789\n");
    let target = format!(
        "  - name: default\n    provider: {provider}\n    {address}\n    model: m\n    \
         api_key: ${{{{ KEY }}}}\n    max_retries: 0\n"
    );
    cx.write("targets.yaml", &targets(&[target]));
    cx.write("suite.yaml", &cases(&["a"]));
    eval(&cx, &[]).record()
}

#[track_caller]
fn check(provider: &str, body: &Value, expected: &str) {
    let record = record(provider, &body.to_string());
    let error = record["error"].as_str().unwrap_or_default();
    assert!(error.contains(expected), "{provider}, {body}: expected `{expected}`, not `{error}`");
    assert_eq!(record["outcome"], "error");
}

const PROVIDERS: [&str; 4] = ["openai", "azure", "anthropic", "gemini"];

#[test]
fn what_is_no_answer_is_an_error() {
    for provider in PROVIDERS {
        let page = record(provider, "<html><b>Log in</b></html>");
        let error = page["error"].as_str().unwrap_or_default();
        assert!(error.contains("<html><b>Log in</b></html>"), "{provider}: {error}");
        check(provider, &json!({}), " has no `c");
        check(provider, &json!({"hello": "world"}), "{\"hello\":\"world\"}");
        check(provider, &json!({"error": {"message": "no quota"}}), "no quota");
        check(provider, &json!(null), "has another shape than expected");
        check(provider, &json!([]), "has another shape than expected");
        check(provider, &json!("ok"), "has another shape than expected");
    }
}

#[test]
fn an_answer_without_words_is_an_error() {
    let said = |message: Value| json!({"choices": [{"message": message, "finish_reason": "stop"}]});
    for provider in ["openai", "azure"] {
        check(provider, &json!({"choices": []}), "has no `choices`");
        check(provider, &json!({"choices": [{}]}), "has no text in `content`");
        check(provider, &said(json!({"content": null})), "has no text in `content`");
        check(provider, &said(json!({"content": null, "tool_calls": []})), "has no text in");
        check(provider, &said(json!({"content": 7})), "has no text in `content`");
        check(provider, &said(json!({"content": {"text": "ok"}})), "has no text in `content`");
        check(provider, &json!({"choices": {"message": "ok"}}), "another shape than expected");
    }
    check("anthropic", &json!({"content": null}), "has no `content`");
    check("anthropic", &json!({"content": []}), "has no `stop_reason`");
    check("anthropic", &json!({"content": "ok"}), "another shape than expected");
    check("anthropic", &json!({"content": [{"type": "text"}]}), "has no `text` in its block");
    check("anthropic", &said(json!({"content": "ok"})), "has no `content`");
    check("gemini", &json!({"candidates": []}), "has no `candidates`");
    check("gemini", &json!({"candidates": [{}]}), "has no `content`");
    check("gemini", &json!({"candidates": [{"content": "ok"}]}), "another shape than expected");
}

#[test]
fn a_model_may_say_nothing() {
    let stopped = |reason: &str, content: Value| json!({"choices": [{"message": {"content": content}, "finish_reason": reason}]});
    for (provider, body) in [
        ("openai", stopped("stop", json!(""))),
        ("openai", stopped("length", json!(null))),
        ("azure", stopped("content_filter", json!(null))),
        ("anthropic", json!({"content": [], "stop_reason": "end_turn"})),
        ("gemini", json!({"candidates": [{"finishReason": "MAX_TOKENS"}]})),
        ("gemini", json!({"candidates": [{"content": {"role": "model"}, "finishReason": "STOP"}]})),
    ] {
        let record = record(provider, &body.to_string());
        assert_eq!(record["outcome"], "fail", "{provider}: {record:#}");
        assert_eq!(record["candidate_answer"], "", "{provider}");
    }
}
