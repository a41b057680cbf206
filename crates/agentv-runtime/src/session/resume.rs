//! Which run is continued.

use super::{Environment, Refused};
use crate::run_dir::{FolderError, RUN_FORMAT, RunFolder, Runs};
use agentv_wire::{RunInfo, RunSpec};
use std::path::PathBuf;

/// What can be done with a run folder without `run.json`.
pub const DAMAGED_HELP: &str = "`agentv report RUN` shows its records, `agentv grade RUN my.eval.yaml` grades its answers again; it cannot be \
     resumed, since nothing else says how it was begun";

/// A run to be continued.
#[derive(Debug, Clone)]
pub struct ResumeOrder {
    /// Its id.
    pub run: String,
    /// Also run cases again that ended in an error, and grade those again that are ungraded.
    pub retry_errors: bool,
}

/// A run to be continued, locked.
pub(super) struct ResumedRun {
    pub folder: RunFolder,
    pub info: RunInfo,
    pub retry_errors: bool,
}

/// Opens the folder of the run, and makes its output that of the spec, unless another is asked for.
pub(super) fn open(
    order: &ResumeOrder,
    spec: &mut RunSpec,
    environment: &Environment,
    warnings: &mut Vec<String>,
) -> Result<ResumedRun, Refused> {
    let runs = Runs::of(&environment.project_root);
    let info = resumable(&order.run, &runs)?;
    let recorded = info.spec.clone().unwrap_or_default();
    if !is_same_choice(&recorded, spec) {
        return Err(Refused::usage(
            format!("run `{}` was a run of other cases or targets", info.run),
            format!("use the same choices, or only `agentv eval --resume {}`", info.run),
        ));
    }
    if spec.out.is_none() {
        spec.out = Some(PathBuf::from(&info.out));
    }
    // The rest of a run is not a whole cassette.
    if let Some(path) = spec.record.take() {
        let path = path.display();
        warnings.push(format!("a resumed run is not recorded: `{path}` will not be written"));
    }
    let folder = runs.open(&info.run).map_err(|error| refusal(&error))?;
    Ok(ResumedRun { folder, info, retry_errors: order.retry_errors })
}

/// A run of this id, if it can be resumed.
pub fn resumable(run: &str, runs: &Runs) -> Result<RunInfo, Refused> {
    let info = runs.info(run).map_err(|error| refusal(&error))?;
    check_format(&info)?;
    if let Some(of) = &info.graded {
        return Err(Refused::usage(
            format!("run `{run}` graded the answers of `{of}` and cannot be resumed"),
            "grade them again; with `--cache`, known verdicts of judges are reused",
        ));
    }
    Ok(info)
}

/// Refuses a run folder of another format, which this version can neither resume nor grade.
pub fn check_format(info: &RunInfo) -> Result<(), Refused> {
    if info.format == RUN_FORMAT {
        return Ok(());
    }
    let age = if info.format < RUN_FORMAT { "an earlier" } else { "a later" };
    Err(Refused::usage(
        format!(
            "run `{}` was made by {age} version of AgentV (run folder format {}, this version has {RUN_FORMAT})",
            info.run, info.format
        ),
        "its results can still be reported and compared; start a new run to continue",
    ))
}

/// Whether a run asked its targets, and did not only grade what they had answered.
pub fn asked_targets(info: &RunInfo) -> bool {
    info.graded.is_none()
}

/// The last run of the same suites with the same choices.
pub fn last_run(spec: &RunSpec, runs: &Runs) -> Result<RunInfo, Refused> {
    let is_same = |info: &RunInfo| {
        asked_targets(info)
            && info
                .spec
                .as_ref()
                .is_some_and(|other| other.suites == spec.suites && is_same_choice(other, spec))
    };
    runs.list().into_iter().find(is_same).ok_or_else(|| {
        Refused::usage(
            "no run of these files with these choices can be resumed",
            "leave out `--resume` to start one, or see `agentv runs list`",
        )
    })
}

/// Whether two specs ask for the same cases on the same targets.
fn is_same_choice(one: &RunSpec, other: &RunSpec) -> bool {
    one.cases == other.cases && one.targets == other.targets
}

fn refusal(error: &FolderError) -> Refused {
    let help = match error {
        FolderError::InUse { .. } => "wait until it ends, or stop it",
        FolderError::Damaged { .. } => DAMAGED_HELP,
        _ => "`agentv runs list` names all of them",
    };
    Refused::usage(error.to_string(), help)
}
