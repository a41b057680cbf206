//! One request to an API with JSON on both sides.

use super::client::{client, room};
use super::error::{broken, refused};
use super::excerpt::excerpt;
use crate::deadline::QueueTimer;
use crate::open_files::is_shortage;
use agentv_core::{CallContext, ProviderError, Secret};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{RequestBuilder, Response, StatusCode, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::error::Error;
use std::io;
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// No answer of a model is this large; more would only fill the memory.
const BODY_CAP: usize = 64 << 20;
/// How much of an error is read. Far less is shown, so the rest would only cost time.
const ERROR_CAP: usize = 64 << 10;

/// Between two tries to make a connection while there are too many open files, and for how long that is tried.
const PAUSE: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_mins(1);

/// What is asked of an API.
#[derive(Debug)]
pub struct HttpPost<'a, B> {
    pub url: &'a Url,
    pub key: Option<KeyHeader<'a>>,
    /// Headers besides the key's.
    pub headers: &'static [(&'static str, &'static str)],
    pub body: &'a B,
}

/// The header that carries the key.
#[derive(Debug, Clone, Copy)]
pub struct KeyHeader<'a> {
    pub name: &'static str,
    /// What is before the key: `Bearer `.
    pub prefix: &'static str,
    pub key: &'a Secret,
}

/// What a server answered with success.
#[derive(Debug)]
pub struct HttpResponse<'a> {
    host: String,
    body: Vec<u8>,
    secrets: Vec<&'a Secret>,
}

/// Sends the request and reads the answer. A status that is no success is an error. Ends at once on a cancel; dropping
/// the request closes its connection.
pub async fn post<'a, B: Serialize>(
    post: &HttpPost<'a, B>,
    call: &CallContext,
) -> Result<HttpResponse<'a>, ProviderError> {
    tokio::select! {
        biased;
        () = call.cancel.cancelled() => Err(ProviderError::cancelled()),
        answer = send(post, call) => answer,
    }
}

async fn send<'a, B: Serialize>(
    post: &HttpPost<'a, B>,
    call: &CallContext,
) -> Result<HttpResponse<'a>, ProviderError> {
    let host = host(post.url);
    let client = client().map_err(|error| ProviderError::failed(error.to_string()))?;
    let body = serde_json::to_vec(post.body)
        .map_err(|error| ProviderError::failed(format!("the request is not JSON: {error}")))?;
    let request = client.post(post.url.clone()).headers(headers(post)?).body(body);
    // Until the answer is here.
    let _place = room().take(Some(&call.queue_time)).await;
    let mut response = connect(request, call).await.map_err(|error| broken(&host, error))?;
    let secrets: Vec<&Secret> = post.key.iter().map(|header| header.key).collect();
    if !response.status().is_success() {
        let body = read_head(&mut response, &host).await?;
        return Err(refused(&host, response.status(), response.headers(), &body, &secrets));
    }
    let body = read(&mut response, &host).await?;
    Ok(HttpResponse { host, body, secrets })
}

/// Sends a request. If there are too many open files for a connection, it waits for others to be closed: nothing was sent.
async fn connect(request: RequestBuilder, call: &CallContext) -> reqwest::Result<Response> {
    let began = Instant::now();
    loop {
        let Some(copy) = request.try_clone() else { return request.send().await };
        match copy.send().await {
            Err(error) if is_shortage_of(&error) && began.elapsed() < PATIENCE => {
                let _line = QueueTimer::enter(&call.queue_time);
                sleep(PAUSE).await;
            }
            answer => return answer,
        }
    }
}

/// Whether no connection could be made for want of open files or memory.
fn is_shortage_of(error: &reqwest::Error) -> bool {
    let causes = std::iter::successors(Some(error as &dyn Error), |error| (*error).source());
    error.is_connect()
        && causes.filter_map(|cause| cause.downcast_ref::<io::Error>()).any(is_shortage)
}

fn headers<B>(post: &HttpPost<'_, B>) -> Result<HeaderMap, ProviderError> {
    let mut headers = HeaderMap::with_capacity(post.headers.len() + 2);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, value) in post.headers {
        headers.insert(*name, HeaderValue::from_static(value));
    }
    if let Some(KeyHeader { name, prefix, key }) = post.key {
        let value = HeaderValue::try_from(format!("{prefix}{}", key.expose()));
        let mut value = value.map_err(|_| {
            ProviderError::failed("the key holds characters that no HTTP header can carry")
        })?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

async fn read(response: &mut Response, host: &str) -> Result<Vec<u8>, ProviderError> {
    let too_large = || {
        let mib = BODY_CAP >> 20;
        ProviderError::failed(format!("the answer of {host} is larger than {mib} MiB"))
    };
    let announced = usize::try_from(response.content_length().unwrap_or(0)).unwrap_or(usize::MAX);
    if announced > BODY_CAP {
        return Err(too_large());
    }
    let mut body = Vec::with_capacity(announced.min(1 << 20));
    while let Some(piece) = response.chunk().await.map_err(|error| broken(host, error))? {
        if body.len() + piece.len() > BODY_CAP {
            return Err(too_large());
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

/// The beginning of a body. The rest stays where it is, and the connection is closed.
async fn read_head(response: &mut Response, host: &str) -> Result<Vec<u8>, ProviderError> {
    let mut body = Vec::new();
    while body.len() < ERROR_CAP
        && let Some(piece) = response.chunk().await.map_err(|error| broken(host, error))?
    {
        body.extend_from_slice(&piece[..piece.len().min(ERROR_CAP - body.len())]);
    }
    Ok(body)
}

/// Whom an error names: no path and no query, which may carry keys.
pub fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or("nowhere");
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

#[cfg(feature = "fuzzing")]
impl HttpResponse<'_> {
    /// A body as if a server had sent it.
    pub(crate) fn of_body(body: &[u8]) -> Self {
        Self { host: "localhost".to_owned(), body: body.to_vec(), secrets: Vec::new() }
    }
}

impl HttpResponse<'_> {
    /// The body as what it should be. One that ends too early was cut off, which is the connection's fault.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, ProviderError> {
        let Self { host, body, secrets } = self;
        serde_json::from_slice(body).map_err(|error| {
            if error.is_eof() {
                return ProviderError::network(format!(
                    "the answer was cut off by {host}: {} bytes are not complete JSON",
                    body.len()
                ));
            }
            // The error's own text would repeat values of the body.
            let (line, column) = (error.line(), error.column());
            let what =
                if error.is_data() { "has another shape than expected" } else { "is not JSON" };
            ProviderError::failed(format!(
                "the answer of {host} {what} (line {line}, column {column}): {}",
                excerpt(self.head(), secrets)
            ))
        })
    }

    /// The error for an answer that is JSON, but lacks what every answer of this API has.
    pub fn lacks(&self, what: &str) -> ProviderError {
        let said = excerpt(self.head(), &self.secrets);
        ProviderError::failed(format!("the answer of {} has no {what}: {said}", self.host))
    }

    /// As much of the body as is looked at for an error.
    fn head(&self) -> &[u8] {
        &self.body[..self.body.len().min(ERROR_CAP)]
    }

    /// The error that the body tells of, though the server answered with success: gateways do that.
    pub fn as_error(&self, status: Option<u16>) -> ProviderError {
        let status = status.and_then(|status| StatusCode::from_u16(status).ok());
        match status.filter(|status| !status.is_success()) {
            Some(status) => {
                refused(&self.host, status, &HeaderMap::new(), self.head(), &self.secrets)
            }
            None => ProviderError::failed(format!(
                "{} answered with an error: {}",
                self.host,
                excerpt(self.head(), &self.secrets)
            )),
        }
    }
}
