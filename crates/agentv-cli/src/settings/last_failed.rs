//! `--last-failed`: the cases of the last run that did not pass.

use super::Environment;
use agentv_core::outcome::outcome;
use agentv_runtime::load::CasesBySuite;
use agentv_runtime::results_io::{Reader, ResultsError};
use agentv_runtime::session::Refused;
use agentv_wire::{Ending, Outcome, RecordSummary, RunInfo, RunSpec, Skipped};

/// Narrows a run down to the cases that did not pass in the last run of its suites. Without suites, they and the targets
/// are those of the last run.
pub(super) fn select(spec: &mut RunSpec, environment: &Environment) -> Result<(), Refused> {
    let is_meant = |other: &RunSpec| {
        (spec.suites.is_empty() || other.suites == spec.suites)
            && (spec.targets.is_empty() || other.targets == spec.targets)
    };
    let runs = environment.listed_runs().into_iter();
    let mut runs = runs.filter_map(|mut info| Some((info.spec.take()?, info)));
    let (last, info) = runs.find(|(other, _)| is_meant(other)).ok_or_else(|| {
        Refused::usage(
            "`--last-failed` needs an earlier run of these suites and targets",
            "run them first, without `--last-failed`",
        )
    })?;
    spec.cases.only = failed(&info, environment)
        .map_err(|error| Refused::usage(error.to_string(), "run the suites again"))?;
    if spec.cases.only.is_empty() {
        return Err(nothing_failed(&info));
    }
    spec.suites = last.suites;
    if spec.targets.is_empty() {
        spec.targets = last.targets;
    }
    if spec.targets_file.is_none() {
        spec.targets_file = last.targets_file;
    }
    Ok(())
}

fn nothing_failed(RunInfo { run, ending, .. }: &RunInfo) -> Refused {
    if *ending == Some(Ending::Complete) {
        return Refused::nothing_to_do(format!("nothing to run: all cases of run {run} passed"));
    }
    Refused::usage(
        format!("run {run} is not complete, and all its recorded cases passed"),
        format!("run the rest: `agentv eval --resume {run}`"),
    )
}

/// The cases with a trial that failed, is ungraded or ended in an error.
fn failed(info: &RunInfo, environment: &Environment) -> Result<CasesBySuite, ResultsError> {
    let results = environment.runs().files(&info.run).results();
    let mut reader = Reader::open(&results, &environment.shown(&results))?;
    let mut cases = CasesBySuite::new();
    while let Some(record) = reader.read::<RecordSummary<Skipped>>()? {
        if outcome(&record) == Outcome::Pass {
            continue;
        }
        if let Some(suite) = record.suite {
            cases.entry(suite).or_default().insert(record.eval_id.into());
        }
    }
    Ok(cases)
}
