//! `agentv runs`: what is in `.agentv/runs`.

use super::compare::fail;
use crate::args::{RunsCommand, RunsRmArgs, TableFormat};
use crate::settings::Environment;
use crate::terminal::{self, Screen, show_run, table};
use agentv_runtime::run_dir::{FolderError, Runs, State};
use agentv_runtime::session::DAMAGED_HELP;
use agentv_wire::{Exit, RunInfo, RunTotals, number};
use serde_json::{Value, json};
use std::path::Path;

pub(crate) fn run(command: RunsCommand, environment: &Environment) -> Exit {
    let mut screen = environment.screen();
    match command {
        RunsCommand::List { format } => list(format, environment, &mut screen),
        RunsCommand::Show { run, format } => show(run.as_deref(), format, environment, &mut screen),
        RunsCommand::Rm(args) => remove(&args, environment, &mut screen),
    }
}

fn list(format: TableFormat, environment: &Environment, screen: &mut Screen) -> Exit {
    let runs = &environment.runs();
    let found: Vec<(RunInfo, State)> =
        environment.listed_runs().into_iter().map(|info| known(info, runs)).collect();
    match format {
        TableFormat::Json => {
            let all: Vec<Value> = found.iter().map(as_json).collect();
            screen.data(&number::to_string_pretty(&json!({ "runs": all })).unwrap_or_default());
        }
        TableFormat::Table if found.is_empty() => {
            screen.line(format!("no runs in {}", runs.dir().display()));
        }
        TableFormat::Table => table(&found, screen),
    }
    Exit::Success
}

fn show(
    run: Option<&str>,
    format: TableFormat,
    environment: &Environment,
    screen: &mut Screen,
) -> Exit {
    let runs = &environment.runs();
    let run = match id(run.unwrap_or("latest"), environment) {
        Ok(run) => run,
        Err(exit) => return exit,
    };
    let found = match runs.info(&run) {
        Ok(info) => info,
        Err(error) => return refuse(&error),
    };
    let state = runs.state(&found);
    let (numbers, cases) = runs.totals(&found).unzip();
    let found = (with_totals(found, || numbers), state);
    match format {
        TableFormat::Json => {
            let mut value = as_json(&found);
            let cases = cases.unwrap_or_default();
            if !cases.is_empty() {
                value["case_trials"] = json!(cases);
            }
            screen.data(&number::to_string_pretty(&value).unwrap_or_default());
        }
        TableFormat::Table => {
            let folder = runs.files(&found.0.run).dir;
            show_run(&found, &folder.display().to_string(), screen);
        }
    }
    Exit::Success
}

/// The id of a run by its name.
fn id(name: &str, environment: &Environment) -> Result<String, Exit> {
    let run = environment.run_named(Path::new(name), |_| true).map_err(|error| fail(&error))?;
    Ok(run.to_string_lossy().into_owned())
}

fn remove(args: &RunsRmArgs, environment: &Environment, screen: &mut Screen) -> Exit {
    let runs = environment.runs();
    let chosen = if args.runs.is_empty() {
        let keep = args.keep.unwrap_or(0);
        runs.list().into_iter().skip(keep).map(|info| info.run).collect()
    } else {
        // All names before the first removal: it would make `previous` the latest.
        let ids = args.runs.iter().map(|name| id(name, environment));
        match ids.collect::<Result<Vec<_>, _>>() {
            Ok(ids) => ids,
            Err(exit) => return exit,
        }
    };
    let mut exit = Exit::Success;
    for run in chosen {
        match runs.remove(&run) {
            Ok(()) => screen.line(format!("removed {run}")),
            Err(error) => exit = refuse(&error),
        }
    }
    exit
}

fn known(info: RunInfo, runs: &Runs) -> (RunInfo, State) {
    let state = runs.state(&info);
    let known = info.clone();
    (with_totals(info, || runs.totals(&known).map(|(totals, _)| totals)), state)
}

/// Counts the records of a run that has no totals: it is under way or was killed. The totals of an older version lack some
/// outcomes, so they are counted anew, too.
fn with_totals(mut info: RunInfo, recorded: impl FnOnce() -> Option<RunTotals>) -> RunInfo {
    let is_whole = |totals: &RunTotals| {
        let all = &totals.all;
        all.passed + all.failed + all.ungraded + all.errors == all.recorded
    };
    if !info.totals.as_ref().is_some_and(is_whole)
        && let Some(mut recorded) = recorded()
    {
        recorded.spend = info.totals.and_then(|totals| totals.spend);
        info.totals = Some(recorded);
    }
    info
}

fn as_json((info, state): &(RunInfo, State)) -> Value {
    let mut value = json!(info);
    value["state"] = json!(state.name());
    value
}

fn refuse(error: &FolderError) -> Exit {
    let help = match error {
        FolderError::Unknown(_) => "`agentv runs list` names all of them",
        FolderError::NoId(_) => "name the run itself, not a path",
        FolderError::InUse { .. } => "wait until it ends, or stop it",
        FolderError::Damaged { .. } => DAMAGED_HELP,
        FolderError::Io { .. } => "check the folder's permissions",
    };
    terminal::fail(&error.to_string(), Some(help))
}
