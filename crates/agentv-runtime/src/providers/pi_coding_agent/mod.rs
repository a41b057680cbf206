//! The pi coding agent, asked with `pi` on stdin and read while it works.
//!
//! ```yaml
//! - name: pi
//!   provider: pi-coding-agent
//!   pi_provider: anthropic
//!   model: claude-sonnet-4-5
//!   api_key: ${{ ANTHROPIC_API_KEY }}
//! ```

mod reader;
#[cfg(test)]
mod tests;

pub use reader::PiReader;

use super::agent_cli::{AgentCli, AgentInvocation, Ask, Client, LogVariables, model_keys, prompt};
use super::{Billing, Tells};
use crate::config::{Fields, Presence};
use crate::process::Gentle;
use agentv_core::Secret;
use schemars::JsonSchema;

/// The pi coding agent as a target.
pub type PiCodingAgent = AgentCli<PiSettings>;

/// `provider: pi-coding-agent`: the answer is the last message of `pi --mode json --print`, which gets its prompt on stdin.
/// Tool calls with their results, tokens and cost are read from its stream. Secrets that it is given: the key of
/// `pi_provider` (`ANTHROPIC_API_KEY`).
#[derive(Debug, Clone, JsonSchema)]
pub struct PiSettings {
    /// For `--provider`: whose model it is, `google` if absent. May be `${{ VARIABLE }}`. Also called `llm_provider`.
    pi_provider: Option<String>,
    /// For `--model`. May be `${{ VARIABLE }}`. Also called `pi_model`.
    model: Option<String>,
    /// `${{ VARIABLE }}`, never the key itself. It reaches pi as the variable that the provider's keys have
    /// (`ANTHROPIC_API_KEY`), not as an argument.
    #[schemars(with = "Option<String>")]
    api_key: Option<Secret>,
    /// For `--tools`, separated by commas. Also called `pi_tools`.
    tools: Option<String>,
    /// For `--thinking`. Also called `pi_thinking`.
    thinking: Option<String>,
}

impl Client for PiSettings {
    const NAMES: &'static [&'static str] = &["pi-coding-agent", "pi"];
    const TITLE: &'static str = "Pi coding agent";
    const EXECUTABLE: &'static str = "pi";
    const GENTLE: Gentle = Gentle::Terminate;
    const LOG_VARIABLES: Option<LogVariables> = None;

    const BILLING: Billing = Billing::told(Tells::Perhaps, Tells::Always);
    type Reader = PiReader;

    fn secrets(&self) -> Vec<String> {
        let of_model = || self.model.as_deref().and_then(model_keys::provider_of);
        model_keys::of_provider(self.pi_provider.as_deref().or_else(of_model).unwrap_or("google"))
    }

    fn key_variable(&self) -> Option<String> {
        self.api_key.as_ref().map(|_| key_variable(self.pi_provider.as_deref()))
    }

    fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let pi_provider = fields.env_text(&["pi_provider", "llm_provider"]);
        let variable = key_variable(pi_provider.as_deref());
        Some(Self {
            model: fields.env_text(&["model", "pi_model"]),
            api_key: fields.secret(&["api_key"], &variable, Presence::Optional),
            tools: fields.env_text(&["tools", "pi_tools"]),
            thinking: fields.env_text(&["thinking", "pi_thinking"]),
            pi_provider,
        })
    }

    /// Without a message among the arguments, what is on stdin is the first message.
    fn call(&self, ask: &Ask<'_>) -> AgentInvocation {
        let mut args = flags([("--provider", &self.pi_provider), ("--model", &self.model)]);
        args.extend(["--mode", "json", "--print", "--no-session"].map(String::from));
        args.extend(flags([("--tools", &self.tools), ("--thinking", &self.thinking)]));
        args.extend(ask.settings.args.iter().cloned());
        let contents = prompt::with_contents(ask.request, ask.cwd);
        let key = self.key_variable().zip(self.api_key.as_ref());
        let key = key.map(|(name, key)| (name, key.expose().to_owned()));
        AgentInvocation {
            args,
            stdin: Some(prompt::with_rules(ask.system_prompt(), contents.text)),
            env: key.into_iter().collect(),
        }
    }
}

/// Those which have a value.
fn flags(flags: [(&str, &Option<String>); 2]) -> Vec<String> {
    let known =
        flags.into_iter().filter_map(|(name, value)| Some([name.to_owned(), value.clone()?]));
    known.flatten().collect()
}

/// Where pi looks for the key of a provider.
fn key_variable(provider: Option<&str>) -> String {
    match provider.map(str::to_ascii_lowercase).as_deref() {
        None | Some("google" | "gemini") => "GEMINI_API_KEY".to_owned(),
        Some(other) => model_keys::variable(other),
    }
}
