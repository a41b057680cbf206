//! Claude Code, asked with `claude -p` and read while it works.
//!
//! ```yaml
//! - name: claude
//!   provider: claude-code
//!   model: sonnet
//!   timeout_seconds: 600
//! ```

mod reader;

#[cfg(test)]
mod tests;

pub use reader::ClaudeReader;

use super::agent_cli::{AgentCli, AgentInvocation, Ask, Client, LogVariables, model_keys, prompt};
use super::{Billing, Tells};
use crate::config::Fields;
use crate::process::Gentle;
use agentv_wire::env;
use schemars::JsonSchema;

/// Claude Code as a target.
pub type ClaudeCode = AgentCli<ClaudeCodeSettings>;

/// `provider: claude-code`: the answer is what `claude` calls its result. Tool calls with their results, tokens, cost and
/// durations are read from its stream. Secrets that it is given: `ANTHROPIC_API_KEY`, `ANTHROPIC_AUTH_TOKEN`,
/// `ANTHROPIC_FOUNDRY_API_KEY`, `CLAUDE_CODE_OAUTH_TOKEN`, `GOOGLE_APPLICATION_CREDENTIALS`, `AWS_ACCESS_KEY_ID`,
/// `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, `AWS_BEARER_TOKEN_BEDROCK`.
#[derive(Debug, Clone, JsonSchema)]
pub struct ClaudeCodeSettings {
    /// For `--model`: `sonnet`, `opus`, `haiku` or a full name. May be `${{ VARIABLE }}`.
    model: Option<String>,
}

impl Client for ClaudeCodeSettings {
    const NAMES: &'static [&'static str] = &["claude-code"];
    const TITLE: &'static str = "Claude Code CLI";
    const EXECUTABLE: &'static str = "claude";
    // It ends its tools on this one only.
    const GENTLE: Gentle = Gentle::Terminate;
    const LOG_VARIABLES: Option<LogVariables> = Some(LogVariables {
        switch: env::CLAUDE_CODE_STREAM_LOGS,
        format: env::CLAUDE_CODE_LOG_FORMAT,
    });
    // AgentV may itself be run by Claude Code, which is no session to join.
    const UNSET: &'static [&'static str] = &["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"];

    const BILLING: Billing = Billing::told(Tells::Always, Tells::Always);
    type Reader = ClaudeReader;

    /// Its own, and those of the clouds that it can call instead.
    fn secrets(&self) -> Vec<String> {
        let own = [
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "ANTHROPIC_FOUNDRY_API_KEY",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "GOOGLE_APPLICATION_CREDENTIALS",
        ];
        own.iter().chain(model_keys::AWS).map(ToString::to_string).collect()
    }

    fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        Some(Self { model: fields.env_text(&["model"]) })
    }

    fn call(&self, ask: &Ask<'_>) -> AgentInvocation {
        let contents = prompt::with_contents(ask.request, ask.cwd);
        let mut args: Vec<String> =
            ["-p", "--output-format", "stream-json", "--verbose"].map(String::from).into();
        let mut flag = |name: &str, value: &str| args.extend([name.to_owned(), value.to_owned()]);
        if let Some(model) = &self.model {
            flag("--model", model);
        }
        if let Some(rules) = ask.system_prompt() {
            flag("--system-prompt", rules);
        }
        for dir in &contents.linked_dirs {
            flag("--add-dir", &dir.to_string_lossy());
        }
        if ask.must_allow_edits(&["--permission-mode", "--dangerously-skip-permissions"]) {
            flag("--permission-mode", "acceptEdits");
        }
        args.extend(ask.settings.args.iter().cloned());
        AgentInvocation { args, stdin: Some(contents.text), ..AgentInvocation::default() }
    }
}
