//! `agentv grade`: the answers of an earlier run, graded by the evaluators of now.

use super::eval::{Presentation, conduct};
use crate::args::GradeArgs;
use crate::settings::{Environment, RunOrder};
use agentv_runtime::results_io::{ResultsError, find_results};
use agentv_runtime::run_dir::{RunFiles, folder_of_output};
use agentv_runtime::session::{Refused, asked_targets, check_format};
use agentv_wire::{Exit, RunInfo};
use std::error::Error as _;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// `words` is the whole command line.
pub(crate) fn run(args: GradeArgs, words: &[OsString], environment: &Environment) -> Exit {
    let answers = find(&args.run, environment);
    let order = answers.and_then(|answers| RunOrder::of_grade(args, words, answers, environment));
    conduct(order, environment, &Presentation::default())
}

/// The newest run that asked its targets; a run by its id or folder; or results.
const LATEST: &str = "latest";

/// The results that hold the answers, and what is known of their run.
fn find(name: &Path, environment: &Environment) -> Result<(PathBuf, Option<RunInfo>), Refused> {
    let runs = environment.runs();
    let name = match name.to_str() {
        Some(LATEST) if !environment.working_dir.join(LATEST).exists() => {
            let newest =
                environment.listed_runs().into_iter().find(asked_targets).ok_or_else(|| {
                    Refused::usage(
                        "there is no run to grade",
                        "start one: `agentv eval my.eval.yaml`",
                    )
                })?;
            PathBuf::from(newest.run)
        }
        _ => name.to_owned(),
    };
    let results = find_results(&name, &environment.bases()).map_err(|error| unreadable(&error))?;
    let folder = RunFiles::beside(&results).or_else(|| folder_of_output(&results, &runs));
    let info = folder.as_ref().and_then(RunFiles::known);
    info.as_ref().map_or(Ok(()), check_format)?;
    Ok((results, info))
}

fn unreadable(error: &ResultsError) -> Refused {
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    Refused::usage(
        format!("{error}{cause}"),
        "name a run (`agentv runs list` shows them), `latest`, or a results file",
    )
}
