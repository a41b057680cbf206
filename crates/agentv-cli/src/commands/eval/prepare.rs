//! Files and flags → a plan, or all that is wrong with them.

use crate::settings::{EvalSettings, Surroundings};
use crate::terminal::{self, Screen, show_notes};
use agentv_core::TargetName;
use agentv_runtime::config::{Cost, Notes};
use agentv_runtime::load::{LoadedSuite, Loader, Report};
use agentv_runtime::process::Processes;
use agentv_runtime::providers::Deps;
use agentv_runtime::run::{Plan, plan};
use agentv_runtime::target::{LimitBook, TargetBook};
use std::sync::Arc;

/// A run that can begin.
pub(super) struct Prepared {
    pub plan: Plan,
    /// Notes that did not stop it.
    pub warnings: usize,
}

/// Loads everything and shows all that is wrong. `None` if that is too much to go on.
pub(super) fn prepare(
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
