//! Google's Gemini CLI, asked with `gemini` on stdin and read while it works.
//!
//! ```yaml
//! - name: gemini
//!   provider: gemini-cli
//!   model: gemini-2.5-pro
//!   timeout_seconds: 600
//! ```

mod reader;
#[cfg(test)]
mod tests;

pub use reader::GeminiCliReader;

use super::agent_cli::{AgentCli, AgentInvocation, Ask, Client, LogVariables, prompt};
use super::{Billing, Tells};
use crate::config::Fields;
use crate::process::Gentle;
use schemars::JsonSchema;

/// Gemini CLI as a target.
pub type GeminiCli = AgentCli<GeminiCliSettings>;

/// `provider: gemini-cli`: the answer is the last message of `gemini -o stream-json`, which gets its prompt on stdin. Tool
/// calls, tokens and the duration are read from its stream; it tells no cost, and of a tool's result often only
/// whether there is one. Secrets that it is given: `GEMINI_API_KEY`, `GOOGLE_API_KEY`,
/// `GOOGLE_APPLICATION_CREDENTIALS`.
#[derive(Debug, Clone, JsonSchema)]
pub struct GeminiCliSettings {
    /// For `-m`. May be `${{ VARIABLE }}`.
    model: Option<String>,
}

/// Each of these says what Gemini CLI may do, so nothing is added then.
const APPROVAL_FLAGS: &[&str] = &["--approval-mode", "--yolo", "-y"];

impl Client for GeminiCliSettings {
    const NAMES: &'static [&'static str] = &["gemini-cli"];
    const TITLE: &'static str = "Gemini CLI";
    const EXECUTABLE: &'static str = "gemini";
    const GENTLE: Gentle = Gentle::Terminate;
    const LOG_VARIABLES: Option<LogVariables> = None;

    const BILLING: Billing = Billing::told(Tells::Never, Tells::Always);
    type Reader = GeminiCliReader;

    fn secrets(&self) -> Vec<String> {
        let own = ["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS"];
        own.map(str::to_owned).into()
    }

    fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        Some(Self { model: fields.env_text(&["model"]) })
    }

    /// Without a terminal it takes its prompt from stdin; `-p` is not needed.
    fn call(&self, ask: &Ask<'_>) -> AgentInvocation {
        let contents = prompt::with_contents(ask.request, ask.cwd);
        let mut args: Vec<String> = ["-o", "stream-json"].map(String::from).into();
        let mut flag = |name: &str, value: &str| args.extend([name.to_owned(), value.to_owned()]);
        if let Some(model) = &self.model {
            flag("-m", model);
        }
        for dir in &contents.linked_dirs {
            flag("--include-directories", &dir.to_string_lossy());
        }
        if ask.must_allow_edits(APPROVAL_FLAGS) {
            flag("--approval-mode", "auto_edit");
        }
        args.extend(ask.settings.args.iter().cloned());
        AgentInvocation {
            args,
            stdin: Some(prompt::with_rules(ask.system_prompt(), contents.text)),
            // There is no user to say that a directory which was made for this call is trusted.
            env: vec![("GEMINI_CLI_TRUST_WORKSPACE".to_owned(), "true".to_owned())],
        }
    }
}
