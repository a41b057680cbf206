//! What `--report` asks for, and what GitHub is told, when a run is over.

use crate::commands::report;
use crate::report::{Source, Wanted};
use crate::settings::{Environment, GithubActions, RunOrder};
use crate::terminal::{self, Screen};
use agentv_runtime::session::{Refused, Summary};
use agentv_wire::Exit;
use std::path::{Path, PathBuf};

/// Refuses what cannot work, before anything is paid for.
pub(super) fn check(order: &RunOrder) -> Result<(), Refused> {
    let (spec, reports) = (&order.order.spec, &order.reports);
    let inputs = spec.suites.iter().chain(&spec.out).map(PathBuf::as_path);
    report::check(reports, inputs).map_err(|(message, help)| Refused::usage(message, help))?;
    let is_kept = spec.run_folder && spec.dry_run.is_none();
    if !reports.is_empty() && !is_kept && spec.out.as_deref().is_some_and(is_special) {
        return Err(Refused::usage(
            "`--report` reads the results again, and `--out` is not a regular file",
            "leave out `--no-run-folder`, or write the results to a file",
        ));
    }
    Ok(())
}

/// Writes the reports of what there is.
pub(super) fn write(
    summary: &Summary,
    reports: &[Wanted],
    suites: &[PathBuf],
    environment: &Environment,
    screen: &mut Screen,
) -> Exit {
    let is_asked = !reports.is_empty() || GithubActions::around(environment).is_some();
    if !is_asked || is_special(&summary.results) {
        return Exit::Success;
    }
    let source = Source::of_file(summary.results.clone(), environment).with_evals(suites);
    match report::write(&source, reports, environment, screen) {
        Ok((exit, _)) => exit,
        Err(error) => {
            terminal::complain(&format!("no report could be made: {error}"), None);
            Exit::Incomplete
        }
    }
}

/// A pipe or a device cannot be read again.
fn is_special(path: &Path) -> bool {
    path.exists() && !path.is_file()
}
