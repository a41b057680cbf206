//! What went wrong with a request, as facts: the status, how long to wait, whether the connection broke.

use super::excerpt::excerpt;
use agentv_core::{ProviderError, Secret};
use reqwest::header::{HeaderMap, RETRY_AFTER};
use serde_json::Value;
use std::error::Error;
use std::time::{Duration, SystemTime};

/// A server's answer that is no success.
pub(super) fn refused(
    host: &str,
    status: reqwest::StatusCode,
    headers: &HeaderMap,
    body: &[u8],
    secrets: &[&Secret],
) -> ProviderError {
    let wait = retry_after(headers, SystemTime::now()).or_else(|| asked_in_body(body));
    let reason = status.canonical_reason().unwrap_or_default();
    let head = format!("HTTP {} {reason}", status.as_u16());
    let said = excerpt(body, secrets);
    let message = if said.is_empty() {
        format!("{} from {host}", head.trim_end())
    } else {
        format!("{} from {host}: {said}", head.trim_end())
    };
    ProviderError::http(status.as_u16(), wait, message)
}

/// A request that got no answer, or not all of it.
pub(super) fn broken(host: &str, error: reqwest::Error) -> ProviderError {
    // The address may carry a key.
    let error = error.without_url();
    if error.is_builder() || error.is_redirect() {
        return ProviderError::failed(format!("cannot call {host}: {}", chain(&error)));
    }
    if error.is_connect() {
        let message = format!("cannot connect to {host}: {}", chain(&error));
        return ProviderError::unreachable(message);
    }
    let what = if error.is_body() || error.is_decode() {
        "the answer was cut off by"
    } else {
        "the connection was lost to"
    };
    ProviderError::network(format!("{what} {host}: {}", chain(&error)))
}

/// An error with its causes; the wrappers that only say "error sending request" add nothing.
fn chain(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| (*error).source());
    let mut texts: Vec<String> = causes.map(ToString::to_string).collect();
    texts.dedup();
    let start = texts.len().saturating_sub(2);
    texts[start..].join(": ")
}

/// What the headers ask for, in seconds, in milliseconds or as a date.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let milliseconds = text("retry-after-ms").and_then(|text| text.parse::<f64>().ok());
    if let Some(wait) = milliseconds.and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok()) {
        return Some(wait);
    }
    let asked = text(RETRY_AFTER.as_str())?;
    if let Ok(seconds) = asked.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = jiff::fmt::rfc2822::parse(asked).ok()?;
    let then = SystemTime::from(date.timestamp());
    // A date that has passed asks for no wait.
    Some(then.duration_since(now).unwrap_or_default())
}

/// Gemini asks in the body: `details: [{"@type": "…RetryInfo", "retryDelay": "34.5s"}]`.
fn asked_in_body(body: &[u8]) -> Option<Duration> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let details = body.pointer("/error/details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    Duration::try_from_secs_f64(delay.strip_suffix('s')?.parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::StatusCode;
    use reqwest::header::{HeaderName, HeaderValue};

    #[track_caller]
    fn check(name: &str, value: &str, expected_ms: Option<u64>) {
        let name: HeaderName = name.parse().unwrap();
        let headers = HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())]);
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        assert_eq!(retry_after(&headers, now), expected_ms.map(Duration::from_millis));
    }

    #[test]
    fn a_wait_is_read_in_every_form() {
        check("retry-after", "7", Some(7000));
        check("retry-after", " 0.5 ", Some(500));
        check("retry-after-ms", "120", Some(120));
        check("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT", Some(60_000));
        check("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT", Some(0));
    }

    #[test]
    fn nonsense_asks_for_nothing() {
        for value in ["soon", "-3", "1e400", "NaN", ""] {
            check("retry-after", value, None);
        }
        check("x-other", "5", None);
    }

    #[test]
    fn gemini_asks_in_the_body() {
        let body = br#"{"error": {"message": "m", "details": [{"retryDelay": "34.5s"}]}}"#;
        let none = HeaderMap::new();
        let error = refused("host", StatusCode::TOO_MANY_REQUESTS, &none, body, &[]);
        assert_eq!(error.retry_after(), Some(Duration::from_millis(34_500)));
        assert_eq!(error.message, "HTTP 429 Too Many Requests from host: m");
        assert_eq!(error.metadata["http_status"], 429);
    }
}
