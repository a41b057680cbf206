//! The answers of another run, to be graded again.

use super::selection::is_same_file;
use super::{Environment, Refused, resume};
use crate::results_io::{Recorded, ResultsError};
use crate::run::{Plan, Regraded, regrade};
use crate::run_dir::{RunFiles, Runs, folder_of_output};
use agentv_core::TargetName;
use agentv_wire::{AnswerOrigin, RunSpec};
use std::error::Error as _;
use std::path::Path;

/// What there is to grade of another run.
#[derive(Debug)]
pub struct Regrading {
    /// What the other run, or its results, are called.
    pub name: String,
    pub found: Regraded,
}

/// Answers to be graded.
pub(super) struct RecordedAnswers {
    recorded: Recorded,
    name: String,
    /// Results without a run folder; they must not be overwritten.
    bare_results: Option<std::path::PathBuf>,
}

/// Reads the answers that the spec names, if it names any, and narrows its targets to those that have some.
pub(super) fn open(
    spec: &mut RunSpec,
    environment: &Environment,
    warnings: &mut Vec<String>,
) -> Result<Option<RecordedAnswers>, Refused> {
    let AnswerOrigin::Recorded(results) = &spec.answers else { return Ok(None) };
    let runs = Runs::of(&environment.project_root);
    let folder = RunFiles::beside(results).or_else(|| folder_of_output(results, &runs));
    if let Some(info) = folder.as_ref().and_then(RunFiles::known) {
        resume::check_format(&info)?;
    }
    let shown = environment.shown(results);
    let name = match folder.as_ref().and_then(|folder| folder.dir.file_name()) {
        Some(run) => run.to_string_lossy().into_owned(),
        None => shown.clone(),
    };
    let read = match &folder {
        Some(folder) => Recorded::of_run(folder, &shown),
        None => Recorded::of_results(results, &shown),
    };
    let recorded = read.map_err(|error| unreadable(&error))?;
    if let Some(line) = recorded.torn {
        warnings.push(format!("{shown}:{line}: the last record was cut off and is left out"));
    }
    let bare_results = folder.is_none().then(|| results.clone());
    spec.targets = targets(&recorded, &spec.targets, &name)?;
    Ok(Some(RecordedAnswers { recorded, name, bare_results }))
}

/// Whose answers are graded.
fn targets(
    recorded: &Recorded,
    wanted: &[TargetName],
    name: &str,
) -> Result<Vec<TargetName>, Refused> {
    let has = |target: &TargetName| recorded.targets.iter().any(|known| known == target.as_str());
    if let Some(unknown) = wanted.iter().find(|target| !has(target)) {
        let mut names: Vec<&str> = recorded.targets.iter().map(String::as_str).collect();
        names.sort_unstable();
        return Err(Refused::usage(
            format!("`{name}` has no answers of target `{unknown}`"),
            format!("it has those of: {}", names.join(", ")),
        ));
    }
    if recorded.targets.is_empty() {
        let message = format!("`{name}` has no answers");
        return Err(Refused::usage(message, "run it first: `agentv eval`"));
    }
    let all = recorded.targets.iter().map(|target| TargetName::from(target.as_str()));
    Ok(all.filter(|target| wanted.is_empty() || wanted.contains(target)).collect())
}

impl RecordedAnswers {
    /// Gives each case of the plan its answer.
    pub(super) fn claim(
        mut self,
        plan: &mut Plan,
        spec: &RunSpec,
        out: &Path,
    ) -> Result<Box<Regrading>, Refused> {
        if self.bare_results.as_ref().is_some_and(|results| is_same_file(results, out)) {
            let message = format!("`--out` would overwrite the results `{}`", self.name);
            return Err(Refused::usage(message, "choose another name for the results"));
        }
        let found = regrade(plan, &mut self.recorded)
            .map_err(|error| Refused::incomplete(error.to_string()))?;
        let regrading = Box::new(Regrading { name: self.name, found });
        let Some(mut refused) = refusal(&regrading, spec) else { return Ok(regrading) };
        refused.regrading = Some(regrading);
        Err(refused)
    }
}

/// Why too little can be graded, if that is so.
fn refusal(Regrading { name, found }: &Regrading, spec: &RunSpec) -> Option<Refused> {
    if found.answers == 0 {
        return Some(Refused::usage(
            format!("`{name}` has no answer to any of these cases"),
            "name the eval files and targets that it was a run of",
        ));
    }
    if found.blind.is_empty() || spec.skip_invalid {
        return None;
    }
    let names: Vec<String> = found
        .blind
        .iter()
        .map(|(evaluator, answers)| format!("`{evaluator}` ({answers} of {})", found.answers))
        .collect();
    Some(Refused::usage(
        format!(
            "the messages that these evaluators need are not in `{name}`: {}",
            names.join(", ")
        ),
        "grade a run folder instead of a results file (`agentv runs list`), or leave these evaluators out with `--skip-invalid`",
    ))
}

fn unreadable(error: &ResultsError) -> Refused {
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    Refused::usage(
        format!("{error}{cause}"),
        "name a run (`agentv runs list` shows them), `latest`, or a results file",
    )
}
