//! What a comparison found, and the score that follows.

use super::calls::CandidateCall;
use crate::evaluators::amount::Amount;
use crate::evaluators::shown;
use agentv_core::{Score, Verdict};

/// Hits and misses, with the checks that were made.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) hits: Vec<String>,
    pub(super) misses: Vec<String>,
    /// For the user, not for the record.
    pub(super) warnings: Vec<String>,
    /// Checks that were made.
    pub(super) checked: usize,
    /// Checks that held.
    pub(super) held: usize,
}

impl Findings {
    /// Counts a check and says how it went.
    pub(super) fn check(&mut self, holds: bool, text: String) {
        self.checked += 1;
        self.held += usize::from(holds);
        if holds { self.hits.push(text) } else { self.misses.push(text) }
    }

    /// Checks how long calls took. Only those that report a duration can be checked, and only the slowest is told of.
    pub(super) fn check_duration<'a>(
        &mut self,
        tool: &str,
        calls: impl IntoIterator<Item = &'a CandidateCall<'a>>,
        max: Amount,
    ) {
        let (mut slowest, mut unknown) = (None, false);
        for call in calls {
            match call.duration {
                Some(ms) => slowest = Some(slowest.map_or(ms, |slowest: f64| slowest.max(ms))),
                None => unknown = true,
            }
        }
        if unknown {
            self.warnings.push(format!(
                "a call of `{tool}` reports no duration, so its `max_duration_ms` is not checked"
            ));
        }
        let Some(took) = slowest else { return };
        let holds = took <= max.value();
        let (took, max) = (shown::number(took), shown::number(max.value()));
        let verb = if holds { "completed in" } else { "took" };
        self.check(holds, format!("{tool} {verb} {took}ms (max: {max}ms)"));
    }

    /// The share of checks that held; with none, everything did.
    pub(super) fn into_verdict(self) -> Verdict {
        let score = Score::ratio(self.held, self.checked);
        Verdict { hits: self.hits, misses: self.misses, ..Verdict::of(score) }
    }
}
