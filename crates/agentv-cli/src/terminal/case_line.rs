//! A case that is done, in one line for people.

use super::line::Line;
use super::style::{BAD, DIM, DOUBTFUL, GOOD, Paint};
use super::text::{cut_end, cut_middle, one_line};
use crate::format::score;
use agentv_core::totals::grading_errors;
use agentv_wire::Outcome;
use agentv_wire::event::CaseFinished;
use anstyle::Style;
use unicode_width::UnicodeWidthStr as _;

/// What stands before a case, and in which colour.
pub(super) const PASSED: (&str, Style) = ("✓", GOOD);
pub(super) const FAILED: (&str, Style) = ("✗", BAD);
pub(super) const BROKEN: (&str, Style) = ("!", BAD);
/// The answer was not judged, since grading failed.
pub(super) const UNGRADED: (&str, Style) = ("?", DOUBTFUL);

/// `✗ 0.400  refund  gpt  what was missed`, no wider than the screen if that is known.
pub(super) fn case_line(finished: &CaseFinished, paint: Paint, width: Option<usize>) -> Line {
    let (mark, style) = mark(finished);
    let id = one_line(&finished.record.eval_id);
    let id = width.map_or_else(|| id.clone(), |width| cut_middle(&id, (width / 2).max(8)));
    let start = format!("{mark} {}  {id}", score(finished.record.score));
    let why = reason(finished).map(|why| one_line(&why)).unwrap_or_default();
    let target = format!("  {}", one_line(finished.work.target.as_str()));
    let why = match width {
        Some(width) => {
            let room = width.saturating_sub(start.width() + target.width() + 3);
            if room < 12 { String::new() } else { cut_end(&why, room) }
        }
        None => why,
    };
    let why = if why.is_empty() { why } else { format!("  {why}") };
    paint.paint(style, start) + paint.paint(DIM, target) + &*why
}

fn mark(finished: &CaseFinished) -> (&'static str, Style) {
    match finished.outcome {
        Outcome::Pass => PASSED,
        Outcome::Fail => FAILED,
        Outcome::Ungraded => UNGRADED,
        Outcome::Error => BROKEN,
    }
}

fn reason(finished: &CaseFinished) -> Option<String> {
    let record = &finished.record;
    let grading = || Some(grading_errors(record).first()?.message.to_owned());
    let miss = || record.misses.first().cloned();
    record.error.clone().or_else(grading).or_else(miss)
}
