//! Work that is handed over as messages: a [`Job`] of each piece of work, and the work of each [`Job`].

use super::{Environment, load, services, settings};
use crate::load::{Loader, Written, written};
use crate::process::Processes;
use crate::run::{AnswerSource, Job, LiveTarget, LocalExecutor, RunSettings, Work, plan};
use crate::targets::{CallServices, LimitBook, TargetBook};
use agentv_core::{Log, Trials};
use agentv_wire::{Object, RunSpec, SuiteId};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Makes jobs of the work of a run. It reads each suite once as it is written, and holds it: what does its work in this
/// process does not need it.
#[derive(Debug)]
pub struct JobWriter {
    project_root: PathBuf,
    /// A lock and not a message: a suite is read once.
    suites: Mutex<HashMap<SuiteId, Arc<WrittenSuite>>>,
}

#[derive(Debug)]
struct WrittenSuite {
    head: Object,
    cases: HashMap<String, Object>,
}

/// Why a job cannot be made, or cannot be done here.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    #[error("the suite `{0}` cannot be read any more")]
    Unreadable(SuiteId),
    #[error("the suite `{suite}` no longer has a case `{eval_id}`")]
    Missing { suite: SuiteId, eval_id: String },
    #[error("the job cannot be run here: {0}")]
    Refused(String),
    #[error("target `{0}` is not the same here")]
    OtherTarget(String),
}

impl JobWriter {
    pub fn new(environment: &Environment) -> Self {
        Self { project_root: environment.project_root.clone(), suites: Mutex::default() }
    }

    /// The job of a piece of work. An answer that is there already travels with it.
    pub fn job(&self, work: &Work, source: Box<dyn AnswerSource>) -> Result<Job, JobError> {
        let id = &work.id.suite;
        let suite = self.suite(id)?;
        let case = suite.cases.get(work.id.eval_id.as_str()).ok_or_else(|| JobError::Missing {
            suite: id.clone(),
            eval_id: work.id.eval_id.to_string(),
        })?;
        Ok(Job::new(work, suite.head.clone(), case.clone(), source.known()))
    }

    fn suite(&self, id: &SuiteId) -> Result<Arc<WrittenSuite>, JobError> {
        let mut suites = self.suites.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(suite) = suites.get(id) {
            return Ok(Arc::clone(suite));
        }
        let (found, _) = written(&self.project_root.join(id.as_str()));
        let Written { head, cases, .. } = found.ok_or_else(|| JobError::Unreadable(id.clone()))?;
        let named = cases.into_iter().filter_map(|case| {
            let id = case.get("id")?.as_str()?.to_owned();
            Some((id, case))
        });
        let suite = Arc::new(WrittenSuite { head, cases: named.collect() });
        suites.insert(id.clone(), Arc::clone(&suite));
        Ok(suite)
    }
}

/// Does jobs with the targets and secrets of this process.
#[derive(Debug)]
pub struct JobReader {
    environment: Environment,
    spec: RunSpec,
    processes: Arc<Processes>,
    services: CallServices,
    limits: Arc<LimitBook>,
}

impl JobReader {
    /// `spec` is that of the run; its suites are not read.
    pub fn new(
        environment: &Environment,
        spec: RunSpec,
        run_id: &str,
    ) -> Result<Self, super::Refused> {
        let services = services::open(&spec, environment)?;
        Ok(Self {
            environment: environment.clone(),
            spec,
            processes: Processes::new(run_id.to_owned()),
            limits: LimitBook::local(&services.spending),
            services,
        })
    }

    /// An executor for the work of the jobs.
    pub fn executor(&self, log: Arc<dyn Log>) -> LocalExecutor {
        LocalExecutor { settings: self.settings(), log }
    }

    fn settings(&self) -> RunSettings {
        settings(&self.spec)
    }

    /// The work of a job, and where its answer comes from.
    pub fn work(&self, job: Job) -> Result<(Work, Box<dyn AnswerSource>), JobError> {
        let path = self.environment.project_root.join(job.work.suite.as_str());
        let mut document = job.suite;
        document.insert("evalcases".to_owned(), json!([job.case]));
        let judge_sandbox = load::judge_sandbox(&self.spec)
            .map_err(|refused| JobError::Refused(refused.to_string()))?;
        let loader = Loader { judge_sandbox, ..self.environment.loader(&self.processes) };
        let (suite, mut report) = loader.suite_of_document(&path, &Value::Object(document));
        let book = suite.as_ref().and_then(|suite| {
            let file = load::targets_file(suite, &loader, &self.spec, &mut report)?;
            let redactor = load::redactor(&self.spec, [(suite, &file)]);
            self.processes.redact_with(&redactor);
            let deps = load::deps(suite, &loader, &redactor);
            let services = services::of_suite(&self.services, &self.spec, suite);
            Some(TargetBook::sharing(file, deps, Arc::clone(&self.limits), services))
        });
        let refused = |report: &crate::load::Report| {
            let messages: Vec<&str> = report.errors().map(|note| note.message.as_str()).collect();
            JobError::Refused(messages.join("; "))
        };
        let (Some(suite), Some(book)) = (suite, book) else { return Err(refused(&report)) };
        let choice = load::choice(&RunSpec {
            targets: vec![job.work.target.clone()],
            trials: Some(job.trials),
            ..self.spec.clone()
        });
        let plan = plan(vec![(Arc::new(suite), book)], &choice);
        report.notes.extend(plan.notes);
        let lane = plan.pools.into_iter().flat_map(|pool| pool.lanes).next();
        let lane = Arc::new(lane.ok_or_else(|| refused(&report))?);
        let case = lane.suite.cases.open().into_iter().flatten().flatten().next();
        let case = case.ok_or_else(|| refused(&report))?;
        let trial = Trials::new(job.trials).and_then(|trials| trials.nth(job.work.trial));
        let trial = trial.ok_or_else(|| JobError::Refused("no such trial".to_owned()))?;
        let work = Work { id: Arc::new(job.work), case, on: lane, trial };
        let here = crate::run::fingerprints(&work);
        if let Some((name, _)) =
            job.targets.iter().find(|(name, then)| here.get(name) != Some(then))
        {
            return Err(JobError::OtherTarget(name.to_string()));
        }
        let source: Box<dyn AnswerSource> = match job.answered {
            Some(answered) => Box::new(answered),
            None => Box::new(LiveTarget),
        };
        Ok((work, source))
    }
}
