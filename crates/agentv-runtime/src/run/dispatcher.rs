//! Owns the results file, the display and the signals; hears everything that the workers have to say.

use super::RunSettings;
use super::case::timestamp_of;
use super::executor::{Executor, LocalExecutor};
use super::limit::{Limit, Stop};
use super::outputs::{Outputs, Reporter};
use super::pool::{Pool, QueuedEvent, Shared};
use crate::interrupts::Interrupts;
use crate::load::SourceError;
use crate::process::Processes;
use agentv_core::call::Waiting;
use agentv_core::totals::Totals;
use agentv_core::{Log, LogLevel, Redactor, RunEvent, Trials, WorkId};
use agentv_wire::event::{CaseWaiting, LogLine, WaitReason};
use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::{Instant, Interval, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

/// What a run came to.
#[derive(Debug)]
pub struct RunOutcome {
    pub totals: Totals,
    pub ended: Ended,
    /// How many cases have no record.
    pub missing: usize,
    /// Where the records went. `None` if the dispatcher failed.
    pub outputs: Option<Outputs>,
}

/// How a run ended.
#[derive(Debug)]
pub enum Ended {
    /// Every case has its record.
    Complete,
    /// The user stopped it.
    Interrupted,
    /// Too many errors, or the budget is spent; cases that were not started have no record.
    Stopped(Stop),
    /// Records could not be written.
    Unwritable(io::Error),
    /// Cases could not be read any more.
    Unreadable(SourceError),
}

/// Everything that a run needs.
#[derive(Debug)]
pub struct Run {
    pub pools: Vec<Pool>,
    /// How many records there are to be.
    pub total: usize,
    pub settings: RunSettings,
    /// One number of workers for all pools together.
    pub workers: Option<NonZeroUsize>,
    /// After how many errors or failures no more cases are started.
    pub limit: Limit,
    pub outputs: Outputs,
    pub reporter: Box<dyn Reporter>,
    /// What earlier records came to, where a run is resumed.
    pub totals: Totals,
    pub processes: Arc<Processes>,
    /// Masks secrets in what plug-ins say.
    pub redactor: Arc<Redactor>,
    /// Does the work; `None` for this process.
    pub executor: Option<Arc<dyn Executor>>,
}

/// How many events may wait for the dispatcher. With fewer, quick targets fill the queue at once, and the threads spend
/// their time waking each other.
const QUEUED_EVENTS: usize = 256;

/// How many bytes of records may wait for it. A larger record waits until it has all of it.
pub(super) const QUEUED_BYTES: usize = 1 << 20;

/// How often what may have cost money is synced: a power cut costs at most this much of a run.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// Runs all pools to the end.
pub async fn run(run: Run) -> RunOutcome {
    // Workers to dispatcher. Bounded: a slow disk slows the workers instead of filling the memory.
    let (events, queue) = mpsc::channel(QUEUED_EVENTS);
    // Plug-ins to dispatcher. Unbounded, as whoever speaks must not wait.
    let (lines, log) = mpsc::unbounded_channel();
    let cancel = CancellationToken::new();
    let lines_sent = Arc::new(AtomicUsize::new(0));
    let log_lines: Arc<dyn Log> = Arc::new(LogSender {
        lines,
        sent: Arc::clone(&lines_sent),
        verbose: run.settings.verbose,
        redactor: run.redactor,
    });
    let local = || -> Arc<dyn Executor> { Arc::new(LocalExecutor { settings: run.settings }) };
    let executor = run.executor.unwrap_or_else(local);
    let shared = Shared {
        settings: run.settings,
        executor: Arc::clone(&executor),
        cancel: cancel.clone(),
        log: log_lines,
        events,
        lines_sent,
        room: Arc::new(Semaphore::new(QUEUED_BYTES)),
        rendering: run.outputs.rendering(),
        journal: run.outputs.journal.clone(),
        limit: Arc::new(run.limit),
        has_phases: run.reporter.wants_phases(),
        permits: executor.permits().or_else(|| permits(run.workers, run.pools.len())),
    };
    // Before the first case starts: an interrupt that nothing listens for would end the process at once.
    let interrupts = Interrupts::listen();
    let mut pools = JoinSet::new();
    for pool in run.pools {
        pools.spawn(pool.run(shared.clone()));
    }
    let limit = Arc::clone(&shared.limit);
    drop(shared);

    let force = CancellationToken::new();
    let dispatcher = Dispatcher {
        executor,
        queue,
        log,
        interrupts,
        cancel,
        force: force.clone(),
        outputs: run.outputs,
        reporter: run.reporter,
        totals: run.totals,
        total: run.total,
        held_line: None,
        lines_shown: 0,
        error: None,
    };
    // On the pool's own threads: from `block_on` every event would wake another thread.
    let mut dispatcher_task = JoinSet::new();
    dispatcher_task.spawn(dispatcher.serve());
    let unreadable = join(&mut pools, &force).await;
    let Some(Ok(mut dispatcher)) = dispatcher_task.join_next().await else {
        let error = io::Error::other("the dispatcher failed");
        let ended = Ended::Unwritable(error);
        return RunOutcome { totals: Totals::default(), ended, missing: run.total, outputs: None };
    };
    run.processes.end_leftovers();
    let interrupted = dispatcher.cancel.is_cancelled();
    // A worker that cannot keep an answer stops the run and leaves it to us to say why.
    let journal = dispatcher.outputs.journal.as_ref();
    dispatcher.error =
        dispatcher.error.or_else(|| journal.and_then(|journal| journal.take_failure()));
    let stop = limit.reached().filter(|stop| {
        // A budget that says nothing is told of even if there was nothing left to stop.
        let is_blind = matches!(stop, Stop::Budget(overrun) if overrun.is_unknown());
        is_blind || dispatcher.totals.recorded() < run.total
    });
    let ended = match (dispatcher.error, unreadable) {
        (Some(error), _) => Ended::Unwritable(error),
        (None, _) if interrupted => Ended::Interrupted,
        (None, Some(error)) => Ended::Unreadable(error),
        (None, None) => stop.map_or(Ended::Complete, Ended::Stopped),
    };
    dispatcher.totals.close();
    dispatcher.totals.paid = limit.spending().spent();
    let missing = run.total.saturating_sub(dispatcher.totals.recorded());
    RunOutcome { totals: dispatcher.totals, ended, missing, outputs: Some(dispatcher.outputs) }
}

/// Caps the cases under way over all pools. One pool has no more workers than that anyway.
fn permits(workers: Option<NonZeroUsize>, pools: usize) -> Option<Arc<Semaphore>> {
    let workers = workers.filter(|_| pools > 1)?;
    Some(Arc::new(Semaphore::new(workers.get())))
}

/// Waits for all pools; dropping them ends their children.
async fn join(
    pools: &mut JoinSet<Result<(), SourceError>>,
    force: &CancellationToken,
) -> Option<SourceError> {
    let mut unreadable = None;
    loop {
        tokio::select! {
            ended = pools.join_next() => match ended {
                None => return unreadable,
                Some(Ok(Err(error))) => {
                    unreadable.get_or_insert(error);
                }
                Some(_) => {}
            },
            () = force.cancelled() => {
                pools.shutdown().await;
                return unreadable;
            }
        }
    }
}

/// The dispatcher's own things.
#[derive(Debug)]
struct Dispatcher {
    executor: Arc<dyn Executor>,
    queue: mpsc::Receiver<QueuedEvent>,
    log: mpsc::UnboundedReceiver<RunEvent>,
    interrupts: Interrupts,
    /// Stops the run; children are ended gently.
    cancel: CancellationToken,
    /// Stops it now.
    force: CancellationToken,
    outputs: Outputs,
    reporter: Box<dyn Reporter>,
    totals: Totals,
    /// How many records there are to be.
    total: usize,
    /// A line that was taken from the log and is not shown yet.
    held_line: Option<RunEvent>,
    lines_shown: usize,
    error: Option<io::Error>,
}

impl Dispatcher {
    async fn serve(mut self) -> Self {
        let mut batch = Vec::with_capacity(QUEUED_EVENTS);
        let mut syncs = every(SYNC_EVERY);
        loop {
            tokio::select! {
                biased;
                // These before the queue, which may never be empty.
                _ = syncs.tick() => {
                    let synced = self.outputs.sync_paid();
                    self.note_error(synced);
                }
                () = self.interrupts.next() => self.stop(),
                Some(line) = self.log.recv() => self.show_line(line, &mut batch),
                count = self.queue.recv_many(&mut batch, QUEUED_EVENTS) => {
                    if count == 0 {
                        break;
                    }
                    self.take(&mut batch);
                }
            }
        }
        self.show_lines(usize::MAX);
        let closed = self.outputs.commit().and_then(|()| self.outputs.sync_last());
        self.note_error(closed);
        self.reporter.pause();
        self
    }

    /// Shows what a plug-in said, after all that happened before.
    fn show_line(&mut self, line: RunEvent, batch: &mut Vec<QueuedEvent>) {
        self.held_line = Some(line);
        while let Ok(event) = self.queue.try_recv() {
            batch.push(event);
        }
        self.take(batch);
        if let Some(line) = self.held_line.take() {
            self.report_line(&line);
        }
        // It may be long until something else happens.
        if self.log.is_empty() {
            self.reporter.pause();
        }
    }

    /// Shows lines of the log until there were this many, or no more are there. Events of a case are in their order so,
    /// though they come through two channels: an event of the queue waits for the lines that were sent before it.
    fn show_lines(&mut self, count: usize) {
        while self.lines_shown < count {
            let Some(line) = self.held_line.take().or_else(|| self.log.try_recv().ok()) else {
                return;
            };
            self.report_line(&line);
        }
    }

    fn report_line(&mut self, line: &RunEvent) {
        self.lines_shown += 1;
        let is_retry = matches!(line, RunEvent::Waiting(wait) if wait.reason == WaitReason::Retry);
        self.totals.retries += usize::from(is_retry);
        self.reporter.event(line);
    }

    /// All that is ready goes out in one write, and only then is it shown: what was reported is in the file.
    fn take(&mut self, batch: &mut Vec<QueuedEvent>) {
        for rendered in batch.iter_mut().filter_map(|queued| queued.rendered.take()) {
            match rendered {
                Ok(rendered) if self.error.is_none() => self.outputs.add(&rendered),
                Ok(_) => {}
                Err(error) => self.note_error(Err(error)),
            }
        }
        let kept = self.outputs.commit();
        self.note_error(kept);
        for QueuedEvent { mut event, lines_before, .. } in batch.drain(..) {
            if self.error.is_some() {
                continue;
            }
            self.show_lines(lines_before);
            if let RunEvent::Finished(finished) = &mut event {
                (finished.done, finished.total) = (self.totals.recorded() + 1, self.total);
            }
            self.reporter.event(&event);
            if let RunEvent::Finished(finished) = event {
                self.executor.recorded(&finished.work);
                let trials = Trials::new(finished.trials).unwrap_or(Trials::ONE);
                self.totals.add(finished.position, trials, &finished.record);
            }
        }
        if self.queue.is_empty() {
            self.reporter.pause();
        }
    }

    /// The first Ctrl-C: nothing more is started, children are ended gently, what is done is safe. The second: at once.
    fn stop(&mut self) {
        if self.cancel.is_cancelled() {
            self.force.cancel();
        }
        self.cancel.cancel();
        self.reporter.event(&RunEvent::Stopping);
        let synced = self.outputs.commit().and_then(|()| self.outputs.sync());
        self.note_error(synced);
    }

    fn note_error(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.error.get_or_insert(error);
            self.cancel.cancel();
        }
    }
}

/// Ticks, the first of them after one period.
fn every(period: Duration) -> Interval {
    let mut ticks = tokio::time::interval_at(Instant::now() + period, period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// Passes on what plug-ins say.
#[derive(Debug)]
struct LogSender {
    lines: mpsc::UnboundedSender<RunEvent>,
    /// How many were sent. Workers read it, so that their events are shown after the lines before them.
    sent: Arc<AtomicUsize>,
    verbose: bool,
    redactor: Arc<Redactor>,
}

impl LogSender {
    fn send(&self, line: RunEvent) {
        // The dispatcher outlives everyone who speaks; if it is gone, so is the run.
        let _ = self.lines.send(line);
        self.sent.fetch_add(1, Ordering::Release);
    }
}

impl Log for LogSender {
    fn wants(&self, level: LogLevel) -> bool {
        level == LogLevel::Warning || self.verbose
    }

    fn say(&self, level: LogLevel, text: String) {
        if self.wants(level) {
            let text = self.redactor.text(&text).into_owned();
            self.send(RunEvent::Log(LogLine { level, text }));
        }
    }

    fn waiting(&self, work: &Arc<WorkId>, wait: Waiting) {
        let now = SystemTime::now();
        self.send(RunEvent::Waiting(Box::new(CaseWaiting {
            work: Arc::clone(work),
            called_target: wait.target,
            reason: wait.reason,
            throttled: wait.is_throttled,
            attempt: wait.attempt,
            // To the microsecond.
            delay_ms: (wait.delay.as_secs_f64() * 1e6).round() / 1e3,
            until: timestamp_of(now.checked_add(wait.delay).unwrap_or(now)),
        })));
    }
}
