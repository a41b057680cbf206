//! Programs of judges in a sandbox.

use crate::process::sandbox::{
    Confinement, ConfinementError, GivenFiles, SandboxSettings, Surroundings,
};
use agentv_core::{EvalContext, EvaluatorError, Verdict};
use agentv_wire::{FailureKind, SandboxRecord};

/// What judges of a case are given: its files, and the candidate's workspace as long as that is there.
pub(super) fn given_to_judges(cx: &EvalContext<'_>) -> GivenFiles {
    let files = cx.case.guidelines().chain(cx.case.files());
    GivenFiles {
        named: files.map(|file| file.path.clone()).collect(),
        own: cx.candidate.workspace.iter().cloned().collect(),
        output: None,
    }
}

/// The sandbox of a judge's program, if it is to have one. It also reads what is beside the eval file.
pub(super) fn confine(
    settings: Option<&SandboxSettings>,
    program: &Surroundings<'_>,
    mut given: GivenFiles,
) -> Result<Option<Confinement>, ConfinementError> {
    let Some(settings) = settings else { return Ok(None) };
    given.named.push(program.eval_dir.to_owned());
    settings.confine(program, &given).map(Some)
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
