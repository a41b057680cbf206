//! What was changed since a Git revision.

use crate::config::Env;
use crate::evaluators::ChangedFiles;
use crate::process::{ChildEnvironment, Command, Gentle, Processes, RunError, Stdin};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long Git may take for one answer.
const LIMIT: Duration = Duration::from_mins(2);
/// What Git needs to run, and to find the user's settings: which directories are safe, which files are ignored. Nothing else
/// reaches it: in a hook, `GIT_DIR` and `GIT_INDEX_FILE` mean another repository or another state of it.
const TO_RUN: &[&str] =
    &["PATH", "TMPDIR", "LD_LIBRARY_PATH", "DEVELOPER_DIR", "HOME", "XDG_CONFIG_HOME"];
/// How much Git may say. A path is seldom longer than 100 bytes.
const CAP: usize = 64 << 20;

/// Why that cannot be said.
#[derive(Debug, thiserror::Error)]
pub enum ChangedError {
    #[error("`--changed-since` needs a Git repository, and `{}` is in none", .0.display())]
    NoRepository(PathBuf),
    #[error("Git does not know the revision `{0}`")]
    NoRevision(String),
    #[error("`--changed-since` needs the program `git`: {0}")]
    NoGit(io::Error),
    #[error("`git {command}` failed: {how}")]
    Git { command: String, how: String },
}

/// The files in the working tree that are not as they were at a revision, new ones included, those that Git ignores left
/// out.
pub async fn changed_since(
    revision: &str,
    dir: &Path,
    (env, processes): (&Env, &Processes),
) -> Result<ChangedFiles, ChangedError> {
    let git = Git { dir: dir.to_owned(), env, processes };
    let top = git.try_ask(&["rev-parse", "--show-toplevel"]).await?;
    let top = top.ok_or_else(|| ChangedError::NoRepository(dir.to_owned()))?;
    let top = PathBuf::from(top.trim_end_matches('\n'));
    let name = format!("{revision}^{{commit}}");
    let commit = git.try_ask(&["rev-parse", "--verify", "--end-of-options", &name]).await?;
    let commit = commit.ok_or_else(|| ChangedError::NoRevision(revision.to_owned()))?;
    let git = Git { dir: top.clone(), env, processes };
    let changed = git.ask(&["diff", "--name-only", "--no-renames", "-z", commit.trim()]).await?;
    let new = git.ask(&["ls-files", "--others", "--exclude-standard", "-z"]).await?;
    let paths = changed.split('\0').chain(new.split('\0')).filter(|path| !path.is_empty());
    Ok(paths.map(|path| top.join(path)).collect())
}

struct Git<'a> {
    dir: PathBuf,
    env: &'a Env,
    processes: &'a Processes,
}

impl Git<'_> {
    /// What a command prints, which must end well.
    async fn ask(&self, args: &[&str]) -> Result<String, ChangedError> {
        let how = "it says no".to_owned();
        let failed = || ChangedError::Git { command: args.join(" "), how };
        self.try_ask(args).await?.ok_or_else(failed)
    }

    /// What a command prints; `None` if it fails.
    async fn try_ask(&self, args: &[&str]) -> Result<Option<String>, ChangedError> {
        let argv = std::iter::once("git").chain(args.iter().copied()).map(OsString::from);
        let command = Command {
            argv: argv.collect(),
            cwd: self.dir.clone(),
            env: ChildEnvironment::only(self.env, TO_RUN),
            stdin: Stdin::Nothing,
            time_limit: Some(LIMIT),
            output_cap: CAP,
            gentle: Gentle::Kill,
            sandbox: None,
        };
        let failed = |how: String| ChangedError::Git { command: args.join(" "), how };
        let output = match self.processes.run(command, &CancellationToken::new()).await {
            Ok(output) => output,
            Err(RunError::Spawn { source, .. }) => return Err(ChangedError::NoGit(source)),
            Err(error) => return Err(failed(error.to_string())),
        };
        if !output.ended.is_success() {
            return Ok(None);
        }
        let bytes = output.stdout.bytes_if_whole();
        let bytes =
            bytes.ok_or_else(|| failed("it has more to say than can be kept".to_owned()))?;
        Ok(Some(String::from_utf8_lossy(bytes).into_owned()))
    }
}
