//! `agentv eval`: load, plan, run, sum up.

use crate::args::EvalArgs;
use crate::settings::{EvalSettings, Surroundings};
use crate::terminal::{self, Progress, Screen, show_notes, summary};
use agentv_core::{Score, TargetName};
use agentv_runtime::config::{Cost, Notes};
use agentv_runtime::load::{LoadedSuite, Loader, Report};
use agentv_runtime::process::{self, Processes};
use agentv_runtime::providers::Deps;
use agentv_runtime::run::{Ended, Outcome, Plan, Run, plan};
use agentv_runtime::target::{LimitBook, TargetBook};
use agentv_runtime::writers::ResultFile;
use agentv_wire::Exit;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

pub(crate) fn run(args: EvalArgs, surroundings: &Surroundings) -> Exit {
    let settings = match EvalSettings::resolve(args, surroundings) {
        Ok(settings) => settings,
        Err(error) => return terminal::fail(&error.message, error.help.as_deref()),
    };
    let processes = Processes::new(run_id());
    let mut screen = Screen::new();
    let prepared = prepare(&settings, surroundings, &processes, &mut screen);
    let Some(Prepared { plan, warnings }) = prepared else { return Exit::Usage };
    if plan.total == 0 {
        return terminal::fail(
            "No eval cases matched the provided filters.",
            Some("look at `--eval-id`"),
        );
    }
    if let Some(input) = settings.files.iter().find(|input| is_same_file(input, &settings.out)) {
        let message = format!("`--out` would overwrite the eval file `{}`", input.display());
        return terminal::fail(&message, Some("choose another name for the results"));
    }
    let file = match open(&settings.out) {
        Ok(file) => file,
        Err(error) => {
            terminal::complain(
                &format!("`{}` cannot be written: {error}", settings.out.display()),
                None,
            );
            return Exit::Incomplete;
        }
    };
    announce(&plan, &settings, &mut screen);
    screen.show();
    let outcome = execute(plan, file, &settings, processes);
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => {
            terminal::complain(&format!("the run cannot be started: {error}"), None);
            return Exit::Incomplete;
        }
    };
    summary(&outcome.tally, &mut screen);
    if warnings > 0 {
        screen.line(format!("Warnings in files: {warnings} (shown above; --strict refuses them)"));
    }
    if !outcome.tally.scores.is_empty() {
        screen.line(format!("\nResults written to: {}", settings.out.display()));
    }
    screen.show();
    conclude(&outcome, &settings)
}

/// A run that can begin.
struct Prepared {
    plan: Plan,
    /// Notes that did not stop it.
    warnings: usize,
}

/// Loads everything and shows all that is wrong. `None` if that is too much to go on.
fn prepare(
    settings: &EvalSettings,
    surroundings: &Surroundings,
    processes: &Arc<Processes>,
    screen: &mut Screen,
) -> Option<Prepared> {
    let loader = Loader { selection: settings.selection.clone(), ..surroundings.loader(processes) };
    let mut report = Report::default();
    let mut suites = Vec::new();
    let limits = LimitBook::new();
    for path in &settings.files {
        let (suite, notes) = loader.suite(path);
        report.extend(notes);
        let Some(suite) = suite else { continue };
        if settings.run.verbose {
            announce_env(&suite, screen);
        }
        if let Some(book) = targets(&suite, &loader, settings, &limits, &mut report) {
            suites.push((Arc::new(suite), book));
        }
    }
    let plan = plan(suites, &settings.choice);
    report.notes.extend(plan.notes.iter().cloned());
    // Each file brings its own look at a shared targets file.
    let mut seen = Vec::new();
    report.notes.retain(|note| {
        !seen.contains(note) && {
            seen.push(note.clone());
            true
        }
    });
    show_notes(&report, &surroundings.working_dir);
    if stops(&report, settings) {
        let errors = report.errors().count() + report.dropped.errors;
        let warnings = report.warnings().count() + report.dropped.warnings;
        terminal::complain(
            &format!("nothing was run: {errors} error(s) and {warnings} warning(s) in the files"),
            None,
        );
        return None;
    }
    Some(Prepared { plan, warnings: report.notes.len() + report.dropped.total() })
}

/// Whether the notes are too much to go on with.
fn stops(report: &Report, settings: &EvalSettings) -> bool {
    let tolerated = match (settings.strict, settings.skip_invalid) {
        (true, _) => None,
        (false, true) => Some(Cost::Case),
        (false, false) => Some(Cost::Nothing),
    };
    report.worst() > tolerated
}

/// The targets that hold for a suite.
fn targets(
    suite: &LoadedSuite,
    loader: &Loader,
    settings: &EvalSettings,
    limits: &Arc<LimitBook>,
    report: &mut Report,
) -> Option<Arc<TargetBook>> {
    let path = match loader.find_targets(&suite.suite.dir, settings.targets_file.as_deref()) {
        Ok(path) => path,
        Err(problem) => {
            let mut notes = Notes::new(suite.suite.file.clone());
            notes
                .error("targets::missing", None, problem)
                .help("write a `targets.yaml` beside the eval file, or name one with `--targets`");
            report.notes.extend(notes.finish().0);
            return None;
        }
    };
    let (file, notes) = loader.targets(&path, &suite.env);
    report.extend(notes);
    let deps = Deps {
        target: TargetName::from(""),
        eval_dir: suite.suite.dir.clone(),
        working_dir: loader.working_dir.clone(),
        env: suite.env.clone(),
        processes: Arc::clone(&loader.processes),
    };
    Some(TargetBook::sharing(file?, deps, Arc::clone(limits)))
}

fn announce_env(suite: &LoadedSuite, screen: &mut Screen) {
    if suite.env_files.is_empty() {
        screen.line("No .env file found in hierarchy");
    }
    for path in &suite.env_files {
        screen.line(format!("Loaded environment from: {}", path.display()));
    }
}

fn announce(plan: &Plan, settings: &EvalSettings, screen: &mut Screen) {
    screen.line(format!("Output path: {}", settings.out.display()));
    for lane in plan.pools.iter().flat_map(|pool| &pool.lanes) {
        let label = &lane.target.label;
        if settings.run.verbose {
            let source = if !settings.choice.targets.is_empty() {
                "cli"
            } else if lane.suite.target.is_some() {
                "test-file"
            } else {
                "default"
            };
            let file = lane.target.judges.book.file.path.display();
            screen.line(format!("Using target ({source}): {label} via {file}"));
        } else {
            screen.line(format!("Using target: {label}"));
        }
    }
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// Opens the results file, with the directories above it.
fn open(path: &Path) -> io::Result<File> {
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir)?;
    }
    File::create(path)
}

fn execute(
    plan: Plan,
    file: File,
    settings: &EvalSettings,
    processes: Arc<Processes>,
) -> io::Result<Outcome> {
    // Without it orphans go to the system's first process; a time-out still ends the tree that can be seen.
    let _ = process::become_subreaper();
    let runtime = super::runtime()?;
    let run = Run {
        settings: settings.run,
        workers: settings.choice.workers,
        results: ResultFile::new(settings.writer, file),
        reporter: Box::new(Progress::new(plan.total)),
        pools: plan.pools,
        processes,
    };
    Ok(runtime.block_on(agentv_runtime::run::run(run)))
}

/// Says what went wrong with the run as a whole, and chooses the exit code.
fn conclude(outcome: &Outcome, settings: &EvalSettings) -> Exit {
    match &outcome.ended {
        Ended::Interrupted => {
            terminal::complain("interrupted: cases under way have no record", None);
            return Exit::Interrupted;
        }
        Ended::Unwritable(error) => {
            terminal::complain(
                &format!("results could not be written: {error}"),
                Some("records before this are whole"),
            );
            return Exit::Incomplete;
        }
        Ended::Unreadable(error) => {
            terminal::complain(&format!("the run ended early: {error}"), None);
            return Exit::Incomplete;
        }
        Ended::Complete => {}
    }
    let gates = settings.gates;
    let tally = &outcome.tally;
    if tally.errors > 0 && !gates.allow_errors {
        return Exit::Incomplete;
    }
    let mut exit = Exit::Success;
    for (name, target) in &tally.targets {
        if let Some(bar) = gates.target_mean.filter(|bar| is_below(target.mean(), *bar)) {
            terminal::complain(
                &format!(
                    "target `{name}` has a mean of {:.3}, below --threshold {bar}",
                    target.mean()
                ),
                None,
            );
            exit = Exit::Gate;
        }
    }
    if let Some((bar, lowest)) =
        gates.every_case.zip(tally.lowest).filter(|(bar, lowest)| is_below(*lowest, *bar))
    {
        terminal::complain(
            &format!("a case scores {lowest:.3}, below --case-threshold {bar}"),
            None,
        );
        exit = Exit::Gate;
    }
    exit
}

/// Rounding must not miss a gate.
fn is_below(score: f64, bar: f64) -> bool {
    !Score::clamped(score).reaches(Score::clamped(bar))
}

/// Unique enough to find this run's children by.
fn run_id() -> String {
    let nanos = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |elapsed| elapsed.as_nanos());
    format!("{nanos:x}-{}", std::process::id())
}
