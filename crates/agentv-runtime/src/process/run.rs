//! Spawn, pump three pipes, time out, cancel, reap.

use super::leader::Leader;
use super::output::{Capture, Captured};
use super::tree::{self, OrphanLock, Tree};
use super::{Command, Gentle, Output, OutputStream, ProgramExit, Stdin, Watch, Watcher};
use agentv_core::{RedactedStream, Redactor};
use rustix::process::Signal;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

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
/// What is read at once, if there is much: as much as a pipe holds. Most programs say little, and only small pieces of
/// memory are cheap to take and give back: up to 1032 bytes, malloc keeps some at hand for each thread.
const READ_SIZE: usize = 64 * 1024;
const FIRST_READ_SIZE: usize = 1024;

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
}

/// Runs programs for one run of AgentV.
#[derive(Debug)]
pub struct Processes {
    run_id: String,
    /// Masks secrets in what programs print. Unset while the files that name them are not read yet.
    redactor: OnceLock<Arc<Redactor>>,
    calls: AtomicU64,
    turn: Arc<OrphanLock>,
}

impl Processes {
    pub fn new(run_id: String) -> Arc<Self> {
        let (redactor, calls) = (OnceLock::new(), AtomicU64::new(0));
        Arc::new(Self { run_id, redactor, calls, turn: Arc::default() })
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
    pub fn run(
        &self,
        command: Command,
        cancel: &CancellationToken,
    ) -> impl Future<Output = Result<Output, RunError>> {
        self.run_watched(command, None, cancel)
    }

    /// The same while somebody looks on, who may say that the program has done all that is wanted of it: it then has to
    /// end.
    pub fn run_watched(
        &self,
        command: Command,
        watch: Option<Watch>,
        cancel: &CancellationToken,
    ) -> impl Future<Output = Result<Output, RunError>> {
        self.run_to_end(command, watch, Leftovers::Ended, cancel)
    }

    /// Runs a program that hands over to an application of the user's, such as an editor, and starts that if need be. If the
    /// program comes to its own end, what it started is left alone, then and at the end of the run.
    pub fn hand_over(
        &self,
        command: Command,
        cancel: &CancellationToken,
    ) -> impl Future<Output = Result<Output, RunError>> {
        self.run_to_end(command, None, Leftovers::LeftToUser, cancel)
    }

    async fn run_to_end(
        &self,
        command: Command,
        watch: Option<Watch>,
        leftovers: Leftovers,
        cancel: &CancellationToken,
    ) -> Result<Output, RunError> {
        if cancel.is_cancelled() {
            return Err(RunError::Cancelled);
        }
        let started = Instant::now();
        let (time_limit, program) = (command.time_limit, command.program());
        let failed = |source| RunError::Spawn { program: program.clone(), source };
        // In boxes, as all of it in one would be large: what is larger than 1 KiB has malloc tidy up each time.
        let mut running = Box::new(self.start(command, watch.as_ref(), leftovers).map_err(failed)?);
        // The limits come first: a child that never stops printing would use up the task's turn before they are asked.
        let outcome = tokio::select! {
            biased;
            () = cancel.cancelled() => Outcome::Cancelled,
            after = elapse(time_limit) => Outcome::TimedOut(after),
            ended = Box::pin(running.leader_end()) => Outcome::Ended(ended),
            () = idle(watch.as_ref()) => Outcome::Idle,
        };
        match outcome {
            Outcome::Ended(Ok(ended)) => {
                running.settle().await;
                Ok(running.finish(ended, started))
            }
            Outcome::Ended(Err(source)) => Err(failed(source)),
            Outcome::Idle => {
                let ended = Box::pin(running.stop()).await;
                Ok(running.finish(ended, started))
            }
            Outcome::TimedOut(after) => {
                let ended = Box::pin(running.stop()).await;
                let output = Box::new(running.finish(ended, started));
                Err(RunError::TimedOut { after, output })
            }
            Outcome::Cancelled => {
                let ended = Box::pin(running.stop()).await;
                running.finish(ended, started);
                Err(RunError::Cancelled)
            }
        }
    }

    /// Ends what this run has left behind. For its end, when no call is under way; it costs next to nothing if there is
    /// nothing.
    pub fn end_leftovers(&self) {
        if !tree::is_clean() {
            self.end_run();
        }
    }

    /// Ends everything that carries this run's id, wherever it went, and orphans that carry none: for a run that was killed.
    /// It looks at every process, and may take seconds if something does not die.
    pub fn end_run(&self) {
        tree::end_run(&self.run_id, &self.turn);
    }

    fn start(
        &self,
        command: Command,
        watch: Option<&Watch>,
        leftovers: Leftovers,
    ) -> io::Result<Running> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        let call_id = format!("{}.{call}", self.run_id);
        let run_id = match leftovers {
            Leftovers::Ended => &self.run_id,
            Leftovers::LeftToUser => NO_RUN,
        };
        let mut leader = Leader::new(command.spawn(run_id, &call_id)?);
        let arrival = Arrival {
            cap: command.output_cap,
            watcher: watch.map(|watch| Arc::clone(&watch.watcher)),
            redactor: self.redactor.get().filter(|redactor| !redactor.is_off()).cloned(),
        };
        Ok(Running {
            pipes: Pipes::of(&mut leader, command.stdin, &arrival)?,
            tree: Tree::new(leader.pid(), &call_id, Arc::clone(&self.turn)),
            leader,
            gentle: command.gentle,
            leftovers,
            is_over: false,
        })
    }
}

enum Outcome {
    Ended(io::Result<ProgramExit>),
    /// Its work is done, and yet it stays.
    Idle,
    TimedOut(Duration),
    Cancelled,
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

/// The three pipes of a child. All waits on them may be dropped half-way and taken up again.
struct Pipes {
    stdin: Feed,
    stdout: Drain<ChildStdout>,
    stderr: Drain<ChildStderr>,
}

/// What is done with output as it arrives.
struct Arrival {
    cap: usize,
    watcher: Option<Arc<dyn Watcher>>,
    redactor: Option<Arc<Redactor>>,
}

impl Pipes {
    fn of(leader: &mut Leader, stdin: Stdin, arrival: &Arrival) -> io::Result<Self> {
        let bytes = match stdin {
            Stdin::Nothing => Vec::new(),
            Stdin::Bytes(bytes) => bytes,
        };
        let (input, stdout, stderr) = leader.take_pipes();
        let stdout = stdout.map(ChildStdout::from_std).transpose()?;
        let stderr = stderr.map(ChildStderr::from_std).transpose()?;
        Ok(Self {
            stdin: Feed { pipe: input.map(ChildStdin::from_std).transpose()?, bytes, written: 0 },
            stdout: Drain::of(stdout, OutputStream::Stdout, arrival),
            stderr: Drain::of(stderr, OutputStream::Stderr, arrival),
        })
    }

    /// Until all three are closed. Together, so that a child which fills one pipe before it reads another cannot block.
    async fn pump(&mut self) {
        tokio::join!(self.stdin.pump(), self.stdout.pump(), self.stderr.pump());
    }

    /// Closes stdin and reads what is left of the others, but not for longer than this.
    async fn drain(&mut self, limit: Duration) {
        self.stdin.pipe = None;
        let _ =
            timeout(limit, async { tokio::join!(self.stdout.pump(), self.stderr.pump()) }).await;
    }

    fn take(&mut self) -> (Captured, Captured) {
        (self.stdout.take(), self.stderr.take())
    }
}

/// What is still to be written to stdin.
struct Feed {
    pipe: Option<ChildStdin>,
    bytes: Vec<u8>,
    written: usize,
}

impl Feed {
    async fn pump(&mut self) {
        while let Some(pipe) = &mut self.pipe {
            let rest = &self.bytes[self.written..];
            match pipe.write(rest).await {
                Ok(count) if count > 0 && count < rest.len() => self.written += count,
                // All is written, or the child does not want to read the rest, which is its own business.
                _ => self.pipe = None,
            }
        }
    }
}

/// What a child prints to one of its outputs.
struct Drain<P> {
    pipe: Option<P>,
    kept: KeptOutput,
    /// Masks secrets before anything else sees the output.
    redacted: Option<RedactedStream>,
}

/// Where output goes.
struct KeptOutput {
    capture: Capture,
    stream: OutputStream,
    watcher: Option<Arc<dyn Watcher>>,
}

impl KeptOutput {
    fn push(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.capture.push(bytes);
        if let Some(watcher) = &self.watcher {
            watcher.saw(self.stream, bytes);
        }
    }
}

impl<P: AsyncRead + Unpin> Drain<P> {
    fn of(pipe: Option<P>, stream: OutputStream, arrival: &Arrival) -> Self {
        let watcher = arrival.watcher.clone();
        Self {
            pipe,
            kept: KeptOutput { capture: Capture::new(arrival.cap), stream, watcher },
            redacted: arrival.redactor.clone().map(RedactedStream::new),
        }
    }

    async fn pump(&mut self) {
        let mut buffer = Vec::with_capacity(FIRST_READ_SIZE);
        while let Some(pipe) = &mut self.pipe {
            if buffer.len() == buffer.capacity() {
                buffer.reserve(READ_SIZE);
            }
            buffer.clear();
            match pipe.read_buf(&mut buffer).await {
                Ok(count) if count > 0 => self.arrive(&buffer),
                _ => self.close(),
            }
        }
    }

    fn arrive(&mut self, bytes: &[u8]) {
        let Some(redacted) = &mut self.redacted else { return self.kept.push(bytes) };
        let mut masked = Vec::with_capacity(bytes.len());
        redacted.push(bytes, &mut masked);
        self.kept.push(&masked);
    }

    /// Nothing more comes, so nothing is held back.
    fn close(&mut self) {
        self.pipe = None;
        if let Some(mut redacted) = self.redacted.take() {
            let mut masked = Vec::new();
            redacted.finish(&mut masked);
            self.kept.push(&masked);
        }
    }

    fn take(&mut self) -> Captured {
        self.close();
        std::mem::replace(&mut self.kept.capture, Capture::new(0)).finish()
    }
}
