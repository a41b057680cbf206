//! GitHub's Copilot CLI, asked with `copilot` on stdin and read while it works.
//!
//! ```yaml
//! - name: copilot
//!   provider: copilot
//!   model: gpt-5
//!   timeout_seconds: 600
//! ```

mod reader;
#[cfg(test)]
mod tests;

pub use reader::CopilotReader;

use super::agent_cli::{AgentCli, AgentInvocation, Ask, Client, LogVariables, prompt};
use super::{Billing, Tells};
use crate::config::Fields;
use crate::process::Gentle;
use schemars::JsonSchema;

/// Copilot CLI as a target.
pub type Copilot = AgentCli<CopilotSettings>;

/// `provider: copilot`: the answer is the last message of `copilot --output-format json`, which gets its prompt on stdin.
/// Tool calls with their results are read from its stream; Copilot tells neither tokens nor cost. It may use all tools
/// (`--allow-all-tools`), unless `args` say which (`--allow-tool`). Secrets that it is given:
/// `COPILOT_GITHUB_TOKEN`, `GH_TOKEN`, `GITHUB_TOKEN`, `COPILOT_PROVIDER_API_KEY`, `COPILOT_PROVIDER_BEARER_TOKEN`.
#[derive(Debug, Clone, JsonSchema)]
pub struct CopilotSettings {
    /// For `--model`. May be `${{ VARIABLE }}`.
    model: Option<String>,
}

/// Each of these says which tools are allowed, so nothing is added then.
const TOOL_FLAGS: &[&str] = &["--allow-all-tools", "--allow-all", "--yolo", "--allow-tool"];

impl Client for CopilotSettings {
    const NAMES: &'static [&'static str] = &["copilot", "copilot-cli"];
    const TITLE: &'static str = "Copilot CLI";
    const EXECUTABLE: &'static str = "copilot";
    const GENTLE: Gentle = Gentle::Terminate;
    const LOG_VARIABLES: Option<LogVariables> = None;

    const BILLING: Billing = Billing::told(Tells::Never, Tells::Never);
    type Reader = CopilotReader;

    fn secrets(&self) -> Vec<String> {
        let own = [
            "COPILOT_GITHUB_TOKEN",
            "GH_TOKEN",
            "GITHUB_TOKEN",
            "COPILOT_PROVIDER_API_KEY",
            "COPILOT_PROVIDER_BEARER_TOKEN",
        ];
        own.map(str::to_owned).into()
    }

    fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        Some(Self { model: fields.env_text(&["model"]) })
    }

    /// Without `-p` the prompt is what comes on stdin; with it, stdin is ignored.
    fn call(&self, ask: &Ask<'_>) -> AgentInvocation {
        let contents = prompt::with_contents(ask.request, ask.cwd);
        let mut args: Vec<String> = ["--output-format", "json", "-s"].map(String::from).into();
        // Without a terminal there is no user to ask, so what is not allowed is refused.
        if !ask.has_said(TOOL_FLAGS) {
            args.push("--allow-all-tools".to_owned());
        }
        let mut flag = |name: &str, value: &str| args.extend([name.to_owned(), value.to_owned()]);
        if let Some(model) = &self.model {
            flag("--model", model);
        }
        for dir in &contents.linked_dirs {
            flag("--add-dir", &dir.to_string_lossy());
        }
        args.extend(ask.settings.args.iter().cloned());
        AgentInvocation {
            args,
            stdin: Some(prompt::with_rules(ask.system_prompt(), contents.text)),
            // A program that changes between two cases cannot be compared with itself.
            env: vec![("COPILOT_AUTO_UPDATE".to_owned(), "false".to_owned())],
        }
    }
}
