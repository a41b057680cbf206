//! How many cases came out how.

use super::case_line::{BROKEN, FAILED, PASSED, UNGRADED};
use agentv_runtime::run::Tally;
use anstyle::Style;

/// Cases by what became of them; each is in one of these.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Counts {
    pub passed: usize,
    pub failed: usize,
    /// Those that ended in an error.
    pub errors: usize,
    /// Those that did not pass and had a judge that went wrong.
    pub ungraded: usize,
}

/// One of the counts with its mark, its colour and its word.
#[derive(Debug)]
pub(super) struct Count {
    pub mark: &'static str,
    pub style: Style,
    pub cases: usize,
    pub word: &'static str,
}

impl Counts {
    pub(super) fn of(tally: &Tally) -> Self {
        let Tally { passed, failed, errors, .. } = *tally;
        let ungraded = tally.scores.len().saturating_sub(passed + failed + errors);
        Self { passed, failed, errors, ungraded }
    }

    pub(super) fn sum(self) -> usize {
        self.passed + self.failed + self.errors + self.ungraded
    }

    /// All of them, in the order in which they are told.
    pub(super) fn each(self) -> [Count; 4] {
        let errors = if self.errors == 1 { "error" } else { "errors" };
        [
            (PASSED, self.passed, "passed"),
            (FAILED, self.failed, "failed"),
            (BROKEN, self.errors, errors),
            (UNGRADED, self.ungraded, "not graded"),
        ]
        .map(|((mark, style), cases, word)| Count { mark, style, cases, word })
    }

    /// Of what there is none, nothing is said; only passes always have a place.
    pub(super) fn told(self) -> impl Iterator<Item = Count> {
        let each = self.each().into_iter().enumerate();
        each.filter(|(at, count)| *at == 0 || count.cases > 0).map(|(_, count)| count)
    }
}
