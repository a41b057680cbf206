//! Programs of judges in a sandbox.

use crate::config::Env;
use crate::process::sandbox::{Confinement, ConfinementError, SandboxSettings, Surroundings};
use crate::process::{ChildEnvironment, Processes};
use agentv_core::{EvalContext, EvaluatorError, Verdict};
use agentv_wire::{FailureKind, SandboxRecord};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What a judge's program is given to look at, by its path.
#[derive(Debug, Clone, Default)]
pub struct JudgedFiles {
    /// The case's files.
    pub named: Vec<PathBuf>,
    /// The candidate's workspace, as long as that is there.
    pub workspace: Option<PathBuf>,
}

impl JudgedFiles {
    pub(super) fn of(cx: &EvalContext<'_>) -> Self {
        let files = cx.case.guidelines().chain(cx.case.files());
        Self {
            named: files.map(|file| file.path.clone()).collect(),
            workspace: cx.candidate.workspace.clone(),
        }
    }
}

/// A program of a judge that is about to be started.
#[derive(Debug)]
pub(super) struct JudgeProgram<'a> {
    pub argv: &'a [OsString],
    pub cwd: &'a Path,
    pub eval_dir: &'a Path,
    /// The variables that there are, and those that it gets.
    pub env: &'a Env,
    pub child: &'a ChildEnvironment,
    pub processes: &'a Processes,
    pub proxy_port: Option<u16>,
}

impl JudgeProgram<'_> {
    /// Its sandbox, if it is to have one.
    pub(super) fn confine(
        &self,
        settings: Option<&SandboxSettings>,
        files: JudgedFiles,
    ) -> Result<Option<Confinement>, ConfinementError> {
        let Some(settings) = settings else { return Ok(None) };
        let mut named = files.named;
        named.push(self.eval_dir.to_owned());
        let surroundings = Surroundings {
            argv: self.argv,
            cwd: self.cwd,
            env: self.env,
            child: self.child,
            processes: self.processes,
            eval_dir: self.eval_dir,
            named,
            own: files.workspace.into_iter().collect(),
            output: None,
            proxy_port: self.proxy_port,
        };
        settings.confine(&surroundings).map(Some)
    }
}

/// The record's part of a sandbox.
pub(super) fn record_of(sandbox: Option<&Confinement>) -> Option<Box<SandboxRecord>> {
    sandbox.map(|sandbox| Box::new(sandbox.record().clone()))
}

/// A grading whose program ran in this sandbox.
pub(super) fn with_sandbox(
    outcome: Result<Verdict, EvaluatorError>,
    sandbox: Option<Box<SandboxRecord>>,
) -> Result<Verdict, EvaluatorError> {
    match outcome {
        Ok(verdict) => Ok(Verdict { sandbox, ..verdict }),
        Err(error) => Err(EvaluatorError { sandbox, ..error }),
    }
}

/// A program that could not be put into its sandbox.
pub(super) fn unconfined(error: &ConfinementError) -> EvaluatorError {
    EvaluatorError::new(FailureKind::Provider, format!("the script was not run: {error}"))
}
