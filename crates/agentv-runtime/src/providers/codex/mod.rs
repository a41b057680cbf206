//! OpenAI's Codex, asked with `codex exec` and read while it works.
//!
//! ```yaml
//! - name: codex
//!   provider: codex
//!   model: gpt-5-codex
//!   timeout_seconds: 600
//! ```

mod document;
mod item;
mod older;
mod reader;
#[cfg(test)]
mod tests;

pub use reader::CodexReader;

use super::agent_cli::{AgentCli, AgentInvocation, Ask, Client, LogVariables, prompt};
use super::{Billing, Tells};
use crate::config::Fields;
use crate::process::Gentle;
use agentv_wire::env;
use schemars::JsonSchema;

/// Codex as a target.
pub type Codex = AgentCli<CodexSettings>;

/// `provider: codex`: the answer is the last message of `codex exec --json`, which gets its prompt on
/// stdin. What it did are tool calls: `command_execution`, `file_change`, `web_search`, `todo_list` and `collab_tool_call`, as
/// Codex names them, and `mcp__<server>__<tool>` for a tool of an MCP server. Tokens are counted; Codex tells no cost. Secrets that it is
/// given: `OPENAI_API_KEY`, `CODEX_API_KEY`.
#[derive(Debug, Clone, JsonSchema)]
pub struct CodexSettings {
    /// For `--model`. May be `${{ VARIABLE }}`.
    model: Option<String>,
}

/// Each of these says what Codex may do, so nothing is added then.
const SANDBOX_FLAGS: &[&str] = &[
    "--sandbox",
    "-s",
    "--dangerously-bypass-approvals-and-sandbox",
    "--yolo",
    "--full-auto",
    // As in `-c sandbox_mode="read-only"`.
    "sandbox_mode",
];

impl Client for CodexSettings {
    const NAMES: &'static [&'static str] = &["codex", "codex-cli"];
    const TITLE: &'static str = "Codex CLI";
    const EXECUTABLE: &'static str = "codex";
    // On a SIGTERM it leaves what its tools have started.
    const GENTLE: Gentle = Gentle::Interrupt;
    const KEEPS_PROMPT: bool = true;
    const LOG_VARIABLES: Option<LogVariables> =
        Some(LogVariables { switch: env::CODEX_STREAM_LOGS, format: env::CODEX_LOG_FORMAT });

    const BILLING: Billing = Billing::told(Tells::Never, Tells::Always);
    type Reader = CodexReader;

    fn secrets(&self) -> Vec<String> {
        let own = ["OPENAI_API_KEY", "CODEX_API_KEY"];
        own.map(str::to_owned).into()
    }

    fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        Some(Self { model: fields.env_text(&["model"]) })
    }

    /// The order counts: `--ask-for-approval` belongs to `codex`, the rest to `exec`, and `-` is the prompt on stdin.
    fn call(&self, ask: &Ask<'_>) -> AgentInvocation {
        let fixed = "--ask-for-approval never exec --json --color never --skip-git-repo-check";
        let mut args: Vec<String> = fixed.split(' ').map(String::from).collect();
        let mut flag = |name: &str, value: &str| args.extend([name.to_owned(), value.to_owned()]);
        if let Some(model) = &self.model {
            flag("--model", model);
        }
        if ask.must_allow_edits(SANDBOX_FLAGS) {
            flag("--sandbox", "workspace-write");
        }
        args.extend(ask.settings.args.iter().cloned());
        args.push("-".to_owned());
        let stdin = prompt::with_links(ask.request, ask.system_prompt());
        AgentInvocation { args, stdin: Some(stdin), ..AgentInvocation::default() }
    }
}
