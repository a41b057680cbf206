//! Jobs → work, with the targets and secrets of this process.

use super::JobError;
use crate::cache::AnswerStore;
use crate::hash::sha256;
use crate::load::{LoadedSuite, Loader, Report};
use crate::process::Processes;
use crate::run::{
    AnswerSource, BatchJob, Job, LiveTarget, LocalExecutor, SuiteOnTarget, Work, fingerprints, plan,
};
use crate::session::{Environment, Refused, load, services, settings};
use crate::targets::{CallServices, LimitBook, SharedLimits, TargetBook};
use agentv_core::{EvalCase, Trial, Trials};
use agentv_wire::{Object, RunSpec, SuiteId, TargetName};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

/// Reads the jobs of one run.
#[derive(Debug)]
pub struct JobReader {
    environment: Environment,
    spec: RunSpec,
    processes: Arc<Processes>,
    services: CallServices,
    limits: Arc<LimitBook>,
    /// The targets of each suite, by its id and its keys: they are built once and know which of them are healthy. A lock
    /// and not a message: a suite is met once.
    books: Mutex<HashMap<BookKey, Arc<TargetBook>>>,
}

/// A suite, and a hash of its keys.
type BookKey = (SuiteId, [u8; 32]);

/// The cases of a batch on their target.
#[derive(Debug)]
pub struct ReadBatch {
    pub lane: Arc<SuiteOnTarget>,
    pub cases: Vec<Arc<EvalCase>>,
    pub trial: Trial,
}

impl JobReader {
    /// `spec` is that of the run; its suites are not read. Programs that are started are marked with `process_id`.
    pub fn new(
        environment: &Environment,
        spec: RunSpec,
        process_id: &str,
    ) -> Result<Self, Refused> {
        let services = services::open(&spec, environment)?;
        Ok(Self {
            environment: environment.clone(),
            spec,
            processes: Processes::new(process_id.to_owned()),
            limits: LimitBook::local(&services.spending),
            services,
            books: Mutex::default(),
        })
    }

    /// Takes budget, rates and answers that are known from the run that the work is done for.
    #[must_use]
    pub fn sharing(mut self, limits: Arc<dyn SharedLimits>, store: Arc<dyn AnswerStore>) -> Self {
        self.limits = LimitBook::new(limits);
        self.services.store = Some(store);
        self
    }

    /// An executor for the work of the jobs.
    pub fn executor(&self) -> LocalExecutor {
        LocalExecutor { settings: settings(&self.spec) }
    }

    pub fn processes(&self) -> &Arc<Processes> {
        &self.processes
    }

    /// The work of a job, and where its answer comes from.
    pub fn work(&self, job: Job) -> Result<(Work, Box<dyn AnswerSource>), JobError> {
        let lane =
            self.lane(&job.work.suite, job.suite, vec![job.case], (&job.work.target, job.trials))?;
        let case = cases(&lane).next().ok_or_else(|| missing("the case"))?;
        check(&lane, [&*case], &job.targets)?;
        let trial = trial(job.trials, job.work.trial)?;
        let work = Work { id: Arc::new(job.work), case, on: lane, trial };
        let source: Box<dyn AnswerSource> = match job.answered {
            Some(answered) => Box::new(answered),
            None => Box::new(LiveTarget),
        };
        Ok((work, source))
    }

    /// The cases of a batch on their target.
    pub fn batch(&self, job: BatchJob) -> Result<ReadBatch, JobError> {
        let count = job.cases.len();
        let lane = self.lane(&job.suite_id, job.suite, job.cases, (&job.target, job.trials))?;
        let cases: Vec<Arc<EvalCase>> = cases(&lane).collect();
        if cases.len() != count {
            return Err(missing("a case of the batch"));
        }
        check(&lane, cases.iter().map(|case| &**case), &job.targets)?;
        let trial = trial(job.trials, job.trial)?;
        Ok(ReadBatch { lane, cases, trial })
    }

    /// Cases of a suite on a target.
    fn lane(
        &self,
        id: &SuiteId,
        suite: Object,
        cases: Vec<Object>,
        (target, trials): (&TargetName, u32),
    ) -> Result<Arc<SuiteOnTarget>, JobError> {
        let key = (id.clone(), sha256(Value::Object(suite.clone()).to_string().as_bytes()));
        let path = self.environment.project_root.join(id.as_str());
        let mut document = suite;
        let cases = cases.into_iter().map(Value::Object).collect();
        document.insert("evalcases".to_owned(), Value::Array(cases));
        let judge_sandbox = load::judge_sandbox(&self.spec)
            .map_err(|refused| JobError::Refused(refused.to_string()))?;
        let loader = Loader { judge_sandbox, ..self.environment.loader(&self.processes) };
        let (suite, mut report) = loader.suite_of_document(&path, &Value::Object(document));
        let book = suite.as_ref().and_then(|suite| self.book(key, suite, &loader, &mut report));
        let (Some(suite), Some(book)) = (suite, book) else { return Err(refused(&report)) };
        let choice = load::choice(&RunSpec {
            targets: vec![undressed(target, &self.spec)],
            trials: Some(trials),
            ..self.spec.clone()
        });
        let plan = plan(vec![(Arc::new(suite), book)], &choice);
        report.notes.extend(plan.notes);
        let lane = plan.pools.into_iter().flat_map(|pool| pool.lanes).next();
        lane.map(Arc::new).ok_or_else(|| refused(&report))
    }

    fn book(
        &self,
        key: BookKey,
        suite: &LoadedSuite,
        loader: &Loader,
        report: &mut Report,
    ) -> Option<Arc<TargetBook>> {
        let mut books = self.books.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(book) = books.get(&key) {
            return Some(Arc::clone(book));
        }
        let file = load::targets_file(suite, loader, &self.spec, report)?;
        let redactor = load::redactor(&self.spec, [(suite, &file)]);
        self.processes.redact_with(&redactor);
        let deps = load::deps(suite, loader, &redactor);
        let services = services::of_suite(&self.services, &self.spec, suite);
        let book = TargetBook::sharing(file, deps, Arc::clone(&self.limits), services);
        books.insert(key, Arc::clone(&book));
        Some(book)
    }
}

/// A target of the same name that is another one would give other answers.
fn check<'c>(
    lane: &SuiteOnTarget,
    cases: impl IntoIterator<Item = &'c EvalCase>,
    expected: &BTreeMap<TargetName, String>,
) -> Result<(), JobError> {
    let here = fingerprints(lane, cases);
    let other = expected.iter().find(|(name, then)| here.get(*name) != Some(*then));
    other.map_or(Ok(()), |(name, _)| Err(JobError::OtherTarget(name.to_string())))
}

fn cases(lane: &SuiteOnTarget) -> impl Iterator<Item = Arc<EvalCase>> {
    lane.suite.cases.open().into_iter().flatten().flatten()
}

fn trial(of: u32, number: u32) -> Result<Trial, JobError> {
    let trial = Trials::new(of).and_then(|trials| trials.nth(number));
    trial.ok_or_else(|| JobError::Refused("there is no such trial".to_owned()))
}

fn missing(what: &str) -> JobError {
    JobError::Refused(format!("{what} cannot be read"))
}

fn refused(report: &Report) -> JobError {
    let messages: Vec<&str> = report.errors().map(|note| note.message.as_str()).collect();
    JobError::Refused(messages.join("; "))
}

/// The target as its file calls it; in a dry run, records have another name.
fn undressed(target: &TargetName, spec: &RunSpec) -> TargetName {
    match target.as_str().strip_suffix("-dry-run") {
        Some(name) if spec.dry_run.is_some() => TargetName::from(name),
        _ => target.clone(),
    }
}
