//! Arguments and environment → settings. The only place that reads the environment and the working directory.

mod github;
mod order;

pub(crate) use github::GithubActions;
pub(crate) use order::{RunOrder, Showing, files};

use agentv_runtime::config::Env;
use agentv_runtime::load::{Loader, Selection};
use agentv_runtime::process::Processes;
use agentv_runtime::run_dir::Runs;
use agentv_runtime::session;
use agentv_wire::env;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where the program was started.
#[derive(Debug)]
pub(crate) struct Environment {
    pub working_dir: PathBuf,
    pub repo_root: PathBuf,
    /// Where run folders, results and caches are.
    pub project_root: PathBuf,
    pub env: Env,
    /// From where people see paths: the working directory, but for a demo in a folder below it.
    pub shown_from: PathBuf,
}

impl Environment {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that reads the environment"
    )]
    pub(crate) fn capture() -> io::Result<Self> {
        let working_dir = std::env::current_dir()?;
        let repo_root = agentv_runtime::load::repo_root(&working_dir);
        let project_root = agentv_runtime::load::project_root(&working_dir);
        // A variable that is not text cannot be named in a file either; children inherit it all the same.
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        let shown_from = working_dir.clone();
        Ok(Self { working_dir, repo_root, project_root, env: Env::new(variables), shown_from })
    }

    /// The same for a session, which shows nothing.
    pub(crate) fn session(&self) -> session::Environment {
        session::Environment {
            working_dir: self.working_dir.clone(),
            repo_root: self.repo_root.clone(),
            project_root: self.project_root.clone(),
            env: self.env.clone(),
        }
    }

    /// The run folders of the project.
    pub(crate) fn runs(&self) -> Runs {
        Runs::of(&self.project_root)
    }

    /// Where runs are looked for by their ids, the nearest first. Earlier versions kept them in the working directory.
    pub(crate) fn bases(&self) -> [&Path; 3] {
        [&self.working_dir, &self.project_root, &self.repo_root]
    }

    /// A path as people see it: from the working directory, where it lies below that.
    pub(crate) fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.working_dir).unwrap_or(path).display().to_string()
    }

    /// Whether somebody looks at standard output who can make use of lines that are drawn over: a terminal, and neither a
    /// dumb one nor the log of a CI job.
    pub(crate) fn is_watched(&self) -> bool {
        let is_on = |value: &str| !matches!(value, "" | "0" | "false");
        let is_job = self.env.get(env::CI).is_some_and(is_on);
        let is_dumb = self.env.get(env::TERM).is_none_or(|term| term == "dumb");
        io::stdout().is_terminal() && !is_job && !is_dumb
    }

    /// Whether colours are wanted where nobody can be seen to look, as in `CLICOLOR_FORCE=1 agentv eval … | less -R`.
    pub(crate) fn wants_colours(&self) -> bool {
        let is_set = |name: &str| self.env.get(name).is_some_and(|value| !value.is_empty());
        is_set(env::CLICOLOR_FORCE)
            && self.env.get(env::CLICOLOR_FORCE) != Some("0")
            && !is_set(env::NO_COLOR)
    }

    /// Where answers are kept from run to run.
    pub(crate) fn cache_dir(&self) -> PathBuf {
        self.project_root.join(".agentv/cache")
    }

    /// The same for somebody who may be elsewhere.
    pub(crate) fn pointed(&self, path: &Path) -> String {
        path.strip_prefix(&self.shown_from).unwrap_or(path).display().to_string()
    }

    /// A loader that looks around here, for all cases.
    pub(crate) fn loader(&self, processes: &Arc<Processes>) -> Loader {
        Loader {
            working_dir: self.working_dir.clone(),
            repo_root: self.repo_root.clone(),
            project_root: self.project_root.clone(),
            env: self.env.clone(),
            processes: Arc::clone(processes),
            selection: Selection::default(),
        }
    }
}
