//! A case that is done, in one line for people.

use super::style::{BAD, DIM, DOUBTFUL, GOOD, Paint};
use super::text::{cut_end, cut_middle, one_line};
use crate::format::score;
use agentv_core::event::Finished;
use agentv_wire::Status;
use anstyle::Style;
use unicode_width::UnicodeWidthStr as _;

/// What stands before a case, and in which colour.
pub(super) const PASSED: (&str, Style) = ("✓", GOOD);
pub(super) const FAILED: (&str, Style) = ("✗", BAD);
pub(super) const BROKEN: (&str, Style) = ("!", BAD);
/// Nobody knows, since the grading went wrong.
pub(super) const UNGRADED: (&str, Style) = ("?", DOUBTFUL);

/// `✗ 0.400  refund  gpt  what was missed`, no wider than the screen if that is known.
pub(super) fn case_line(finished: &Finished, paint: Paint, width: Option<usize>) -> String {
    let (mark, style) = mark(finished);
    let id = one_line(&finished.eval_id);
    let id = width.map_or_else(|| id.clone(), |width| cut_middle(&id, (width / 2).max(8)));
    let target = target_name(&finished.label);
    let start = format!("{mark} {}  {id}", score(finished.score));
    let why = reason(finished).map(one_line).unwrap_or_default();
    let target = format!("  {target}");
    let why = match width {
        Some(width) => {
            let room = width.saturating_sub(start.width() + target.width() + 3);
            if room < 12 { String::new() } else { cut_end(&why, room) }
        }
        None => why,
    };
    let why = if why.is_empty() { why } else { format!("  {why}") };
    format!("{}{}{why}", paint.paint(style, start), paint.paint(DIM, target))
}

fn mark(finished: &Finished) -> (&'static str, Style) {
    if finished.error.is_some() {
        BROKEN
    } else if !finished.judge_errors.is_empty() {
        UNGRADED
    } else if finished.status == Status::Pass {
        PASSED
    } else {
        FAILED
    }
}

fn reason(finished: &Finished) -> Option<&str> {
    let judge = || finished.judge_errors.first().map(|error| error.message.as_str());
    let miss = || finished.why.as_ref()?.misses.first().map(String::as_str);
    finished.error.as_deref().or_else(judge).or_else(miss)
}

/// The name without the kind of its provider.
pub(super) fn target_name(label: &str) -> &str {
    label.split(" [provider=").next().unwrap_or(label)
}
