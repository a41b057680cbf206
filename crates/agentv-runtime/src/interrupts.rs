//! Signals that ask the program to end.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Ctrl-C, Ctrl-\\, a polite request to end, or a terminal that is gone. Children are in process groups of their own and get
/// none of these, so whoever listens has to end them.
#[derive(Debug)]
pub struct Interrupts([Option<Signal>; 4]);

impl Interrupts {
    /// From now on these signals do not end the process.
    pub fn listen() -> Self {
        let kinds = [
            SignalKind::interrupt(),
            SignalKind::quit(),
            SignalKind::terminate(),
            SignalKind::hangup(),
        ];
        Self(kinds.map(|kind| signal(kind).ok()))
    }

    /// Waits for the next one.
    pub async fn next(&mut self) {
        async fn one(signal: &mut Option<Signal>) {
            match signal {
                Some(signal) => drop(signal.recv().await),
                None => std::future::pending().await,
            }
        }
        let [interrupt, quit, terminate, hangup] = &mut self.0;
        tokio::select! {
            () = one(interrupt) => {}
            () = one(quit) => {}
            () = one(terminate) => {}
            () = one(hangup) => {}
        }
    }
}
