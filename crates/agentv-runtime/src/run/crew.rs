//! The threads that workers live on.

use crate::load::cores;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::thread;
use tokio::runtime::{Builder, Handle};
use tokio_util::sync::{CancellationToken, DropGuard};

/// How many threads there may be on any machine. Starting a program holds up its thread until the program runs; with a
/// thread for each, the others' programs are heard meanwhile.
const LEAST: usize = 8;

/// Threads with a runtime each, of which every worker has one for good. Nothing moves from one to another, so they seldom
/// have to wake each other; and each hears its own children and servers, whatever holds up the others. They end when this
/// is dropped.
#[derive(Debug)]
pub(super) struct Crew {
    state: Mutex<State>,
    end: CancellationToken,
    _ends: DropGuard,
}

#[derive(Debug)]
struct State {
    threads: Vec<Handle>,
    /// Whose turn it is.
    next: usize,
}

impl Crew {
    /// One thread for now.
    pub(super) fn new() -> io::Result<Self> {
        let end = CancellationToken::new();
        let threads = vec![start(end.clone())?];
        let state = Mutex::new(State { threads, next: 0 });
        Ok(Self { state, end: end.clone(), _ends: end.drop_guard() })
    }

    /// Where the next worker goes: to a thread of its own while there may be more of them, then to each in turn.
    pub(super) fn next(&self) -> Handle {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { threads, next } = &mut *state;
        if *next == threads.len() && *next < cores().max(LEAST) {
            // If the system has no more threads for us, those that there are must do.
            threads.extend(start(self.end.clone()));
        }
        let turn = *next % threads.len();
        *next = turn + 1;
        threads[turn].clone()
    }
}

/// A thread that does whatever it is given until the end.
fn start(end: CancellationToken) -> io::Result<Handle> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let thread = thread::Builder::new().name("worker".to_owned());
    thread.spawn(move || runtime.block_on(end.cancelled()))?;
    Ok(handle)
}
