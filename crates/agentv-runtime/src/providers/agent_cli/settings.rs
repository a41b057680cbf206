//! Keys that all agent programs share.

use super::{Client, Deps, LogVariables};
use crate::config::{Fields, FromNode, Node, Variables, Wrong};
use crate::process::EnvironmentRule;
use crate::process::sandbox::{SandboxKeys, SandboxSettings, SandboxUser};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use std::collections::BTreeMap;
use std::time::Duration;

/// How long an agent that has printed its result may stay. Codex takes five seconds when it is offline.
const EXIT_GRACE: Duration = Duration::from_secs(10);

/// The keys of one kind of agent.
#[derive(Debug, Clone, JsonSchema)]
#[schemars(transform = describe_as::<C>)]
pub struct AgentSettings<C: JsonSchema> {
    #[schemars(flatten)]
    pub(super) client: C,
    #[schemars(flatten)]
    pub(super) common: CommonSettings,
}

impl<C: Client> AgentSettings<C> {
    pub(super) fn rule(&self, deps: &Deps) -> EnvironmentRule {
        EnvironmentRule::of_agent(&deps.env, self.client.secrets(), &self.common.pass_env)
            .setting(self.client.key_variable().into_iter().chain(self.common.env.names()))
    }
}

/// Users are told of the client, not of this struct.
fn describe_as<C: JsonSchema>(schema: &mut Schema) {
    let client = C::json_schema(&mut SchemaGenerator::default());
    if let Some(description) = client.get("description") {
        schema.insert("description".to_owned(), description.clone());
    }
}

/// What every agent program can be told.
#[derive(Debug, Clone, JsonSchema)]
pub struct CommonSettings {
    /// The program: a name to look up in `PATH`, or a path, with arguments of its own if need be (`node agent.js`). Also
    /// called `command` or `binary`.
    #[schemars(with = "Option<String>")]
    pub executable: String,
    /// More arguments, after AgentV's own. Each may be `${{ VARIABLE }}`, but not a secret. Also called `arguments`.
    #[serde(default)]
    pub args: Vec<String>,
    /// Where the agent runs; relative to where AgentV was started. Without it: a directory of its own, made for each call
    /// and removed afterwards. A `workspace` goes before it.
    pub cwd: Option<String>,
    /// After this many seconds the agent and all that it started are ended. Without it there is no limit.
    #[schemars(with = "Option<f64>")]
    pub timeout_seconds: Option<Duration>,
    /// How many seconds an agent may stay, silent, after it has printed its result; then it is ended and its answer kept.
    /// Without it: 10.
    #[schemars(with = "Option<f64>")]
    pub exit_grace_seconds: Duration,
    /// Rules for the agent. Without it, it is told to make no files and to put every change into its answer, unless it has a
    /// `workspace`.
    pub system_prompt: Option<String>,
    /// Variables for the agent, on top of those that it inherits. Values may be `${{ VARIABLE }}`.
    #[schemars(with = "Option<BTreeMap<String, String>>")]
    pub env: Variables,
    /// More secrets that the agent gets, besides those that it needs itself: names of variables.
    #[serde(default)]
    pub pass_env: Vec<String>,
    /// What the agent may do: `true`, `best_effort`, or a mapping. It needs a `network` to reach its model, e.g.
    /// `[443, 53]`.
    #[schemars(with = "Option<SandboxKeys>")]
    pub sandbox: Option<SandboxSettings>,
    #[schemars(flatten)]
    pub log: LogSettings,
}

/// Where everything that the agent prints is kept.
#[derive(Debug, Clone, JsonSchema)]
pub struct LogSettings {
    /// Where the log of each call is written; `.agentv/logs/<provider>` if absent. Also called `log_directory`.
    #[schemars(rename = "log_dir")]
    pub dir: Option<String>,
    /// `summary`: texts, and tool calls with their inputs and results, without the rest of each event. `json`: the events
    /// themselves. Also called `log_output_format`.
    #[schemars(rename = "log_format")]
    #[serde(default)]
    pub format: LogFormat,
    /// Off by a variable of the environment.
    #[schemars(skip)]
    pub is_on: bool,
}

/// How events stand in a log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    #[default]
    Summary,
    Json,
}

impl FromNode for LogFormat {
    fn from_node(node: &Node<'_>) -> Result<Self, Wrong> {
        node.as_text().and_then(Self::of).ok_or(Wrong { expected: "`summary` or `json`" })
    }
}

impl LogFormat {
    fn of(name: &str) -> Option<Self> {
        match name.trim().to_ascii_lowercase().as_str() {
            "summary" => Some(Self::Summary),
            "json" => Some(Self::Json),
            _ => None,
        }
    }
}

impl CommonSettings {
    pub(super) fn read(
        fields: &mut Fields<'_, '_>,
        executable: &str,
        variables: Option<LogVariables>,
    ) -> Self {
        Self {
            executable: fields
                .env_text(&["executable", "command", "binary"])
                .unwrap_or_else(|| executable.to_owned()),
            args: fields.take_of(&["args", "arguments"]).unwrap_or_default(),
            cwd: fields.env_text(&["cwd"]),
            timeout_seconds: fields.take("timeout_seconds"),
            exit_grace_seconds: fields.take("exit_grace_seconds").unwrap_or(EXIT_GRACE),
            system_prompt: fields.take("system_prompt"),
            env: Variables::read("env", fields),
            pass_env: fields.passed_variables().unwrap_or_default(),
            sandbox: SandboxSettings::read(fields, SandboxUser::Target),
            log: LogSettings::read(fields, variables),
        }
    }
}

impl LogSettings {
    fn read(fields: &mut Fields<'_, '_>, variables: Option<LogVariables>) -> Self {
        let dir = fields.env_text(&["log_dir", "log_directory"]);
        let format = fields.take_of(&["log_format", "log_output_format"]);
        let said = |name: &str| fields.env().get(name).map(str::trim).unwrap_or_default();
        let (switch, wanted) =
            variables.map_or(("", ""), |names| (said(names.switch), said(names.format)));
        let is_off = ["false", "0", "off"].iter().any(|off| switch.eq_ignore_ascii_case(off));
        Self { dir, format: format.or(LogFormat::of(wanted)).unwrap_or_default(), is_on: !is_off }
    }
}
