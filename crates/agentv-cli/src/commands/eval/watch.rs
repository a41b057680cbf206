//! `agentv eval --watch`: runs what a changed file touches.

use super::{Presentation, carry_out, report_refusal, show};
use crate::args::EvalArgs;
use crate::settings::{Environment, RunOrder, Showing};
use agentv_runtime::interrupts::Interrupts;
use agentv_runtime::load::{TargetSpec, is_shared_file};
use agentv_runtime::process::Processes;
use agentv_runtime::session::Refused;
use agentv_runtime::watch::FileWatcher;
use agentv_wire::{Exit, RunSpec};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Runs all, then what changes touch, until Ctrl-C. The exit code is that of the last run.
pub(super) async fn watch(args: &EvalArgs, words: &[OsString], environment: &Environment) -> Exit {
    let mut interrupts = Interrupts::listen();
    let first = RunOrder::of_eval(args.clone(), words, environment);
    let started = first.and_then(|order| Ok((start(&order, environment)?, order)));
    let (mut files, order) = match started {
        Ok(started) => started,
        Err(refused) => return report_refusal(&refused, environment),
    };
    let mut exit = run(Ok(order), environment).await.unwrap_or(Exit::Success);
    let mut written = BTreeSet::new();
    while exit != Exit::Interrupted {
        // A run may change files that its cases depend on. Such a file starts one more run, not one after the other.
        let meanwhile = files.meanwhile().await;
        let mut changed: BTreeSet<PathBuf> = meanwhile.difference(&written).cloned().collect();
        written = meanwhile;
        let mut is_announced = false;
        exit = loop {
            if !changed.is_empty() {
                let order = order_of(&changed, args, words, environment);
                if let Some(exit) = run(order, environment).await {
                    break exit;
                }
            }
            if !is_announced {
                announce(args, environment);
                is_announced = true;
            }
            changed = tokio::select! {
                changed = files.next() => changed,
                () = interrupts.next() => return exit,
            };
        };
    }
    exit
}

fn start(order: &RunOrder, environment: &Environment) -> Result<FileWatcher, Refused> {
    let root = &environment.repo_root;
    let suites = order.order.spec.suites.iter().filter_map(|suite| suite.parent());
    let outside = suites.filter(|dir| !dir.starts_with(root)).map(Path::to_owned);
    FileWatcher::start([root.clone()].into_iter().chain(outside)).map_err(|error| {
        let help = "on Linux, raise the limit: `sysctl fs.inotify.max_user_watches=524288`";
        Refused::usage(format!("files cannot be watched: {error}"), help)
    })
}

/// `None` if nothing was to be done.
async fn run(order: Result<RunOrder, Refused>, environment: &Environment) -> Option<Exit> {
    match carry_out(order, environment, &Presentation::default()).await {
        Ok(exit) => Some(exit),
        Err(refused) if refused.exit == Exit::Success => None,
        Err(refused) => Some(report_refusal(&refused, environment)),
    }
}

/// A run of the cases that depend on changed files; of all cases if that cannot be said.
fn order_of(
    changed: &BTreeSet<PathBuf>,
    args: &EvalArgs,
    words: &[OsString],
    environment: &Environment,
) -> Result<RunOrder, Refused> {
    let args = EvalArgs { last_failed: false, changed_since: None, ..args.clone() };
    let named = args.targets.as_ref().map(|path| environment.working_dir.join(path));
    let mut order = RunOrder::of_eval(args, words, environment)?;
    order.found = None;
    let commands = command_files(&order.order.spec, environment);
    let touches_all = |path: &PathBuf| {
        let is_command = || path.canonicalize().is_ok_and(|path| commands.contains(&path));
        is_shared_file(path) || named.as_ref() == Some(path) || is_command()
    };
    if !changed.iter().any(touches_all) {
        order.order.spec.cases.changed_files = changed.iter().cloned().collect();
    }
    Ok(order)
}

/// The programs and scripts of the targets that may run. All cases depend on them.
fn command_files(spec: &RunSpec, environment: &Environment) -> BTreeSet<PathBuf> {
    let processes = Processes::new(format!("watch-{}", std::process::id()));
    let loader = environment.loader(&processes);
    let is_wanted =
        |target: &TargetSpec| spec.targets.is_empty() || spec.targets.contains(&target.name);
    let mut files = BTreeSet::new();
    let dirs: BTreeSet<&Path> = spec.suites.iter().filter_map(|suite| suite.parent()).collect();
    for dir in dirs {
        let Ok(path) = loader.find_targets(dir, spec.targets_file.as_deref()) else { continue };
        // What is wrong with the file is said by the run.
        let (targets, _) = loader.targets(&path, &environment.env);
        let targets = targets.iter().flat_map(|file| &file.targets).filter(|it| is_wanted(it));
        let commands = targets.flat_map(|target| target.command_files(dir));
        files.extend(commands.filter_map(|file| file.canonicalize().ok()));
    }
    files
}

fn announce(args: &EvalArgs, environment: &Environment) {
    let showing = Showing::of(args.format, args.quiet, environment);
    let mut screen = show::screen(showing, environment);
    screen.line("");
    screen.line("Watching for changes (Ctrl-C ends)");
}
