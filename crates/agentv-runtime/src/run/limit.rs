//! When enough has gone wrong to start no more cases.

use agentv_wire::{ResultRecord, Status};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How much may go wrong. Cases that are under way come to their end, so there may be one more for each worker.
#[derive(Debug, Default)]
pub struct Limit {
    /// Records with an error.
    max_errors: Option<usize>,
    /// Whether the first case that does not pass is enough.
    fail_fast: bool,
    errors: AtomicUsize,
    stopped: AtomicBool,
}

impl Limit {
    pub fn new(max_errors: Option<usize>, fail_fast: bool) -> Self {
        Self { max_errors, fail_fast, ..Self::default() }
    }

    /// Looks at a record. The worker that made it asks before it starts another case.
    pub(super) fn look(&self, record: &ResultRecord) {
        let mut enough = self.fail_fast && record.status != Status::Pass;
        if record.error.is_some() {
            let errors = self.errors.fetch_add(1, Ordering::Relaxed) + 1;
            enough |= self.max_errors.is_some_and(|max| errors >= max);
        }
        if enough {
            self.stopped.store(true, Ordering::Relaxed);
        }
    }

    /// Whether no more cases are to be started.
    pub(super) fn is_reached(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}
