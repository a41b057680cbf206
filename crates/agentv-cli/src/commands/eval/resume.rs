//! Which run is taken up again, and with which command line.

use super::Refusal;
use crate::args::{Args, Command, EvalArgs};
use crate::deferred::Deferred;
use crate::settings::{Environment, EvalSettings};
use agentv_runtime::run_dir::{FolderError, RunFolder, Runs};
use agentv_wire::{RunFileKind, RunInfo};
use clap::{CommandFactory as _, FromArgMatches as _};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What the user wants, the command line of an earlier run included.
pub(super) struct Order {
    pub args: EvalArgs,
    /// What `run.json` says of it.
    pub command: Vec<String>,
    pub resume: Option<Wanted>,
}

/// Which run.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// This one.
    Named(String),
    /// The last one of the same files and choices.
    Last,
}

/// A run to take up, locked.
pub(in crate::commands) struct Earlier {
    pub folder: RunFolder,
    pub info: RunInfo,
}

/// Completes a command line that names no files by that of the run which is resumed.
pub(super) fn order(
    mut args: EvalArgs,
    words: &[OsString],
    runs: &Runs,
    environment: &Environment,
) -> Result<Order, Refusal> {
    let command = words.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let Some(mut run) = args.resume.take() else {
        return Ok(Order { args, command, resume: None });
    };
    // `--resume suite.yaml`: clap cannot know that this is no run.
    if run.contains(['.', '/', '*']) {
        args.paths.insert(0, std::mem::take(&mut run));
    }
    if !args.paths.is_empty() {
        let wanted = if run.is_empty() { Wanted::Last } else { Wanted::Named(run) };
        return Ok(Order { args, command, resume: Some(wanted) });
    }
    let info = if run.is_empty() {
        runs.list().into_iter().find(asked_targets)
    } else {
        Some(named(&run, runs)?)
    };
    let info = info.ok_or_else(|| {
        Refusal::usage("there is no run to resume", "start one: `agentv eval my.eval.yaml`")
    })?;
    check_place(&info, environment)?;
    // What is said now comes last and wins.
    let both =
        [&words[..1], &info.command.iter().map(OsString::from).collect::<Vec<_>>(), &words[2..]];
    let args = parse(&both.concat()).ok_or_else(|| {
        let message = format!("the command line of run `{}` cannot be read any more", info.run);
        Refusal::usage(message, "name the eval files again, with the same choices")
    })?;
    Ok(Order { args, command, resume: Some(Wanted::Named(info.run)) })
}

/// The command line of an earlier run with flags after it, which win where a flag can be there only once.
fn parse(words: &[OsString]) -> Option<EvalArgs> {
    let command = Args::command().mut_subcommand("eval", |eval| eval.args_override_self(true));
    let matches = command.try_get_matches_from(words).ok()?;
    match Args::from_arg_matches(&matches).ok()?.command {
        Command::Eval(Deferred(args)) => Some(*args),
        _ => None,
    }
}

/// Finds the run, and makes the output the one that it has, unless another is asked for.
pub(super) fn find(
    wanted: &Wanted,
    settings: &mut EvalSettings,
    runs: &Runs,
    environment: &Environment,
) -> Result<Earlier, Refusal> {
    let info = match wanted {
        Wanted::Named(run) => named(run, runs)?,
        Wanted::Last => last(settings, runs, environment)?,
    };
    check_place(&info, environment)?;
    if info.choice != settings.recorded_choice {
        return Err(Refusal::usage(
            format!("run `{}` was a run of other cases or targets", info.run),
            format!("use the same choices, or only `agentv eval --resume {}`", info.run),
        ));
    }
    if !settings.out_given {
        settings.out = PathBuf::from(&info.out);
    }
    let folder = runs.open(&info.run).map_err(|error| refusal(&error))?;
    Ok(Earlier { folder, info })
}

/// The paths of a run are relative to where it was started.
fn check_place(info: &RunInfo, environment: &Environment) -> Result<(), Refusal> {
    if is_of_here(info, environment) {
        return Ok(());
    }
    let RunInfo { run, working_dir, .. } = info;
    Err(Refusal::usage(
        format!("run `{run}` was started in `{working_dir}`"),
        format!("resume it there: `cd '{working_dir}' && agentv eval --resume {run}`"),
    ))
}

/// Whether a run was started in the working directory.
pub(super) fn is_of_here(info: &RunInfo, environment: &Environment) -> bool {
    environment.working_dir == Path::new(&info.working_dir)
}

fn named(run: &str, runs: &Runs) -> Result<RunInfo, Refusal> {
    let info = runs.info(run).map_err(|error| refusal(&error))?;
    if let Some(of) = &info.graded {
        return Err(Refusal::usage(
            format!("run `{run}` graded the answers of `{of}` and cannot be resumed"),
            "grade them again; with `--cache`, judges are not asked again what they have said",
        ));
    }
    Ok(info)
}

/// Whether a run asked its targets, and did not only grade what they had said.
fn asked_targets(info: &RunInfo) -> bool {
    info.graded.is_none()
}

fn last(
    settings: &EvalSettings,
    runs: &Runs,
    environment: &Environment,
) -> Result<RunInfo, Refusal> {
    let wanted: Vec<String> = settings.files.iter().map(|path| environment.shown(path)).collect();
    let is_same = |info: &RunInfo| {
        let files = info.files.iter().filter(|file| file.kind == RunFileKind::Eval);
        asked_targets(info)
            && is_of_here(info, environment)
            && info.choice == settings.recorded_choice
            && files.map(|file| &file.path).eq(&wanted)
    };
    runs.list().into_iter().find(is_same).ok_or_else(|| {
        Refusal::usage(
            "no run of these files with these choices can be resumed",
            "leave out `--resume` to start one, or see `agentv runs list`",
        )
    })
}

fn refusal(error: &FolderError) -> Refusal {
    let help = match error {
        FolderError::InUse { .. } => "wait for its end, or stop it",
        _ => "`agentv runs list` names all of them",
    };
    Refusal::usage(error.to_string(), help)
}
