//! Whether a server is there.

use super::client::client;
use super::error::broken;
use super::post::host;
use agentv_core::ProviderError;
use agentv_core::provider::seconds;
use reqwest::Url;
use std::time::Duration;

/// Asks the server at an address for nothing. Whatever it answers, it is there; no key is sent.
pub async fn reach(url: &Url, limit: Duration) -> Result<(), ProviderError> {
    let client = client().map_err(|error| ProviderError::failed(error.to_string()))?;
    let mut root = url.clone();
    root.set_path("/");
    root.set_query(None);
    let host = host(url);
    match client.head(root).timeout(limit).send().await {
        Ok(_) => Ok(()),
        Err(error) if error.is_timeout() => {
            Err(ProviderError::network(format!("no answer from {host} within {}", seconds(limit))))
        }
        Err(error) => Err(broken(&host, error)),
    }
}
