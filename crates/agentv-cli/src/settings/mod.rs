//! Arguments and environment → settings. The only place that reads the environment and the working directory.

mod github;
mod last_failed;
mod order;
mod runs;

pub(crate) use github::GithubActions;
pub(crate) use order::{RunOrder, Showing, files};
pub(crate) use runs::{AGES, RUN_HELP};

use crate::terminal::{self, Screen, StandardOutput};
use agentv_runtime::config::Env;
use agentv_runtime::run_dir::{DamagedRun, Runs};
use agentv_runtime::session::{self, DAMAGED_HELP};
use agentv_wire::{RunInfo, env};
use std::io::{self, IsTerminal as _};
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// Where the program was started: the environment of a session, and where people look at it from.
#[derive(Debug)]
pub(crate) struct Environment {
    pub session: session::Environment,
    /// From where people see paths: the working directory, but for a demo in a folder below it.
    pub shown_from: PathBuf,
    /// Where the command prints.
    pub output: StandardOutput,
}

impl Deref for Environment {
    type Target = session::Environment;

    fn deref(&self) -> &Self::Target {
        &self.session
    }
}

impl Environment {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that reads the environment"
    )]
    pub(crate) fn capture() -> io::Result<Self> {
        let working_dir = std::env::current_dir()?;
        let (mut variables, mut opaque) = (Vec::new(), Vec::new());
        for (name, value) in std::env::vars_os() {
            let Ok(name) = name.into_string() else { continue };
            match value.into_string() {
                Ok(value) => variables.push((name, value)),
                Err(_) => opaque.push(name),
            }
        }
        let env = Env::new(variables).with_opaque(opaque);
        let session = session::Environment::at(working_dir.clone(), env);
        Ok(Self { session, shown_from: working_dir, output: StandardOutput::default() })
    }

    /// Where data and progress lines go.
    pub(crate) fn screen(&self) -> Screen {
        self.output.screen()
    }

    /// The run folders of the project.
    pub(crate) fn runs(&self) -> Runs {
        Runs::of(&self.project_root)
    }

    /// All runs that something is known of, the newest first. Folders that are damaged are told of.
    pub(crate) fn listed_runs(&self) -> Vec<RunInfo> {
        let runs = self.runs();
        for DamagedRun { id, is_known, error } in runs.damaged() {
            let help = if is_known {
                format!("the journal has the rest: `agentv eval --resume {id}` writes it again")
            } else {
                DAMAGED_HELP.replace("RUN", &id)
            };
            terminal::warn(&format!("{error}; {help}"));
        }
        runs.list()
    }

    /// Where runs are looked for by their ids, the nearest first. Earlier versions kept them in the working directory.
    pub(crate) fn bases(&self) -> [&Path; 3] {
        [&self.working_dir, &self.project_root, &self.repo_root]
    }

    /// Whether standard output is a terminal that can be drawn over: neither a dumb one nor the log of a CI job.
    pub(crate) fn is_watched(&self) -> bool {
        let is_on = |value: &str| !matches!(value, "" | "0" | "false");
        let is_job = self.env.get(env::CI).is_some_and(is_on);
        let is_dumb = self.env.get(env::TERM).is_none_or(|term| term == "dumb");
        io::stdout().is_terminal() && !is_job && !is_dumb
    }

    /// Whether colours are wanted without a terminal, as in `CLICOLOR_FORCE=1 agentv eval … | less -R`.
    pub(crate) fn wants_colours(&self) -> bool {
        let is_set = |name: &str| self.env.get(name).is_some_and(|value| !value.is_empty());
        is_set(env::CLICOLOR_FORCE)
            && self.env.get(env::CLICOLOR_FORCE) != Some("0")
            && !is_set(env::NO_COLOR)
    }

    /// A path for people, who may be elsewhere than the session.
    pub(crate) fn pointed(&self, path: &Path) -> String {
        path.strip_prefix(&self.shown_from).unwrap_or(path).display().to_string()
    }
}
