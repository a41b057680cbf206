//! What the proxy answers to whom.

use super::ProxyState;
use crate::deadline;
use agentv_core::call::Role;
use agentv_core::{Candidate, EvalId, NamedProvider, Request as Question};
use agentv_wire::target_proxy::{
    InvokeBatchResponse, InvokeRequest, InvokeResponse, ProxyError, ProxyInfo,
};
use agentv_wire::{Usage, number};
use futures_util::future::join_all;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    AUTHORIZATION, CONTENT_TYPE,
};
use hyper::http::HeaderValue;
use hyper::{Method, Request, Response, StatusCode};
use serde::Serialize;
use serde_json::Value;
use std::convert::Infallible;
use std::time::Instant;
use subtle::ConstantTimeEq;

/// How large a request may be.
const BODY_CAP: usize = 16 << 20;

/// Why a request has no answer.
struct Refusal {
    status: StatusCode,
    error: String,
}

impl Refusal {
    fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Self { status, error: error.into() }
    }
}

pub(super) async fn answer(
    request: Request<Incoming>,
    proxy: &ProxyState<'_>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    if request.method() == Method::OPTIONS {
        return Ok(reply(StatusCode::NO_CONTENT, String::new()));
    }
    Ok(route(request, proxy).await.unwrap_or_else(|Refusal { status, error }| {
        reply(status, number::to_string(&ProxyError { error }).unwrap_or_default())
    }))
}

/// The token comes first: whoever has none learns nothing, not even which paths exist.
async fn route(
    request: Request<Incoming>,
    proxy: &ProxyState<'_>,
) -> Result<Response<Full<Bytes>>, Refusal> {
    if !is_let_in(request.headers().get(AUTHORIZATION), &proxy.token) {
        return Err(Refusal::new(StatusCode::UNAUTHORIZED, "Unauthorized"));
    }
    let path =
        request.uri().path_and_query().map(|path| path.as_str().to_owned()).unwrap_or_default();
    match (request.method(), path.as_str()) {
        (&Method::GET, "/info") => json(&info(proxy)),
        (&Method::POST, "/invoke") => invoke(read(request).await, proxy).await,
        (&Method::POST, "/invokeBatch") => invoke_batch(read(request).await, proxy).await,
        _ => Err(Refusal::new(StatusCode::NOT_FOUND, "Not found")),
    }
}

/// Compared in constant time, so that the token cannot be guessed digit by digit.
fn is_let_in(header: Option<&HeaderValue>, token: &str) -> bool {
    let given = header.and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
    given.is_some_and(|given| bool::from(given.ct_eq(token.as_bytes())))
}

fn info(proxy: &ProxyState<'_>) -> ProxyInfo {
    let own = proxy.judge.name.as_str();
    let others = proxy.targets.names().into_iter().filter(|name| *name != own);
    let available = std::iter::once(own).chain(others).map(str::to_owned).collect();
    ProxyInfo {
        target_name: proxy.judge.name.to_string(),
        max_calls: proxy.meter.max(),
        call_count: proxy.meter.made(),
        available_targets: available,
    }
}

async fn read(request: Request<Incoming>) -> Result<Value, Refusal> {
    let body = Limited::new(request.into_body(), BODY_CAP).collect().await;
    let body = body.map_err(|error| {
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, format!("the body is too large: {error}"))
    })?;
    let value = serde_json::from_slice(&body.to_bytes());
    value.map_err(|error| {
        Refusal::new(StatusCode::BAD_REQUEST, format!("the body is not JSON: {error}"))
    })
}

async fn invoke(
    body: Result<Value, Refusal>,
    proxy: &ProxyState<'_>,
) -> Result<Response<Full<Bytes>>, Refusal> {
    let over = || {
        Refusal::new(
            StatusCode::TOO_MANY_REQUESTS,
            format!("Max calls exceeded (limit: {})", proxy.meter.max()),
        )
    };
    if proxy.meter.refuses(1) {
        return Err(over());
    }
    let (target, request) = checked(body?, proxy)?;
    if !proxy.meter.reserve() {
        return Err(over());
    }
    let answer = call(&target, request, proxy).await;
    json(&answer.map_err(|error| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, error))?)
}

/// All items at once, answers in order. An item that cannot be asked costs no call; its answer says why.
async fn invoke_batch(
    body: Result<Value, Refusal>,
    proxy: &ProxyState<'_>,
) -> Result<Response<Full<Bytes>>, Refusal> {
    let body = body?;
    let Some(items) = body.get("requests").and_then(Value::as_array) else {
        return Err(Refusal::new(StatusCode::BAD_REQUEST, "`requests` must be an array"));
    };
    let (made, max) = (proxy.meter.made(), proxy.meter.max());
    if proxy.meter.refuses(items.len() as u64) {
        let error = format!(
            "Batch would exceed max calls (current: {made}, batch: {}, limit: {max})",
            items.len()
        );
        return Err(Refusal::new(StatusCode::TOO_MANY_REQUESTS, error));
    }
    proxy.meter.is_batch();
    let one = async |item: &Value| {
        let (target, request) = checked(item.clone(), proxy).map_err(|refusal| refusal.error)?;
        if !proxy.meter.reserve() {
            return Err(format!("Max calls exceeded (limit: {max})"));
        }
        call(&target, request, proxy).await
    };
    let answers = join_all(items.iter().map(one)).await;
    let responses = answers
        .into_iter()
        .map(|answer| {
            let said = |error| InvokeResponse {
                output_messages: Vec::new(),
                raw_text: Some(format!("Error: {error}")),
            };
            answer.unwrap_or_else(said)
        })
        .collect();
    json(&InvokeBatchResponse { responses })
}

/// A request that can be asked, and who is asked.
fn checked(body: Value, proxy: &ProxyState<'_>) -> Result<(NamedProvider, InvokeRequest), Refusal> {
    let bad = |error: String| Refusal::new(StatusCode::BAD_REQUEST, error);
    let request: InvokeRequest = serde_json::from_value(body)
        .map_err(|error| bad(format!("Missing required field: {error}")))?;
    if request.question.trim().is_empty() {
        return Err(bad("Missing required field: `question` must not be empty".to_owned()));
    }
    let target = match request.target.as_deref() {
        None => proxy.judge.clone(),
        Some(name) if name == proxy.judge.name.as_str() => proxy.judge.clone(),
        Some(name) if proxy.targets.names().contains(&name) => {
            let found = proxy.targets.named(name);
            found.map_err(|error| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, error.message))?
        }
        Some(name) => {
            let available = info(proxy).available_targets.join(", ");
            return Err(bad(format!("Unknown target '{name}'. Available: {available}")));
        }
    };
    Ok((target, request))
}

async fn call(
    target: &NamedProvider,
    request: InvokeRequest,
    proxy: &ProxyState<'_>,
) -> Result<InvokeResponse, String> {
    let eval_id = EvalId::from(request.eval_case_id.unwrap_or_else(|| "proxy".to_owned()));
    let question = Question {
        system_prompt: request.system_prompt,
        attempt: request.attempt.unwrap_or(1),
        ..Question::plain(&eval_id, request.question)
    };
    let cx = proxy.call.asking(Role::Proxy, &target.name, &question);
    let started = Instant::now();
    let answering = async {
        target.provider.prepare(&cx).await?;
        target.provider.invoke(&question, &cx).await
    };
    let response = deadline::within(cx.time_limit, answering, &cx, "the target").await;
    let said = Candidate::new(response.map_err(|error| error.message)?, started.elapsed(), &[]);
    proxy
        .meter
        .spend(&Usage { token_usage: said.metrics.token_usage, cost_usd: said.metrics.cost_usd });
    Ok(InvokeResponse {
        raw_text: (!said.answer.is_empty()).then_some(said.answer),
        output_messages: said.messages.unwrap_or_default().into_iter().map(Into::into).collect(),
    })
}

fn json<T: Serialize>(body: &T) -> Result<Response<Full<Bytes>>, Refusal> {
    let text = number::to_string(body);
    let text =
        text.map_err(|error| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
    Ok(reply(StatusCode::OK, text))
}

/// The headers let a page on this machine ask, too, if it has the token.
fn reply(status: StatusCode, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, OPTIONS"));
    headers.insert(
        ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static("Content-Type, Authorization"),
    );
    response
}
