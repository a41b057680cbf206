//! OpenCode, asked with `opencode run` on stdin and read while it works.
//!
//! ```yaml
//! - name: opencode
//!   provider: opencode
//!   model: anthropic/claude-sonnet-4-5
//!   timeout_seconds: 600
//! ```

mod reader;
#[cfg(test)]
mod tests;

pub use reader::OpenCodeReader;

use super::agent_cli::{AgentCli, AgentInvocation, Ask, Client, LogVariables, model_keys, prompt};
use super::{Billing, Tells};
use crate::config::Fields;
use crate::process::Gentle;
use schemars::JsonSchema;

/// OpenCode as a target.
pub type OpenCode = AgentCli<OpenCodeSettings>;

/// `provider: opencode`: the answer is the last text of `opencode run --format json`, which gets its prompt on stdin. Tool
/// calls with their results, tokens and cost are read from its stream. What it may do is set in its own `opencode.json`. Secrets that it is
/// given: `OPENCODE_API_KEY` and the key of the provider in `model` (`ANTHROPIC_API_KEY`); without a `model`, the keys of
/// Anthropic, OpenAI, Google and OpenRouter.
#[derive(Debug, Clone, JsonSchema)]
pub struct OpenCodeSettings {
    /// For `-m`, as `provider/model`. May be `${{ VARIABLE }}`.
    model: Option<String>,
}

impl Client for OpenCodeSettings {
    const NAMES: &'static [&'static str] = &["opencode"];
    const TITLE: &'static str = "OpenCode";
    const EXECUTABLE: &'static str = "opencode";
    const GENTLE: Gentle = Gentle::Terminate;
    const LOG_VARIABLES: Option<LogVariables> = None;

    const BILLING: Billing = Billing::told(Tells::Perhaps, Tells::Always);
    type Reader = OpenCodeReader;

    /// Without a `model`, its own configuration chooses the provider.
    fn secrets(&self) -> Vec<String> {
        let usual = ["anthropic", "openai", "google", "openrouter"];
        let provider = self.model.as_deref().and_then(model_keys::provider_of);
        let providers = provider.as_ref().map_or(&usual[..], std::slice::from_ref);
        let own = ["opencode"].iter().chain(providers);
        own.flat_map(|provider| model_keys::of_provider(provider)).collect()
    }

    fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        Some(Self { model: fields.env_text(&["model"]) })
    }

    /// Where there is no message among the arguments, stdin is the message.
    fn call(&self, ask: &Ask<'_>) -> AgentInvocation {
        let contents = prompt::with_contents(ask.request, ask.cwd);
        let mut args: Vec<String> = ["run", "--format", "json"].map(String::from).into();
        if let Some(model) = &self.model {
            args.extend(["-m".to_owned(), model.clone()]);
        }
        args.extend(ask.settings.args.iter().cloned());
        AgentInvocation {
            args,
            stdin: Some(prompt::with_rules(ask.system_prompt(), contents.text)),
            // A program that changes between two cases cannot be compared with itself.
            env: vec![("OPENCODE_DISABLE_AUTOUPDATE".to_owned(), "1".to_owned())],
        }
    }
}
