//! A run as a library. A [`RunSpec`] is checked and opened, run with an observer, and summed up; nothing here prints.
//!
//! ```text
//! RunSpec ──► Session::open ──► Session::run(observer) ──► Summary
//!             files, targets,   events                     totals, exit code,
//!             budget, folder                               what to tell the user
//! ```

mod budget;
mod conclusion;
mod jobs;
mod load;
mod lost_files;
mod recorded;
mod resume;
mod selection;
mod services;
mod store;

pub use conclusion::{Conclusion, Problem};
pub use jobs::{JobError, JobReader, JobWriter, ReadBatch, SentFile, WrittenJob};
pub use load::sandbox_of_judges;
pub use recorded::Regrading;
pub use resume::{DAMAGED_HELP, ResumeOrder, asked_targets, check_format, last_run, resumable};
pub use selection::Selected;

// What a library user needs besides.
pub use crate::config::Env;
pub use crate::run::Reporter;
pub use agentv_wire::RunEvent;
pub use agentv_wire::RunSpec;

use crate::cache::AnswerStore;
use crate::config::Secrets;
use crate::load::{Loader, Report, Selection};
use crate::process::{self, Processes};
use crate::run::{Ended, Executor, Limit, Outputs, Plan, Resumed, Run, RunOutcome, RunSettings};
use crate::targets::{CallServices, LocalLimits, SharedLimits};
use crate::temp;
use crate::writers::WriterKind;
use agentv_core::Redactor;
use agentv_core::totals::Totals;
use agentv_wire::event::{RunPlanned, TargetPlan};
use agentv_wire::{AnswerOrigin, Exit, OutputFormat, RunTotals};
use lost_files::EndedRun;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::RunStore;

/// Where a run is started.
#[derive(Debug, Clone)]
pub struct Environment {
    pub working_dir: PathBuf,
    pub repo_root: PathBuf,
    /// Where `.agentv` is: run folders, results and caches.
    pub project_root: PathBuf,
    /// The variables that files and children see.
    pub env: Env,
}

impl Environment {
    /// A directory and its variables; the rest is found from there.
    pub fn at(working_dir: PathBuf, env: Env) -> Self {
        Self {
            repo_root: crate::load::repo_root(&working_dir),
            project_root: crate::load::project_root(&working_dir),
            working_dir,
            env,
        }
    }

    /// Where answers are kept from run to run.
    pub fn cache_dir(&self) -> PathBuf {
        self.project_root.join(".agentv/cache")
    }

    /// A path as people see it: from the working directory, where it lies below that.
    pub fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.working_dir).unwrap_or(path).display().to_string()
    }

    /// What is masked in the working directory: secrets of the environment and of `.env` files, and what `redact` matches.
    /// For text that belongs to no eval file.
    pub fn secrets(&self) -> Secrets {
        crate::load::secrets_of(&self.working_dir, &self.repo_root, &self.env)
    }

    /// A loader that looks around here, for all cases.
    pub fn loader(&self, processes: &Arc<Processes>) -> Loader {
        Loader {
            working_dir: self.working_dir.clone(),
            repo_root: self.repo_root.clone(),
            project_root: self.project_root.clone(),
            env: self.env.clone(),
            processes: Arc::clone(processes),
            selection: Selection::default(),
            judge_sandbox: None,
            is_portable: false,
        }
    }
}

/// A run to be opened.
#[derive(Debug, Default)]
pub struct Order {
    pub spec: RunSpec,
    /// The command line after the program's name, for `run.json`.
    pub command: Vec<String>,
    /// The run to be continued instead of starting a new one.
    pub resume: Option<ResumeOrder>,
}

/// Why a run cannot be opened. Nothing was called and no result was written.
#[derive(Debug)]
pub struct Refused {
    pub exit: Exit,
    pub message: String,
    pub help: Option<String>,
    /// What is wrong in the files, where that is the reason.
    pub report: Report,
    /// What there was to grade, where too little of it could be.
    pub regrading: Option<Box<Regrading>>,
}

impl Refused {
    /// Wrong input.
    pub fn usage(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..Self::new(Exit::Usage, message.into()) }
    }

    /// There is nothing to run, which is not a failure.
    pub fn nothing_to_do(message: String) -> Self {
        Self::new(Exit::Success, message)
    }

    /// Something that the run needs cannot be had.
    pub fn incomplete(message: String) -> Self {
        Self::new(Exit::Incomplete, message)
    }

    fn new(exit: Exit, message: String) -> Self {
        Self { exit, message, help: None, report: Report::default(), regrading: None }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.help.as_ref().map_or(Ok(()), |help| write!(f, " ({help})"))
    }
}

impl std::error::Error for Refused {}

/// A run that is ready to begin.
#[derive(Debug)]
pub struct Session {
    run_id: String,
    spec: RunSpec,
    plan: Plan,
    /// Where the results are asked for.
    out: PathBuf,
    outputs: Outputs,
    /// What earlier records came to, where a run is resumed.
    totals: Totals,
    store: Option<RunStore>,
    services: CallServices,
    processes: Arc<Processes>,
    redactor: Arc<Redactor>,
    /// Does the work; `None` for this process.
    executor: Option<Arc<dyn Executor>>,
    /// From where paths are shown.
    working_dir: PathBuf,
}

/// A session, and all that is worth telling before it runs.
#[derive(Debug)]
pub struct Opened {
    pub session: Session,
    /// What was noticed in the files, but did not stop the run.
    pub report: Report,
    /// What else is worth a warning.
    pub warnings: Vec<String>,
    pub selected: Selected,
    /// What was found of the run that is resumed.
    pub resumed: Option<Resumed>,
    /// What was found of the answers that are graded again.
    pub regrading: Option<Box<Regrading>>,
    /// The `.env` files that were read, in the order of the suites.
    pub env_files: Vec<Vec<PathBuf>>,
}

/// What a run came to.
#[derive(Debug)]
pub struct Summary {
    pub run_id: String,
    pub outcome: RunOutcome,
    pub took: Duration,
    pub conclusion: Conclusion,
    /// The cassette that was written, with the number of its calls.
    pub cassette: Option<(PathBuf, usize)>,
    /// Where the records are: in the run folder, or where they were asked for.
    pub results: PathBuf,
    /// Where the results were asked for.
    pub out: PathBuf,
    /// Whether there is a run folder.
    pub is_kept: bool,
}

impl Summary {
    /// The numbers that every view of the run shows.
    pub fn totals(&self) -> RunTotals {
        let RunOutcome { totals, missing, .. } = &self.outcome;
        totals.wire(Some(totals.recorded() + missing))
    }
}

impl Session {
    /// Loads the files, checks everything that can be wrong, and makes the run folder.
    pub async fn open(order: Order, environment: &Environment) -> Result<Opened, Refused> {
        let Order { mut spec, command, resume } = order;
        let mut warnings = selection::check(&spec)?;
        let key = store::signing_key(&spec, environment)?;
        let resume = match resume {
            Some(order) => Some(resume::open(&order, &mut spec, environment, &mut warnings)?),
            None => None,
        };
        // A run is continued where it was started: relative paths in its files count from there.
        let environment = &match &resume {
            Some(run) => Environment {
                working_dir: PathBuf::from(&run.info.working_dir),
                ..environment.clone()
            },
            None => environment.clone(),
        };
        let run_id = resume.as_ref().map_or_else(store::new_run_id, |run| run.folder.id.clone());
        let processes = Processes::new(run_id.clone());
        if resume.is_some() {
            // What the killed process has started may still be at work.
            processes.end_run();
        }
        let services = services::open(&spec, environment)?;
        let recorded = recorded::open(&mut spec, environment, &mut warnings)?;
        let loaded = Box::pin(load::load(&spec, environment, (&processes, &services))).await?;
        let load::Loaded { mut plan, report, selected, env_files, redactor } = loaded;
        let out = out(&spec, environment);
        selection::check_loaded(&selected, &spec, &out)?;
        warnings.extend(selected.unknown_tags.clone());
        services::check_cassette(&services, &plan)?;
        let regrading = match recorded {
            Some(recorded) => Some(recorded.claim(&mut plan, &spec, &out)?),
            None => None,
        };
        budget::check(&plan)?;
        let writer = writer(spec.output_format);
        let command = without_secrets(&mut spec, &command, &redactor);
        let begun = store::Begin { run_id: &run_id, command, spec: &spec, out: &out, writer, key };
        let graded = regrading.as_ref().map(|regrading| regrading.name.as_str());
        let store::OpenedStore { outputs, out, totals, resumed, store } = match resume {
            Some(earlier) => store::resume(earlier, &mut plan, begun, environment, &mut warnings)?,
            None => store::begin(begun, &plan, graded, environment, &mut warnings)?,
        };
        budget::count(&services.spending, resumed.as_ref(), &outputs, &mut warnings);
        let run_id = store.as_ref().map_or(run_id, |store| store.run_id().to_owned());
        let session = Self {
            run_id,
            spec,
            plan,
            out,
            outputs,
            totals,
            store,
            services,
            processes,
            redactor,
            executor: None,
            working_dir: environment.working_dir.clone(),
        };
        Ok(Opened { session, report, warnings, selected, resumed, regrading, env_files })
    }

    /// Has the work done elsewhere.
    #[must_use]
    pub fn with_executor(self, executor: Arc<dyn Executor>) -> Self {
        Self { executor: Some(executor), ..self }
    }

    /// Runs all cases to the end. The observer hears every event but the last one, `ended`: that is told by whoever
    /// knows the exit code.
    pub async fn run(self, mut observer: Box<dyn Reporter>) -> Summary {
        // Without it orphans go to the system's first process; a time-out still ends the tree that can be seen.
        let _ = process::become_subreaper();
        // What killed runs have left may be large, and is not waited for.
        let sweeping = tokio::task::spawn_blocking(temp::sweep);
        observer.event(&RunEvent::Planned(Box::new(self.planned())));
        // It may be long until something else happens.
        observer.pause();
        let Self { run_id, spec, plan, out, outputs, totals, store, services, .. } = self;
        let Self { processes, redactor, executor, working_dir, .. } = self;
        let gates = spec.gates;
        let began = Instant::now();
        // Boxed, as is the loading of files: what is awaited here would make the future of every caller large.
        let mut outcome = Box::pin(crate::run::run(Run {
            settings: settings(&spec),
            workers: spec.workers.and_then(std::num::NonZeroUsize::new),
            limit: Limit::new(gates.max_errors, gates.fail_fast, Arc::clone(&services.spending)),
            outputs,
            reporter: observer,
            totals,
            total: plan.total,
            pools: plan.pools,
            processes,
            redactor,
            executor,
        }))
        .await;
        let took = began.elapsed();
        let _ = sweeping.await;
        let is_kept = store.is_some();
        let can_resume = is_kept && spec.answers == AnswerOrigin::Targets;
        let mut conclusion = conclusion::of(&outcome, &gates, can_resume.then_some(&*run_id));
        let is_complete = matches!(outcome.ended, Ended::Complete);
        let cassette = services::close(&services, is_complete, &mut conclusion);
        let results = store.as_ref().map_or_else(|| out.clone(), RunStore::results);
        let outputs = outcome.outputs.take();
        if let Some(outputs) = &outputs {
            let resume = can_resume.then_some(&*run_id);
            let run = EndedRun { out: &out, working_dir: &working_dir, resume };
            lost_files::check(outputs, &run, &mut conclusion);
        }
        if let Some(store) = store {
            store.close(&outcome, outputs.as_ref(), &working_dir, &mut conclusion);
        }
        Summary { run_id, outcome, took, conclusion, cassette, results, out, is_kept }
    }

    /// The run in numbers, before its first case.
    fn planned(&self) -> RunPlanned {
        let targets = self.plan.lanes().map(|lane| TargetPlan {
            name: lane.target.name.clone(),
            provider: lane.target.kind.clone(),
            suite: lane.suite.suite.id.clone(),
            cases: lane.cases,
            trials: lane.trials.count(),
        });
        RunPlanned {
            run: self.run_id.clone(),
            total: self.plan.total,
            done: self.totals.recorded(),
            out: self.out.display().to_string(),
            targets: targets.collect(),
        }
    }

    /// The budget and the rates of the run, for work that is done elsewhere.
    pub fn shared_limits(&self) -> Arc<dyn SharedLimits> {
        Arc::new(LocalLimits::for_machines(Arc::clone(&self.services.spending)))
    }

    /// Where answers are kept from run to run.
    pub fn answer_store(&self) -> Option<Arc<dyn AnswerStore>> {
        self.services.store.clone()
    }

    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    pub fn spec(&self) -> &RunSpec {
        &self.spec
    }

    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What the records that are there already came to.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Where the results are asked for.
    pub fn out(&self) -> &Path {
        &self.out
    }

    /// Whether there is a run folder.
    pub fn is_kept(&self) -> bool {
        self.store.is_some()
    }
}

/// The command line as it is kept. Nor is a secret kept that was meant to choose cases, though a resume does not find the
/// same ones then.
fn without_secrets(spec: &mut RunSpec, command: &[String], redactor: &Redactor) -> Vec<String> {
    if let Ok(Some(cases)) = redactor.masked(&spec.cases) {
        spec.cases = cases;
    }
    command.iter().map(|word| redactor.text(word).into_owned()).collect()
}

fn settings(spec: &RunSpec) -> RunSettings {
    RunSettings {
        // 0, or less, means no limit.
        agent_timeout: Duration::try_from_secs_f64(spec.agent_timeout)
            .ok()
            .filter(|limit| !limit.is_zero()),
        max_retries: spec.max_retries,
        verbose: spec.verbose,
    }
}

fn writer(format: OutputFormat) -> &'static WriterKind {
    let name = match format {
        OutputFormat::Jsonl => "jsonl",
        OutputFormat::Yaml => "yaml",
    };
    WriterKind::find(name).unwrap_or(&crate::writers::WRITERS[0])
}

/// Where the results go: as the spec says, else into a new file of the project.
fn out(spec: &RunSpec, environment: &Environment) -> PathBuf {
    if let Some(out) = &spec.out {
        return environment.working_dir.join(out);
    }
    let command = if spec.answers == AnswerOrigin::Targets { "eval" } else { "grade" };
    let stamp = format!("{:.3}", crate::clock::now()).replace([':', '.'], "-");
    let extension = writer(spec.output_format).extension;
    environment.project_root.join(format!(".agentv/results/{command}_{stamp}.{extension}"))
}
