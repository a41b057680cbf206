//! A pool is a fixed number of workers on one target. Each pulls the next case, runs it, and pulls again: a task per case
//! costs three times as much.

use super::RunSettings;
use super::batch::{self, Answers};
use super::case::{CaseContext, asked, run_case, timestamp};
use super::lane::{Earlier, Lane};
use super::limit::Limit;
use super::outputs::{Rendering, Told};
use crate::folder::Journal;
use crate::load::{Cases, Pulled, SourceError};
use agentv_core::record;
use agentv_core::{EvalCase, Log, ProviderError, RunEvent, prompt};
use agentv_wire::ResultRecord;
use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// The lanes of one target and how many workers serve them.
#[derive(Debug)]
pub struct Pool {
    pub lanes: Vec<Lane>,
    pub workers: NonZeroUsize,
}

/// What every worker of a run shares.
#[derive(Debug, Clone)]
pub(super) struct Shared {
    pub settings: RunSettings,
    pub cancel: CancellationToken,
    pub log: Arc<dyn Log>,
    pub events: mpsc::Sender<Told>,
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
            workers += lane.cases;
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
    waiting: VecDeque<(Arc<Lane>, Answers)>,
    open: Option<Open>,
    failed: Option<SourceError>,
}

#[derive(Debug)]
struct Open {
    lane: Arc<Lane>,
    answers: Answers,
    cases: Cases,
}

/// One case on its way to a worker, who reads it: parsing is work, and the queue is locked meanwhile.
struct Job {
    lane: Arc<Lane>,
    pulled: Pulled,
    answered: Option<Earlier>,
}

impl Job {
    /// The case, if it is one that the lane takes.
    fn case(&self) -> Option<Arc<EvalCase>> {
        self.pulled.case().filter(|case| self.lane.takes.takes(case))
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
                self.open = Some(Open { lane, answers, cases });
            }
            let Some(open) = &mut self.open else { return Ok(None) };
            if let Some(pulled) = open.cases.pull()? {
                if open.lane.past.done.contains(pulled.ordinal()) {
                    continue;
                }
                let answered = open.answers.remove(&pulled.ordinal());
                return Ok(Some(Job { lane: Arc::clone(&open.lane), pulled, answered }));
            }
            self.open = None;
        }
    }
}

async fn worker(queue: Arc<Queue>, shared: Shared) {
    while !shared.cancel.is_cancelled() && shared.limit.reached().is_none() {
        let _permit = match &shared.permits {
            Some(permits) => Some(permits.acquire().await),
            None => None,
        };
        let Some(job) = queue.next() else { return };
        let Some(case) = job.case() else { continue };
        let Job { lane, answered, .. } = job;
        let target = Arc::clone(&lane.target.label);
        let started = RunEvent::Started { eval_id: case.id.clone(), target: Arc::clone(&target) };
        if shared.events.send(started.into()).await.is_err() {
            return;
        }
        let Some(record) = guarded(&lane, &case, answered, &shared).await else { return };
        shared.limit.look(&record);
        let position = lane.first_position + case.ordinal;
        let case = (&*case, &lane.target.name);
        let finished = Told::finished(record, (position, target), case, &shared.rendering);
        if shared.events.send(finished).await.is_err() {
            return;
        }
    }
}

/// Runs a case so that a bug in it becomes its record instead of the end of the run.
async fn guarded(
    lane: &Lane,
    case: &EvalCase,
    answered: Option<Earlier>,
    shared: &Shared,
) -> Option<ResultRecord> {
    let cx = CaseContext {
        target: &lane.target,
        settings: shared.settings,
        cancel: &shared.cancel,
        log: &shared.log,
        journal: shared.journal.as_deref(),
        refusal: Arc::default(),
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
            Some(record::failed(case, asked(request, &lane.target), &error, timestamp()))
        }
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no reason given")
}
