//! Drives the window of a subagent: claim, wake, ask, wait.

use super::claim::{Focus, SubagentClaim};
use super::folder::{self, CodeWorkspace};
use super::mail::Mail;
use super::subagents::{self, ClaimError, Provisioning, claim_lowest};
use super::{Deps, Edition, INSIDERS, VsCodeSettings};
use crate::config::Env;
use crate::deadline::{self, QueueTimer};
use crate::process::{
    Command, EnvironmentRule, Gentle, Output, Processes, RunError, SecretPolicy, Stdin, find, quote,
};
use agentv_core::{CallContext, ProviderError, Request, Response, TargetName};
use agentv_wire::Object;
use serde_json::json;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

/// `code --status` asks a running VS Code, which may be busy.
const STATUS_LIMIT: Duration = Duration::from_secs(10);
/// How long opening a window, or handing over a chat, may take at most; a chat that answers itself is not limited.
const OPEN_LIMIT: Duration = Duration::from_mins(1);
/// How long a new window may take to be ready.
const WAKE_LIMIT: Duration = Duration::from_mins(1);
/// Between the focus of a window and the chat, which goes to the window with the focus; and how long a chat takes to begin.
const FOCUS_PAUSE: Duration = Duration::from_millis(500);
/// How often it is looked whether a window is ready, and whether a subagent is free.
const LOOK: Duration = Duration::from_millis(200);
/// How long the command may go on after the response is there; a stand-in tidies up.
const CHAT_GRACE: Duration = Duration::from_secs(2);
/// More than anybody says.
const OUTPUT_CAP: usize = 1 << 20;
/// How much of what the command said goes into an error.
const SAID_CHARS: usize = 2000;

/// VS Code as one target uses it.
#[derive(Debug)]
pub(super) struct Editor {
    settings: VsCodeSettings,
    rule: EnvironmentRule,
    secrets: SecretPolicy,
    edition: &'static Edition,
    target: TargetName,
    eval_dir: PathBuf,
    env: Env,
    processes: Arc<Processes>,
}

impl Editor {
    pub(super) fn new(settings: VsCodeSettings, edition: &'static Edition, deps: &Deps) -> Self {
        // 2.x goes by the command.
        let is_insiders = settings.vscode_cmd.as_deref() == Some(INSIDERS.command);
        Self {
            edition: if is_insiders { &INSIDERS } else { edition },
            rule: settings.rule(deps),
            secrets: deps.secrets.clone(),
            settings,
            target: deps.target.clone(),
            eval_dir: deps.eval_dir.clone(),
            env: deps.env.clone(),
            processes: Arc::clone(&deps.processes),
        }
    }

    /// A newcomer has no subagent yet. Where there are some, the user decides how many windows there are. If it cannot be
    /// made, the request will say so.
    pub(super) fn provision_first(&self, cx: &CallContext) {
        let Ok(root) = self.root() else { return };
        if self.settings.dry_run || subagents::numbers(&root).is_ok_and(|found| !found.is_empty()) {
            return;
        }
        match subagents::provision(&root, 1, Provisioning::Make) {
            Ok(_) => cx.log.verbose(|| {
                format!("[{}] provisioned a first subagent in {}", self.target, root.display())
            }),
            Err(error) => cx.log.warn(format!(
                "[{}] no subagent could be made in {}: {error}",
                self.target,
                root.display()
            )),
        }
    }

    pub(super) async fn ask(
        &self,
        request: &Request,
        cx: &CallContext,
    ) -> Result<Response, ProviderError> {
        if self.settings.dry_run {
            return Ok(self.would_be(request));
        }
        let mut responses = self.converse(std::slice::from_ref(request), Mail::one, cx).await?;
        responses.pop().ok_or_else(|| ProviderError::failed("VS Code gave no response"))
    }

    pub(super) async fn ask_all(
        &self,
        requests: &[Request],
        cx: &CallContext,
    ) -> Result<Vec<Response>, ProviderError> {
        if self.settings.dry_run {
            return Ok(requests.iter().map(|request| self.would_be(request)).collect());
        }
        let started = Instant::now();
        let mut responses = self.converse(requests, Mail::batch, cx).await?;
        #[expect(clippy::cast_precision_loss, reason = "a batch has far fewer than 2^52 requests")]
        let share = started.elapsed().as_secs_f64() * 1000.0 / requests.len().max(1) as f64;
        for response in &mut responses {
            response.reported.duration_ms = Some(share.round());
        }
        Ok(responses)
    }

    /// A dry run: what would have been used, and no answer.
    fn would_be(&self, request: &Request) -> Response {
        let root = self.root().ok();
        let metadata = json!({
            "dry_run": true,
            "vscode_cmd": self.command(),
            "subagent_root": root,
            "subagent": root.as_deref().and_then(subagents::lowest_free),
            "input_files": request.input_files().collect::<Vec<_>>(),
        });
        let metadata = metadata.as_object().cloned().unwrap_or_default();
        Response { metadata, ..Response::default() }
    }

    /// One chat: claims a subagent, writes the mail, tells the window, waits for the responses.
    async fn converse(
        &self,
        requests: &[Request],
        write: fn(&Path, &str, &[Request]) -> io::Result<Mail>,
        cx: &CallContext,
    ) -> Result<Vec<Response>, ProviderError> {
        let (program, workspace) = (self.program()?, self.workspace()?);
        let claim = self.claim(cx).await?;
        let name = claim.name();
        cx.log.verbose(|| format!("[{}] claimed {}", self.target, claim.dir().display()));
        let cannot = |error: io::Error| unusable(claim.dir(), &error);
        let more: Vec<PathBuf> = requests.iter().filter_map(|one| one.workspace.clone()).collect();
        folder::prepare(claim.dir(), workspace, &more).map_err(cannot)?;
        let mail = write(claim.dir(), &timestamp(), requests).map_err(cannot)?;

        let call = CallContext { cancel: cx.cancel.child_token(), ..cx.clone() };
        let count = u32::try_from(requests.len()).unwrap_or(u32::MAX).max(1);
        let limit = self.settings.timeout_seconds.map(|limit| limit.saturating_mul(count));
        let (window, files) = (Window { editor: self, program, claim: &claim }, files(requests));
        let asking = window.ask(&mail, &files, &call);
        let outcome = deadline::within(limit, asking, &call, "VS Code").await;
        outcome.map_err(|error| blame(error, &mail).with("subagent", name.as_str()))?;
        let responses = mail.read().map_err(cannot)?;
        Ok(responses.into_iter().map(|(text, file)| response(text, &name, file)).collect())
    }

    /// The command line tool as a file.
    fn program(&self) -> Result<PathBuf, ProviderError> {
        find(self.command(), &self.eval_dir, &self.env).map_err(|error| {
            ProviderError::failed(format!(
                "{error}; name the command of VS Code with `vscode_cmd`, or install it from the command palette \
                 (`Shell Command: Install '{}' command in PATH`)",
                self.edition.command
            ))
        })
    }

    /// The template, if there is one.
    fn workspace(&self) -> Result<CodeWorkspace, ProviderError> {
        match &self.settings.workspace_template {
            None => Ok(CodeWorkspace::default()),
            Some(path) => CodeWorkspace::read(&self.resolve(path))
                .map_err(|error| ProviderError::failed(error.to_string())),
        }
    }

    /// Claims a subagent. Where other requests have them all, this one waits in line.
    async fn claim(&self, cx: &CallContext) -> Result<SubagentClaim, ProviderError> {
        let root = self.root()?;
        let who = format!("process {}, run {}", std::process::id(), self.processes.run_id());
        let mut line = None;
        loop {
            match claim_lowest(&root, &who) {
                Ok(claim) => return Ok(claim),
                Err(ClaimError::InUse) => {}
                Err(error @ ClaimError::Locked { .. }) => {
                    return Err(ProviderError::failed(format!("{error}. {}", self.advice(&root))));
                }
                Err(error) => return Err(ProviderError::failed(error.to_string())),
            }
            if line.is_none() {
                cx.log.verbose(|| format!("[{}] waits for a free subagent", self.target));
                line = Some(QueueTimer::enter(&cx.queue_time));
            }
            or_cancelled(sleep(LOOK), cx).await?;
        }
    }

    /// What to do when all subagents are locked.
    fn advice(&self, root: &Path) -> String {
        let insiders = if self.edition.provider == INSIDERS.provider { " --insiders" } else { "" };
        let is_default =
            subagents::default_root(self.edition, &self.env).is_some_and(|it| it == root);
        let root = if is_default {
            String::new()
        } else {
            format!(" --root {}", quote(&root.to_string_lossy()))
        };
        format!(
            "Provision another with: agentv provision vscode --count 1{insiders}{root}; \
             or delete the `subagent.lock` of one that is not in use"
        )
    }

    fn command(&self) -> &str {
        self.settings.vscode_cmd.as_deref().unwrap_or(self.edition.command)
    }

    /// Where the subagents are. Its text goes into requests line by line, so it must be text on one line.
    fn root(&self) -> Result<PathBuf, ProviderError> {
        let root = match self.settings.subagent_root.as_deref() {
            Some(root) => Some(self.resolve(root)),
            None => subagents::default_root(self.edition, &self.env),
        };
        let root = root.ok_or_else(|| {
            let problem = "cannot place subagents: `HOME` is not set";
            ProviderError::failed(format!("{problem}; set `subagent_root` of the target"))
        })?;
        match root.to_str() {
            Some(text) if !text.contains(['\n', '\r']) => Ok(root),
            _ => Err(ProviderError::failed(format!(
                "`subagent_root` must be UTF-8 text on one line, not {}",
                root.display()
            ))),
        }
    }

    /// A path of the targets file: `~/` is the home directory, others are relative to the eval file's.
    fn resolve(&self, path: &str) -> PathBuf {
        let home = self.env.get("HOME").filter(|home| !home.is_empty());
        match (path.strip_prefix("~/"), home) {
            (Some(rest), Some(home)) => Path::new(home).join(rest),
            _ => self.eval_dir.join(path),
        }
    }
}

/// The window of a subagent that is claimed.
struct Window<'a> {
    editor: &'a Editor,
    program: PathBuf,
    claim: &'a SubagentClaim,
}

impl Window<'_> {
    /// Has the chat follow the mail, and waits until every response is there.
    async fn ask(
        &self,
        mail: &Mail,
        attachments: &[&Path],
        cx: &CallContext,
    ) -> Result<(), ProviderError> {
        let focus = self.focus(cx).await?;
        self.wake(cx).await?;
        let head = ["-r", "chat", "-m", &chat_id()].map(OsString::from).into_iter();
        let rest = mail.chat_arguments(attachments).into_iter().map(PathBuf::into_os_string);
        // The command hands over and ends, and the answer comes later; or it is a stand-in that answers itself.
        let mut chat = std::pin::pin!(self.hand_over(head.chain(rest).collect(), None, cx));
        let mut arrived = std::pin::pin!(mail.arrived());
        // The focus is free when the chat has begun, at the latest after this long.
        let begun = timeout(FOCUS_PAUSE, &mut chat).await;
        drop(focus);
        if let Ok(called) = begun {
            called?;
        } else {
            tokio::select! {
                called = &mut chat => called?,
                () = &mut arrived => {
                    let _ = timeout(CHAT_GRACE, chat).await;
                    return Ok(());
                }
            }
        }
        or_cancelled(arrived, cx).await
    }

    /// Waits for the focus, in line.
    async fn focus(&self, cx: &CallContext) -> Result<Focus, ProviderError> {
        let dir = self.claim.dir();
        let root = dir.parent().unwrap_or(dir);
        let mut line = None;
        loop {
            match Focus::attempt(root) {
                Ok(Some(focus)) => return Ok(focus),
                Ok(None) => {}
                Err(error) => return Err(unusable(root, &error)),
            }
            line.get_or_insert_with(|| QueueTimer::enter(&cx.queue_time));
            or_cancelled(sleep(LOOK), cx).await?;
        }
    }

    /// Opens the window, or gives it the focus. A new one gets the time to start.
    async fn wake(&self, cx: &CallContext) -> Result<(), ProviderError> {
        let dir = self.claim.dir();
        let is_open = self.is_open(cx).await?;
        let alive = folder::alive_file(dir);
        if !is_open {
            let _ = std::fs::remove_file(&alive);
            folder::write_wakeup_agent(dir).map_err(|error| unusable(dir, &error))?;
        }
        let workspace = folder::workspace_file(dir).into_os_string();
        self.hand_over(vec![workspace], Some(OPEN_LIMIT), cx).await?;
        if !is_open {
            let order = format!("create a file named .alive in the {} folder", self.claim.name());
            let arguments = ["-r", "chat", "-m", "wakeup", &order].map(OsString::from);
            self.hand_over(arguments.to_vec(), Some(OPEN_LIMIT), cx).await?;
            let looking = async {
                while !alive.exists() {
                    sleep(LOOK).await;
                }
            };
            if or_cancelled(timeout(WAKE_LIMIT, looking), cx).await?.is_err() {
                cx.log.warn(format!(
                    "[{}] the window of {} did not say that it is ready; asking it all the same",
                    self.editor.target,
                    self.claim.name()
                ));
            }
        }
        or_cancelled(sleep(FOCUS_PAUSE), cx).await
    }

    /// Whether VS Code runs and has the window. That it cannot be asked means that it does not run.
    async fn is_open(&self, cx: &CallContext) -> Result<bool, ProviderError> {
        let command = self.command(vec!["--status".into()], Some(STATUS_LIMIT));
        match self.editor.processes.run(command, cx).await {
            Ok(output) => Ok(lists(&output.stdout.text_lossy(), &self.claim.name())),
            Err(RunError::TimedOut { .. }) => Ok(false),
            Err(error) => Err(self.run_error(&error)),
        }
    }

    /// Runs the command for something that goes on in VS Code. If that was not running, it is started and stays.
    async fn hand_over(
        &self,
        arguments: Vec<OsString>,
        limit: Option<Duration>,
        cx: &CallContext,
    ) -> Result<(), ProviderError> {
        let command = self.command(arguments, limit);
        let output = self.editor.processes.hand_over(command, cx).await;
        let output = output.map_err(|error| self.run_error(&error))?;
        if output.ended.is_success() { Ok(()) } else { Err(self.exit_error(&output)) }
    }

    fn command(&self, arguments: Vec<OsString>, time_limit: Option<Duration>) -> Command {
        let Editor { rule, secrets, .. } = self.editor;
        Command {
            argv: std::iter::once(self.program.clone().into_os_string()).chain(arguments).collect(),
            cwd: self.claim.dir().to_owned(),
            env: rule.environment(secrets.used.iter().map(String::as_str)),
            stdin: Stdin::Nothing,
            time_limit,
            output_cap: OUTPUT_CAP,
            gentle: Gentle::Terminate,
            sandbox: None,
        }
    }

    fn exit_error(&self, output: &Output) -> ProviderError {
        let said = [&output.stderr, &output.stdout].map(|stream| stream.tail(SAID_CHARS));
        let said = said.into_iter().find(|said| !said.is_empty());
        let (command, ended) = (self.editor.command(), output.ended);
        ProviderError::failed(match said {
            Some(said) => format!("`{command}` failed with {ended}: {said}"),
            None => format!("`{command}` failed with {ended}"),
        })
    }

    fn run_error(&self, error: &RunError) -> ProviderError {
        match error {
            RunError::Cancelled => ProviderError::cancelled(),
            RunError::TimedOut { after, .. } => {
                ProviderError::timed_out(&format!("`{}`", self.editor.command()), *after)
            }
            RunError::Spawn { source, .. } => {
                ProviderError::not_started(format!("{error}: {source}"))
            }
            RunError::Sandbox(_) | RunError::OverLimit { .. } => {
                ProviderError::failed(error.to_string())
            }
        }
    }
}

/// Waits, unless the run is stopped meanwhile.
async fn or_cancelled<T>(
    waiting: impl Future<Output = T>,
    cx: &CallContext,
) -> Result<T, ProviderError> {
    tokio::select! {
        biased;
        () = cx.cancel.cancelled() => Err(ProviderError::cancelled()),
        done = waiting => Ok(done),
    }
}

fn unusable(dir: &Path, error: &io::Error) -> ProviderError {
    ProviderError::failed(format!("`{}` cannot be used: {error}", dir.display()))
}

/// Says what was waited for.
fn blame(mut error: ProviderError, mail: &Mail) -> ProviderError {
    if let Some(missing) = mail.first_missing().filter(|_| error.is_timeout()) {
        error.message = format!("{}; `{}` does not exist", error.message, missing.display());
    }
    error
}

fn response(text: String, subagent: &str, file: &Path) -> Response {
    let mut metadata = Object::new();
    metadata.insert("subagent".to_owned(), subagent.into());
    metadata.insert("response_file".to_owned(), file.to_string_lossy().into());
    Response { metadata, ..Response::text(text) }
}

/// Every file of every request, once, in the order in which they are first named.
fn files(requests: &[Request]) -> Vec<&Path> {
    let mut files: Vec<&Path> = Vec::new();
    for file in requests.iter().flat_map(Request::input_files).map(PathBuf::as_path) {
        if !files.contains(&file) {
            files.push(file);
        }
    }
    files
}

/// Whether the status names this subagent, and not only one whose name begins like it.
fn lists(status: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    status.match_indices(name).any(|(at, _)| {
        !status[..at].ends_with(is_part) && !status[at + name.len()..].starts_with(is_part)
    })
}

/// Now, as `YYYYMMDDhhmmss` in UTC.
fn timestamp() -> String {
    crate::clock::now().strftime("%Y%m%d%H%M%S").to_string()
}

/// Eight hexadecimal digits.
fn chat_id() -> String {
    // Not a matter of security: without random bytes the clock will do.
    let random = getrandom::u32()
        .unwrap_or_else(|_| crate::clock::now().subsec_nanosecond().cast_unsigned());
    format!("{random:08x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_known_by_its_whole_name() {
        let status = "|  Window (subagent-10 (Workspace))\n|    Folder (my-subagent-3)\n| subagent-2.code-workspace";
        for (name, expected) in [
            ("subagent-1", false),
            ("subagent-10", true),
            ("subagent-3", false),
            ("subagent-2", true),
        ] {
            assert_eq!(lists(status, name), expected, "{name}");
        }
    }

    #[test]
    fn names_have_their_form() {
        let digits = |text: &str, length| {
            text.len() == length && text.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        assert!(digits(&timestamp(), 14) && timestamp().starts_with("20"));
        assert!(digits(&chat_id(), 8));
    }
}
