//! What every call of a provider or grader is given besides its question.

use std::fmt;
use std::sync::Arc;
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
        Self { cancel: CancellationToken::new(), time_limit: None, log: Arc::new(NoLog) }
    }
}
