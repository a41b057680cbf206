//! How many files this process may have open, and how large a part of them each kind of call may use.
//!
//! Pipes and sockets are open files. Where the limit is low and cannot be raised, calls wait for each other instead of
//! failing, and enough is left over for everything that opens a file for a moment only.

use crate::deadline::QueueTimer;
use agentv_core::call::QueueTime;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io;
use std::sync::OnceLock;
use tokio::sync::{Semaphore, SemaphorePermit};

/// The limit that is aimed at. It is enough for 5000 programs at a time. More would only slow down programs that go through
/// all file descriptors they might have.
const ENOUGH: u64 = 65_536;

/// With fewer there is no room for a run: AgentV itself has a dozen open, and each program that it starts takes six.
pub const LEAST: u64 = 64;

/// Who keeps files open for as long as a call takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// A program: three pipes, a handle that tells of its end, and its log.
    Program,
    /// A program that asks models through a proxy. Its calls are made while it runs, so it must not take their places.
    ProgramWithProxy,
    /// A connection to a server.
    Connection,
    /// A connection of a program to its proxy.
    ProxyConnection,
}

/// The limit of this process.
#[derive(Debug)]
pub struct OpenFiles {
    /// What we were started with.
    inherited: Rlimit,
    /// What it was raised to, once that was needed.
    raised: OnceLock<u64>,
}

/// The limit. There is one, as it is the process's.
pub fn open_files() -> &'static OpenFiles {
    static OPEN_FILES: OnceLock<OpenFiles> = OnceLock::new();
    OPEN_FILES.get_or_init(|| OpenFiles {
        inherited: getrlimit(Resource::Nofile),
        raised: OnceLock::new(),
    })
}

impl OpenFiles {
    /// The limit that holds now.
    pub fn limit(&self) -> u64 {
        let inherited = || self.inherited.current.unwrap_or(ENOUGH).min(ENOUGH);
        self.raised.get().copied().unwrap_or_else(inherited)
    }

    /// Raises the limit as far as the system lets us, and gives what holds then. Only for whoever needs it: children inherit
    /// the limit, and those that use `select` fail beyond 1024 files, while others close every descriptor that they may have.
    pub fn raise(&self) -> u64 {
        *self.raised.get_or_init(|| {
            let now = self.inherited.current.unwrap_or(ENOUGH).min(ENOUGH);
            let wanted = self.inherited.maximum.unwrap_or(ENOUGH).min(ENOUGH);
            let limit = Rlimit { current: Some(wanted), ..self.inherited };
            if wanted > now && setrlimit(Resource::Nofile, limit).is_ok() { wanted } else { now }
        })
    }

    /// How many of these may be open at a time. A sixth of all files is left to everything else.
    fn room(&self, share: Share) -> usize {
        let files = self.limit();
        let room = match share {
            Share::Program => files / 2 / 6,
            Share::ProgramWithProxy => files / 8 / 8,
            Share::Connection => files / 8,
            Share::ProxyConnection => files / 12,
        };
        usize::try_from(room).unwrap_or(usize::MAX).clamp(1, Semaphore::MAX_PERMITS)
    }

    /// Gives a child the limit that we were started with, if it was raised since. From outside, when the child has begun to
    /// run: what it starts before it is loaded keeps the raised limit.
    #[cfg(target_os = "linux")]
    pub fn restore(&self, child: rustix::process::Pid) {
        if self.raised.get().is_some_and(|raised| Some(*raised) > self.inherited.current) {
            // It has ended already, or belongs to another user.
            let _ = rustix::process::prlimit(Some(child), Resource::Nofile, self.inherited);
        }
    }

    /// Elsewhere the limit of another process cannot be set: children keep the raised one.
    #[cfg(not(target_os = "linux"))]
    pub fn restore(&self, _child: rustix::process::Pid) {}
}

/// Room for calls of one kind. It grows once, by raising the limit, when it is first used up.
#[derive(Debug)]
pub struct Room {
    share: Share,
    free: Semaphore,
    /// As it was made, then as it has grown.
    size: usize,
    growth: OnceLock<usize>,
}

/// A place for one call, until it is dropped.
pub type RoomPermit<'a> = SemaphorePermit<'a>;

impl Room {
    pub fn of(share: Share) -> Self {
        let size = open_files().room(share);
        Self { share, free: Semaphore::new(size), size, growth: OnceLock::new() }
    }

    /// A place, if one is free. A place that is given back goes to the caller that has waited longest.
    pub fn try_take(&self) -> Option<RoomPermit<'_>> {
        self.free.try_acquire().ok()
    }

    /// Waits for a place; the time is noted as spent in line. `None` never comes: the room is not closed.
    pub async fn take(&self, line: Option<&QueueTime>) -> Option<RoomPermit<'_>> {
        if let Some(place) = self.try_take() {
            return Some(place);
        }
        self.growth.get_or_init(|| {
            open_files().raise();
            let growth = open_files().room(self.share).saturating_sub(self.size);
            self.free.add_permits(growth);
            growth
        });
        let _line = line.map(QueueTimer::enter);
        self.free.acquire().await.ok()
    }

    /// How many places are taken.
    pub fn taken(&self) -> usize {
        let size = self.size + self.growth.get().copied().unwrap_or_default();
        size.saturating_sub(self.free.available_permits())
    }
}

/// Whether an error says that there are too many open files or processes, or too little memory for one more. That changes
/// when other calls end, so it is a reason to wait.
pub fn is_shortage(error: &io::Error) -> bool {
    const SHORT: [Errno; 4] = [Errno::MFILE, Errno::NFILE, Errno::AGAIN, Errno::NOMEM];
    Errno::from_io_error(error).is_some_and(|errno| SHORT.contains(&errno))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(limit: u64, expected: [usize; 4]) {
        let inherited = Rlimit { current: Some(limit), maximum: Some(limit) };
        let files = OpenFiles { inherited, raised: OnceLock::new() };
        let shares =
            [Share::Program, Share::ProgramWithProxy, Share::Connection, Share::ProxyConnection];
        assert_eq!(shares.map(|share| files.room(share)), expected);
    }

    #[test]
    fn every_share_has_room_and_something_is_left() {
        check(LEAST, [5, 1, 8, 5]);
        check(256, [21, 4, 32, 21]);
        check(1024, [85, 16, 128, 85]);
        check(u64::MAX, [5461, 1024, 8192, 5461]);
    }

    #[test]
    fn a_missing_program_is_not_a_shortage() {
        assert!(is_shortage(&io::Error::from(Errno::MFILE)));
        assert!(!is_shortage(&io::Error::from(Errno::NOENT)));
        assert!(!is_shortage(&io::Error::other("too many open files")));
    }
}
