//! When enough has gone wrong to start no more cases.

use agentv_wire::{ResultRecord, Status};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How much may go wrong. Cases that are under way come to their end, so there may be one more for each worker.
#[derive(Debug, Default)]
pub struct Limit {
    /// Records with an error.
    max_errors: Option<usize>,
    /// Whether the first case that does not pass is enough.
    fail_fast: bool,
    errors: AtomicUsize,
    stopped: OnceLock<Stop>,
}

/// What was enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    TooManyErrors,
    FailedFast,
}

impl Limit {
    pub fn new(max_errors: Option<usize>, fail_fast: bool) -> Self {
        Self { max_errors, fail_fast, ..Self::default() }
    }

    /// Looks at a record. The worker that made it asks before it starts another case.
    pub(super) fn look(&self, record: &ResultRecord) {
        // Whoever comes first has the word; what a later one sets is of no account.
        if record.error.is_some() {
            let errors = self.errors.fetch_add(1, Ordering::Relaxed) + 1;
            if self.max_errors.is_some_and(|max| errors >= max) {
                let _ = self.stopped.set(Stop::TooManyErrors);
            }
        }
        if self.fail_fast && record.status != Status::Pass {
            let _ = self.stopped.set(Stop::FailedFast);
        }
    }

    /// Why no more cases are to be started, if that is so.
    pub(super) fn reached(&self) -> Option<Stop> {
        self.stopped.get().copied()
    }
}
