//! What `--report` asks for, and what GitHub is told, when a run is over.

use super::Refusal;
use crate::commands::report;
use crate::report::{Destination, Source};
use crate::settings::{Environment, EvalSettings, GithubActions};
use crate::terminal::{self, Screen};
use agentv_wire::Exit;
use std::path::{Path, PathBuf};

/// Refuses what cannot work, before anything is paid for.
pub(super) fn check(settings: &EvalSettings) -> Result<(), Refusal> {
    let inputs = settings.files.iter().map(PathBuf::as_path);
    let inputs = inputs.chain([settings.out.as_path()]);
    report::check(&settings.reports, inputs)
        .map_err(|(message, help)| Refusal::usage(message, help))?;
    for wanted in &settings.reports {
        if matches!(&wanted.destination, Destination::File(path) if path.is_dir()) {
            let message = format!("`{}` is a directory", wanted.destination);
            return Err(Refusal::usage(message, "name the file that the report is to be"));
        }
    }
    if !settings.reports.is_empty() && !settings.keep.folder && is_no_file(&settings.out) {
        return Err(Refusal::usage(
            "`--report` reads the results again, and `--out` is no regular file",
            "leave out `--no-run-folder`, or write the results to a file",
        ));
    }
    Ok(())
}

/// Writes the reports of what there is.
pub(super) fn write(
    results: PathBuf,
    settings: &EvalSettings,
    environment: &Environment,
    screen: &mut Screen,
) -> Exit {
    let is_asked = !settings.reports.is_empty() || GithubActions::around(environment).is_some();
    if !is_asked || is_no_file(&results) {
        return Exit::Success;
    }
    let source = Source::of_file(results, environment).with_evals(&settings.files);
    match report::write(&source, &settings.reports, environment, screen) {
        Ok((exit, _)) => exit,
        Err(error) => {
            terminal::complain(&format!("no report could be made: {error}"), None);
            Exit::Incomplete
        }
    }
}

/// A pipe or a device cannot be read again.
fn is_no_file(path: &Path) -> bool {
    path.exists() && !path.is_file()
}
