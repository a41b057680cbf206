//! Google's Gemini API.
//!
//! ```yaml
//! - name: gemini
//!   provider: gemini
//!   api_key: ${{ GOOGLE_GENERATIVE_AI_API_KEY }}
//! ```

pub(super) mod api;
#[cfg(test)]
mod tests;

use super::chat::{ChatSettings, Conversation, Rates, Vendor, address};
use super::{Billing, CallPolicy, Deps, FromSettings, Need, Starter};
use crate::config::{Fields, FromNode, Node, Numeric, Presence, Wrong};
use crate::http::{self, HttpPost, KeyHeader, Url};
use agentv_core::{CallContext, Provider, ProviderError, ProviderInfo, Request, Response, Secret};
use async_trait::async_trait;
use schemars::JsonSchema;

/// A model of Google.
#[derive(Debug)]
pub struct Gemini {
    settings: GeminiSettings,
    url: Url,
    rates: Rates,
}

/// `provider: gemini`: a model of Google, by the Gemini API.
#[derive(Debug, Clone, JsonSchema)]
pub struct GeminiSettings {
    /// `${{ VARIABLE }}`, never the key itself.
    #[schemars(with = "String")]
    api_key: Secret,
    /// The model; `gemini-2.5-flash` if absent. May be `${{ VARIABLE }}`. Also called `deployment` or `variant`.
    #[schemars(with = "Option<String>")]
    model: String,
    /// Where the API is; `https://generativelanguage.googleapis.com/v1beta` if absent. May be `${{ VARIABLE }}`.
    #[schemars(with = "Option<String>")]
    base_url: Option<Url>,
    /// How many tokens the model may think before it answers; 0 is not at all, -1 is as it sees fit. The model's own
    /// default if absent.
    thinking_budget: Option<i64>,
    #[schemars(flatten)]
    chat: ChatSettings,
}

const KEY_VARIABLE: &str = "GOOGLE_GENERATIVE_AI_API_KEY";
const BASE_URL: &str = "https://generativelanguage.googleapis.com/v1beta";
const MODEL: &str = "gemini-2.5-flash";

impl FromSettings for Gemini {
    const NAMES: &'static [&'static str] = &["gemini", "google", "google-gemini"];
    const INFO: ProviderInfo = ProviderInfo::model("gemini");
    const IS_CACHED: bool = true;
    const STARTER: Option<Starter> = Some(Starter::model(
        "gemini",
        &[KEY_VARIABLE],
        &["model: gemini-2.5-flash", "api_key: ${{ GOOGLE_GENERATIVE_AI_API_KEY }}"],
    ));
    type Settings = GeminiSettings;

    fn read(fields: &mut Fields<'_, '_>) -> Option<GeminiSettings> {
        let api_key = fields.secret(&["api_key"], KEY_VARIABLE, Presence::Required);
        let model = fields.env_text(&["model", "deployment", "variant"]);
        let base_url = address::take(fields, &["base_url", "endpoint"]);
        let thinking_budget = fields.take::<Budget>("thinking_budget").map(|budget| budget.0);
        let chat = ChatSettings::read(fields);
        Some(GeminiSettings {
            api_key: api_key?,
            model: model.unwrap_or_else(|| MODEL.to_owned()),
            base_url,
            thinking_budget,
            chat,
        })
    }

    fn policy(settings: &GeminiSettings) -> CallPolicy {
        settings.chat.policy()
    }

    fn billing(settings: &GeminiSettings) -> Billing {
        rates(settings).billing()
    }

    fn needs(settings: &GeminiSettings) -> Vec<Need> {
        vec![Need::Server(url(settings.base_url.as_ref(), bare_model(&settings.model)))]
    }

    fn from_settings(settings: GeminiSettings, _deps: &Deps) -> Self {
        Self {
            url: url(settings.base_url.as_ref(), bare_model(&settings.model)),
            rates: rates(&settings),
            settings,
        }
    }
}

struct Budget(i64);

impl FromNode for Budget {
    fn from_node(node: &Node<'_>) -> Result<Self, Wrong> {
        let expected = "a whole number from -1 up";
        let number = Numeric::from_node(node).map_err(|_| Wrong { expected })?.0;
        #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and in range")]
        if number.fract() == 0.0 && (-1.0..1e9).contains(&number) {
            Ok(Self(number as i64))
        } else {
            Err(Wrong { expected })
        }
    }
}

/// The API itself lists its models as `models/…`.
fn bare_model(model: &str) -> &str {
    model.strip_prefix("models/").unwrap_or(model)
}

fn rates(settings: &GeminiSettings) -> Rates {
    Rates::new(settings.chat.pricing, Vendor::Gemini, bare_model(&settings.model))
}

/// An address without a version gets the one whose shapes we speak.
fn url(base: Option<&Url>, model: &str) -> Url {
    let base = address::or_default(base, BASE_URL);
    let call = format!("{model}:generateContent");
    match address::last_segment(&base) {
        "v1" | "v1beta" | "v1alpha" => address::join(&base, &["models", &call]),
        _ => address::join(&base, &["v1beta", "models", &call]),
    }
}

#[async_trait]
impl Provider for Gemini {
    async fn invoke(&self, request: &Request, cx: &CallContext) -> Result<Response, ProviderError> {
        let conversation = Conversation::of(request);
        let body = api::GeminiBody::new(&self.settings, &conversation);
        let key = &self.settings.api_key;
        let post = HttpPost {
            url: &self.url,
            key: Some(KeyHeader { name: "x-goog-api-key", prefix: "", key }),
            headers: &[],
            body: &body,
        };
        let answer = http::post(&post, cx).await?;
        Ok(api::read(&answer)?.into_response(&self.rates))
    }

    fn info(&self) -> ProviderInfo {
        Self::INFO
    }
}
