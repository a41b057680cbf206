//! A pool is a fixed number of workers on one target. Each pulls the next case, runs it, and pulls again: a task per case
//! costs three times as much.

use super::RunSettings;
use super::batch;
use super::case::{CaseContext, asked, run_case, timestamp};
use super::limit::Limit;
use super::outbox::{Outbox, Told};
use super::outputs::Rendering;
use super::suite_on_target::{Answers, PriorAnswer, SuiteOnTarget};
use crate::load::{Cases, Pulled, SourceError};
use crate::run_dir::{Journal, Work};
use agentv_core::event::Finished;
use agentv_core::record;
use agentv_core::{EvalCase, Log, ProviderError, RunEvent, Trial, prompt};
use agentv_wire::ResultRecord;
use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// The lanes of one target and how many workers serve them.
#[derive(Debug)]
pub struct Pool {
    pub lanes: Vec<SuiteOnTarget>,
    pub workers: NonZeroUsize,
}

/// What every worker of a run shares.
#[derive(Debug, Clone)]
pub(super) struct Shared {
    pub settings: RunSettings,
    pub cancel: CancellationToken,
    pub log: Arc<dyn Log>,
    pub outbox: Outbox,
    /// How a record stands in the files.
    pub rendering: Rendering,
    /// Where answers are kept before they are graded.
    pub journal: Option<Arc<Journal>>,
    pub limit: Arc<Limit>,
    /// Caps the cases under way over all pools, where the user gave one number for all.
    pub permits: Option<Arc<Semaphore>>,
}

impl Pool {
    /// Runs every case of the pool. An error means that cases could not be read any more.
    pub(super) async fn run(self, shared: Shared) -> Result<(), SourceError> {
        let mut lanes = VecDeque::with_capacity(self.lanes.len());
        let mut workers = 0;
        for mut lane in self.lanes {
            let mut answers = batch::ask(&lane, &shared).await?;
            answers.extend(std::mem::take(&mut lane.past.answers));
            workers += lane.records();
            lanes.push_back((Arc::new(lane), answers));
        }
        let queue = Arc::new(Queue {
            state: Mutex::new(QueueState { waiting: lanes, open: None, failed: None }),
        });
        let mut tasks = JoinSet::new();
        for _ in 0..self.workers.get().min(workers) {
            tasks.spawn(worker(Arc::clone(&queue), shared.clone()));
        }
        while tasks.join_next().await.is_some() {}
        let mut state = queue.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.failed.take().map_or(Ok(()), Err)
    }
}

/// Where workers take cases from. A lock and not a message: taking one is quicker than sending one, and it is never held
/// over a wait.
#[derive(Debug)]
struct Queue {
    state: Mutex<QueueState>,
}

#[derive(Debug)]
struct QueueState {
    waiting: VecDeque<(Arc<SuiteOnTarget>, Answers)>,
    open: Option<Open>,
    failed: Option<SourceError>,
}

/// A lane that is worked on. All trials of a case come before the next case: so few cases are open at a time, whatever
/// their number.
#[derive(Debug)]
struct Open {
    lane: Arc<SuiteOnTarget>,
    answers: Answers,
    cases: Cases,
    /// The case whose trials are handed out, and the number of the next one.
    case: Option<Arc<SharedCase>>,
    next_trial: u32,
}

/// One trial of a case on its way to a worker.
struct Job {
    lane: Arc<SuiteOnTarget>,
    case: Arc<SharedCase>,
    trial: Trial,
    answered: Option<PriorAnswer>,
}

/// A case that its trials share. The first worker who needs it reads it: parsing is work, and the queue must not be locked
/// meanwhile.
#[derive(Debug)]
struct SharedCase {
    pulled: Pulled,
    read: OnceLock<Option<Arc<EvalCase>>>,
}

impl Job {
    /// The case, if it is one that the lane takes.
    fn case(&self) -> Option<Arc<EvalCase>> {
        let takes = &self.lane.takes;
        let read = || self.case.pulled.case().filter(|case| takes.takes(case));
        self.case.read.get_or_init(read).clone()
    }
}

impl Queue {
    fn next(&self) -> Option<Job> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.next().unwrap_or_else(|error| {
            state.failed = Some(error);
            state.waiting.clear();
            None
        })
    }
}

impl QueueState {
    fn next(&mut self) -> Result<Option<Job>, SourceError> {
        loop {
            if self.open.is_none() {
                let Some((lane, answers)) = self.waiting.pop_front() else { return Ok(None) };
                let cases = lane.suite.cases.open()?;
                self.open = Some(Open { lane, answers, cases, case: None, next_trial: 0 });
            }
            let Some(open) = &mut self.open else { return Ok(None) };
            if let Some(job) = open.next()? {
                return Ok(Some(job));
            }
            self.open = None;
        }
    }
}

impl Open {
    fn next(&mut self) -> Result<Option<Job>, SourceError> {
        loop {
            if let Some(job) = self.next_trial() {
                return Ok(Some(job));
            }
            let Some(pulled) = self.cases.pull()? else { return Ok(None) };
            self.case = Some(Arc::new(SharedCase { pulled, read: OnceLock::new() }));
            self.next_trial = 0;
        }
    }

    /// The next trial of the case at hand that has no record yet.
    fn next_trial(&mut self) -> Option<Job> {
        let case = self.case.as_ref()?;
        let ordinal = case.pulled.ordinal();
        while let Some(trial) = self.lane.trials.nth(self.next_trial) {
            self.next_trial += 1;
            if self.lane.past.is_done(ordinal, trial) {
                continue;
            }
            let answered = self.answers.remove(&(ordinal, trial.number()));
            let (lane, case) = (Arc::clone(&self.lane), Arc::clone(case));
            return Some(Job { lane, case, trial, answered });
        }
        None
    }
}

async fn worker(queue: Arc<Queue>, shared: Shared) {
    let mut bytes = Vec::new();
    while !shared.cancel.is_cancelled() && shared.limit.reached().is_none() {
        let _permit = match &shared.permits {
            Some(permits) => Some(permits.acquire().await),
            None => None,
        };
        let Some(job) = queue.next() else { return };
        let Some(case) = job.case() else { continue };
        let Job { lane, trial, answered, .. } = job;
        let target = Arc::clone(&lane.target.label);
        let started = RunEvent::Started { eval_id: case.id.clone(), target };
        if shared.outbox.tell(Told { event: started, rendered: None }, &[]).await.is_err() {
            return;
        }
        let Some(record) = guarded(&lane, (&case, trial), answered, &shared).await else { return };
        shared.limit.look(&record);
        let work = Work { case: &case, target: &lane.target.name, trial };
        let rendered = shared.rendering.render(&record, work, &mut bytes);
        let finished = Finished::new(lane.place(&case), record);
        let event = RunEvent::Finished(Box::new(finished));
        if shared.outbox.tell(Told { event, rendered: Some(rendered) }, &bytes).await.is_err() {
            return;
        }
    }
}

/// Runs a case so that a bug in it becomes its record instead of the end of the run.
async fn guarded(
    lane: &SuiteOnTarget,
    (case, trial): (&EvalCase, Trial),
    answered: Option<PriorAnswer>,
    shared: &Shared,
) -> Option<Box<ResultRecord>> {
    let cx = CaseContext {
        target: &lane.target,
        trial,
        settings: shared.settings,
        cancel: &shared.cancel,
        log: &shared.log,
        journal: shared.journal.as_deref(),
        calls: Arc::default(),
    };
    let mut running = std::pin::pin!(run_case(case, answered, &cx));
    let caught = std::future::poll_fn(|task| {
        let polled = std::panic::catch_unwind(AssertUnwindSafe(|| running.as_mut().poll(task)));
        match polled {
            Ok(poll) => poll.map(Ok),
            Err(panic) => std::task::Poll::Ready(Err(panic)),
        }
    });
    match caught.await {
        Ok(record) => record,
        Err(panic) => {
            let reason = panic_text(&*panic);
            let error = ProviderError::failed(format!(
                "AgentV has a bug: it panicked on this case: {reason}"
            ));
            let request = prompt::build(case, lane.target.provider.info().prompt_mode);
            Some(record::failed(case, asked(request, &lane.target, trial), &error, timestamp()))
        }
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no reason given")
}
