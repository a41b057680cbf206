//! Git as a tool for comparing: it reads no configuration of the user's, the system's or the workspace's, and runs nothing.

use super::WorkspaceError;
use crate::config::Env;
use crate::process::{ChildEnvironment, Command, Gentle, Output, Processes, RunError, Stdin};
use agentv_core::CallContext;
use agentv_core::provider::seconds;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// How long a comparison may take where no limit is set, and the limits of that: a quick agent's files take their time,
/// too, and no clock has room for every number.
const LIMIT: Duration = Duration::from_mins(10);
const LEAST_LIMIT: Duration = Duration::from_secs(10);
const LONGEST_LIMIT: Duration = Duration::from_hours(24);
/// What Git needs to run at all. Nothing else reaches it: `GIT_DIR`, `GIT_CONFIG_COUNT` and their kin would change what it
/// does, and secrets are not its business.
const TO_RUN: &[&str] = &["PATH", "TMPDIR", "LD_LIBRARY_PATH", "DEVELOPER_DIR"];
/// How much of what Git says goes into an error.
const SAID_CHARS: usize = 500;

/// The settings of a baseline. No line is there by chance: nothing is converted or guessed, nothing runs in the background,
/// no name is refused for the sake of other systems, nothing is synced to disk, and what is large is not read line by line.
pub(super) const CONFIG: &str = "\
[core]
\trepositoryformatversion = 0
\tbare = false
\tautocrlf = false
\tsafecrlf = false
\tfileMode = true
\tsymlinks = true
\tignoreCase = false
\tprotectHFS = false
\tprotectNTFS = false
\tquotePath = false
\thooksPath = /dev/null
\tattributesFile = /dev/null
\texcludesFile = /dev/null
\tfsmonitor = false
\tuntrackedCache = false
\tfsync = none
\tlooseCompression = 0
\tbigFileThreshold = 16m
[gc]
\tauto = 0
[maintenance]
\tauto = false
";

/// These win over every `.gitattributes` in the workspace: a file is compared as it is, and is text if it looks like text,
/// so that no agent can hide what it wrote.
pub(super) const ATTRIBUTES: &str = "* -text !eol -filter -ident !working-tree-encoding !diff\n";

/// How Git is run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Git<'a> {
    pub env: &'a Env,
    pub processes: &'a Processes,
    pub call: &'a CallContext,
    pub deadline: &'a Deadline,
}

/// When a comparison with all its commands has to be over: the time limit of the agent holds for it once more.
#[derive(Debug, Clone)]
pub(super) struct Deadline {
    limit: Duration,
    end: Instant,
    cancel: CancellationToken,
}

impl Deadline {
    pub(super) fn of(call: &CallContext) -> Self {
        let limit = call.time_limit.unwrap_or(LIMIT).clamp(LEAST_LIMIT, LONGEST_LIMIT);
        Self { limit, end: Instant::now() + limit, cancel: call.cancel.clone() }
    }

    fn left(&self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }

    /// For work of ours that takes a while.
    pub(super) fn check(&self, command: &str) -> Result<(), WorkspaceError> {
        if self.cancel.is_cancelled() {
            return Err(WorkspaceError::Cancelled);
        }
        if self.left().is_zero() { Err(self.passed(&[command])) } else { Ok(()) }
    }

    fn passed(&self, args: &[&str]) -> WorkspaceError {
        failed(args, format!("timed out: all of it took longer than {}", seconds(self.limit)))
    }
}

/// One command.
#[derive(Debug)]
pub(super) struct GitCommand<'a> {
    /// Where the baseline is.
    pub git_dir: &'a Path,
    /// What is compared with it.
    pub work_tree: Option<&'a Path>,
    pub args: &'a [&'a str],
    pub stdin: Vec<u8>,
    pub output_cap: usize,
}

impl Git<'_> {
    /// Runs a command to its end, whatever that is.
    pub(super) async fn run(&self, order: GitCommand<'_>) -> Result<Output, WorkspaceError> {
        let GitCommand { git_dir, work_tree, args, stdin, output_cap } = order;
        let places = [("--git-dir=", Some(git_dir)), ("--work-tree=", work_tree)];
        let mut argv: Vec<OsString> = vec!["git".into()];
        for (flag, path) in places.into_iter().filter_map(|(flag, path)| Some((flag, path?))) {
            let mut flag = OsString::from(flag);
            flag.push(path);
            argv.push(flag);
        }
        argv.extend(args.iter().map(OsString::from));
        let command = Command {
            argv,
            // Not the workspace, which may be gone.
            cwd: git_dir.to_owned(),
            env: ChildEnvironment::only(self.env, TO_RUN).with(environment(git_dir)),
            stdin: if stdin.is_empty() { Stdin::Nothing } else { Stdin::Bytes(stdin) },
            time_limit: Some(self.deadline.left()),
            output_cap,
            gentle: Gentle::Kill,
            sandbox: None,
        };
        self.processes.run(command, self.call).await.map_err(|error| match error {
            RunError::Cancelled => WorkspaceError::Cancelled,
            RunError::Spawn { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                WorkspaceError::NoGit
            }
            RunError::Spawn { source, .. } => failed(args, source.to_string()),
            RunError::TimedOut { .. } => self.deadline.passed(args),
            RunError::Sandbox(_) | RunError::OverLimit { .. } => failed(args, error.to_string()),
        })
    }

    /// Runs a command that must end well, and gives all that it printed.
    pub(super) async fn ask(&self, order: GitCommand<'_>) -> Result<Vec<u8>, WorkspaceError> {
        let args = order.args;
        let output = well(args, self.run(order).await?)?;
        let whole = output.stdout.bytes_if_whole().map(<[u8]>::to_vec);
        whole.ok_or_else(|| failed(args, "has more to say than can be kept".to_owned()))
    }
}

/// The output of a command that ended well.
pub(super) fn well(args: &[&str], output: Output) -> Result<Output, WorkspaceError> {
    if output.ended.is_success() {
        return Ok(output);
    }
    let said = output.stderr.tail(SAID_CHARS);
    Err(failed(args, format!("ended with {}: {said}", output.ended)))
}

fn failed(args: &[&str], how: String) -> WorkspaceError {
    WorkspaceError::Git { command: args.first().copied().unwrap_or_default().to_owned(), how }
}

/// `HOME` is for a Git that does not know `GIT_CONFIG_GLOBAL` yet.
fn environment(git_dir: &Path) -> Vec<(String, String)> {
    let home = git_dir.to_string_lossy().into_owned();
    let pairs = [
        ("HOME", home.as_str()),
        ("XDG_CONFIG_HOME", home.as_str()),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_ATTR_NOSYSTEM", "1"),
        ("GIT_LITERAL_PATHSPECS", "1"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("LC_ALL", "C"),
    ];
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}
