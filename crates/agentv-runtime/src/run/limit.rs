//! When enough has gone wrong, or was spent, to start no more cases.

use crate::targets::{Overrun, Spending};
use agentv_core::outcome::outcome_of_result;
use agentv_wire::{Outcome, ResultRecord};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// How much may go wrong, and how much may be spent. Cases that are under way come to their end, so there may be one more
/// for each worker.
#[derive(Debug, Default)]
pub struct Limit {
    /// Cases in error, or ungraded.
    max_errors: Option<usize>,
    /// Whether the first case that does not pass is enough.
    fail_fast: bool,
    /// What the calls cost, and how much they may.
    spending: Arc<Spending>,
    errors: AtomicUsize,
    stopped: OnceLock<Stop>,
}

/// What was enough.
#[derive(Debug, Clone, PartialEq)]
pub enum Stop {
    TooManyErrors,
    FailedFast,
    Budget(Overrun),
}

impl Limit {
    pub fn new(max_errors: Option<usize>, fail_fast: bool, spending: Arc<Spending>) -> Self {
        Self { max_errors, fail_fast, spending, ..Self::default() }
    }

    /// Looks at a record. The worker that made it asks before it starts another case.
    pub(super) fn look(&self, record: &ResultRecord) {
        // Whoever comes first has the word; what a later one sets is of no account.
        let outcome = outcome_of_result(record);
        if !outcome.is_graded() {
            let errors = self.errors.fetch_add(1, Ordering::Relaxed) + 1;
            if self.max_errors.is_some_and(|max| errors >= max) {
                let _ = self.stopped.set(Stop::TooManyErrors);
            }
        }
        if self.fail_fast && outcome != Outcome::Pass {
            let _ = self.stopped.set(Stop::FailedFast);
        }
    }

    /// Why no more cases are to be started, if that is so.
    pub(super) fn reached(&self) -> Option<Stop> {
        if let Some(stop) = self.stopped.get() {
            return Some(stop.clone());
        }
        // Every case of every run comes through here, and few runs have a budget.
        let is_limited = !self.spending.budget().is_unlimited();
        is_limited.then(|| self.spending.overrun().map(Stop::Budget)).flatten()
    }

    pub(super) fn spending(&self) -> &Spending {
        &self.spending
    }
}
