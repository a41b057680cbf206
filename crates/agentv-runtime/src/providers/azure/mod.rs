//! Azure OpenAI: chat completions of a deployment.
//!
//! ```yaml
//! - name: azure
//!   provider: azure
//!   endpoint: ${{ AZURE_OPENAI_ENDPOINT }}
//!   api_key: ${{ AZURE_OPENAI_API_KEY }}
//!   deployment: gpt-4o
//! ```

#[cfg(test)]
mod tests;

use super::chat::completions::Server;
use super::chat::{ChatSettings, Rates, Vendor, address};
use super::{Billing, CallPolicy, Deps, FromSettings, Need, Starter};
use crate::config::{Count, Fields, Presence};
use crate::http::{KeyHeader, Url};
use agentv_core::{CallContext, Provider, ProviderError, ProviderInfo, Request, Response, Secret};
use async_trait::async_trait;
use schemars::JsonSchema;

/// A deployment on Azure.
#[derive(Debug)]
pub struct Azure {
    settings: AzureSettings,
    url: Url,
    rates: Rates,
}

/// `provider: azure`: a deployment on Azure OpenAI.
#[derive(Debug, Clone, JsonSchema)]
pub struct AzureSettings {
    /// The address of the resource, its host name, or its name alone. May be `${{ VARIABLE }}`. Also called `resource`, `resource_name` or
    /// `base_url`.
    #[schemars(with = "String")]
    endpoint: Url,
    /// `${{ VARIABLE }}`, never the key itself.
    #[schemars(with = "String")]
    api_key: Secret,
    /// The deployment, by the name that you gave it. May be `${{ VARIABLE }}`. Also called `deployment_name` or `model`.
    deployment: String,
    /// The version of the API; `2024-10-01-preview` if absent. Also called `api_version`.
    #[schemars(with = "Option<String>")]
    version: String,
    /// As `max_output_tokens`, but sent under this name, which deployments of newer models insist on.
    max_completion_tokens: Option<u64>,
    #[schemars(flatten)]
    chat: ChatSettings,
}

const KEY_VARIABLE: &str = "AZURE_OPENAI_API_KEY";
const API_VERSION: &str = "2024-10-01-preview";
const ENDPOINT: &[&str] = &["endpoint", "resource", "resource_name", "base_url"];

impl FromSettings for Azure {
    const NAMES: &'static [&'static str] = &["azure", "azure-openai"];
    const INFO: ProviderInfo = ProviderInfo::model("azure");
    const IS_CACHED: bool = true;
    const STARTER: Option<Starter> = Some(Starter::model(
        "azure",
        &["AZURE_OPENAI_ENDPOINT", KEY_VARIABLE, "AZURE_DEPLOYMENT_NAME"],
        &[
            "endpoint: ${{ AZURE_OPENAI_ENDPOINT }}",
            "api_key: ${{ AZURE_OPENAI_API_KEY }}",
            "deployment: ${{ AZURE_DEPLOYMENT_NAME }}",
        ],
    ));
    type Settings = AzureSettings;

    fn read(fields: &mut Fields<'_, '_>) -> Option<AzureSettings> {
        let endpoint = fields.need_env_text(ENDPOINT);
        let endpoint = endpoint.and_then(|text| base(fields, text.trim()));
        let api_key = fields.secret(&["api_key"], KEY_VARIABLE, Presence::Required);
        let deployment = fields.need_env_text(&["deployment", "deployment_name", "model"]);
        let version = fields.env_text(&["version", "api_version"]);
        let max_completion_tokens = fields.take::<Count>("max_completion_tokens");
        let chat = ChatSettings::read(fields);
        Some(AzureSettings {
            endpoint: endpoint?,
            api_key: api_key?,
            deployment: deployment?.trim().to_owned(),
            version: version.map_or_else(|| API_VERSION.to_owned(), |text| bare_version(&text)),
            max_completion_tokens: max_completion_tokens.map(|count| count.0),
            chat,
        })
    }

    fn policy(settings: &AzureSettings) -> CallPolicy {
        settings.chat.policy_within(settings.max_completion_tokens)
    }

    fn billing(settings: &AzureSettings) -> Billing {
        rates(settings).billing()
    }

    fn needs(settings: &AzureSettings) -> Vec<Need> {
        vec![Need::Server(settings.endpoint.clone())]
    }

    fn from_settings(settings: AzureSettings, _deps: &Deps) -> Self {
        let AzureSettings { endpoint, deployment, version, .. } = &settings;
        let path = ["deployments", deployment, "chat", "completions"];
        let mut url = address::join(endpoint, &path);
        url.query_pairs_mut().append_pair("api-version", version);
        Self { url, rates: rates(&settings), settings }
    }
}

/// The address that deployments are under, of a resource by its address, its host name or its name.
fn base(fields: &mut Fields<'_, '_>, text: &str) -> Option<Url> {
    let has_only = |others: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || others.contains(c))
    };
    let text = if has_only("-") {
        format!("https://{text}.openai.azure.com")
    } else if has_only("-./") {
        // A host name, perhaps with a path. Azure has no plain HTTP.
        format!("https://{text}")
    } else {
        text.to_owned()
    };
    let url = address::parse(fields, ENDPOINT[0], &text)?;
    let complete = address::last_segment(&url) == "openai";
    Some(if complete { url } else { address::join(&url, &["openai"]) })
}

/// People paste the whole parameter from an address.
fn bare_version(text: &str) -> String {
    let prefixes = ["api-version=", "api_version="];
    let bare = prefixes.iter().find_map(|prefix| text.strip_prefix(prefix));
    bare.unwrap_or(text).to_owned()
}

fn rates(settings: &AzureSettings) -> Rates {
    Rates::new(settings.chat.pricing, Vendor::Azure, &settings.deployment)
}

#[async_trait]
impl Provider for Azure {
    async fn invoke(&self, request: &Request, cx: &CallContext) -> Result<Response, ProviderError> {
        let AzureSettings { deployment, api_key, max_completion_tokens, chat, .. } = &self.settings;
        let server = Server {
            url: &self.url,
            key: Some(KeyHeader { name: "api-key", prefix: "", key: api_key }),
            model: deployment,
            chat,
            max_completion_tokens: *max_completion_tokens,
            rates: &self.rates,
        };
        server.ask(request, cx).await
    }

    fn info(&self) -> ProviderInfo {
        Self::INFO
    }
}
