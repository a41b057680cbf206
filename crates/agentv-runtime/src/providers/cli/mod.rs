//! Any command by template. The answer is what the command writes to `{OUTPUT_FILE}` if its template names that, else what
//! it prints.
//!
//! ```yaml
//! - name: my-agent
//!   provider: cli
//!   command_template: python agent.py --prompt {PROMPT} --files {FILES} --out {OUTPUT_FILE}
//!   timeout_seconds: 120
//! ```
//!
//! Placeholders are `{PROMPT}`, `{GUIDELINES}`, `{EVAL_ID}`, `{ATTEMPT}`, `{TRIAL}`, `{FILES}` and `{OUTPUT_FILE}`. Their
//! values are quoted for the shell, so they need no quotes of their own. The output is plain text, or a JSON object with `text` or
//! `output_messages` and, if known, `trace`, `token_usage`, `cost_usd` and `duration_ms`, in either casing.

pub(super) mod batch;
mod command;
mod healthcheck;
pub(super) mod output;
mod settings;

#[cfg(test)]
mod tests;

pub use command::FilesFormat;
pub use settings::{CliSettings, Healthcheck};

use super::{CommandNeed, Deps, FromSettings, Need};
use crate::config::{Fields, Leftovers};
use crate::file_input;
use crate::process::{EnvironmentRule, first_program};
use agentv_core::call::Role;
use agentv_core::provider::{PromptMode, RecordedAs};
use agentv_core::{
    BatchProvider, CallContext, Provider, ProviderError, ProviderInfo, Request, Response,
};
use async_trait::async_trait;
use command::{CommandCall, OUTPUT_CAP, Values, script};
use output::ParsedOutput;
use std::path::{Path, PathBuf};

/// Runs a command per question, or one for many.
#[derive(Debug)]
pub struct Cli {
    settings: CliSettings,
    rule: EnvironmentRule,
    /// Its health check runs once per run; calls that come meanwhile wait for it.
    deps: Deps,
}

impl FromSettings for Cli {
    const NAMES: &'static [&'static str] = &["cli"];
    const INFO: ProviderInfo = ProviderInfo {
        kind: "cli",
        prompt_mode: PromptMode::Agent,
        recorded_as: RecordedAs::Model,
        is_simulated: false,
    };
    // Spec: "Reject unsupported fields". A misspelt key would change what is run without a word.
    const LEFTOVERS: Leftovers = Leftovers::Refuse;
    type Settings = CliSettings;

    fn read(fields: &mut Fields<'_, '_>) -> Option<CliSettings> {
        CliSettings::read(fields)
    }

    fn needs(settings: &CliSettings) -> Vec<Need> {
        let program = first_program(settings.command_template.beginning());
        let command = program.map(|program| {
            Need::Command(CommandNeed {
                program: program.to_owned(),
                script: script(&settings.command_template).map(str::to_owned),
                cwd: settings.cwd.clone(),
            })
        });
        let probe = settings.healthcheck.as_ref().map(|_| Need::Readiness);
        command.into_iter().chain(probe).collect()
    }

    fn environment(settings: &CliSettings, deps: &Deps) -> Option<EnvironmentRule> {
        Some(settings.rule(deps))
    }

    fn from_settings(settings: CliSettings, deps: &Deps) -> Self {
        Self { rule: settings.rule(deps), settings, deps: deps.clone() }
    }
}

#[async_trait]
impl Provider for Cli {
    async fn invoke(&self, request: &Request, cx: &CallContext) -> Result<Response, ProviderError> {
        self.prepare(cx).await?;
        let cwd = self.cwd(request.workspace.as_deref());
        let answer = self
            .ask(
                CommandCall {
                    template: &self.settings.command_template,
                    values: Values::of(request, cx),
                    cwd: &cwd,
                    time_limit: self.settings.timeout_seconds,
                    output_cap: OUTPUT_CAP,
                    label: None,
                },
                cx,
            )
            .await?;
        let dirs = [Some(&cwd), answer.output_dir.as_ref()];
        let parsed = output::parse(&answer.text);
        let mut response = self.complete(parsed, dirs, &request.eval_id, cx).await;
        response.metadata.extend(answer.facts);
        Ok(response)
    }

    fn info(&self) -> ProviderInfo {
        Self::INFO
    }

    async fn prepare(&self, cx: &CallContext) -> Result<(), ProviderError> {
        let Some(check) = &self.settings.healthcheck else { return Ok(()) };
        // Boxed, as most commands have no check, and would make room for one at every call.
        let found = Box::pin(self.deps.health.get_or_try_init(|| self.examine(check, cx))).await?;
        found.clone().map_err(|reason| {
            ProviderError::failed(format!(
                "CLI healthcheck failed for '{}': {reason}",
                self.deps.target
            ))
        })
    }

    fn batch(&self) -> Option<&dyn BatchProvider> {
        Some(self)
    }

    fn shares_directory(&self) -> bool {
        true
    }
}

impl Cli {
    /// Where the command runs. A workspace takes the place of the eval file's directory.
    fn cwd(&self, workspace: Option<&Path>) -> PathBuf {
        match (workspace, self.settings.cwd.as_deref()) {
            (Some(workspace), Some(dir)) => workspace.join(dir),
            (Some(workspace), None) => workspace.to_owned(),
            (None, dir) => self.resolve(dir),
        }
    }

    /// A directory, which is the eval file's or relative to it.
    fn resolve(&self, dir: Option<&str>) -> PathBuf {
        dir.map_or_else(
            || self.deps.eval_dir.clone(),
            |dir| self.deps.eval_dir.join(Path::new(dir)),
        )
    }

    /// Adds the trace that an output names, and passes on what was odd about it. `dirs` are those that the command may
    /// leave files in; the first is where it ran.
    async fn complete(
        &self,
        parsed: ParsedOutput,
        dirs: [Option<&PathBuf>; 2],
        eval_id: &str,
        cx: &CallContext,
    ) -> Response {
        let ParsedOutput { mut response, mut problems, trace_ref } = parsed;
        // The trace of a judge is not used.
        if let Some(reference) = trace_ref.filter(|_| cx.purpose.role == Role::Candidate) {
            let dirs: Vec<PathBuf> = dirs.into_iter().flatten().cloned().collect();
            let name = reference.clone();
            let read = move || {
                let dirs: Vec<&Path> = dirs.iter().map(PathBuf::as_path).collect();
                output::read_trace(&name, &dirs)
            };
            match file_input::off_thread(read, &cx.cancel).await {
                Ok(events) => response.trace = Some(events),
                Err(problem) => {
                    problems.push(format!("the trace file `{reference}` is ignored: {problem}"));
                }
            }
        }
        for problem in problems {
            cx.log.warn(format!("[cli-provider:{}] {eval_id}: {problem}", self.deps.target));
        }
        response
    }
}
