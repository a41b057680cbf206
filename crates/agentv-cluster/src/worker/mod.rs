//! The side of a machine: pulls jobs, does them with its own targets and secrets, and sends what came of them.

mod job;
mod runs;
mod services;
mod sink;

use crate::files::FileCache;
use crate::link::{ClusterError, ClusterLink, next_message};
use crate::names::needs_of;
use crate::protocol::{Control, Report, VERSION, WorkerReport};
use agentv_runtime::interrupts::Interrupts;
use agentv_runtime::load::Labels;
use agentv_runtime::process;
use agentv_runtime::session::Environment;
use async_nats::jetstream::Message;
use async_nats::jetstream::consumer::PullConsumer;
use futures_util::StreamExt as _;
use runs::JoinedRuns;
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// What a worker is made of.
#[derive(Debug, Clone)]
pub struct WorkerOrder {
    pub name: String,
    /// How many cases it runs at a time.
    pub slots: NonZeroUsize,
    pub labels: Labels,
    /// Where its targets and its `.env` are.
    pub environment: Environment,
    pub targets_file: PathBuf,
    /// Where it keeps files of cases, and how many bytes of them.
    pub cache_dir: PathBuf,
    pub cache_limit: u64,
}

/// Something that people at the worker's terminal want to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkerEvent {
    /// It takes part in a run.
    Joined { run: String },
    /// A case is done.
    Finished { case: String, outcome: String },
    /// A job is not done, and why.
    Refused { reason: String },
    /// It takes no more jobs and finishes what it does.
    Draining { busy: usize },
    /// Something is odd.
    Warning(String),
}

/// Shows events. It must not block.
type Observer = Box<dyn Fn(WorkerEvent) + Send + Sync>;

/// A member of the cluster that does jobs.
pub struct Worker {
    shared: Arc<Shared>,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").field("name", &self.shared.order.name).finish_non_exhaustive()
    }
}

/// What the parts of a worker share.
struct Shared {
    link: ClusterLink,
    order: WorkerOrder,
    runs: JoinedRuns,
    cache: FileCache,
    observer: Observer,
    /// The tokens of the jobs under way. A lock and not a message: it is held for look-ups.
    running: Mutex<BTreeSet<String>>,
    slots: Arc<Semaphore>,
    /// How many answered cases may be waiting for their grades without a slot.
    grading: Arc<Semaphore>,
    busy: AtomicUsize,
    done: AtomicU64,
    forged: AtomicU64,
    is_draining: AtomicBool,
    /// No more jobs are pulled.
    drain: CancellationToken,
    /// What is under way is stopped.
    stop: CancellationToken,
    /// The queues whose needs this worker meets. A lock and not a message: it is held for a copy.
    queues: Mutex<Vec<(String, PullConsumer)>>,
}

/// How often a worker says how it is.
const REPORT_EVERY: Duration = Duration::from_secs(2);
/// How long a request for a job waits on the server before it is made again.
const PULL_FOR: Duration = Duration::from_secs(5);
/// The same, where several queues take turns.
const PULL_IN_TURN: Duration = Duration::from_millis(700);

impl Worker {
    pub async fn open(
        link: ClusterLink,
        order: WorkerOrder,
        observer: Observer,
    ) -> Result<Self, ClusterError> {
        let failed = |error: std::io::Error| ClusterError::Failed {
            what: "cannot make the worker's folder",
            reason: error.to_string(),
        };
        let cache =
            FileCache::open(order.cache_dir.join("files"), order.cache_limit).map_err(failed)?;
        let runs = JoinedRuns::open(&order).map_err(failed)?;
        let slots = order.slots.get();
        let shared = Arc::new(Shared {
            link,
            runs,
            cache,
            observer,
            running: Mutex::default(),
            slots: Arc::new(Semaphore::new(slots)),
            grading: Arc::new(Semaphore::new(slots)),
            busy: AtomicUsize::new(0),
            done: AtomicU64::new(0),
            forged: AtomicU64::new(0),
            is_draining: AtomicBool::new(false),
            drain: CancellationToken::new(),
            stop: CancellationToken::new(),
            queues: Mutex::default(),
            order,
        });
        shared.link.queue(&Labels::new()).await?;
        shared.find_queues().await?;
        Ok(Self { shared })
    }

    /// Works until it is drained. The first Ctrl-C drains it, the second stops what is under way, which another worker then
    /// takes up.
    pub async fn run(self) -> Result<(), ClusterError> {
        let shared = self.shared;
        // Orphans of a job that is over must not outlive it.
        let _ = process::become_subreaper();
        let control = shared.link.client.subscribe(shared.link.names.control()).await;
        let control = control
            .map_err(|error| ClusterError::failed("cannot listen to the cluster")(&error))?;
        let mut interrupts = Interrupts::listen();
        let over = CancellationToken::new();
        let mut tasks = JoinSet::new();
        tasks.spawn(report_task(Arc::clone(&shared), over.clone()));
        tasks.spawn(control_task(Arc::clone(&shared), control, over.clone()));
        let signals = Arc::clone(&shared);
        tasks.spawn(async move {
            loop {
                interrupts.next().await;
                signals.interrupted();
            }
        });
        work(&shared).await;
        shared.report().await;
        let _ = shared.link.client.flush().await;
        over.cancel();
        tasks.abort_all();
        shared.runs.remove_all();
        Ok(())
    }
}

/// Fills free slots with jobs until the worker is drained, then waits for what is under way.
async fn work(shared: &Arc<Shared>) {
    let mut jobs = JoinSet::new();
    let mut turn = 0_usize;
    loop {
        while jobs.try_join_next().is_some() {}
        let slot = tokio::select! {
            () = shared.drain.cancelled() => break,
            slot = Arc::clone(&shared.slots).acquire_owned() => slot,
        };
        let Ok(slot) = slot else { break };
        turn = turn.wrapping_add(1);
        jobs.spawn(fill(Arc::clone(shared), slot, turn));
    }
    while jobs.join_next().await.is_some() {}
}

/// Waits for a job and does it. Each free slot waits for one job, so that no worker has jobs that it does not work on.
async fn fill(shared: Arc<Shared>, slot: OwnedSemaphorePermit, turn: usize) {
    let message = tokio::select! {
        () = shared.drain.cancelled() => return,
        message = shared.pull(turn) => message,
    };
    let Some(message) = message else { return };
    shared.busy.fetch_add(1, Ordering::Relaxed);
    job::perform(&shared, message, slot).await;
    shared.busy.fetch_sub(1, Ordering::Relaxed);
}

impl Shared {
    fn tell(&self, event: WorkerEvent) {
        (self.observer)(event);
    }

    /// The queues that this worker can serve; new ones come with the runs that need them.
    async fn find_queues(&self) -> Result<(), ClusterError> {
        let known: Vec<String> = self.queues().into_iter().map(|(name, _)| name).collect();
        for name in self.link.queues().await? {
            let needs = needs_of(&name);
            if known.contains(&name) || !needs.is_subset(&self.order.labels) {
                continue;
            }
            let queue = self.link.queue(&needs).await?;
            lock(&self.queues).push((name, queue));
        }
        Ok(())
    }

    fn queues(&self) -> Vec<(String, PullConsumer)> {
        lock(&self.queues).clone()
    }

    /// One job. With several queues: from the first that has one, else it waits a while for one of them, each in its turn.
    async fn pull(&self, turn: usize) -> Option<Message> {
        let queues = self.queues();
        let count = queues.len();
        if count == 0 {
            tokio::time::sleep(PULL_IN_TURN).await;
            return None;
        }
        if count > 1 {
            for index in 0..count {
                let (_, queue) = &queues[(turn + index) % count];
                if let Some(message) = next_of(queue, None).await {
                    return Some(message);
                }
            }
        }
        let (_, queue) = &queues[turn % count];
        next_of(queue, Some(if count > 1 { PULL_IN_TURN } else { PULL_FOR })).await
    }

    fn interrupted(&self) {
        if self.drain.is_cancelled() {
            self.stop.cancel();
        } else {
            self.start_to_drain();
        }
    }

    fn start_to_drain(&self) {
        self.is_draining.store(true, Ordering::Relaxed);
        self.drain.cancel();
        self.tell(WorkerEvent::Draining { busy: self.busy.load(Ordering::Relaxed) });
    }

    async fn report(&self) {
        let report = Report::Worker(WorkerReport {
            name: self.order.name.clone(),
            version: VERSION.to_owned(),
            labels: self.order.labels.clone(),
            slots: self.order.slots.get(),
            busy: self.busy.load(Ordering::Relaxed),
            done: self.done.load(Ordering::Relaxed),
            forged: self.forged.load(Ordering::Relaxed),
            is_draining: self.is_draining.load(Ordering::Relaxed),
            running: lock(&self.running).iter().cloned().collect(),
        });
        self.link.tell(&self.link.names.reports(), &report).await;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The next message of a queue: one that is there, or one that comes in time.
async fn next_of(queue: &PullConsumer, wait: Option<Duration>) -> Option<Message> {
    let pulling = async {
        let mut messages = match wait {
            None => queue.fetch().max_messages(1).messages().await,
            Some(wait) => queue.batch().max_messages(1).expires(wait).messages().await,
        }
        .ok()?;
        messages.next().await?.ok()
    };
    // Where the server is away, nothing ends the wait.
    let limit = wait.unwrap_or_default() + Duration::from_secs(3);
    let pulled = tokio::time::timeout(limit, pulling).await;
    if !matches!(pulled, Ok(Some(_))) && wait.is_some() {
        // An error comes at once; it must not become a storm of requests.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    pulled.ok().flatten()
}

async fn report_task(shared: Arc<Shared>, over: CancellationToken) {
    let mut ticks = tokio::time::interval(REPORT_EVERY);
    loop {
        tokio::select! {
            () = over.cancelled() => return,
            _ = ticks.tick() => {}
        }
        shared.report().await;
        let _ = shared.find_queues().await;
    }
}

async fn control_task(
    shared: Arc<Shared>,
    mut control: async_nats::Subscriber,
    over: CancellationToken,
) {
    let subject = shared.link.names.control();
    while let Some(message) = next_message(&mut control, &over).await {
        match shared.link.unpack::<Control>(&subject, &message.payload).await {
            Ok(Control::Report) => {
                shared.report().await;
                let _ = shared.find_queues().await;
            }
            Ok(Control::Drain { worker }) if worker == shared.order.name => {
                shared.start_to_drain();
                shared.report().await;
            }
            Ok(Control::Ended { run }) => shared.runs.end(&run),
            Ok(_) => {}
            Err(_) => drop(shared.forged.fetch_add(1, Ordering::Relaxed)),
        }
    }
}
