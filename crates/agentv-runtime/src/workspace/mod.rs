//! The directory that an agent works in: a copy of a template, made for one attempt, and what the agent changed in it.
//!
//! ```text
//! template ─copy─► workspace ─setup─► baseline ─agent─► changes ─judges─► kept or removed
//! ```
//!
//! It lies in the system's directory for temporary files and not inside of the user's repository: an agent that commits
//! where there is no repository of its own would otherwise commit to the user's, and would read instructions from above.
//! The baseline is a Git directory that lies elsewhere, so the agent may have a repository, make one, or commit as it
//! likes: only the files count. Git reads no configuration of the user's or of the workspace's, and runs no program.

mod baseline;
mod copy;
mod diff;
mod git;
mod large;
mod scratch;
mod setup;

use crate::config::Env;
use crate::process::{EnvironmentRule, Processes, SecretPolicy};
use agentv_core::id::file_name;
use agentv_core::workspace::Keep;
use agentv_core::{CallContext, WorkspaceSpec};
use agentv_wire::FileChanges;
use baseline::Baseline;
use git::{Deadline, Git};
use scratch::Scratch;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Makes workspaces.
#[derive(Debug, Clone)]
pub struct Workshop {
    /// The directory of the eval file.
    pub eval_dir: PathBuf,
    pub env: Env,
    /// Which of its secrets setup commands get.
    pub secrets: SecretPolicy,
    pub processes: Arc<Processes>,
}

/// A directory for one attempt. It is removed when this is dropped, unless it is kept.
#[derive(Debug)]
pub struct Workspace {
    /// Holds the workspace and nothing else, so that an agent which moves or removes its directory stays among its own.
    scratch: Scratch,
    path: PathBuf,
    /// What the agent found; `None` until the setup is over.
    baseline: Option<Baseline>,
    keep: Keep,
}

/// Why there is no workspace, or nothing can be said of one.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    #[error("cannot create a folder for the workspace: {0}")]
    Place(io::Error),
    #[error("the template `{}` holds the directory for temporary files, `{}`, which cannot be copied into itself; choose a smaller template, or set `TMPDIR`", template.display(), temp.display())]
    HoldsItself { template: PathBuf, temp: PathBuf },
    #[error("the template cannot be copied: `{}`: {source}", path.display())]
    Copy { path: PathBuf, source: io::Error },
    #[error("the setup of the workspace failed: `{command}` {how}")]
    Setup { command: String, how: String },
    #[error(
        "a workspace needs the program `git`, which was not found; install it, or put it in `PATH`"
    )]
    NoGit,
    #[error("the workspace cannot be compared: `git {command}` {how}")]
    Git { command: String, how: String },
    #[error("the run was stopped")]
    Cancelled,
}

impl Workshop {
    /// A copy of the template, not set up yet. `name` shows in the directory's name.
    pub async fn copy(
        &self,
        spec: &WorkspaceSpec,
        name: &str,
        call: &CallContext,
    ) -> Result<Workspace, WorkspaceError> {
        let (template, cancel) = (spec.template.clone(), call.cancel.clone());
        // Copying opens files, and there are as many threads for it as there are cases.
        let _place = self.processes.place(call).await.map_err(|_| WorkspaceError::Cancelled)?;
        let prefix = self.processes.temp_prefix(&file_name(name));
        // The directory is owned by whoever copies: if the caller is gone, it is removed when the copying ends.
        let copied = blocking(move || {
            let scratch = Scratch::new(&prefix).map_err(WorkspaceError::Place)?;
            let path = scratch.path().join("workspace");
            let odd = copy::tree(template.as_deref(), &path, &cancel)?;
            Ok((scratch, path, odd))
        });
        let (scratch, path, odd) = copied.await?;
        for file in odd {
            let file = file.display();
            call.log.warn(format!(
                "`{file}` of the template is not a file, directory or link: not copied"
            ));
        }
        Ok(Workspace { scratch, path, baseline: None, keep: spec.keep.unwrap_or_default() })
    }

    /// Runs the setup, each command within the limit, and takes the baseline.
    pub async fn prepare(
        &self,
        workspace: &mut Workspace,
        spec: &WorkspaceSpec,
        limit: Option<Duration>,
        call: &CallContext,
    ) -> Result<(), WorkspaceError> {
        let passed = spec.pass_env.as_deref().unwrap_or_default();
        let rule = EnvironmentRule::of_program(&self.env, self.secrets.scrub.targets, passed);
        for command in spec.setup.iter().flatten() {
            setup::run((self, &rule), command, &workspace.path, limit, call).await?;
        }
        let prefix = self.processes.temp_prefix("baseline");
        let dir = blocking(move || Scratch::new(&prefix).map_err(WorkspaceError::Place));
        let (dir, deadline) = (dir.await?, Deadline::of(call));
        let git = self.git(call, &deadline);
        workspace.baseline = Some(Baseline::take(dir, &git, &workspace.path).await?);
        Ok(())
    }

    /// What has changed since the baseline was taken; `None` if there is none.
    pub async fn changes(
        &self,
        workspace: &Workspace,
        call: &CallContext,
    ) -> Result<Option<FileChanges>, WorkspaceError> {
        let Some(baseline) = &workspace.baseline else { return Ok(None) };
        let found = workspace.dir();
        if found.is_none() {
            let path = workspace.path.display();
            call.log.warn(format!(
                "the workspace `{path}` is no longer a directory: its files count as deleted"
            ));
        }
        let deadline = Deadline::of(call);
        baseline.changes(&self.git(call, &deadline), found).await.map(Some)
    }

    fn git<'a>(&'a self, call: &'a CallContext, deadline: &'a Deadline) -> Git<'a> {
        Git { env: &self.env, processes: &self.processes, call, deadline }
    }
}

impl Workspace {
    /// Where the agent works.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The same, if it is still a directory: an agent may have removed it, or put a link in its place, which is not followed.
    pub fn dir(&self) -> Option<&Path> {
        self.path.symlink_metadata().is_ok_and(|found| found.is_dir()).then_some(&*self.path)
    }

    /// Which cases' workspaces stay.
    pub fn keeps(&self) -> Keep {
        self.keep
    }

    /// Leaves it where it is.
    pub fn keep(self) -> PathBuf {
        self.scratch.keep();
        self.path
    }

    /// Removes it, without holding up others as a drop would.
    pub async fn remove(self) {
        // A directory that cannot be removed is not reported; the name says whose it is.
        let _ = blocking(move || {
            drop(self);
            Ok(())
        })
        .await;
    }
}

/// Work on files, on a thread that may wait.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, WorkspaceError> + Send + 'static,
) -> Result<T, WorkspaceError> {
    let ended = tokio::task::spawn_blocking(work).await;
    ended.unwrap_or_else(|error| Err(WorkspaceError::Place(io::Error::other(error))))
}
