//! From template and request to a command, and from the command to its answer.

use super::Cli;
use crate::file_input;
use crate::process::{Command, Gentle, Output, ProgramExit, RunError, Stdin, quote};
use agentv_core::id::file_name;
use agentv_core::prompt::placeholder::{Placeholder, Template};
use agentv_core::provider::{ProviderErrorKind, Request};
use agentv_core::suite::basename;
use agentv_core::{CallContext, ProviderError};
use agentv_wire::env::{EVAL_DIR, TRIAL};
use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempPath;
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
        file: Option<TempPath>,
        cx: &CallContext,
    ) -> Result<CommandAnswer, ProviderError> {
        let cap = call.output_cap;
        let output = self.run(call, file.as_deref(), cx).await?;
        if !output.ended.is_success() {
            return Err(exit_error(&output));
        }
        let text = match &file {
            Some(path) => read(path, cap as u64, &cx.cancel).await?,
            None => printed(&output, cap)?,
        };
        let output_dir = file.as_deref().and_then(Path::parent).map(Path::to_owned);
        Ok(CommandAnswer { text, elapsed: output.elapsed, output_dir })
    }

    /// Runs a command to its end, whatever that is.
    pub(super) async fn run(
        &self,
        call: CommandCall<'_>,
        output_file: Option<&Path>,
        cx: &CallContext,
    ) -> Result<Output, ProviderError> {
        let script = call.render(&self.settings.files_format, output_file);
        cx.log.verbose(|| {
            let label = call.label.as_ref().map(|label| format!(" ({label})")).unwrap_or_default();
            let (target, cwd) = (&self.deps.target, call.cwd.display());
            format!("[cli-provider:{target}]{label} cwd={cwd} command={script}")
        });
        // In a workspace this is how the command finds what stands beside the eval file.
        let eval_dir = self.deps.eval_dir.to_string_lossy().into_owned();
        let own =
            [(EVAL_DIR.to_owned(), eval_dir), (TRIAL.to_owned(), call.values.trial.to_string())];
        let command = Command {
            argv: Command::shell(script),
            cwd: call.cwd.to_owned(),
            env: self
                .rule
                .of_call(&self.deps.secrets, cx.purpose.role)
                .with(own)
                .with(self.settings.env.0.iter().cloned()),
            stdin: Stdin::Nothing,
            time_limit: call.time_limit,
            output_cap: call.output_cap,
            gentle: Gentle::Terminate,
        };
        // In a box of its own, so that this one stays small.
        let ended = Box::pin(self.deps.processes.run(command, cx)).await;
        ended.map_err(|error| run_error(&error))
    }

    /// A path for the command to write to, if its template asks for one. Nothing is there yet, and what is there at the end
    /// is removed when the path is dropped.
    pub(super) fn output_file(
        &self,
        call: &CommandCall<'_>,
        suffix: &str,
    ) -> Result<Option<TempPath>, ProviderError> {
        if !call.template.asks_for(Placeholder::OutputFile) {
            return Ok(None);
        }
        let name = file_name(call.values.eval_id);
        let prefix = if self.settings.keep_temp_files {
            format!("agentv-{name}-")
        } else {
            self.deps.processes.temp_prefix(&name)
        };
        let made = tempfile::Builder::new()
            .prefix(&prefix)
            .suffix(suffix)
            .rand_bytes(12)
            .disable_cleanup(self.settings.keep_temp_files)
            .make(|_| Ok(()));
        made.map(|file| Some(file.into_temp_path())).map_err(|error| {
            ProviderError::failed(format!("there is no place for the output file: {error}"))
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

/// What the command wrote. It may have put anything there.
async fn read(path: &Path, cap: u64, cancel: &CancellationToken) -> Result<String, ProviderError> {
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
pub(super) fn exit_error(output: &Output) -> ProviderError {
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
