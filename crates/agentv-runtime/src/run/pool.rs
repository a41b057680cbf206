//! A pool is a fixed number of workers on one target. Each pulls the next piece of work, has it done, and pulls again: a
//! task per case costs three times as much.

use super::RunSettings;
use super::answer::{self, AnswerSource, LiveTarget};
use super::case::Work;
use super::dispatcher::QUEUED_BYTES;
use super::executor::{EventSink, Executed, Executor};
use super::limit::Limit;
use super::outputs::{Rendered, Rendering};
use super::suite_on_target::{Answers, SuiteOnTarget};
use crate::load::{Cases, Pulled, SourceError};
use crate::run_dir::Journal;
use agentv_core::event::finished;
use agentv_core::{Answered, EvalCase, Log, Request, RunEvent, Trial, WorkId};
use agentv_wire::event::{CaseAnswered, CaseGrading, CaseStarted};
use async_trait::async_trait;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use std::collections::VecDeque;
use std::io;
use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// The suites of one target and how many workers serve them.
#[derive(Debug)]
pub struct Pool {
    pub lanes: Vec<SuiteOnTarget>,
    pub workers: NonZeroUsize,
}

/// What every worker of a run shares.
#[derive(Debug, Clone)]
pub(super) struct Shared {
    pub settings: RunSettings,
    pub executor: Arc<dyn Executor>,
    pub cancel: CancellationToken,
    pub log: Arc<dyn Log>,
    /// To the dispatcher. Bounded: a slow disk slows the workers instead of filling the memory.
    pub events: mpsc::Sender<QueuedEvent>,
    /// What is left of the bytes that may wait for the dispatcher.
    pub room: Arc<Semaphore>,
    /// How a record becomes bytes.
    pub rendering: Rendering,
    /// How many lines the log has had so far.
    pub lines_sent: Arc<AtomicUsize>,
    /// Where answers are kept before they are graded.
    pub journal: Option<Arc<Journal>>,
    pub limit: Arc<Limit>,
    /// Whether the observer shows when cases are answered and graded.
    pub has_phases: bool,
    /// Caps the cases under way over all pools, where the user gave one number for all.
    pub permits: Option<Arc<Semaphore>>,
}

/// Something that happened, and the bytes that it adds to the files, if it is a record.
#[derive(Debug)]
pub(super) struct QueuedEvent {
    pub event: RunEvent,
    pub rendered: Option<io::Result<Rendered>>,
    /// How many lines of the log came before it.
    pub lines_before: usize,
    /// The room of its bytes; free again once it is written.
    _room: Option<OwnedSemaphorePermit>,
}

impl Pool {
    /// Runs every case of the pool. An error means that cases could no longer be read.
    pub(super) async fn run(self, shared: Shared) -> Result<(), SourceError> {
        let mut lanes = VecDeque::with_capacity(self.lanes.len());
        let mut records = 0;
        for mut lane in self.lanes {
            let mut answers = answer::ask_batch(&lane, &shared).await?;
            answers.extend(std::mem::take(&mut lane.past.answers));
            records += lane.records();
            lanes.push_back((Arc::new(lane), answers));
        }
        let queue = Arc::new(Queue {
            state: Mutex::new(QueueState { waiting: lanes, open: None, failed: None }),
        });
        let grading = Arc::new(Semaphore::new(self.workers.get()));
        let mut tasks = JoinSet::new();
        for _ in 0..self.workers.get().min(records) {
            let worker = Worker {
                queue: Arc::clone(&queue),
                shared: shared.clone(),
                grading: Arc::clone(&grading),
            };
            tasks.spawn(worker.run());
        }
        while tasks.join_next().await.is_some() {}
        let mut state = queue.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.failed.take().map_or(Ok(()), Err)
    }
}

/// Where workers take work from. A lock and not a message: taking one is quicker than sending one, and it is never held
/// over a wait.
#[derive(Debug)]
struct Queue {
    state: Mutex<QueueState>,
}

#[derive(Debug)]
struct QueueState {
    waiting: VecDeque<(Arc<SuiteOnTarget>, Answers)>,
    open: Option<OpenSuite>,
    failed: Option<SourceError>,
}

/// A suite that is worked on. All trials of a case come before the next case: so few cases are open at a time.
#[derive(Debug)]
struct OpenSuite {
    lane: Arc<SuiteOnTarget>,
    answers: Answers,
    cases: Cases,
    /// The case whose trials are handed out, and the number of the next one.
    case: Option<Arc<SharedCase>>,
    next_trial: u32,
}

/// One trial of a case on its way to a worker.
struct QueuedWork {
    lane: Arc<SuiteOnTarget>,
    case: Arc<SharedCase>,
    trial: Trial,
    source: Box<dyn AnswerSource>,
}

/// A case that its trials share. The first worker who needs it reads it: parsing is work, and the queue must not be locked
/// meanwhile.
#[derive(Debug)]
struct SharedCase {
    pulled: Pulled,
    read: OnceLock<Option<Arc<EvalCase>>>,
}

impl QueuedWork {
    /// `None` if the case is not of this target.
    fn work(self) -> Option<(Work, Box<dyn AnswerSource>)> {
        let Self { lane, case, trial, source } = self;
        let case = case.read.get_or_init(|| case.pulled.case()).as_ref()?;
        if !lane.takes.takes(case) {
            return None;
        }
        let id = Arc::new(case.work_id(&lane.target.name, trial));
        Some((Work { id, case: Arc::clone(case), on: lane, trial }, source))
    }
}

impl Queue {
    fn next(&self) -> Option<QueuedWork> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.next().unwrap_or_else(|error| {
            state.failed = Some(error);
            state.waiting.clear();
            None
        })
    }
}

impl QueueState {
    fn next(&mut self) -> Result<Option<QueuedWork>, SourceError> {
        loop {
            if self.open.is_none() {
                let Some((lane, answers)) = self.waiting.pop_front() else { return Ok(None) };
                let cases = lane.suite.cases.open()?;
                self.open = Some(OpenSuite { lane, answers, cases, case: None, next_trial: 0 });
            }
            let Some(open) = &mut self.open else { return Ok(None) };
            if let Some(work) = open.next()? {
                return Ok(Some(work));
            }
            self.open = None;
        }
    }
}

impl OpenSuite {
    fn next(&mut self) -> Result<Option<QueuedWork>, SourceError> {
        loop {
            if let Some(work) = self.next_trial() {
                return Ok(Some(work));
            }
            let Some(pulled) = self.cases.pull()? else { return Ok(None) };
            self.case = Some(Arc::new(SharedCase { pulled, read: OnceLock::new() }));
            self.next_trial = 0;
        }
    }

    /// The next trial of the case at hand that has no record yet.
    fn next_trial(&mut self) -> Option<QueuedWork> {
        let case = self.case.as_ref()?;
        let ordinal = case.pulled.ordinal();
        while let Some(trial) = self.lane.trials.nth(self.next_trial) {
            self.next_trial += 1;
            if self.lane.past.is_done(ordinal, trial) {
                continue;
            }
            let prior = self.answers.remove(&(ordinal, trial.number()));
            let source = prior.unwrap_or_else(|| Box::new(LiveTarget));
            let (lane, case) = (Arc::clone(&self.lane), Arc::clone(case));
            return Some(QueuedWork { lane, case, trial, source });
        }
        None
    }
}

/// Takes one piece of work after the other. Cases that only wait for models to grade them do not keep it from the next one:
/// they are finished beside it.
struct Worker {
    queue: Arc<Queue>,
    shared: Shared,
    /// How many answered cases of the pool may be waiting for their grades without a worker.
    grading: Arc<Semaphore>,
}

impl Worker {
    async fn run(self) {
        let mut grading = FuturesUnordered::new();
        while !self.is_over() {
            let _permit = match &self.shared.permits {
                Some(permits) => Some(beside(&mut grading, permits.acquire()).await),
                None => None,
            };
            let Some(queued) = self.queue.next() else { break };
            let Some((work, source)) = queued.work() else { continue };
            let slot = Arc::new(WorkerSlot::new(&self));
            let mut running = Box::pin(self.finish(work, source, Arc::clone(&slot)));
            let answered = async {
                tokio::select! {
                    biased;
                    goes_on = &mut running => Some(goes_on),
                    () = slot.freed.notified() => None,
                }
            };
            let goes_on = beside(&mut grading, answered).await.unwrap_or_else(|| {
                grading.push(running);
                true
            });
            if !goes_on {
                break;
            }
        }
        while grading.next().await.is_some() {}
    }

    /// Whether no more cases are to be started.
    fn is_over(&self) -> bool {
        let Shared { cancel, limit, events, .. } = &self.shared;
        cancel.is_cancelled() || limit.reached().is_some() || events.is_closed()
    }

    /// Has a piece of work done, and sends its record to the dispatcher. Returns whether the run continues.
    async fn finish(
        &self,
        work: Work,
        source: Box<dyn AnswerSource>,
        slot: Arc<WorkerSlot<'_>>,
    ) -> bool {
        let shared = &self.shared;
        let executed = shared.executor.execute(&work, source, &*slot, &shared.cancel).await;
        let Executed::Recorded(record) = executed else { return false };
        shared.limit.look(&record);
        let rendered = Some(shared.rendering.render(&record, &work));
        let finished = finished(work.id, work.on.place(&work.case), *record);
        shared.queue(RunEvent::Finished(Box::new(finished)), rendered).await
    }
}

/// Waits for something. Cases that are only graded are finished meanwhile.
async fn beside<T>(
    grading: &mut FuturesUnordered<impl Future>,
    awaited: impl Future<Output = T>,
) -> T {
    let mut awaited = pin!(awaited);
    loop {
        tokio::select! {
            biased;
            found = &mut awaited => return found,
            Some(_) = grading.next() => {}
        }
    }
}

impl Shared {
    async fn send(&self, event: RunEvent) {
        self.queue(event, None).await;
    }

    /// Whether the dispatcher takes it. If the dispatcher is gone, so is the run.
    async fn queue(&self, event: RunEvent, rendered: Option<io::Result<Rendered>>) -> bool {
        let lines_before = self.lines_sent.load(Ordering::Acquire);
        let bytes = rendered.iter().flatten().map(Rendered::len).sum::<usize>().min(QUEUED_BYTES);
        let room = match u32::try_from(bytes) {
            Ok(bytes) if bytes > 0 => Arc::clone(&self.room).acquire_many_owned(bytes).await.ok(),
            _ => None,
        };
        self.events.send(QueuedEvent { event, rendered, lines_before, _room: room }).await.is_ok()
    }

    /// Keeps an answer in the journal. If that fails, no more calls are made: the journal knows why, and the dispatcher says
    /// it.
    pub(super) fn keep(&self, work: (&WorkId, &EvalCase), answered: &Answered, workspace: bool) {
        let Some(journal) = &self.journal else { return };
        if journal.answered(work, answered, workspace).is_err() {
            self.cancel.cancel();
        }
    }
}

/// A worker's place that a piece of work holds until it only has to be graded.
#[derive(Debug)]
struct WorkerSlot<'a> {
    shared: &'a Shared,
    grading: &'a Arc<Semaphore>,
    /// Set while the case is graded without a worker.
    permit: Mutex<Option<OwnedSemaphorePermit>>,
    freed: Notify,
}

impl<'a> WorkerSlot<'a> {
    fn new(worker: &'a Worker) -> Self {
        let Worker { shared, grading, .. } = worker;
        Self { shared, grading, permit: Mutex::default(), freed: Notify::new() }
    }
}

#[async_trait]
impl EventSink for WorkerSlot<'_> {
    async fn started(&self, work: &Work) {
        let label = Arc::clone(&work.on.target.label);
        let event = CaseStarted { work: Arc::clone(&work.id), label };
        self.shared.send(RunEvent::Started(event)).await;
    }

    /// Answers that cost nothing and tell no steps are not kept: to ask again is as good. What was done on the way to an
    /// answer is in no record, and reports show it.
    async fn answered(&self, work: &Work, request: &Request, answered: &Answered) {
        if !answered.is_kept {
            let is_free = work.on.target.provider.is_free();
            if answered.outcome.as_ref().is_ok_and(|response| !is_free || response.tells_steps()) {
                self.shared.keep((&work.id, &work.case), answered, request.workspace.is_some());
            }
        }
        if !self.shared.has_phases {
            return;
        }
        let event = CaseAnswered {
            work: Arc::clone(&work.id),
            // To the microsecond.
            duration_ms: (answered.wall.as_secs_f64() * 1e6).round() / 1e3,
            error: answered.outcome.as_ref().err().map(ToString::to_string),
        };
        self.shared.send(RunEvent::Answered(event)).await;
    }

    async fn grading(&self, work: &Work) {
        if self.shared.has_phases {
            let event = CaseGrading { work: Arc::clone(&work.id) };
            self.shared.send(RunEvent::Grading(event)).await;
        }
    }

    async fn free_worker(&self) {
        let permit = Arc::clone(self.grading).acquire_owned().await.ok();
        *self.permit.lock().unwrap_or_else(PoisonError::into_inner) = permit;
        self.freed.notify_one();
    }

    fn log(&self) -> &Arc<dyn Log> {
        &self.shared.log
    }
}
