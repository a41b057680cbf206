//! Files and flags → a plan, or all that is wrong with them.

use super::{Refusal, services};
use crate::settings::{Environment, EvalSettings};
use crate::terminal::{self, Screen, show_notes};
use agentv_core::TargetName;
use agentv_runtime::config::{Cost, Note, Notes};
use agentv_runtime::load::{ChangedError, LoadedSuite, Loader, Report, Selection, changed_since};
use agentv_runtime::process::Processes;
use agentv_runtime::providers::Deps;
use agentv_runtime::run::{Plan, plan};
use agentv_runtime::targets::{CallServices, LimitBook, TargetBook};
use std::sync::Arc;

/// A run that can begin.
pub(super) struct Prepared {
    pub plan: Plan,
    /// Notes that did not stop it.
    pub warnings: usize,
    pub selected: Selected,
}

/// How many cases of how many.
#[derive(Debug, Clone, Copy)]
pub(super) struct Selected {
    /// Whether nothing was to be left out.
    pub is_all: bool,
    pub cases: usize,
    pub of: usize,
    /// How many there were before a sample and a shard were taken of them.
    pub before_lots: usize,
}

/// Loads everything and shows all that is wrong. `None` if that is too much to go on.
pub(super) fn prepare(
    settings: &EvalSettings,
    environment: &Environment,
    (processes, services): (&Arc<Processes>, &CallServices),
    screen: &mut Screen,
) -> Result<Option<Prepared>, Refusal> {
    let selection = selection(settings, environment, processes)?;
    let loader = Loader { selection: selection.clone(), ..environment.loader(processes) };
    let mut report = Report::default();
    let (mut suites, mut books) = (Vec::new(), Vec::new());
    let limits = LimitBook::new();
    for path in &settings.files {
        let (suite, notes) = loader.suite(path);
        report.extend(notes);
        let Some(suite) = suite else { continue };
        if settings.run.verbose {
            announce_env(&suite, screen);
        }
        let shared = (Arc::clone(&limits), services::of_suite(services, settings, &suite));
        if let Some(book) = targets(&suite, &loader, settings, shared, &mut report) {
            suites.push(suite);
            books.push(book);
        }
    }
    let before_lots: usize = suites.iter().map(|suite| suite.cases.len()).sum();
    selection.narrow(&mut suites);
    let selected = Selected {
        is_all: selection.is_all(),
        cases: suites.iter().map(|suite| suite.cases.len()).sum(),
        of: suites.iter().map(|suite| suite.cases.total()).sum(),
        before_lots,
    };
    let plan = plan(suites.into_iter().map(Arc::new).zip(books).collect(), &settings.choice);
    report.notes.extend(plan.notes.iter().cloned());
    // Each file brings its own look at a shared targets file; and what is only worth knowing is said once.
    let mut seen: Vec<Note> = Vec::new();
    report.notes.retain(|note| {
        let is_known =
            |old: &Note| old == note || (note.cost == Cost::Info && old.code == note.code);
        !seen.iter().any(is_known) && {
            seen.push(note.clone());
            true
        }
    });
    show_notes(&report, &environment.working_dir);
    if stops(&report, settings) {
        let errors = report.errors().count() + report.dropped.errors;
        let warnings = report.warnings().count() + report.dropped.warnings;
        terminal::complain(
            &format!("nothing was run: {errors} error(s) and {warnings} warning(s) in the files"),
            None,
        );
        return Ok(None);
    }
    let odd = report.notes.iter().filter(|note| note.cost > Cost::Info).count();
    let warnings = odd + report.dropped.total();
    Ok(Some(Prepared { plan, warnings, selected }))
}

/// What the flags ask for, with Git's word on what changed.
fn selection(
    settings: &EvalSettings,
    environment: &Environment,
    processes: &Arc<Processes>,
) -> Result<Selection, Refusal> {
    let mut selection = settings.selection.clone();
    if let Some(revision) = &settings.changed_since {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime
            .map_err(|error| Refusal::incomplete(format!("Git cannot be asked: {error}")))?;
        let changed = changed_since(revision, &environment.working_dir, processes);
        let changed = runtime.block_on(changed).map_err(|error| {
            let help = match error {
                ChangedError::NoRepository(_) => "run it inside of the repository",
                ChangedError::NoRevision(_) => {
                    "name a commit, a branch or a tag, e.g. `origin/main`"
                }
                ChangedError::NoGit(_) => "install Git",
                ChangedError::Git { .. } => "try the command yourself",
            };
            Refusal::usage(error.to_string(), help)
        })?;
        selection.changed = Some(Arc::new(changed));
    }
    Ok(selection)
}

/// Whether the notes are too much to go on with.
fn stops(report: &Report, settings: &EvalSettings) -> bool {
    let tolerated = match (settings.strict, settings.skip_invalid) {
        (true, _) => Some(Cost::Info),
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
    (limits, services): (Arc<LimitBook>, CallServices),
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
    let (file, mut notes) = loader.targets(&path, &suite.env);
    if settings.replay.is_some() || settings.choice.dry_run.is_some() {
        notes.forgive_missing_secrets();
    }
    report.extend(notes);
    let deps = Deps {
        target: TargetName::from(""),
        eval_dir: suite.suite.dir.clone(),
        working_dir: loader.working_dir.clone(),
        env: suite.env.clone(),
        processes: Arc::clone(&loader.processes),
    };
    Some(TargetBook::sharing(file?, deps, limits, services))
}

fn announce_env(suite: &LoadedSuite, screen: &mut Screen) {
    if suite.env_files.is_empty() {
        screen.line("No .env file found in hierarchy");
    }
    for path in &suite.env_files {
        screen.line(format!("Loaded environment from: {}", path.display()));
    }
}
