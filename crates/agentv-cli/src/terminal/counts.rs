//! How many cases have which outcome.

use super::case_line::{BROKEN, FAILED, PASSED, UNGRADED};
use agentv_core::totals::Counts;
use anstyle::Style;

/// One of the counts with its mark, its colour and its word.
#[derive(Debug)]
pub(super) struct Count {
    pub mark: &'static str,
    pub style: Style,
    pub cases: usize,
    pub word: &'static str,
}

/// All of them, in the order in which they are shown.
pub(super) fn each(counts: Counts) -> [Count; 4] {
    let errors = if counts.errors == 1 { "error" } else { "errors" };
    [
        (PASSED, counts.passed, "passed"),
        (FAILED, counts.failed, "failed"),
        (UNGRADED, counts.ungraded, "ungraded"),
        (BROKEN, counts.errors, errors),
    ]
    .map(|((mark, style), cases, word)| Count { mark, style, cases, word })
}

/// Without those that are 0; only passes always have a place.
pub(super) fn shown(counts: Counts) -> impl Iterator<Item = Count> {
    let each = each(counts).into_iter().enumerate();
    each.filter(|(at, count)| *at == 0 || count.cases > 0).map(|(_, count)| count)
}
