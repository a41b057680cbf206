//! What goes into a child and what comes out of it.

use super::leader::Leader;
use super::output::{Capture, Captured};
use super::{OutputStream, Stdin, Watcher};
use agentv_core::{RedactedStream, Redactor};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::time::timeout;

/// What is read at once, if there is much: as much as a pipe holds. Most programs say little, and only small pieces of
/// memory are cheap to take and give back: up to 1032 bytes, malloc keeps some at hand for each thread.
const READ_SIZE: usize = 64 * 1024;
const FIRST_READ_SIZE: usize = 1024;

/// The three pipes of a child. All waits on them may be dropped half-way and taken up again.
pub(super) struct Pipes {
    stdin: Feed,
    stdout: Drain<ChildStdout>,
    stderr: Drain<ChildStderr>,
}

/// What is done with output as it arrives.
pub(super) struct Arrival {
    pub(super) cap: usize,
    pub(super) watcher: Option<Arc<dyn Watcher>>,
    pub(super) redactor: Option<Arc<Redactor>>,
}

impl Pipes {
    pub(super) fn of(leader: &mut Leader, stdin: Stdin, arrival: &Arrival) -> io::Result<Self> {
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
    pub(super) async fn pump(&mut self) {
        tokio::join!(self.stdin.pump(), self.stdout.pump(), self.stderr.pump());
    }

    /// Closes stdin and reads what is left of the others, but not for longer than this.
    pub(super) async fn drain(&mut self, limit: Duration) {
        self.stdin.pipe = None;
        let _ =
            timeout(limit, async { tokio::join!(self.stdout.pump(), self.stderr.pump()) }).await;
    }

    pub(super) fn take(&mut self) -> (Captured, Captured) {
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
