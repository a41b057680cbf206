//! Anthropic's messages API.
//!
//! ```yaml
//! - name: claude
//!   provider: anthropic
//!   api_key: ${{ ANTHROPIC_API_KEY }}
//!   model: claude-sonnet-4-5
//! ```

pub(super) mod api;
#[cfg(test)]
mod tests;

use super::chat::{ChatSettings, Conversation, Rates, Vendor, address, max_output_tokens};
use super::{Billing, CallPolicy, Deps, FromSettings, Need, Starter};
use crate::config::{Count, Fields, Presence};
use crate::http::{self, HttpPost, KeyHeader, Url};
use agentv_core::{CallContext, Provider, ProviderError, ProviderInfo, Request, Response, Secret};
use async_trait::async_trait;
use schemars::JsonSchema;

/// A model of Anthropic.
#[derive(Debug)]
pub struct Anthropic {
    settings: AnthropicSettings,
    url: Url,
    rates: Rates,
    /// The API insists on a limit.
    max_tokens: u64,
}

/// `provider: anthropic`: a model of Anthropic, by its messages API.
#[derive(Debug, Clone, JsonSchema)]
pub struct AnthropicSettings {
    /// `${{ VARIABLE }}`, never the key itself.
    #[schemars(with = "String")]
    api_key: Secret,
    /// The model. May be `${{ VARIABLE }}`. Also called `deployment` or `variant`.
    model: String,
    /// Where the API is; `https://api.anthropic.com/v1` if absent. May be `${{ VARIABLE }}`.
    #[schemars(with = "Option<String>")]
    base_url: Option<Url>,
    /// How many tokens the model may think before it answers. They come on top of `max_output_tokens`, and `temperature`
    /// is not sent then, since the API refuses both together.
    thinking_budget: Option<u64>,
    #[schemars(flatten)]
    chat: ChatSettings,
}

const KEY_VARIABLE: &str = "ANTHROPIC_API_KEY";
const BASE_URL: &str = "https://api.anthropic.com/v1";
const HEADERS: &[(&str, &str)] = &[("anthropic-version", "2023-06-01")];
/// For models that the table does not know.
const MAX_TOKENS: u64 = 4096;

impl FromSettings for Anthropic {
    const NAMES: &'static [&'static str] = &["anthropic"];
    const INFO: ProviderInfo = ProviderInfo::model("anthropic");
    const IS_CACHED: bool = true;
    const STARTER: Option<Starter> = Some(Starter::model(
        "anthropic",
        &[KEY_VARIABLE],
        &["model: claude-sonnet-4-5", "api_key: ${{ ANTHROPIC_API_KEY }}"],
    ));
    type Settings = AnthropicSettings;

    fn read(fields: &mut Fields<'_, '_>) -> Option<AnthropicSettings> {
        let api_key = fields.secret(&["api_key"], KEY_VARIABLE, Presence::Required);
        let model = fields.need_env_text(&["model", "deployment", "variant"]);
        let base_url = address::take(fields, &["base_url", "endpoint"]);
        let thinking_budget = fields.take::<Count>("thinking_budget").map(|count| count.0);
        let chat = ChatSettings::read(fields);
        if thinking_budget.is_some() && chat.temperature.is_some() {
            let message = format!(
                "`temperature` of {} is not sent, since `thinking_budget` is set",
                fields.owner()
            );
            fields
                .warning_at("anthropic::temperature", fields.span_of("temperature"), message)
                .help("remove `temperature`");
        }
        Some(AnthropicSettings {
            api_key: api_key?,
            model: model?.trim().to_owned(),
            base_url,
            thinking_budget,
            chat,
        })
    }

    fn policy(settings: &AnthropicSettings) -> CallPolicy {
        settings.chat.policy()
    }

    fn billing(settings: &AnthropicSettings) -> Billing {
        rates(settings).billing()
    }

    fn needs(settings: &AnthropicSettings) -> Vec<Need> {
        vec![Need::Server(url(settings.base_url.as_ref()))]
    }

    fn from_settings(settings: AnthropicSettings, _deps: &Deps) -> Self {
        Self {
            url: url(settings.base_url.as_ref()),
            rates: rates(&settings),
            max_tokens: max_tokens(&settings),
            settings,
        }
    }
}

fn rates(settings: &AnthropicSettings) -> Rates {
    Rates::new(settings.chat.pricing, Vendor::Anthropic, &settings.model)
}

/// Clients differ in whether `/v1` is part of the address; both are understood.
fn url(base: Option<&Url>) -> Url {
    let base = address::or_default(base, BASE_URL);
    match address::last_segment(&base) {
        "v1" => address::join(&base, &["messages"]),
        _ => address::join(&base, &["v1", "messages"]),
    }
}

/// What was asked for plus the thoughts, but no more than the model can do: the API refuses that.
fn max_tokens(settings: &AnthropicSettings) -> u64 {
    let most = max_output_tokens(Vendor::Anthropic, &settings.model);
    let answer = settings.chat.max_output_tokens.or(most).unwrap_or(MAX_TOKENS);
    let wanted = answer.saturating_add(settings.thinking_budget.unwrap_or(0));
    most.map_or(wanted, |most| wanted.min(most))
}

#[async_trait]
impl Provider for Anthropic {
    async fn invoke(&self, request: &Request, cx: &CallContext) -> Result<Response, ProviderError> {
        let conversation = Conversation::of(request);
        let body = api::AnthropicBody::new(&self.settings, self.max_tokens, &conversation);
        let key = &self.settings.api_key;
        let post = HttpPost {
            url: &self.url,
            key: Some(KeyHeader { name: "x-api-key", prefix: "", key }),
            headers: HEADERS,
            body: &body,
        };
        let answer = http::post(&post, cx).await?;
        Ok(api::read(&answer)?.into_response(&self.rates))
    }

    fn info(&self) -> ProviderInfo {
        Self::INFO
    }
}
