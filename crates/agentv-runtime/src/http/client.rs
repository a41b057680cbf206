//! The one HTTP client.

use crate::open_files::{Room, Share, open_files};
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, Url};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A server that takes no connection for this long is not there; the system itself would try for minutes.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// How often a request may be sent elsewhere on the same host.
const MAX_REDIRECTS: usize = 5;

/// Why there is no HTTP client.
#[derive(Debug, Clone, thiserror::Error)]
#[error("cannot set up HTTPS")]
pub struct ClientError(#[source] Arc<reqwest::Error>);

/// The client that all share, so that connections are used again. Built at the first call: reading the system's root
/// certificates takes milliseconds that runs without HTTP should not pay. It limits only how long a connection may take to
/// be made; how long an answer may take is each request's business.
pub fn client() -> Result<&'static Client, ClientError> {
    // A cache and no state: whoever comes first builds what everybody would have built.
    static CLIENT: OnceLock<Result<Client, ClientError>> = OnceLock::new();
    CLIENT.get_or_init(build).as_ref().map_err(Clone::clone)
}

/// Room for as many requests at a time as may have a connection each. The rest waits.
pub(super) fn room() -> &'static Room {
    static ROOM: OnceLock<Room> = OnceLock::new();
    ROOM.get_or_init(|| Room::of(Share::Connection))
}

fn build() -> Result<Client, ClientError> {
    // Fails only if a provider was installed before, which is then as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .user_agent(concat!("agentv/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        // Connections that wait for the next request are open files, too; under the lowest limit there is room for eight.
        .pool_max_idle_per_host(usize::try_from(open_files().limit() / 16).unwrap_or(usize::MAX))
        .redirect(Policy::custom(|attempt| {
            if stays_home(&attempt) { attempt.follow() } else { attempt.stop() }
        }))
        .build()
        .map_err(|error| ClientError(Arc::new(error)))
}

/// Whether a redirect leads to the host that was asked. Keys travel in headers that the client would take along anywhere.
fn stays_home(attempt: &Attempt<'_>) -> bool {
    let asked = attempt.previous();
    asked.len() <= MAX_REDIRECTS
        && asked.first().is_some_and(|first| same_host(first, attempt.url()))
}

/// The same scheme, host and port, or the same host behind TLS now, at the ports that are meant for it. Who answers at
/// another port may be another.
fn same_host(from: &Url, to: &Url) -> bool {
    let is = |url: &Url, scheme, port| {
        url.scheme() == scheme && url.port_or_known_default() == Some(port)
    };
    let moved_to_tls = is(from, "http", 80) && is(to, "https", 443);
    from.host_str() == to.host_str() && (from.origin() == to.origin() || moved_to_tls)
}

#[cfg(test)]
mod tests {
    use super::same_host;

    #[track_caller]
    fn check(from: &str, to: &str, expected: bool) {
        assert_eq!(same_host(&from.parse().unwrap(), &to.parse().unwrap()), expected);
    }

    #[test]
    fn a_redirect_may_not_leave_the_host_nor_its_encryption() {
        check("https://a.example/v1", "https://a.example/v2", true);
        check("http://a.example/", "https://a.example/", true);
        check("https://a.example/", "http://a.example/", false);
        check("https://a.example/", "https://b.example/", false);
        check("http://127.0.0.1:1/", "http://127.0.0.1:2/", false);
        check("http://a.example/", "https://a.example:8443/", false);
        check("http://a.example:8080/", "https://a.example/", false);
        check("http://a.example:443/", "https://a.example/", false);
    }

    #[test]
    fn there_is_one_client_for_all() {
        let (first, second) = (super::client().unwrap(), super::client().unwrap());
        assert!(std::ptr::eq(first, second));
    }
}
