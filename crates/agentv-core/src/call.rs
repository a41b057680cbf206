//! What every call of a provider or grader is given besides its question.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The surroundings of one call.
#[derive(Debug, Clone)]
pub struct CallContext {
    /// Cancelled when the user stops the run or the attempt's time is over. Whoever waits, waits for this too.
    pub cancel: CancellationToken,
    /// How long a program that grades may take, unless its own configuration says otherwise.
    pub time_limit: Option<Duration>,
    /// Where to say what is neither an answer nor an error.
    pub log: Arc<dyn Log>,
    /// What of the call's time is not the target's.
    pub line: Arc<Line>,
}

/// How long a call has stood in line, for its target's rate limit or for a place among the calls in flight. A time limit
/// is meant for the target, so it does not count this. Whoever waits has a clock and tells; there is none here.
#[derive(Debug, Default)]
pub struct Line {
    standing: AtomicUsize,
    microseconds: AtomicU64,
}

impl Line {
    /// The wait begins.
    pub fn enter(&self) {
        self.standing.fetch_add(1, Ordering::SeqCst);
    }

    /// It is over, after this long.
    pub fn leave(&self, waited: Duration) {
        let microseconds = u64::try_from(waited.as_micros()).unwrap_or(u64::MAX);
        self.microseconds.fetch_add(microseconds, Ordering::SeqCst);
        self.standing.fetch_sub(1, Ordering::SeqCst);
    }

    /// Whether the call waits right now.
    pub fn is_waiting(&self) -> bool {
        self.standing.load(Ordering::SeqCst) > 0
    }

    /// How long all waits took that are over.
    pub fn waited(&self) -> Duration {
        Duration::from_micros(self.microseconds.load(Ordering::SeqCst))
    }
}

/// Takes what a plug-in has to say to the user. It must not block.
pub trait Log: fmt::Debug + Send + Sync {
    /// Whether anybody wants to hear this; asked before a costly text is made.
    fn wants(&self, level: LogLevel) -> bool;
    fn say(&self, level: LogLevel, text: String);
}

impl dyn Log {
    /// Something is odd, though the work goes on.
    pub fn warn(&self, text: impl Into<String>) {
        self.say(LogLevel::Warning, text.into());
    }

    /// For people who asked for details.
    pub fn verbose(&self, text: impl FnOnce() -> String) {
        if self.wants(LogLevel::Verbose) {
            self.say(LogLevel::Verbose, text());
        }
    }
}

/// How loud.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    Warning,
    Verbose,
}

/// Hears nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoLog;

impl Log for NoLog {
    fn wants(&self, _level: LogLevel) -> bool {
        false
    }

    fn say(&self, _level: LogLevel, _text: String) {}
}

impl CallContext {
    /// A context that nobody cancels and nobody listens to, for tests and probes.
    pub fn quiet() -> Self {
        Self::new(CancellationToken::new(), None, Arc::new(NoLog))
    }

    pub fn new(cancel: CancellationToken, time_limit: Option<Duration>, log: Arc<dyn Log>) -> Self {
        Self { cancel, time_limit, log, line: Arc::default() }
    }

    /// The surroundings of a call inside this one, which can be stopped on its own.
    #[must_use]
    pub fn child(&self) -> Self {
        Self::new(self.cancel.child_token(), self.time_limit, Arc::clone(&self.log))
    }
}
