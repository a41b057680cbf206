//! What the tests of the chat APIs share: settings from keys, a provider that asks a fake server, the questions.

use crate::config::{Cost, Entry, Env, Fields, Kind, Node, Notes, Span};
use crate::process::{Processes, SecretPolicy};
use crate::providers::{Deps, FromSettings};
use agentv_core::{CallContext, EvalId, Provider, ProviderError, Request, Response};
use agentv_test_support::{FakeLlm, FakeReply};
use agentv_wire::ChatMessage;
use serde_json::{Value, json};

/// The value of `${{ KEY }}` in these tests. It must not be seen anywhere.
pub(in crate::providers) const KEY: &str = "canary-key-0123456789";

fn node(value: &Value) -> Node<'static> {
    let kind = match value {
        Value::Null => Kind::Null,
        Value::Bool(truth) => Kind::Bool(*truth),
        Value::Number(number) => Kind::Number(number.clone()),
        Value::String(text) => Kind::Text(text.clone().into()),
        Value::Array(items) => Kind::List(items.iter().map(node).collect()),
        Value::Object(map) => {
            let entry = |(key, value): (&String, &Value)| Entry {
                key: key.clone().into(),
                key_span: Span::default(),
                value: node(value),
            };
            Kind::Map(map.iter().map(entry).collect())
        }
    };
    Node::new(kind, Span::default())
}

/// The settings, and the messages and helps of all that is wrong or odd.
pub(in crate::providers) fn read<P: FromSettings>(
    keys: &Value,
) -> (Option<P::Settings>, Vec<String>) {
    let variables = [("KEY", KEY), ("BLANK", " "), ("BROKEN", "a\nb"), ("NAME", " from-env ")];
    let env = Env::new(variables.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let (node, mut notes) = (node(keys), Notes::new("targets.yaml"));
    let mut fields =
        Fields::of(&node, "target `t`", Cost::Command, &mut notes, &env).expect("a mapping");
    let settings = P::read(&mut fields).filter(|_| !fields.failed());
    fields.finish(P::LEFTOVERS);
    let (notes, _) = notes.finish();
    let say = |note: &crate::config::Note| match &note.help {
        Some(help) => format!("{} / {help}", note.message),
        None => note.message.clone(),
    };
    (settings, notes.iter().map(say).collect())
}

/// A provider with these keys, which must be good.
#[track_caller]
pub(in crate::providers) fn provider<P: FromSettings>(keys: &Value) -> P {
    let (settings, notes) = read::<P>(keys);
    let deps = Deps {
        target: "t".into(),
        eval_dir: ".".into(),
        working_dir: ".".into(),
        project_root: ".".into(),
        env: Env::default(),
        secrets: SecretPolicy::default(),
        processes: Processes::new("chat-test".to_owned()),
        health: std::sync::Arc::default(),
        redactor: std::sync::Arc::default(),
    };
    P::from_settings(settings.unwrap_or_else(|| panic!("bad settings: {notes:?}")), &deps)
}

/// What is wrong with these keys.
pub(in crate::providers) fn complaints<P: FromSettings>(keys: &Value) -> Vec<String> {
    read::<P>(keys).1
}

/// The same keys with more, or others.
pub(in crate::providers) fn with(keys: &Value, more: &Value) -> Value {
    let mut keys = keys.as_object().expect("keys").clone();
    keys.extend(more.as_object().expect("more keys").clone());
    Value::Object(keys)
}

/// The conversation of the recorded requests.
pub(in crate::providers) fn conversation() -> Request {
    let message = |(role, content): (&str, &str)| ChatMessage {
        role: role.to_owned(),
        content: content.to_owned(),
    };
    let chat = [("system", "SYS"), ("user", "Hello?"), ("tool", "out"), ("user", "Go")];
    Request { chat: Some(chat.map(message).into()), ..question("q") }
}

/// A question as a judge asks it.
pub(in crate::providers) fn question(text: &str) -> Request {
    let request = Request::plain(&EvalId::from("case-1"), text.to_owned());
    Request { system_prompt: Some("SYS".to_owned()), ..request }
}

pub(in crate::providers) async fn ask(
    provider: &dyn Provider,
    request: &Request,
) -> Result<Response, ProviderError> {
    provider.invoke(request, &CallContext::quiet()).await
}

/// What such a provider makes of this answer.
pub(in crate::providers) async fn answered<P: FromSettings>(
    keys: impl FnOnce(&str) -> Value,
    status: u16,
    body: &str,
) -> Result<Response, ProviderError> {
    let body = body.to_owned();
    let server = FakeLlm::start(move |_| FakeReply::raw(status, body.clone()));
    let provider: P = provider(&keys(&server.url()));
    let outcome = ask(&provider, &question("Hello?")).await;
    assert_eq!(server.asked().len(), 1, "a provider asks once; retries are not its business");
    assert!(!format!("{provider:?} {outcome:?}").contains("canary"), "{provider:?} {outcome:?}");
    outcome
}

/// A fixture as JSON.
#[track_caller]
pub(in crate::providers) fn fixture(text: &str) -> Value {
    serde_json::from_str(text).expect("a fixture of JSON")
}

/// The promises that every chat API keeps: nonsense is an error and no panic, errors carry facts and no keys.
pub(in crate::providers) async fn keeps_the_common_promises<P: FromSettings>(
    keys: impl Fn(&str) -> Value,
) {
    for nonsense in
        ["[]", "\"no\"", "{\"choices\": 7, \"content\": 7, \"candidates\": 7}", "<html>"]
    {
        let error = answered::<P>(&keys, 200, nonsense).await.expect_err(nonsense);
        assert_eq!(error.http_status(), None, "{error}");
    }
    let error = answered::<P>(&keys, 200, "{\"id\": \"ab").await.expect_err("a cut body");
    assert_eq!(error.kind, agentv_core::provider::ProviderErrorKind::Network);
    let body = json!({ "error": { "message": format!("bad key {KEY}") } }).to_string();
    let error = answered::<P>(&keys, 401, &body).await.expect_err("a refusal");
    assert_eq!(error.http_status(), Some(401));
    assert!(error.message.starts_with("HTTP 401 "), "{error}");
    assert!(error.message.ends_with(": bad key …"), "{error}");
    is_cancelled_at_once::<P>(&keys).await;
}

async fn is_cancelled_at_once<P: FromSettings>(keys: &impl Fn(&str) -> Value) {
    let slow = std::time::Duration::from_secs(20);
    let server = FakeLlm::start(move |_| FakeReply::raw(200, "").after(slow));
    let provider: P = provider(&keys(&server.url()));
    let cx = CallContext::quiet();
    let request = question("Hello?");
    let stop = async {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        cx.cancel.cancel();
    };
    let started = std::time::Instant::now();
    let (outcome, ()) = tokio::join!(provider.invoke(&request, &cx), stop);
    assert_eq!(
        outcome.expect_err("no answer").kind,
        agentv_core::provider::ProviderErrorKind::Cancelled
    );
    assert!(started.elapsed() < slow / 4);
}
