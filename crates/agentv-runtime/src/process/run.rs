//! Spawn, pump three pipes, time out, cancel, reap.

use super::leader::Leader;
use super::mark::{CallMark, Marks};
use super::pipes::{Arrival, Pipes};
use super::place::{self, Caller, Places};
use super::sandbox::{Confinement, ExceededLimit, Guard, LaunchFailure, SystemRules, failure_in};
use super::tree::{self, OrphanLock, Tree};
use super::{Command, Gentle, Output, ProgramExit, Stdin, Watch};
use crate::deadline::QueueTimer;
use crate::open_files::{Room, RoomPermit, is_shortage, open_files};
use crate::temp::TempFiles;
use agentv_core::Redactor;
use rustix::process::Signal;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

/// Between the gentle signal and the one that cannot be ignored. Claude Code needs 1.8 s to end its tools.
const GENTLE_GRACE: Duration = Duration::from_secs(2);
/// How long pipes may stay open after the program has ended, for what is still on its way. Background children which hold
/// them cost this long and no longer.
const PIPE_GRACE: Duration = Duration::from_millis(200);
/// How long the leader's own end is awaited after it was killed; it is never needed unless a process hangs in the kernel.
const REAP_LIMIT: Duration = Duration::from_secs(5);
/// How often a group that was asked to end is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Until when a program counts as quick: it is then not worth a handle that tells of its end, as its pipes do.
const QUICK: Duration = Duration::from_millis(5);
/// How often a watcher is asked whether the program's work is done.
const ASK_EVERY: Duration = Duration::from_millis(100);
/// Between two tries to start a program for which the system has no room.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(200);
/// How long a program without a time limit is tried to be started while no other call runs that could make room.
const LONELY_PATIENCE: Duration = Duration::from_mins(1);

/// Why a program did not come to its own end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("cannot run `{program}`")]
    Spawn { program: String, source: io::Error },
    /// With what it had printed, and how it ended when it was told to.
    #[error("timed out after {}", agentv_core::provider::seconds(*after))]
    TimedOut { after: Duration, output: Box<Output> },
    #[error("stopped before it ended")]
    Cancelled,
    /// It was not started.
    #[error("the sandbox could not be applied: {0}")]
    Sandbox(String),
    /// With what it had printed.
    #[error("ended by the sandbox: {limit}")]
    OverLimit { limit: ExceededLimit, output: Box<Output> },
}

/// Runs programs for one run of AgentV.
#[derive(Debug)]
pub struct Processes {
    run_id: String,
    /// Masks secrets in what programs print. Unset while the files that name them are not read yet.
    redactor: OnceLock<Arc<Redactor>>,
    calls: AtomicU64,
    marks: Arc<Marks>,
    places: Places,
    temp_files: TempFiles,
    turn: Arc<OrphanLock>,
    system_rules: SystemRules,
}

impl Processes {
    pub fn new(run_id: String) -> Arc<Self> {
        Arc::new(Self {
            run_id,
            redactor: OnceLock::new(),
            calls: AtomicU64::new(0),
            marks: Arc::new(Marks::new()),
            places: Places::default(),
            temp_files: TempFiles::default(),
            turn: Arc::default(),
            system_rules: SystemRules::default(),
        })
    }

    /// What sandboxes open of the system.
    pub(super) fn system_rules(&self) -> &SystemRules {
        &self.system_rules
    }

    /// From now on secrets are masked in what programs print. Only the first call counts.
    pub fn redact_with(&self, redactor: &Arc<Redactor>) {
        let _ = self.redactor.set(Arc::clone(redactor));
    }

    /// The run that children belong to.
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// Runs a program to its end. Whatever way this ends, by a drop too, nothing that the program started is left.
    pub fn run<'a>(
        &'a self,
        command: Command,
        caller: impl Into<Caller<'a>>,
    ) -> impl Future<Output = Result<Output, RunError>> {
        self.run_watched(command, None, caller)
    }

    /// The same with a watcher, which may say that the program has done all that is wanted of it: it then has to
    /// end.
    pub fn run_watched<'a>(
        &'a self,
        command: Command,
        watch: Option<Watch>,
        caller: impl Into<Caller<'a>>,
    ) -> impl Future<Output = Result<Output, RunError>> {
        self.run_to_end(command, watch, Leftovers::Ended, caller.into())
    }

    /// Runs a program that hands over to an application of the user's, such as an editor, and starts that if need be. If the
    /// program comes to its own end, what it started is left alone, then and at the end of the run.
    pub fn hand_over<'a>(
        &'a self,
        command: Command,
        caller: impl Into<Caller<'a>>,
    ) -> impl Future<Output = Result<Output, RunError>> {
        self.run_to_end(command, None, Leftovers::LeftToUser, caller.into())
    }

    /// Waits until there is room for a program with a proxy of its own, for [`Processes::run_in`].
    pub async fn place_with_proxy<'a>(
        &'a self,
        caller: impl Into<Caller<'a>>,
    ) -> Result<RoomPermit<'a>, RunError> {
        place::take(self.places.with_proxy(), caller.into()).await
    }

    /// Waits until there is room for work that opens files as a program does.
    pub async fn place<'a>(
        &'a self,
        caller: impl Into<Caller<'a>>,
    ) -> Result<RoomPermit<'a>, RunError> {
        place::take(self.places.programs(), caller.into()).await
    }

    /// Room for the connections of programs to their proxies.
    pub fn proxy_connections(&self) -> &Room {
        self.places.proxy_connections()
    }

    async fn run_to_end(
        &self,
        command: Command,
        watch: Option<Watch>,
        leftovers: Leftovers,
        caller: Caller<'_>,
    ) -> Result<Output, RunError> {
        let place = match self.places.programs().try_take() {
            Some(place) => place,
            None => Box::pin(place::take(self.places.programs(), caller)).await?,
        };
        self.run_at(place, command, (watch, leftovers), caller).await
    }

    /// The same in a place that the caller has taken before.
    pub async fn run_in<'a>(
        &'a self,
        place: RoomPermit<'a>,
        command: Command,
        caller: impl Into<Caller<'a>>,
    ) -> Result<Output, RunError> {
        self.run_at(place, command, (None, Leftovers::Ended), caller.into()).await
    }

    async fn run_at(
        &self,
        _place: RoomPermit<'_>,
        mut command: Command,
        (watch, leftovers): (Option<Watch>, Leftovers),
        caller: Caller<'_>,
    ) -> Result<Output, RunError> {
        let cancel = caller.cancel;
        if cancel.is_cancelled() {
            return Err(RunError::Cancelled);
        }
        let started = Instant::now();
        let (time_limit, program) = (command.time_limit, command.program());
        // A copy, so that its temporary folder outlives the program.
        let sandbox = command.sandbox.clone();
        let failed = |source| RunError::Spawn { program: program.clone(), source };
        let child = match self.spawn(&command, leftovers) {
            Ok(child) => child,
            Err(error) if is_shortage(&error) => {
                Box::pin(self.spawn_later((&command, leftovers), error, caller)).await?
            }
            Err(error) => return Err(failed(error)),
        };
        // In boxes, as all of it in one would be large: what is larger than 1 KiB has malloc tidy up each time.
        let running = self.attend(child, &mut command, watch.as_ref(), leftovers);
        let mut running = Box::new(running.map_err(failed)?);
        let mut guard = sandbox.as_ref().map(|sandbox| Box::new(running.tree.guard(sandbox)));
        // The limits come first: a child that never stops printing would use up the task's turn before they are asked.
        let outcome = tokio::select! {
            biased;
            () = cancel.cancelled() => Outcome::Cancelled,
            after = elapse(time_limit) => Outcome::TimedOut(after),
            limit = exceed(guard.as_deref_mut()) => Outcome::OverLimit(limit),
            ended = Box::pin(running.leader_end()) => Outcome::Ended(ended),
            () = idle(watch.as_ref()) => Outcome::Idle,
        };
        let ended = match outcome {
            Outcome::Ended(Err(source)) => return Err(failed(source)),
            Outcome::Ended(Ok(ended)) => {
                running.settle().await;
                ended
            }
            Outcome::OverLimit(_) => Box::pin(running.kill()).await,
            Outcome::Idle | Outcome::TimedOut(_) | Outcome::Cancelled => {
                Box::pin(running.stop()).await
            }
        };
        let output = running.finish(ended, started);
        match outcome {
            Outcome::Ended(_) => check_launch(output, sandbox.as_ref(), failed),
            Outcome::Idle => Ok(output),
            Outcome::TimedOut(after) => Err(RunError::TimedOut { after, output: Box::new(output) }),
            Outcome::OverLimit(limit) => {
                Err(RunError::OverLimit { limit, output: Box::new(output) })
            }
            Outcome::Cancelled => Err(RunError::Cancelled),
        }
    }

    /// How the name of a temporary file of this run begins that is about this. If the run is killed, the next one removes it.
    pub fn temp_prefix(&self, about: &str) -> String {
        self.temp_files.prefix(about)
    }

    /// Ends what this run has left behind. For its end, when no call is under way; it costs next to nothing if there is
    /// nothing.
    pub fn end_leftovers(&self) {
        self.temp_files.release();
        if !tree::is_clean() {
            self.end_run();
        }
    }

    /// Ends everything that carries this run's id, wherever it went, and orphans that carry none: for a run that was killed.
    /// It looks at every process, and may take seconds if something does not die.
    pub fn end_run(&self) {
        tree::end_run(&self.run_id, &self.turn);
    }

    /// Starts a program, and gives it the number of its call.
    fn spawn(&self, command: &Command, leftovers: Leftovers) -> io::Result<Started> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        let call_id = format!("{}.{call}", self.run_id);
        let run_id = match leftovers {
            Leftovers::Ended => &self.run_id,
            Leftovers::LeftToUser => NO_RUN,
        };
        let (leader, mark) = self.marks.start(call, || {
            let leader = Leader::new(command.spawn(run_id, &call_id)?);
            let pid = leader.pid();
            io::Result::Ok((leader, pid))
        })?;
        open_files().restore(leader.pid());
        Ok(Started { leader, call_id, mark })
    }

    /// Tries again to start a program for which the system had no room, until other calls have made some. Gives up when the
    /// program's time is over, or when a wait is in vain as no other call can end.
    async fn spawn_later(
        &self,
        (command, leftovers): (&Command, Leftovers),
        mut error: io::Error,
        caller: Caller<'_>,
    ) -> Result<Started, RunError> {
        let _line = caller.queue_time.map(QueueTimer::enter);
        let began = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            let waited = began.elapsed();
            let is_in_vain = match command.time_limit {
                Some(limit) => waited >= limit,
                None => waited >= LONELY_PATIENCE && self.places.is_alone(),
            };
            if is_in_vain || !is_shortage(&error) {
                return Err(RunError::Spawn { program: command.program(), source: error });
            }
            tokio::select! {
                biased;
                () = caller.cancel.cancelled() => return Err(RunError::Cancelled),
                () = sleep(pause) => {}
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
            match self.spawn(command, leftovers) {
                Ok(child) => return Ok(child),
                Err(again) => error = again,
            }
        }
    }

    fn attend(
        &self,
        Started { mut leader, call_id, mark }: Started,
        command: &mut Command,
        watch: Option<&Watch>,
        leftovers: Leftovers,
    ) -> io::Result<Running> {
        let stdin = std::mem::replace(&mut command.stdin, Stdin::Nothing);
        let arrival = Arrival {
            cap: command.output_cap,
            watcher: watch.map(|watch| Arc::clone(&watch.watcher)),
            redactor: self.redactor.get().filter(|redactor| !redactor.is_off()).cloned(),
        };
        Ok(Running {
            pipes: Pipes::of(&mut leader, stdin, &arrival)?,
            tree: Tree::new(&leader, &call_id, (mark, &self.marks), &self.turn),
            leader,
            gentle: command.gentle,
            leftovers,
            is_over: false,
        })
    }
}

/// A program that has just been started.
struct Started {
    leader: Leader,
    call_id: String,
    mark: CallMark,
}

enum Outcome {
    Ended(io::Result<ProgramExit>),
    /// Its work is done, and yet it stays.
    Idle,
    TimedOut(Duration),
    /// It used more than its sandbox allows.
    OverLimit(ExceededLimit),
    Cancelled,
}

/// Returns the limit of its sandbox that a program exceeded; without a sandbox, never.
async fn exceed(guard: Option<&mut Guard>) -> ExceededLimit {
    match guard {
        Some(guard) => Box::pin(guard.exceeded()).await,
        None => std::future::pending().await,
    }
}

/// Tells a launcher that failed from a program that did.
fn check_launch(
    output: Output,
    sandbox: Option<&Confinement>,
    failed: impl FnOnce(io::Error) -> RunError,
) -> Result<Output, RunError> {
    let nonce = sandbox.and_then(Confinement::nonce);
    match nonce.and_then(|nonce| failure_in(&output.stderr, nonce)) {
        None => Ok(output),
        Some(LaunchFailure::Setup(reason)) => Err(RunError::Sandbox(reason)),
        Some(LaunchFailure::Exec(errno)) => Err(failed(io::Error::from_raw_os_error(errno))),
    }
}

/// Returns the limit when it is over; without one, never.
async fn elapse(limit: Option<Duration>) -> Duration {
    match limit {
        Some(limit) => {
            sleep(limit).await;
            limit
        }
        None => std::future::pending().await,
    }
}

/// Returns when the program should have ended by itself, as its work is done; without a watcher, never.
async fn idle(watch: Option<&Watch>) {
    let Some(watch) = watch else { return std::future::pending().await };
    loop {
        let quiet = watch.watcher.done_since().map(|since| since.elapsed());
        match quiet {
            Some(quiet) if quiet >= watch.grace => return,
            Some(quiet) => sleep(watch.grace.saturating_sub(quiet)).await,
            None => sleep(ASK_EVERY).await,
        }
    }
}

/// A program that was started, and all that it starts. If it is dropped before its end, the tree is killed.
struct Running {
    leader: Leader,
    pipes: Pipes,
    tree: Tree,
    gentle: Gentle,
    leftovers: Leftovers,
    is_over: bool,
}

/// What becomes of children that a program leaves behind at its own end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leftovers {
    Ended,
    LeftToUser,
}

/// The run id of what is left to the user: some value, so that the end of our run passes over it, and no run's.
const NO_RUN: &str = "none";

impl Running {
    /// Waits for the leader while the pipes are pumped. May be called again after it was dropped half-way or has returned.
    async fn leader_end(&mut self) -> io::Result<ProgramExit> {
        let Self { leader, pipes, tree, .. } = self;
        // Most programs close their pipes by ending.
        let _ = timeout(QUICK, pipes.pump()).await;
        let ended = tokio::select! {
            biased;
            ended = leader.end() => ended?,
            ended = async { pipes.pump().await; std::future::pending().await } => ended,
        };
        tree.leader_is_reaped();
        Ok(ended)
    }

    /// After the leader's own end: reads what is still on its way and ends what it left behind.
    async fn settle(&mut self) {
        // Children may still be writing what they read from the leader, as `tee` in `cmd > >(tee log)`: they get a moment.
        self.pipes.drain(PIPE_GRACE).await;
        if self.leftovers == Leftovers::Ended && self.tree.has_leftovers() {
            self.tree.end().await;
            self.pipes.drain(PIPE_GRACE).await;
        }
        self.is_over = true;
    }

    /// Asks the tree to end, and then makes it.
    async fn stop(&mut self) -> ProgramExit {
        if let Some(signal) = self.gentle.signal() {
            self.tree.look();
            self.tree.signal_group(signal);
            let _ = timeout(GENTLE_GRACE, self.group_end()).await;
        }
        self.tree.end().await;
        let ended = timeout(REAP_LIMIT, self.leader_end()).await;
        self.pipes.drain(PIPE_GRACE).await;
        self.is_over = true;
        // If it cannot even be waited for, it was killed by us as far as anybody can say.
        ended.ok().and_then(Result::ok).unwrap_or(ProgramExit::Signal(Signal::KILL.as_raw()))
    }

    /// Ends the tree at once. Its group first, in one step: what forks faster than it is found does not outrun that.
    async fn kill(&mut self) -> ProgramExit {
        self.gentle = Gentle::Kill;
        self.tree.signal_group(Signal::KILL);
        self.stop().await
    }

    /// Until the leader and its whole group have ended. A shell ends at once when asked to, while the agent that it runs
    /// needs the grace time to put its house in order.
    async fn group_end(&mut self) {
        if self.leader_end().await.is_err() {
            return;
        }
        let Self { pipes, tree, .. } = self;
        let look = async {
            while !tree.group_is_gone() {
                sleep(LOOK_EVERY).await;
            }
        };
        tokio::select! {
            () = look => {}
            () = async { pipes.pump().await; std::future::pending().await } => {}
        }
    }

    fn finish(mut self, ended: ProgramExit, started: Instant) -> Output {
        let (stdout, stderr) = self.pipes.take();
        Output { ended, stdout, stderr, elapsed: started.elapsed() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.is_over {
            self.tree.signal_group(Signal::KILL);
            self.tree.end_now();
        }
    }
}

impl Gentle {
    fn signal(self) -> Option<Signal> {
        match self {
            Self::Terminate => Some(Signal::TERM),
            Self::Interrupt => Some(Signal::INT),
            Self::Kill => None,
        }
    }
}
