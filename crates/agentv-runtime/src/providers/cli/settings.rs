//! The keys of a `cli` target.

use super::Deps;
use super::command::FilesFormat;
use crate::config::{Fields, Leftovers, Span, Variables};
use crate::process::sandbox::{SandboxKeys, SandboxSettings, SandboxUser};
use crate::process::{EnvironmentRule, first_program};
use agentv_core::prompt::placeholder::{Placeholder, Template};
use schemars::JsonSchema;
use std::collections::BTreeMap;
use std::time::Duration;

/// `provider: cli`: any command. The answer is what it writes to `{OUTPUT_FILE}` if its template names that, else what it
/// prints.
///
/// An answer is plain text, or a JSON object with `text` or `output_messages` and, if known, `token_usage`, `cost_usd` and
/// `duration_ms`. Keys may be in `camelCase`, too; an object without any of them is text. Still read, but deprecated: `trace`, a list of events, and `trace_ref`, the path of a file with one in the
/// directory of the command or of the output file; the `tool_calls` of `output_messages` say more. An answer has at most
/// 10 MiB, and so has the file with its trace; the answers of a batch have 64 MiB together.
#[derive(Debug, Clone, JsonSchema)]
pub struct CliSettings {
    /// The command, for `/bin/sh -c`. Also called `command`. May be `${{ VARIABLE }}` as a whole. It gets the prompt only
    /// where it says `{PROMPT}`; its stdin is empty.
    #[schemars(with = "String")]
    pub command_template: Template,
    /// How each file of `{FILES}` is written: `{path}` and `{basename}` stand for its path and its name, both quoted. Also
    /// called `attachments_format`. Without it: `{path}`.
    #[schemars(with = "Option<String>")]
    pub files_format: FilesFormat,
    /// Where the command runs; relative to the workspace if there is one, else to the eval file's directory. Without it:
    /// that directory itself.
    pub cwd: Option<String>,
    /// After this many seconds the command and all that it started are ended. Without it there is no limit.
    #[schemars(with = "Option<f64>")]
    pub timeout_seconds: Option<Duration>,
    /// A probe that runs once per run, before the first request, also if the run has several eval files. If it fails, no
    /// case is asked.
    pub healthcheck: Option<Healthcheck>,
    /// Accepted for old files, also as `cli_verbose`. The flag `--verbose` decides.
    #[serde(default)]
    pub verbose: bool,
    /// Keep the output file for inspection. Also called `keep_output_files`.
    #[serde(default)]
    pub keep_temp_files: bool,
    /// Variables for the command, on top of those that it inherits. Values may be `${{ VARIABLE }}`.
    #[schemars(with = "Option<BTreeMap<String, String>>")]
    pub env: Variables,
    /// Secrets that the command gets although the configuration says `env: scrub`: names of variables.
    #[serde(default)]
    pub pass_env: Vec<String>,
    /// What the command may do: `true`, `best_effort`, or a mapping. Its own directory is the one that it runs in.
    #[schemars(with = "Option<SandboxKeys>")]
    pub sandbox: Option<SandboxSettings>,
}

/// How to find out whether a target is fit to be asked.
#[derive(Debug, Clone, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Healthcheck {
    /// A GET request, which must be answered with a status of 200 to 299.
    Http {
        /// May be `${{ VARIABLE }}` as a whole.
        url: String,
        /// Without it: the target's own limit.
        #[schemars(with = "Option<f64>")]
        timeout_seconds: Option<Duration>,
    },
    /// A command, which must end with exit code 0. Same placeholders, with an empty prompt.
    Command {
        /// The command, for `/bin/sh -c`. Also called `command`. May be `${{ VARIABLE }}` as a whole.
        #[schemars(with = "String")]
        command_template: Template,
        /// Relative to the eval file's directory, which is the default.
        cwd: Option<String>,
        /// Without it: the target's own limit.
        #[schemars(with = "Option<f64>")]
        timeout_seconds: Option<Duration>,
    },
}

impl CliSettings {
    pub(super) fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        fields.on_command_line(ON_COMMAND_LINE);
        let command_template = template(fields, COMMAND);
        if let Some(template) = &command_template {
            note_missing_prompt(template, fields);
        }
        let files_format = fields.take_of::<String>(&["files_format", "attachments_format"]);
        let cwd = fields.env_text(&["cwd"]);
        let timeout_seconds = fields.take("timeout_seconds");
        let healthcheck =
            fields.sub(&["healthcheck"]).and_then(|mut fields| Healthcheck::read(&mut fields));
        let verbose = fields.take_of(&["verbose", "cli_verbose"]).unwrap_or_default();
        let keep_temp_files =
            fields.take_of(&["keep_temp_files", "keep_output_files"]).unwrap_or_default();
        Some(Self {
            env: Variables::read("env", fields),
            pass_env: fields.passed_variables().unwrap_or_default(),
            sandbox: SandboxSettings::read(fields, SandboxUser::Target),
            command_template: command_template?,
            files_format: files_format.map_or_else(FilesFormat::default, FilesFormat::new),
            cwd,
            timeout_seconds,
            healthcheck,
            verbose,
            keep_temp_files,
        })
    }
}

impl CliSettings {
    pub(super) fn rule(&self, deps: &Deps) -> EnvironmentRule {
        EnvironmentRule::of_program(&deps.env, deps.secrets.scrub.targets, &self.pass_env)
            .setting(self.env.names())
    }
}

/// The names of the command, the best first.
const COMMAND: &[&str] = &["command_template", "command"];

/// Programs that are not agents: with one of these, a command is meant to answer every prompt alike.
const PLAIN_TOOLS: [&str; 7] = ["cat", "head", "jq", "sed", "sleep", "tail", "touch"];

/// Keys whose values become part of a command.
const ON_COMMAND_LINE: &[&str] =
    &["command_template", "command", "files_format", "attachments_format"];

impl Healthcheck {
    fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        fields.on_command_line(ON_COMMAND_LINE);
        let kind: String = fields.need("type")?;
        let timeout_seconds = fields.take("timeout_seconds");
        let check = match kind.as_str() {
            "http" => url(fields).map(|url| Self::Http { url, timeout_seconds }),
            "command" => {
                let cwd = fields.env_text(&["cwd"]);
                template(fields, COMMAND).map(|command_template| Self::Command {
                    command_template,
                    cwd,
                    timeout_seconds,
                })
            }
            _ => {
                let message = format!("{} has no type `{kind}`", fields.owner());
                fields.error("cli::healthcheck", "type", message).help("use `http` or `command`");
                return None;
            }
        };
        fields.finish(Leftovers::Refuse);
        check
    }
}

fn url(fields: &mut Fields<'_, '_>) -> Option<String> {
    let url = fields.need_env_text(&["url"])?.trim().to_owned();
    if url.starts_with("http://") || url.starts_with("https://") {
        return Some(url);
    }
    let message = format!("`url` of {} must begin with `http://` or `https://`", fields.owner());
    fields.error("cli::healthcheck", "url", message);
    None
}

/// A command with its placeholders, all of which must be known.
fn template(fields: &mut Fields<'_, '_>, keys: &[&'static str]) -> Option<Template> {
    let text = fields.need_env_text(keys)?;
    let span = span_of(fields, keys);
    let template = Template::parse(&text).map_err(|error| {
        let supported = Placeholder::ALL.map(|(_, name)| format!("`{{{name}}}`")).join(", ");
        let message = format!("{error} in `{}` of {}", keys[0], fields.owner());
        fields
            .error_at("cli::placeholder", span, message)
            .help(format!("use one of {supported}, or lower case if it is not for AgentV"));
    });
    let template = template.ok()?;
    for (name, placeholder) in template.miscased() {
        let message = format!("`{{{name}}}` of {} is not replaced", fields.owner());
        fields
            .warning_at("cli::placeholder", span, message)
            .help(format!("did you mean `{placeholder}`?"));
    }
    Some(template)
}

/// Notes a command that answers without knowing the question. Some are meant to, so it is not a warning.
fn note_missing_prompt(template: &Template, fields: &mut Fields<'_, '_>) {
    let program = first_program(template.beginning());
    let is_agent = program.is_some_and(|program| !PLAIN_TOOLS.contains(&program));
    if is_agent && !template.is_about_case() && template.miscased().is_empty() {
        let message = format!("the command of {} does not get the prompt", fields.owner());
        fields
            .info_at("cli::prompt", span_of(fields, COMMAND), message)
            .help("add `{PROMPT}` where the command expects it; its stdin is empty");
    }
}

/// Where the value is, under whichever of its names.
fn span_of(fields: &Fields<'_, '_>, keys: &[&str]) -> Span {
    let spans = keys.iter().map(|key| fields.span_of(key));
    spans.into_iter().find(|span| *span != fields.head()).unwrap_or_else(|| fields.head())
}
