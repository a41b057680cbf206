//! Counts calls. Each is reserved before it is made, so that the limit holds however many come at once.

use crate::evaluators::ask::Total;
use agentv_wire::Usage;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

pub(super) struct Meter {
    max: u64,
    made: AtomicU64,
    refused: AtomicBool,
    batch: AtomicBool,
    /// What the calls cost. A lock and not a message: it is held for an addition.
    total: Mutex<Total>,
}

/// What a script made of its proxy.
#[derive(Debug)]
pub(in super::super) struct Use {
    target: String,
    calls: u64,
    max: u64,
    /// Whether more was asked for than allowed: then the script's verdict counts for nothing.
    pub refused: bool,
    batch: bool,
    pub usage: Option<Usage>,
}

impl Meter {
    pub(super) fn new(max: u64) -> Self {
        Self {
            max,
            made: AtomicU64::new(0),
            refused: AtomicBool::new(false),
            batch: AtomicBool::new(false),
            total: Mutex::default(),
        }
    }

    pub(super) fn max(&self) -> u64 {
        self.max
    }

    pub(super) fn made(&self) -> u64 {
        self.made.load(Ordering::Acquire)
    }

    /// Whether this many more calls would be too many, which is then remembered.
    pub(super) fn refuses(&self, calls: u64) -> bool {
        let too_many = self.made().saturating_add(calls) > self.max;
        self.refused.fetch_or(too_many, Ordering::AcqRel);
        too_many
    }

    /// One call, if there is one left.
    pub(super) fn reserve(&self) -> bool {
        let next = |made| (made < self.max).then_some(made + 1);
        let reserved = self.made.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).is_ok();
        self.refused.fetch_or(!reserved, Ordering::AcqRel);
        reserved
    }

    pub(super) fn is_batch(&self) {
        self.batch.store(true, Ordering::Release);
    }

    pub(super) fn spend(&self, usage: &Usage) {
        self.total.lock().unwrap_or_else(PoisonError::into_inner).add_usage(usage);
    }

    pub(super) fn used(&self, target: &str) -> Use {
        Use {
            target: target.to_owned(),
            calls: self.made(),
            max: self.max,
            refused: self.refused.load(Ordering::Acquire),
            batch: self.batch.load(Ordering::Acquire),
            usage: self.total.lock().unwrap_or_else(PoisonError::into_inner).usage(),
        }
    }
}

impl Use {
    /// For the record.
    pub(in super::super) fn shown(&self) -> Value {
        let mut shown = json!({
            "target_name": self.target, "call_count": self.calls, "max_calls": self.max, "batch_used": self.batch,
        });
        if let Some(usage) = &self.usage {
            shown["usage"] = json!(usage);
        }
        shown
    }

    pub(in super::super) fn max(&self) -> u64 {
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_the_limit_is_reserved_however_many_ask() {
        let meter = Meter::new(10);
        let reserved: usize = std::thread::scope(|threads| {
            let ask = || (0..250).filter(|_| meter.reserve()).count();
            let threads: Vec<_> = (0..4).map(|_| threads.spawn(ask)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!((reserved, meter.made(), meter.used("t").refused), (10, 10, true));
    }

    #[test]
    fn a_batch_is_refused_as_a_whole() {
        let meter = Meter::new(3);
        assert!(!meter.refuses(3));
        assert!(!meter.used("t").refused);
        assert!(meter.refuses(4));
        assert!(meter.used("t").refused);
    }
}
