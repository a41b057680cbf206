//! Any server that speaks OpenAI's chat completions: OpenAI itself, or with `base_url` Ollama, vLLM, LiteLLM, OpenRouter
//! and others.
//!
//! ```yaml
//! - name: local
//!   provider: openai
//!   base_url: http://localhost:11434/v1
//!   model: llama3.2
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

/// A model behind chat completions.
#[derive(Debug)]
pub struct OpenAi {
    settings: OpenAiSettings,
    url: Url,
    rates: Rates,
}

/// `provider: openai`: a model of OpenAI, or with `base_url` of any server that speaks its chat completions: Ollama, vLLM,
/// LiteLLM, OpenRouter and others.
#[derive(Debug, Clone, JsonSchema)]
pub struct OpenAiSettings {
    /// The model, exactly as the server knows it. May be `${{ VARIABLE }}`. Also called `deployment` or `variant`.
    model: String,
    /// `${{ VARIABLE }}`, never the key itself. Not needed with a `base_url`.
    #[schemars(with = "Option<String>")]
    api_key: Option<Secret>,
    /// Where the API is; `https://api.openai.com/v1` if absent. May be `${{ VARIABLE }}`. Also called `endpoint`.
    #[schemars(with = "Option<String>")]
    base_url: Option<Url>,
    /// As `max_output_tokens`, but sent under this name, which newer models of OpenAI insist on. AgentV does so by itself
    /// where it can tell from the model's name.
    max_completion_tokens: Option<u64>,
    #[schemars(flatten)]
    chat: ChatSettings,
}

const KEY_VARIABLE: &str = "OPENAI_API_KEY";
const BASE_URL: &str = "https://api.openai.com/v1";

impl FromSettings for OpenAi {
    const NAMES: &'static [&'static str] = &["openai"];
    const INFO: ProviderInfo = ProviderInfo::model("openai");
    const IS_CACHED: bool = true;
    const STARTER: Option<Starter> = Some(Starter::model(
        "openai",
        &[KEY_VARIABLE],
        &["model: gpt-5-mini", "api_key: ${{ OPENAI_API_KEY }}"],
    ));
    type Settings = OpenAiSettings;

    fn read(fields: &mut Fields<'_, '_>) -> Option<OpenAiSettings> {
        let model = fields.need_env_text(&["model", "deployment", "variant"]);
        let base_url = address::take(fields, &["base_url", "endpoint"]);
        // Servers of one's own rarely ask for a key.
        let presence = if base_url.is_some() { Presence::Optional } else { Presence::Required };
        let api_key = fields.secret(&["api_key"], KEY_VARIABLE, presence);
        let max_completion_tokens = fields.take::<Count>("max_completion_tokens");
        let chat = ChatSettings::read(fields);
        Some(OpenAiSettings {
            model: model?.trim().to_owned(),
            api_key,
            base_url,
            max_completion_tokens: max_completion_tokens.map(|count| count.0),
            chat,
        })
    }

    fn policy(settings: &OpenAiSettings) -> CallPolicy {
        settings.chat.policy_within(settings.max_completion_tokens)
    }

    fn billing(settings: &OpenAiSettings) -> Billing {
        rates(settings).billing()
    }

    fn needs(settings: &OpenAiSettings) -> Vec<Need> {
        vec![Need::Server(url(settings.base_url.as_ref()))]
    }

    fn from_settings(settings: OpenAiSettings, _deps: &Deps) -> Self {
        Self { url: url(settings.base_url.as_ref()), rates: rates(&settings), settings }
    }
}

fn rates(settings: &OpenAiSettings) -> Rates {
    Rates::new(settings.chat.pricing, Vendor::OpenAi, &settings.model)
}

/// Nearly every such server has its API under `/v1`, and people leave that out.
fn url(base: Option<&Url>) -> Url {
    let base = address::or_default(base, BASE_URL);
    let base = if base.path() == "/" { address::join(&base, &["v1"]) } else { base };
    address::join(&base, &["chat", "completions"])
}

#[async_trait]
impl Provider for OpenAi {
    async fn invoke(&self, request: &Request, cx: &CallContext) -> Result<Response, ProviderError> {
        let OpenAiSettings { model, api_key, max_completion_tokens, chat, .. } = &self.settings;
        let server = Server {
            url: &self.url,
            key: api_key.as_ref().map(|key| KeyHeader {
                name: "authorization",
                prefix: "Bearer ",
                key,
            }),
            model,
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
