//! The keys of a `vscode` target.

use super::Deps;
use crate::config::Fields;
use crate::process::EnvironmentRule;
use schemars::JsonSchema;
use std::time::Duration;

/// The chat of a VS Code window (`vscode`) or of VS Code Insiders (`vscode-insiders`).
///
/// Requests go through *subagents*: folders with a window each, which `agentv provision vscode` makes; if there is none,
/// the run makes one. A target takes one case at a time, or with `provider_batching` all cases in one chat. While a request
/// is under way, its folder holds `subagent.lock`; an AgentV that was killed does not keep it locked. Windows stay open
/// after the run.
#[derive(Debug, Clone, JsonSchema)]
pub struct VsCodeSettings {
    /// The command line tool of VS Code: a name to be found in `PATH`, or a path, which may be relative to the eval file's
    /// directory. Also called `command`. Without it: `code`, or `code-insiders` for `vscode-insiders`.
    pub vscode_cmd: Option<String>,
    /// A `.code-workspace` file in plain JSON, relative to the eval file's directory. Its folders, which are relative to
    /// itself, are opened beside the subagent's own.
    pub workspace_template: Option<String>,
    /// Accepted for old files. AgentV always waits: an answer that does not arrive cannot be graded. So `false` is a warning.
    #[serde(default = "wait_by_default")]
    pub wait: bool,
    /// Write and start nothing. The answer is empty; `provider_metadata` says what would have been used.
    #[serde(default)]
    pub dry_run: bool,
    /// Where the subagents are; relative to the eval file's directory, and `~/` is the home directory. Without it:
    /// `~/.subagent/vscode-agents`, or `~/.subagent/vscode-insiders-agents` for `vscode-insiders` and for the command
    /// `code-insiders`.
    pub subagent_root: Option<String>,
    /// After this many seconds without a response the request fails, and its subagent is free again. A batch has this long
    /// for each of its cases. Without it only `--agent-timeout` holds.
    #[schemars(with = "Option<f64>")]
    pub timeout_seconds: Option<Duration>,
    /// Secrets that the command line tool gets, and with it a VS Code that it starts: names of variables. Others are kept
    /// from it.
    #[serde(default)]
    pub pass_env: Vec<String>,
}

fn wait_by_default() -> bool {
    true
}

impl VsCodeSettings {
    /// VS Code has its own sign-in, so it needs no secret.
    pub(super) fn rule(&self, deps: &Deps) -> EnvironmentRule {
        EnvironmentRule::of_agent(&deps.env, Vec::new(), &self.pass_env)
    }

    pub(super) fn read(fields: &mut Fields<'_, '_>) -> Self {
        fields.on_command_line(&["vscode_cmd", "command"]);
        let wait = fields.take("wait").unwrap_or_else(wait_by_default);
        if !wait {
            let message = format!("`wait: false` of {} is ignored", fields.owner());
            fields
                .warning_at("vscode::wait", fields.span_of("wait"), message)
                .help("remove `wait`: without waiting, AgentV has no answer to grade");
        }
        Self {
            vscode_cmd: fields.env_text(&["vscode_cmd", "command"]),
            workspace_template: fields.env_text(&["workspace_template"]),
            wait,
            dry_run: fields.take("dry_run").unwrap_or_default(),
            subagent_root: fields.env_text(&["subagent_root"]),
            timeout_seconds: fields.take("timeout_seconds"),
            pass_env: fields.passed_variables().unwrap_or_default(),
        }
    }
}
