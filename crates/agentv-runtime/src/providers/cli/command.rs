//! From template and request to a command, and from the command to its answer.

use super::Cli;
use crate::file_input;
use crate::process::sandbox::{Confinement, GivenFiles, Surroundings};
use crate::process::{
    ChildEnvironment, Command, Gentle, Output, ProgramExit, RunError, Stdin, interpreted, quote,
    shell_words,
};
use crate::providers::sandbox;
use agentv_core::id::file_name;
use agentv_core::prompt::placeholder::{Placeholder, Template};
use agentv_core::provider::{ProviderErrorKind, Request};
use agentv_core::suite::basename;
use agentv_core::{CallContext, ProviderError};
use agentv_wire::Object;
use agentv_wire::env::{EVAL_DIR, TRIAL};
use std::borrow::Cow;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::{TempDir, TempPath};
use tokio_util::sync::CancellationToken;

/// How large an answer may be, and the trace that it names.
pub(super) const OUTPUT_CAP: usize = 10 << 20;
/// How much of what a command said goes into an error.
const SAID_CHARS: usize = 2000;

/// One run of a command, ready to be rendered.
#[derive(Debug)]
pub(super) struct CommandCall<'a> {
    pub(super) template: &'a Template,
    pub(super) values: Values<'a>,
    pub(super) cwd: &'a Path,
    pub(super) time_limit: Option<Duration>,
    /// How much may come back, printed or in a file.
    pub(super) output_cap: usize,
    /// What is not a plain request says so when it is echoed: `batch size=3`, `healthcheck`.
    pub(super) label: Option<String>,
}

/// What placeholders stand for.
#[derive(Debug)]
pub(super) struct Values<'a> {
    pub(super) prompt: Cow<'a, str>,
    pub(super) guidelines: &'a str,
    pub(super) eval_id: &'a str,
    pub(super) attempt: u32,
    pub(super) trial: u32,
    pub(super) files: Vec<&'a Path>,
}

/// What a command gave as its answer.
#[derive(Debug)]
pub(super) struct CommandAnswer {
    pub(super) text: String,
    pub(super) elapsed: Duration,
    /// The directory of the output file.
    pub(super) output_dir: Option<PathBuf>,
    /// For the record.
    pub(super) facts: Object,
}

/// A command that has ended, and the sandbox that it ran in.
#[derive(Debug)]
pub(super) struct CommandRun {
    pub(super) output: Output,
    sandbox: Option<Confinement>,
    /// What to say of the directory that it ran in, if what it runs was not found there.
    lost: Option<String>,
}

impl CommandRun {
    fn facts(&self) -> Object {
        sandbox::fact(self.sandbox.as_ref()).into_iter().collect()
    }

    /// Why it failed by itself.
    pub(super) fn error(&self) -> ProviderError {
        let mut error = sandbox::explain(exit_error(&self.output), self.sandbox.as_ref());
        if let Some(lost) = &self.lost {
            error.message = format!("{}; {lost}", error.message);
        }
        error.metadata.extend(self.facts());
        error
    }
}

/// Where a command writes its answer; gone when this is.
#[derive(Debug)]
pub(super) enum OutputFile {
    Alone(TempPath),
    /// In a folder of its own: in a sandbox nothing can be made beside others' files.
    InFolder(TempDir),
}

impl OutputFile {
    fn path(&self) -> PathBuf {
        match self {
            Self::Alone(path) => path.to_path_buf(),
            Self::InFolder(folder) => folder.path().join("answer"),
        }
    }

    fn folder(&self) -> Option<&Path> {
        match self {
            Self::Alone(_) => None,
            Self::InFolder(folder) => Some(folder.path()),
        }
    }
}

impl<'a> Values<'a> {
    pub(super) fn of(request: &'a Request, cx: &CallContext) -> Self {
        Self {
            prompt: prompt(request),
            guidelines: &request.guidelines,
            eval_id: &request.eval_id,
            attempt: request.attempt,
            trial: trial(cx),
            files: request.input_files().map(PathBuf::as_path).collect(),
        }
    }

    /// For runs that are not about one question.
    pub(super) fn without_question(eval_id: &'a str, cx: &CallContext) -> Self {
        let (attempt, trial, files) = (0, trial(cx), Vec::new());
        Self { prompt: "".into(), guidelines: "", eval_id, attempt, trial, files }
    }
}

/// A case that is asked once is in its first trial.
fn trial(cx: &CallContext) -> u32 {
    cx.purpose.trial()
}

/// A grader's rules come first: a command has no other place for them.
fn prompt(request: &Request) -> Cow<'_, str> {
    match &request.system_prompt {
        Some(rules) => format!("{rules}\n\n{}", request.question).into(),
        None => request.question.as_str().into(),
    }
}

impl Cli {
    /// Runs a command for its answer.
    pub(super) async fn ask(
        &self,
        call: CommandCall<'_>,
        cx: &CallContext,
    ) -> Result<CommandAnswer, ProviderError> {
        let file = self.output_file(&call, ".json")?;
        self.ask_with(call, file, cx).await
    }

    /// The same with an output file that the caller has chosen.
    pub(super) async fn ask_with(
        &self,
        call: CommandCall<'_>,
        file: Option<OutputFile>,
        cx: &CallContext,
    ) -> Result<CommandAnswer, ProviderError> {
        let cap = call.output_cap;
        let run = self.run(call, file.as_ref(), cx).await?;
        if !run.output.ended.is_success() {
            return Err(run.error());
        }
        let path = file.as_ref().map(OutputFile::path);
        let text = match &path {
            Some(path) => read(path, cap as u64, &cx.cancel).await?,
            None => printed(&run.output, cap)?,
        };
        let output_dir = path.as_deref().and_then(Path::parent).map(Path::to_owned);
        let facts = run.facts();
        Ok(CommandAnswer { text, elapsed: run.output.elapsed, output_dir, facts })
    }

    /// Runs a command to its end, whatever that is.
    pub(super) async fn run(
        &self,
        call: CommandCall<'_>,
        output_file: Option<&OutputFile>,
        cx: &CallContext,
    ) -> Result<CommandRun, ProviderError> {
        let path = output_file.map(OutputFile::path);
        let script = call.render(&self.settings.files_format, path.as_deref());
        cx.log.verbose(|| {
            let label = call.label.as_ref().map(|label| format!(" ({label})")).unwrap_or_default();
            let (target, cwd) = (&self.deps.target, call.cwd.display());
            format!("[cli-provider:{target}]{label} cwd={cwd} command={script}")
        });
        // In a workspace this is how the command finds what is beside the eval file.
        let eval_dir = self.deps.eval_dir.to_string_lossy().into_owned();
        let own =
            [(EVAL_DIR.to_owned(), eval_dir), (TRIAL.to_owned(), call.values.trial.to_string())];
        let env = self.rule.of_call(&self.deps.secrets, cx.purpose.role).with(own);
        let env = env.with(self.settings.env.0.iter().cloned());
        let argv = Command::shell(script);
        let sandbox = self.confine(&call, &argv, &env, output_file)?;
        let command = Command {
            argv,
            cwd: call.cwd.to_owned(),
            env,
            stdin: Stdin::Nothing,
            time_limit: call.time_limit,
            output_cap: call.output_cap,
            gentle: Gentle::Terminate,
            sandbox: sandbox.clone(),
        };
        // In a box of its own, so that this one stays small.
        match Box::pin(self.deps.processes.run(command, cx)).await {
            Ok(output) => {
                let lost = lost(output.ended, call.template, call.cwd);
                Ok(CommandRun { output, sandbox, lost })
            }
            Err(error) => {
                let mut error = run_error(&error);
                error.metadata.extend(sandbox::fact(sandbox.as_ref()));
                Err(error)
            }
        }
    }

    fn confine(
        &self,
        call: &CommandCall<'_>,
        argv: &[OsString],
        child: &ChildEnvironment,
        output_file: Option<&OutputFile>,
    ) -> Result<Option<Confinement>, ProviderError> {
        let mut named: Vec<PathBuf> = call.values.files.iter().map(|&file| file.into()).collect();
        // What the command is made of is beside the eval file.
        named.push(self.deps.eval_dir.clone());
        let surroundings = Surroundings {
            argv,
            cwd: call.cwd,
            env: &self.deps.env,
            child,
            processes: &self.deps.processes,
            eval_dir: &self.deps.eval_dir,
            proxy_port: None,
        };
        let output = output_file.and_then(OutputFile::folder).map(Path::to_owned);
        let given = GivenFiles { named, output, ..GivenFiles::default() };
        sandbox::confine(self.settings.sandbox.as_ref(), &surroundings, &given)
    }

    /// A path for the command to write to, if its template asks for one. Nothing is there yet, and what is there at the end
    /// is removed when the path is dropped.
    pub(super) fn output_file(
        &self,
        call: &CommandCall<'_>,
        suffix: &str,
    ) -> Result<Option<OutputFile>, ProviderError> {
        if !call.template.asks_for(Placeholder::OutputFile) {
            return Ok(None);
        }
        let name = file_name(call.values.eval_id);
        let prefix = if self.settings.keep_temp_files {
            format!("agentv-{name}-")
        } else {
            self.deps.processes.temp_prefix(&name)
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).rand_bytes(12).disable_cleanup(self.settings.keep_temp_files);
        let made = if self.settings.sandbox.is_some() {
            builder.tempdir().map(OutputFile::InFolder)
        } else {
            let made = builder.suffix(suffix).make(|_| Ok(()));
            made.map(|file| OutputFile::Alone(file.into_temp_path()))
        };
        made.map(Some).map_err(|error| {
            ProviderError::failed(format!("cannot create the output file: {error}"))
        })
    }
}

impl CommandCall<'_> {
    fn render(&self, format: &FilesFormat, output_file: Option<&Path>) -> String {
        let values = &self.values;
        self.template.render(|placeholder| match placeholder {
            Placeholder::Prompt => quote(&values.prompt).into(),
            Placeholder::Guidelines => quote(values.guidelines).into(),
            Placeholder::EvalId => quote(values.eval_id).into(),
            Placeholder::Attempt => quote(&values.attempt.to_string()).into(),
            Placeholder::Trial => quote(&values.trial.to_string()).into(),
            Placeholder::Files => {
                let files: Vec<String> =
                    values.files.iter().map(|path| format.show(path)).collect();
                files.join(" ").into()
            }
            Placeholder::OutputFile => {
                quote(&output_file.map(Path::to_string_lossy).unwrap_or_default()).into()
            }
        })
    }
}

/// How one file of `{FILES}` is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilesFormat(String);

impl Default for FilesFormat {
    fn default() -> Self {
        Self("{path}".to_owned())
    }
}

impl FilesFormat {
    /// Blank is as good as none.
    pub(super) fn new(format: String) -> Self {
        if format.trim().is_empty() { Self::default() } else { Self(format) }
    }

    /// In one pass, so that a path with braces in it is not taken apart.
    fn show(&self, path: &Path) -> String {
        let mut shown = String::new();
        let mut rest = self.0.as_str();
        while let Some(open) = rest.find('{') {
            let (before, at) = rest.split_at(open);
            shown.push_str(before);
            rest = if let Some(after) = at.strip_prefix("{path}") {
                shown.push_str(&quote(&path.to_string_lossy()));
                after
            } else if let Some(after) = at.strip_prefix("{basename}") {
                shown.push_str(&quote(&basename(path)));
                after
            } else {
                shown.push('{');
                &at[1..]
            };
        }
        shown + rest
    }
}

/// The script that the command gives to an interpreter, if it is plain to see that this is a file.
pub(super) fn script(template: &Template) -> Option<&str> {
    let words = shell_words(template.beginning());
    // `uv run name` and `node name` may mean something else.
    interpreted(&words).filter(|script| script.contains('/') || script.contains('.'))
}

/// What to say if a command failed because a program or a script is not where it is looked for.
fn lost(ended: ProgramExit, template: &Template, cwd: &Path) -> Option<String> {
    let is_missing = |script: &&str| !cwd.join(script).exists();
    match (ended, script(template).filter(is_missing)) {
        (ProgramExit::Code(0) | ProgramExit::Signal(_), _) => None,
        (_, Some(script)) => Some(format!(
            "the script `{script}` is not in `{}`, where the command runs: correct `command_template` or `cwd` of the target",
            cwd.display()
        )),
        // What shells return for a program that is not found or not executable.
        (ProgramExit::Code(126 | 127), None) => {
            Some(format!("the command runs in `{}`, see `cwd` of the target", cwd.display()))
        }
        _ => None,
    }
}

/// What the command wrote. It may have put anything there.
async fn read(path: &Path, cap: u64, cancel: &CancellationToken) -> Result<String, ProviderError> {
    if let Some(bytes) = file_input::read_small(path) {
        return Ok(String::from_utf8_lossy(&bytes).into_owned());
    }
    let (shown, path) = (path.display(), path.to_owned());
    let read = move || file_input::read_capped(file_input::open(&path)?, cap);
    let bytes = file_input::off_thread(read, cancel).await.map_err(|error| {
        let hint = match error.kind() {
            io::ErrorKind::Interrupted => return aborted(),
            io::ErrorKind::NotFound => {
                "; the command must write its answer there, or print it if the template does without `{OUTPUT_FILE}`"
            }
            _ => "",
        };
        ProviderError::failed(format!("Failed to read output file '{shown}': {error}{hint}"))
    })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What was printed, without the newline that ends it.
fn printed(output: &Output, cap: usize) -> Result<String, ProviderError> {
    let Some(bytes) = output.stdout.bytes_if_whole() else {
        let bytes = cap as u64 + output.stdout.dropped();
        return Err(ProviderError::failed(format!(
            "the command printed {bytes} bytes, and an answer may have {cap}; let it print less"
        )));
    };
    Ok(String::from_utf8_lossy(bytes).trim_end_matches(['\n', '\r']).to_owned())
}

/// A command that failed by itself: what it said, and how it ended.
fn exit_error(output: &Output) -> ProviderError {
    let said = [&output.stderr, &output.stdout]
        .into_iter()
        .map(|stream| stream.tail(SAID_CHARS))
        .find(|said| !said.is_empty());
    let message = match (said, output.ended) {
        (Some(said), ProgramExit::Code(code)) => format!("{said} (exit code {code})"),
        (None, ProgramExit::Code(code)) => format!("CLI exited with code {code}"),
        (Some(said), ProgramExit::Signal(signal)) => format!("{said} (killed by signal {signal})"),
        (None, ProgramExit::Signal(signal)) => format!("CLI was killed by signal {signal}"),
    };
    let error = ProviderError::failed(message);
    match output.ended {
        ProgramExit::Code(code) => error.with("exit_code", code),
        ProgramExit::Signal(signal) => error.with("signal", signal),
    }
}

fn aborted() -> ProviderError {
    ProviderError::new(ProviderErrorKind::Cancelled, "CLI provider request was aborted")
}

fn run_error(error: &RunError) -> ProviderError {
    match error {
        RunError::TimedOut { after, .. } => ProviderError::timed_out("CLI provider", *after),
        RunError::Cancelled => aborted(),
        RunError::Sandbox(_) => ProviderError::not_started(error.to_string()),
        RunError::OverLimit { .. } => ProviderError::failed(format!("the command was {error}")),
        RunError::Spawn { source, .. } => {
            let hint = match source.kind() {
                io::ErrorKind::ArgumentListTooLong => {
                    "; the prompt is too long for a command line, so pass it in a file with `{FILES}`"
                }
                _ => "",
            };
            ProviderError::not_started(format!("{error}: {source}{hint}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(format: &str, path: &str, expected: &str) {
        assert_eq!(FilesFormat::new(format.to_owned()).show(Path::new(path)), expected);
    }

    #[test]
    fn files_are_written_as_asked() {
        check("{path}", "/a b/c.md", "'/a b/c.md'");
        check("", "/c.md", "'/c.md'");
        check("--file {basename}={path} {x", "/a/it's", r#"--file 'it'"'"'s'='/a/it'"'"'s' {x"#);
        check("{path}", "/{basename}/{path}", "'/{basename}/{path}'");
    }
}
