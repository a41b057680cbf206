//! `agentv grade`: the answers of an earlier run, graded by the evaluators of now.

use super::eval::{Presentation, conduct};
use crate::args::GradeArgs;
use crate::settings::{Environment, RUN_HELP, RunOrder};
use agentv_runtime::results_io::ResultsError;
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

/// The results that hold the answers, and what is known of their run. `latest` is the newest run that asked its targets.
fn find(name: &Path, environment: &Environment) -> Result<(PathBuf, Option<RunInfo>), Refused> {
    let runs = environment.runs();
    let run = environment.run_named(name, asked_targets).map_err(|error| {
        let help = "start one: `agentv eval my.eval.yaml`";
        Refused::usage(format!("no run to grade: {error}"), help)
    })?;
    let results = environment.results_of(&run).map_err(|error| unreadable(&error))?;
    let folder = RunFiles::beside(&results).or_else(|| folder_of_output(&results, &runs));
    let info = folder.as_ref().and_then(RunFiles::known);
    info.as_ref().map_or(Ok(()), check_format)?;
    Ok((results, info))
}

fn unreadable(error: &ResultsError) -> Refused {
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    Refused::usage(format!("{error}{cause}"), RUN_HELP)
}
