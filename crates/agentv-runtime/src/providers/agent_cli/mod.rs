//! What all agent programs have in common: found once, asked on stdin, read line by line while they work, logged, and ended
//! with everything that they started. A client is a [`Client`]: how it is called, and an [`EventReader`] of what it prints.

mod bounded;
mod conversation;
mod log;
pub mod model_keys;
mod place;
pub mod prompt;
mod reader;
mod settings;
mod stream;

#[cfg(test)]
pub mod testing;

pub use bounded::{Bounded, size};
pub use conversation::AgentMessages;
pub use log::{one_line, with_details};
pub use reader::{EventReader, Reading, read_all};
pub use settings::{AgentSettings, CommonSettings, LogFormat};

use super::{Billing, Deps, FromSettings, Need, Starter, sandbox};
use crate::config::Fields;
use crate::process::sandbox::{GivenFiles, Surroundings};
use crate::process::{
    Captured, Command, EnvironmentRule, FindError, Gentle, Output, ProgramExit, RunError, Stdin,
    Watch, find,
};
use agentv_core::provider::{PromptMode, RecordedAs};
use agentv_core::{CallContext, Provider, ProviderError, ProviderInfo, Request, Response};
use agentv_wire::{Object, Omitted};
use async_trait::async_trait;
use log::{LogEntry, StreamLog};
use place::{Own, Spares, WorkingDir};
use schemars::JsonSchema;
use serde_json::Value;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use stream::Listener;

/// What is kept of each output besides what the reader made of it: enough for an error, and for an output that is one JSON
/// document instead of lines.
const OUTPUT_CAP: usize = 1 << 20;
/// How much of what a client said goes into an error.
const SAID_CHARS: usize = 2000;

/// Keys whose values are arguments of one or the other program.
const ON_COMMAND_LINE: &[&str] = &[
    "executable",
    "command",
    "binary",
    "args",
    "arguments",
    "system_prompt",
    "model",
    "pi_model",
    "pi_provider",
    "llm_provider",
    "tools",
    "pi_tools",
    "thinking",
    "pi_thinking",
];

/// One agent program. It holds the keys that only this program has.
pub trait Client: fmt::Debug + Clone + JsonSchema + Send + Sync + 'static {
    /// The name in `targets.yaml`, then its aliases.
    const NAMES: &'static [&'static str];
    /// What it is called in messages: `Claude Code CLI`.
    const TITLE: &'static str;
    /// The program, unless the target names another.
    const EXECUTABLE: &'static str;
    /// The signal on which it ends its tools too.
    const GENTLE: Gentle;
    /// `CLAUDE_CODE` in `AGENTV_CLAUDE_CODE_STREAM_LOGS`; the program's variables for logs.
    const LOG_VARIABLES: Option<LogVariables>;
    /// Variables that it must not inherit.
    const UNSET: &'static [&'static str] = &[];
    /// The secrets that it needs: names of variables. All others that its target does not pass are kept from it.
    fn secrets(&self) -> Vec<String>;

    /// The variable that it gets the target's `api_key` in, if there is one.
    fn key_variable(&self) -> Option<String> {
        None
    }

    /// Whether it finds its prompt as `prompt.md` in a directory of its own, too.
    const KEEPS_PROMPT: bool = false;

    /// What its stream tells of its cost.
    const BILLING: Billing;

    type Reader: EventReader;

    /// Takes its own keys.
    fn read(fields: &mut Fields<'_, '_>) -> Option<Self>;

    /// How it is asked.
    fn call(&self, ask: &Ask<'_>) -> AgentInvocation;
}

/// The variables that switch a program's log off and choose its format.
#[derive(Debug, Clone, Copy)]
pub struct LogVariables {
    pub switch: &'static str,
    pub format: &'static str,
}

/// A question, and where it is asked.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    pub request: &'a Request,
    pub settings: &'a CommonSettings,
    /// The directory that the program runs in.
    pub cwd: &'a Path,
}

impl Ask<'_> {
    /// A grader's rules, else those of the target, else that no file may be made: it would not be seen. In a workspace files
    /// are what is wanted.
    pub fn system_prompt(&self) -> Option<&str> {
        let own = self.request.system_prompt.as_ref().or(self.settings.system_prompt.as_ref());
        match own {
            Some(own) => Some(own),
            None if self.request.workspace.is_some() => None,
            None => Some(prompt::ANSWER_IN_TEXT),
        }
    }

    /// Whether the agent may change files and the user has said nothing about `flags`, which would allow it.
    pub fn must_allow_edits(&self, flags: &[&str]) -> bool {
        self.request.workspace.is_some() && !self.has_said(flags)
    }

    /// Whether the target's own arguments have one of these, as `--flag` or `--flag=value`.
    pub fn has_said(&self, flags: &[&str]) -> bool {
        let is_it = |arg: &String, flag: &&str| {
            arg.strip_prefix(flag).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        };
        self.settings.args.iter().any(|arg| flags.iter().any(|flag| is_it(arg, flag)))
    }
}

/// What is run for a question.
#[derive(Debug, Default)]
pub struct AgentInvocation {
    /// After the program's name. No prompt where the program takes it on stdin, and never a key.
    pub args: Vec<String>,
    pub stdin: Option<String>,
    pub env: Vec<(String, String)>,
}

/// An agent program as a target.
#[derive(Debug)]
pub struct AgentCli<C> {
    client: C,
    settings: CommonSettings,
    rule: EnvironmentRule,
    deps: Deps,
    /// The program, once it was found.
    program: OnceLock<Vec<OsString>>,
    spares: Arc<Spares>,
}

impl<C: Client> FromSettings for AgentCli<C> {
    const NAMES: &'static [&'static str] = C::NAMES;
    const INFO: ProviderInfo = ProviderInfo {
        kind: C::NAMES[0],
        prompt_mode: PromptMode::Agent,
        recorded_as: RecordedAs::Agent,
        is_simulated: false,
    };
    const STARTER: Option<Starter> = Some(Starter::program(C::NAMES[0], C::EXECUTABLE));
    type Settings = AgentSettings<C>;

    fn read(fields: &mut Fields<'_, '_>) -> Option<Self::Settings> {
        fields.on_command_line(ON_COMMAND_LINE);
        let client = C::read(fields);
        let common = CommonSettings::read(fields, C::EXECUTABLE, C::LOG_VARIABLES);
        Some(AgentSettings { client: client?, common })
    }

    fn billing(_settings: &Self::Settings) -> Billing {
        C::BILLING
    }

    fn needs(settings: &Self::Settings) -> Vec<Need> {
        let program = settings.common.executable.clone();
        vec![Need::Program { program, key: "executable" }]
    }

    fn environment(settings: &Self::Settings, deps: &Deps) -> Option<EnvironmentRule> {
        Some(settings.rule(deps))
    }

    fn from_settings(settings: Self::Settings, deps: &Deps) -> Self {
        Self {
            rule: settings.rule(deps),
            client: settings.client,
            settings: settings.common,
            deps: deps.clone(),
            program: OnceLock::new(),
            spares: Arc::default(),
        }
    }
}

#[async_trait]
impl<C: Client> Provider for AgentCli<C> {
    async fn invoke(&self, request: &Request, cx: &CallContext) -> Result<Response, ProviderError> {
        let place = self.place(request)?;
        let call = self.client.call(&Ask { request, settings: &self.settings, cwd: place.path() });
        if C::KEEPS_PROMPT {
            place.keep_prompt(&call);
        }
        let log = self.open_log(request, cx);
        let log_file = log.as_ref().map(|log| log.path().to_owned());
        let listener = Arc::new(Listener::<C::Reader>::new(log));
        let watch = Watch { watcher: listener.clone(), grace: self.settings.exit_grace_seconds };
        let command = self.command(call, place.path(), request, cx)?;
        let withheld = command.env.withheld().to_owned();
        let sandbox = command.sandbox.clone();

        let ran = self.deps.processes.run_watched(command, Some(watch), cx).await;
        let heard = listener.finish();
        let (was_done, omitted) = (heard.was_done, heard.omitted);
        let nothing = Captured::default();
        let reading = heard.reading(ran.as_ref().map_or(&nothing, |output| &output.stdout));
        let omitted = omitted.and(reading.omitted);
        if !omitted.is_empty() {
            let (target, id) = (&self.deps.target, &request.eval_id);
            cx.log.warn(format!("{target}: {id}: printed more than is kept; left out: {omitted}"));
        }
        let outcome = match ran {
            Ok(output) => conclude(C::TITLE, reading, &output, was_done)
                .map_err(|error| sandbox::explain(error, sandbox.as_ref())),
            Err(error) => Err(run_error(C::TITLE, &error, reading)),
        };
        let mut noted = facts(log_file.as_deref(), omitted);
        noted.extend(sandbox::fact(sandbox.as_ref()));
        match outcome {
            Ok(mut response) => {
                response.metadata.extend(noted);
                Ok(response)
            }
            Err(mut error) => {
                error.message.push_str(&hint(&error.message, &withheld));
                error.metadata.extend(noted);
                Err(error)
            }
        }
    }

    /// Without a `cwd`, each call has an empty directory of its own.
    fn shares_directory(&self) -> bool {
        self.settings.cwd.is_some()
    }

    fn info(&self) -> ProviderInfo {
        Self::INFO
    }

    /// An agent that is not there fails every case alike, so it is looked for first.
    async fn prepare(&self, _cx: &CallContext) -> Result<(), ProviderError> {
        self.program().map(drop)
    }
}

impl<C: Client> AgentCli<C> {
    /// The program with the arguments that its setting brings along, as in `node agent.js`. It is looked for until it is
    /// found.
    fn program(&self) -> Result<&[OsString], ProviderError> {
        match self.program.get() {
            Some(program) => Ok(program),
            None => self.look_for_program().map(|program| &**self.program.get_or_init(|| program)),
        }
    }

    fn look_for_program(&self) -> Result<Vec<OsString>, ProviderError> {
        let setting = &self.settings.executable;
        let whole = self.find(setting);
        let error = match whole {
            Ok(path) => return Ok(vec![path.into()]),
            Err(error) => error,
        };
        let mut words = setting.split_whitespace();
        if let (Some(first), true) = (words.next(), setting.contains(char::is_whitespace))
            && let Ok(path) = self.find(first)
        {
            return Ok(std::iter::once(path.into()).chain(words.map(OsString::from)).collect());
        }
        Err(ProviderError::failed(format!(
            "{} executable '{setting}' was not found on PATH: {error}; install it, or name it with `executable`",
            C::TITLE
        )))
    }

    /// A path is taken from where AgentV was started, else from the eval file's directory.
    fn find(&self, program: &str) -> Result<PathBuf, FindError> {
        let here = find(program, &self.deps.working_dir, &self.deps.env);
        here.or_else(|error| find(program, &self.deps.eval_dir, &self.deps.env).map_err(|_| error))
    }

    /// Where the program runs: in the workspace, in the target's directory, or in one of its own for this call.
    fn place(&self, request: &Request) -> Result<WorkingDir, ProviderError> {
        if let Some(workspace) = &request.workspace {
            return Ok(WorkingDir::Given(workspace.clone()));
        }
        if let Some(cwd) = &self.settings.cwd {
            return Ok(WorkingDir::Given(self.deps.working_dir.join(cwd)));
        }
        let prefix = self.deps.processes.temp_prefix(C::NAMES[0]);
        Own::new(&prefix, &self.spares).map(WorkingDir::Own).map_err(|error| {
            ProviderError::failed(format!("cannot create a folder for the workspace: {error}"))
        })
    }

    /// A log that cannot be written is no reason to stop.
    fn open_log(&self, request: &Request, cx: &CallContext) -> Option<StreamLog> {
        if !self.settings.log.is_on {
            return None;
        }
        let dir = match &self.settings.log.dir {
            Some(dir) => self.deps.working_dir.join(dir),
            None => self.deps.project_root.join(".agentv/logs").join(C::NAMES[0]),
        };
        let entry = LogEntry {
            title: C::TITLE,
            target: self.deps.target.as_str(),
            eval_id: &request.eval_id,
            attempt: request.attempt,
            format: self.settings.log.format,
            summarize: C::Reader::summary,
            redactor: &self.deps.redactor,
        };
        let opened = StreamLog::open(&dir, entry);
        opened
            .map_err(|error| {
                cx.log.warn(format!("{}: no stream log: {error}", self.deps.target));
            })
            .ok()
    }

    fn command(
        &self,
        call: AgentInvocation,
        cwd: &Path,
        request: &Request,
        cx: &CallContext,
    ) -> Result<Command, ProviderError> {
        let mut argv = self.program()?.to_vec();
        argv.extend(call.args.into_iter().map(OsString::from));
        let rule = self.rule.of_call(&self.deps.secrets, cx.purpose.role);
        let own = self.settings.env.0.iter().cloned();
        let env = rule.without(C::UNSET).with(call.env).with(own);
        let surroundings = Surroundings {
            argv: &argv,
            cwd,
            env: &self.deps.env,
            child: &env,
            processes: &self.deps.processes,
            eval_dir: &self.deps.eval_dir,
            proxy_port: None,
        };
        let named = request.input_files().cloned().collect();
        let given = GivenFiles { named, ..GivenFiles::default() };
        let sandbox = sandbox::confine(self.settings.sandbox.as_ref(), &surroundings, &given)?;
        Ok(Command {
            argv,
            cwd: cwd.to_owned(),
            env,
            stdin: call.stdin.map_or(Stdin::Nothing, |text| Stdin::Bytes(text.into_bytes())),
            time_limit: self.settings.timeout_seconds,
            output_cap: OUTPUT_CAP,
            gentle: C::GENTLE,
            sandbox,
        })
    }
}

/// What to do for an agent that seems to miss a key, if some were kept from it.
fn hint(message: &str, withheld: &[String]) -> String {
    const SIGNS: [&str; 7] =
        ["api key", "api_key", "log in", "login", "authenticat", "unauthorized", "credential"];
    let message = message.to_ascii_lowercase();
    if withheld.is_empty() || !SIGNS.iter().any(|sign| message.contains(sign)) {
        return String::new();
    }
    let names = withheld.join(", ");
    format!("; it does not see the secrets {names}: name what it needs in `pass_env` of the target")
}

/// What the record says besides the client's own facts.
fn facts(log_file: Option<&Path>, omitted: Omitted) -> Object {
    let log_file = log_file.map(|path| ("log_file".to_owned(), path.to_string_lossy().into()));
    let omitted = Some(omitted).filter(|omitted| !omitted.is_empty());
    let omitted = omitted.and_then(|omitted| serde_json::to_value(omitted).ok());
    log_file.into_iter().chain(omitted.map(|omitted| ("omitted".to_owned(), omitted))).collect()
}

/// From what was read and how the program ended to an answer or an error. The stream is trusted over the exit code, since
/// clients end with 0 after a failure and are ended by us after a success.
fn conclude(
    title: &str,
    mut reading: Reading,
    output: &Output,
    was_done: bool,
) -> Result<Response, ProviderError> {
    let ended_well = output.ended.is_success() || (was_done && was_ended_by_us(output.ended));
    let how = match output.ended {
        _ if ended_well && reading.failure.is_some() => "reported an error".to_owned(),
        _ if ended_well && output.stdout.is_empty() => "printed nothing".to_owned(),
        _ if ended_well && reading.is_cut => "ended without a result".to_owned(),
        _ if ended_well => "did not include an assistant message".to_owned(),
        ProgramExit::Code(code) => format!("exited with code {code}"),
        ProgramExit::Signal(signal) => format!("was killed by signal {signal}"),
    };
    let (metadata, reported) = (reading.metadata.clone(), reading.reported);
    let why = reading.failure.take();
    if why.is_none()
        && ended_well
        && !reading.is_cut
        && let Some(response) = reading.into_response()
    {
        return Ok(response);
    }
    let message = format!("{title} {how}{}", context(why, output));
    let mut error = with_output(ProviderError::failed(message), output);
    error.metadata.extend(metadata);
    Err(error.costing(&reported))
}

/// A client that has printed its result is ended by signal.
fn was_ended_by_us(ended: ProgramExit) -> bool {
    match ended {
        ProgramExit::Signal(_) => true,
        // Shells and Node say so of a signal.
        ProgramExit::Code(code) => code > 128,
    }
}

/// What explains a failure: the client's own reason, the end of stderr, and the end of stdout, each if there is any. The
/// reason comes from stdout, so it replaces the raw events there.
fn context(why: Option<String>, output: &Output) -> String {
    let stdout = if why.is_some() { String::new() } else { output.stdout.tail(SAID_CHARS) };
    let parts = [
        ("", why.unwrap_or_default()),
        ("stderr", output.stderr.tail(SAID_CHARS)),
        ("stdout", stdout),
    ];
    let mut context = String::new();
    for (name, text) in parts.iter().filter(|(_, text)| !text.is_empty()) {
        // The first part needs no name: it is what people read.
        let separator = if context.is_empty() { ": ".to_owned() } else { format!("; {name}: ") };
        context.push_str(&separator);
        context.push_str(text);
    }
    context
}

/// How it ended and what it printed last, for the record.
fn with_output(error: ProviderError, output: &Output) -> ProviderError {
    let mut error = match output.ended {
        ProgramExit::Code(code) => error.with("exit_code", code),
        ProgramExit::Signal(signal) => error.with("signal", signal),
    };
    for (name, stream) in [("stderr", &output.stderr), ("stdout", &output.stdout)] {
        if !stream.is_empty() {
            error = error.with(name, stream.tail(SAID_CHARS));
        }
    }
    error
}

fn run_error(title: &str, error: &RunError, reading: Reading) -> ProviderError {
    match error {
        RunError::TimedOut { after, output } => {
            let mut error = with_output(ProviderError::timed_out(title, *after), output);
            if let Some(trouble) = reading.trouble {
                error.message = format!("{} (last: {trouble})", error.message);
            }
            error.metadata.extend(reading.metadata);
            error.costing(&reading.reported)
        }
        RunError::Cancelled => ProviderError::cancelled(),
        RunError::Spawn { source, .. } => {
            ProviderError::not_started(format!("{title}: {error}: {source}"))
        }
        RunError::Sandbox(_) => ProviderError::not_started(format!("{title}: {error}")),
        RunError::OverLimit { output, .. } => {
            let error = ProviderError::failed(format!("{title} was {error}"));
            with_output(error, output).costing(&reading.reported)
        }
    }
}

/// The text under a key.
pub fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key)?.as_str()
}
