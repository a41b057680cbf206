//! A case that is done, in one line for people.

use super::line::Line;
use super::style::{BAD, DIM, DOUBTFUL, GOOD, NO_ANSWER, Paint};
use super::text::{cut_end, cut_error, cut_middle, one_line};
use crate::format::{score, score_below, threshold};
use agentv_core::totals::grading_errors;
use agentv_wire::event::CaseFinished;
use agentv_wire::{FailureCause, Outcome};
use anstyle::Style;
use unicode_width::UnicodeWidthStr as _;

/// What is before a case, and in which colour.
pub(super) const PASSED: (&str, Style) = ("✓", GOOD);
pub(super) const FAILED: (&str, Style) = ("✗", BAD);
/// There is no answer, or the target reported an error with it.
pub(super) const BROKEN: (&str, Style) = ("!", NO_ANSWER);
/// The answer was not judged, since grading failed.
pub(super) const UNGRADED: (&str, Style) = ("?", DOUBTFUL);

/// `✗ 0.400  refund  gpt  what was missed`, no wider than the screen if that is known.
pub(super) fn case_line(finished: &CaseFinished, paint: Paint, width: Option<usize>) -> Line {
    let (mark, _) = outcome(finished);
    line(mark.0, finished, paint, width)
}

/// `27/100  ✗ failed    0.400  refund  gpt  what was missed`: the same for a log, where a word is easier to look for.
pub(super) fn log_line(finished: &CaseFinished, paint: Paint) -> Line {
    let CaseFinished { done, total, .. } = finished;
    let (mark, word) = outcome(finished);
    let digits = total.checked_ilog10().unwrap_or_default() as usize + 1;
    let counter = format!("{done:>digits$}/{total}  ");
    Line::from(counter) + line(&format!("{} {word:<8}", mark.0), finished, paint, None)
}

fn line(start: &str, finished: &CaseFinished, paint: Paint, width: Option<usize>) -> Line {
    let record = &finished.record;
    let ((_, style), _) = outcome(finished);
    // What has no grade has no score: 0 would look like a bad answer.
    let is_graded = matches!(finished.outcome, Outcome::Pass | Outcome::Fail);
    let score = if is_graded { score(record.score) } else { "-".to_owned() };
    let id = one_line(&record.label());
    let id = match width {
        Some(width) => cut_middle(&id, (width / 2).max(8)),
        None => id,
    };
    let start = format!("{start} {score:>5}  {id}");
    let why = reason(finished).map(|why| one_line(&why)).unwrap_or_default();
    let target = format!("  {}", one_line(finished.work.target.as_str()));
    let why = match width {
        Some(width) => {
            let room = width.saturating_sub(start.width() + target.width() + 3);
            let cut = if finished.outcome == Outcome::Fail { cut_end } else { cut_error };
            if room < 12 { String::new() } else { cut(&why, room) }
        }
        None => why,
    };
    let why = if why.is_empty() { why } else { format!("  {why}") };
    paint.paint(style, start) + paint.paint(DIM, target) + &*why
}

/// The mark of a case, and the word for what became of it.
fn outcome(finished: &CaseFinished) -> ((&'static str, Style), &'static str) {
    match finished.outcome {
        Outcome::Pass => (PASSED, "passed"),
        Outcome::Fail => (FAILED, "failed"),
        Outcome::Ungraded => (UNGRADED, "ungraded"),
        Outcome::Error => (BROKEN, "error"),
    }
}

/// Why it did not pass: the error, the grading that failed, or what an evaluator missed.
fn reason(finished: &CaseFinished) -> Option<String> {
    let record = &finished.record;
    let grading = || {
        let errors = grading_errors(record);
        let first = errors.first().filter(|_| finished.outcome != Outcome::Fail)?;
        Some(format!("{}: {}", first.evaluator, first.message))
    };
    let shortfall = || {
        let FailureCause { evaluator, score, case_score, needed, text } =
            record.cause.as_deref()?;
        // The line begins with the score of the case.
        Some(if text.is_empty() && case_score.is_none() {
            let (score, needed) = (score_below(*score, *needed), threshold(*needed));
            format!("{evaluator} {score}, needs {needed}")
        } else if text.is_empty() {
            format!("needs {}", threshold(*needed))
        } else {
            format!("{evaluator}: {text}")
        })
    };
    record.error.clone().or_else(grading).or_else(shortfall)
}
