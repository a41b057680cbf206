//! Looking on while a program prints.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One of a program's two outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputStream {
    Stdout,
    Stderr,
}

/// Sees what a program prints as it comes.
pub trait Watcher: fmt::Debug + Send + Sync {
    /// The next piece. Pieces end anywhere, even inside a character.
    fn saw(&self, stream: OutputStream, bytes: &[u8]);

    /// Since when the program has done all that is wanted of it and printed nothing more. Agents stay when a tool of theirs
    /// still runs in the background.
    fn done_since(&self) -> Option<Instant>;
}

/// A watcher, and how long a program that has done its work may take to end by itself.
#[derive(Debug)]
pub struct Watch {
    pub watcher: Arc<dyn Watcher>,
    pub grace: Duration,
}
