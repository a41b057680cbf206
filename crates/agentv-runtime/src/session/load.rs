//! Files → a plan, or all that is wrong with them.

use super::{Environment, Refused, Selected, selection, services};
use crate::config::{Cost, Note, Notes, Secrets};
use crate::load::{
    ChangedError, LoadedSuite, Loader, Report, Selection, TargetsFile, changed_since,
};
use crate::process::sandbox::{SandboxSettings, SandboxUser};
use crate::process::{Processes, SecretPolicy};
use crate::providers::Deps;
use crate::run::{Plan, PlanChoice, plan};
use crate::targets::{CallServices, LimitBook, TargetBook};
use agentv_core::amount::count;
use agentv_core::{Redactor, TargetName, Trials};
use agentv_wire::{AnswerOrigin, RunSpec};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

/// A run that can begin.
pub(super) struct Loaded {
    pub plan: Plan,
    /// What was noticed, but did not stop it.
    pub report: Report,
    pub selected: Selected,
    pub env_files: Vec<Vec<PathBuf>>,
    pub redactor: Arc<Redactor>,
}

/// Loads everything. All that is wrong is refused at once.
pub(super) async fn load(
    spec: &RunSpec,
    environment: &Environment,
    (processes, services): (&Arc<Processes>, &CallServices),
) -> Result<Loaded, Refused> {
    let selection = select(spec, environment, processes).await?;
    let loader = Loader {
        selection: selection.clone(),
        judge_sandbox: judge_sandbox(spec)?,
        is_portable: spec.cluster.is_some(),
        ..environment.loader(processes)
    };
    let mut report = Report::default();
    let (mut suites, mut targets, mut env_files) = (Vec::new(), Vec::new(), Vec::new());
    for path in &spec.suites {
        let (suite, notes) = loader.suite(path);
        report.extend(notes);
        let Some(suite) = suite else { continue };
        env_files.push(suite.env_files.clone());
        if let Some(file) = targets_file(&suite, &loader, spec, &mut report) {
            suites.push(suite);
            targets.push(file);
        }
    }
    let redactor = redactor(spec, suites.iter().zip(&targets));
    processes.redact_with(&redactor);
    let limits = LimitBook::local(&services.spending);
    let books = suites.iter().zip(targets).map(|(suite, file)| {
        let shared = (Arc::clone(&limits), services::of_suite(services, spec, suite));
        TargetBook::sharing(file, deps(suite, &loader, &redactor), shared.0, shared.1)
    });
    let books: Vec<Arc<TargetBook>> = books.collect();
    let before_sampling = suites.iter().map(|suite| suite.cases.len()).sum();
    selection.narrow(&mut suites);
    let selected = Selected {
        is_all: selection.is_all(),
        cases: suites.iter().map(|suite| suite.cases.len()).sum(),
        of: suites.iter().map(|suite| suite.cases.total()).sum(),
        before_sampling,
        unknown_tags: selection::unknown_tags(&selection.tags),
    };
    let plan = plan(suites.into_iter().map(Arc::new).zip(books).collect(), &choice(spec));
    report.notes.extend(plan.notes.iter().cloned());
    say_once(&mut report);
    // A value that is not understood may be a key in the wrong place.
    report.notes.iter_mut().for_each(|note| note.mask(&redactor));
    if stops(&report, spec) {
        let errors = report.errors().count() + report.dropped.errors;
        let warnings = report.warnings().count() + report.dropped.warnings;
        let counts = [
            (errors > 0).then(|| count(errors, "error", "errors")),
            (warnings > 0).then(|| count(warnings, "warning", "warnings")),
        ];
        let counts: Vec<String> = counts.into_iter().flatten().collect();
        let message = format!("nothing was run: {} in the files", counts.join(" and "));
        return Err(Refused { help: None, report, ..Refused::usage(message, String::new()) });
    }
    Ok(Loaded { plan, report, selected, env_files, redactor })
}

/// The sandbox of all judges, if the run has one.
pub(super) fn judge_sandbox(spec: &RunSpec) -> Result<Option<SandboxSettings>, Refused> {
    spec.sandbox.then(sandbox_of_judges).transpose()
}

/// What `--sandbox` means.
pub fn sandbox_of_judges() -> Result<SandboxSettings, Refused> {
    let settings = SandboxSettings::usual(SandboxUser::Judge);
    match settings.refusal() {
        None => Ok(settings),
        Some(reason) => Err(Refused::usage(
            format!("`--sandbox` cannot be used here: {reason}"),
            "write `judges: {sandbox: best_effort}` into `.agentv.yaml` to run with what there is",
        )),
    }
}

pub(super) fn choice(spec: &RunSpec) -> PlanChoice {
    PlanChoice {
        targets: spec.targets.clone(),
        workers: spec.workers.and_then(NonZeroUsize::new),
        is_cluster: spec.cluster.is_some(),
        trials: spec.trials.and_then(Trials::new),
        dry_run: spec.dry_run,
        regrade: spec.answers != AnswerOrigin::Targets,
    }
}

/// Each file brings its own look at a shared targets file; and what is only good to know is said once.
fn say_once(report: &mut Report) {
    let mut seen: Vec<Note> = Vec::new();
    report.notes.retain(|note| {
        let is_known =
            |old: &Note| old == note || (note.cost == Cost::Info && old.code == note.code);
        !seen.iter().any(is_known) && {
            seen.push(note.clone());
            true
        }
    });
}

/// Whether the notes are too much to run with.
fn stops(report: &Report, spec: &RunSpec) -> bool {
    let tolerated = match (spec.strict, spec.skip_invalid) {
        (true, _) => Some(Cost::Info),
        (false, true) => Some(Cost::Case),
        (false, false) => Some(Cost::Nothing),
    };
    report.worst() > tolerated
}

/// What the spec asks for, with what Git says has changed.
async fn select(
    spec: &RunSpec,
    environment: &Environment,
    processes: &Arc<Processes>,
) -> Result<Selection, Refused> {
    let mut selection = selection::read(&spec.cases)?;
    if !spec.cases.changed_files.is_empty() {
        selection.changed = Some(Arc::new(spec.cases.changed_files.iter().cloned().collect()));
    }
    if let Some(revision) = &spec.cases.changed_since {
        let changed =
            changed_since(revision, &environment.working_dir, (&environment.env, processes)).await;
        let changed = changed.map_err(|error| {
            let help = match error {
                ChangedError::NoRepository(_) => "run it inside of the repository",
                ChangedError::NoRevision(_) => {
                    "name a commit, a branch or a tag, e.g. `origin/main`"
                }
                ChangedError::NoGit(_) => "install Git",
                ChangedError::Git { .. } => "try the command yourself",
            };
            Refused::usage(error.to_string(), help)
        })?;
        selection.changed = Some(Arc::new(changed));
    }
    Ok(selection)
}

/// The targets that hold for a suite.
pub(super) fn targets_file(
    suite: &LoadedSuite,
    loader: &Loader,
    spec: &RunSpec,
    report: &mut Report,
) -> Option<TargetsFile> {
    let path = match loader.find_targets(&suite.suite.dir, spec.targets_file.as_deref()) {
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
    if spec.replay.is_some() || spec.dry_run.is_some() {
        notes.forgive_missing_secrets();
    }
    report.extend(notes);
    file
}

/// Masks the secrets of all suites of a run: a program of one can print those of another.
pub(super) fn redactor<'s>(
    spec: &RunSpec,
    suites: impl IntoIterator<Item = (&'s LoadedSuite, &'s TargetsFile)>,
) -> Arc<Redactor> {
    if spec.no_redact {
        return Arc::new(Redactor::off());
    }
    let mut secrets = Secrets::default();
    for (suite, file) in suites {
        secrets.merge(suite.secrets(file));
    }
    secrets.redactor()
}

/// What the providers of a suite's targets are given.
pub(super) fn deps(suite: &LoadedSuite, loader: &Loader, redactor: &Arc<Redactor>) -> Deps {
    Deps {
        target: TargetName::from(""),
        eval_dir: suite.suite.dir.clone(),
        working_dir: loader.working_dir.clone(),
        project_root: loader.project_root.clone(),
        env: suite.env.clone(),
        secrets: SecretPolicy { scrub: suite.scrub, ..SecretPolicy::default() },
        processes: Arc::clone(&loader.processes),
        health: Arc::default(),
        redactor: Arc::clone(redactor),
    }
}
