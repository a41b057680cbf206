//! A mark of a call that all its descendants inherit, whatever they do to their environment, session or parent.
//!
//! Every process has a limit of file locks (`RLIMIT_LOCKS`). Linux has not used it since 2.4.25, children inherit it, and
//! `/proc` shows it of every process. So its value can carry the number of a call, without any effect on programs.
//!
//! A child has the limit that we have when it is started, and ours belongs to all threads. To start programs one after the
//! other would halve their rate. So whoever comes first sets our limit to its mark, and whoever starts a program meanwhile
//! leaves it alone and marks its child afterwards. What such a child has started by then carries the mark of another call,
//! which therefore counts as shared: it proves nothing until the end of the run.

use rustix::process::Pid;
#[cfg(target_os = "linux")]
use rustix::process::{Resource, Rlimit, prlimit, setrlimit};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The mark of one call. No two calls share one, of other runs and programs neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CallMark(u64);

impl CallMark {
    /// The mark in `/proc/<pid>/limits`, if that has one.
    #[cfg(target_os = "linux")]
    pub(super) fn read(limits: &[u8]) -> Option<Self> {
        let limits = std::str::from_utf8(limits).ok()?;
        let line = limits.lines().find_map(|line| line.strip_prefix("Max file locks"))?;
        line.split_ascii_whitespace().next()?.parse().ok().map(Self)
    }

    /// Only the limit that a process may change back: a lowered maximum would stay for good.
    #[cfg(target_os = "linux")]
    fn limit(self) -> Rlimit {
        Rlimit { current: Some(self.0), maximum: None }
    }
}

/// Marks the calls of one run.
#[derive(Debug)]
pub(super) struct Marks {
    first: u64,
    /// Held while a program is started with our limit set to its mark. Never waited for.
    turn: Mutex<()>,
    /// How many programs are being started by others meanwhile.
    others: AtomicUsize,
    /// A lock and not a message: held for a few instructions.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// What our limit is set to.
    current: Option<CallMark>,
    /// Marks that processes of other calls may carry. Those of calls that have ended are taken out.
    shared: Vec<CallMark>,
}

impl Marks {
    pub(super) fn new() -> Self {
        // Without random numbers runs share marks; their processes are still told apart by whose children they are.
        let random = u64::from(getrandom::u32().unwrap_or(0) >> 1 | 1 << 30);
        let (turn, others, state) = Default::default();
        Self { first: random << 32, turn, others, state }
    }

    /// Starts a program whose descendants carry the mark of this call.
    pub(super) fn start<T, E>(
        &self,
        call: u64,
        spawn: impl FnOnce() -> Result<(T, Pid), E>,
    ) -> Result<(T, CallMark), E> {
        let mark = CallMark(self.first | (call & u64::from(u32::MAX)));
        let Ok(_turn) = self.turn.try_lock() else {
            let _other = Other::enter(self);
            let (started, child) = spawn()?;
            put(mark, Some(child));
            return Ok((started, mark));
        };
        let mut state = self.state();
        state.current = Some(mark);
        // Others count themselves first and look at `current` then, so one of the two sees the other.
        if self.others.load(Ordering::SeqCst) > 0 {
            state.shared.push(mark);
        }
        drop(state);
        put(mark, None);
        spawn().map(|(started, _)| (started, mark))
    }

    /// Whether only this call's descendants carry its mark.
    pub(super) fn is_proof(&self, mark: CallMark) -> bool {
        !self.state().shared.contains(&mark)
    }

    /// To be told when a call has ended: its mark is not asked for any more.
    pub(super) fn forget(&self, mark: CallMark) {
        self.state().shared.retain(|shared| *shared != mark);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A program that is being started while our limit is set to the mark of another call.
struct Other<'a>(&'a Marks);

impl<'a> Other<'a> {
    fn enter(marks: &'a Marks) -> Self {
        marks.others.fetch_add(1, Ordering::SeqCst);
        let mut state = marks.state();
        if let Some(current) = state.current.filter(|current| !state.shared.contains(current)) {
            state.shared.push(current);
        }
        Self(marks)
    }
}

impl Drop for Other<'_> {
    fn drop(&mut self) {
        self.0.others.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Sets the limit of a child, or our own. It may fail, as where an administrator has set the limit: then there is no mark.
#[cfg(target_os = "linux")]
fn put(mark: CallMark, child: Option<Pid>) {
    let _ = match child {
        Some(child) => prlimit(Some(child), Resource::Locks, mark.limit()).map(drop),
        None => setrlimit(Resource::Locks, mark.limit()),
    };
}

#[cfg(not(target_os = "linux"))]
fn put(_mark: CallMark, _child: Option<Pid>) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_from_the_limits() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
                      Max locked memory         8388608              8388608              bytes\n\
                      Max file locks            42                   unlimited            locks\n";
        assert_eq!(CallMark::read(limits.as_bytes()), Some(CallMark(42)));
        let unlimited = limits.replace("42       ", "unlimited");
        assert_eq!(CallMark::read(unlimited.as_bytes()), None);
        assert_eq!(CallMark::read(b"\xff"), None);
    }

    #[test]
    fn a_mark_is_shared_while_others_start_programs() {
        let marks = Marks::new();
        let own = rustix::process::getpid();
        let start = |call, inner: &dyn Fn()| {
            let spawn = || -> Result<_, ()> {
                inner();
                Ok(((), own))
            };
            marks.start(call, spawn).unwrap().1
        };
        let alone = start(1, &|| {});
        assert!(marks.is_proof(alone));
        let second = std::cell::Cell::new(alone);
        let first = start(2, &|| second.set(start(3, &|| {})));
        assert!(!marks.is_proof(first) && marks.is_proof(second.get()) && marks.is_proof(alone));
        assert!(first != alone && first != second.get());
        marks.forget(first);
        assert!(marks.state().shared.is_empty());
    }
}
