//! The one HTTP client.

use reqwest::Client;
use std::sync::{Arc, OnceLock};

/// Why there is no HTTP client.
#[derive(Debug, Clone, thiserror::Error)]
#[error("cannot set up HTTPS")]
pub struct ClientError(#[source] Arc<reqwest::Error>);

/// The client that all share, so that connections are used again. Built at the first call: reading the system's root
/// certificates takes milliseconds that runs without HTTP should not pay. It sets no time limit; each request does.
pub fn client() -> Result<&'static Client, ClientError> {
    // A cache and no state: whoever comes first builds what everybody would have built.
    static CLIENT: OnceLock<Result<Client, ClientError>> = OnceLock::new();
    CLIENT.get_or_init(build).as_ref().map_err(Clone::clone)
}

fn build() -> Result<Client, ClientError> {
    // Fails only if a provider was installed before, which is then as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .user_agent(concat!("agentv/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| ClientError(Arc::new(error)))
}

#[cfg(test)]
mod tests {
    #[test]
    fn there_is_one_client_for_all() {
        let (first, second) = (super::client().unwrap(), super::client().unwrap());
        assert!(std::ptr::eq(first, second));
    }
}
