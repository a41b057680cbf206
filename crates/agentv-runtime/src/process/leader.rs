//! The process that we started ourselves, and its end.

use super::ProgramExit;
use rustix::process::Pid;
use std::io;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use std::time::Duration;
use tokio::time::sleep;

/// How often a process is looked at where nothing tells of its end.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A process whose exit status is ours to take. If this is dropped before its end, it is killed.
#[derive(Debug)]
pub(super) struct Leader {
    child: Child,
}

impl Leader {
    pub(super) fn new(child: Child) -> Self {
        Self { child }
    }

    pub(super) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub(super) fn take_pipes(
        &mut self,
    ) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
        (self.child.stdin.take(), self.child.stdout.take(), self.child.stderr.take())
    }

    /// How it ended, if it has. Takes the status, as often as it is asked.
    fn ended(&mut self) -> io::Result<Option<ProgramExit>> {
        Ok(self.child.try_wait()?.map(ProgramExit::of))
    }

    /// Waits for its end. May be dropped half-way and called again.
    pub(super) async fn end(&mut self) -> io::Result<ProgramExit> {
        if let Some(ended) = self.ended()? {
            return Ok(ended);
        }
        #[cfg(target_os = "linux")]
        if let Ok(handle) = self.handle() {
            // Readable once it has ended.
            let _ = handle.readable().await;
        }
        loop {
            if let Some(ended) = self.ended()? {
                return Ok(ended);
            }
            sleep(LOOK_EVERY).await;
        }
    }

    /// Old kernels have none, and there may be too many open files.
    #[cfg(target_os = "linux")]
    fn handle(&self) -> io::Result<tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>> {
        use rustix::process::{PidfdFlags, pidfd_open};
        let handle = pidfd_open(self.pid(), PidfdFlags::NONBLOCK)?;
        #[expect(
            deprecated,
            reason = "the new form is unsafe for types that need not keep their descriptor; this one does"
        )]
        tokio::io::unix::AsyncFd::with_interest(handle, tokio::io::Interest::READABLE)
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        // Neither does anything once the status was taken.
        let _ = self.child.kill();
        let _ = self.child.try_wait();
    }
}
