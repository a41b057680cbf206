//! What a run comes to: what went wrong with it as a whole, and the exit code.

use super::budget;
use crate::settings::EvalSettings;
use crate::terminal;
use agentv_core::Score;
use agentv_runtime::run::{Ended, Outcome, Stop};
use agentv_wire::Exit;

/// Says what went wrong with the run as a whole, and chooses the exit code.
pub(super) fn conclude(outcome: &Outcome, settings: &EvalSettings, run: Option<&str>) -> Exit {
    let gates = settings.gates;
    let tally = &outcome.tally;
    let again = run.map(|run| format!("take it up again with `agentv eval --resume {run}`"));
    let again = again.as_deref();
    match &outcome.ended {
        Ended::Interrupted => {
            terminal::complain("interrupted: cases under way have no record", again);
            return Exit::Interrupted;
        }
        Ended::Unwritable(error) => {
            let help = again.map_or_else(
                || "records before this are whole".to_owned(),
                |again| format!("records before this are whole; {again}"),
            );
            terminal::complain(&format!("results could not be written: {error}"), Some(&help));
            return Exit::Incomplete;
        }
        Ended::Unreadable(error) => {
            terminal::complain(&format!("the run ended early: {error}"), again);
            return Exit::Incomplete;
        }
        Ended::Stopped(Stop::Budget(overrun)) => {
            budget::complain(overrun, outcome, run);
            return Exit::Incomplete;
        }
        Ended::Stopped(stop) => {
            let why = if *stop == Stop::TooManyErrors { "--max-errors" } else { "--fail-fast" };
            let message = format!("{why} stopped the run: not every case has a record");
            terminal::complain(&message, again);
            if *stop == Stop::TooManyErrors {
                return Exit::Incomplete;
            }
        }
        Ended::Complete => {}
    }
    if tally.errors > 0 && !gates.allow_errors {
        return Exit::Incomplete;
    }
    let mut exit = Exit::Success;
    if gates.fail_fast && tally.passed < tally.scores.len() {
        exit = Exit::Gate;
    }
    for (name, target) in &tally.targets {
        if let Some(bar) = gates.target_mean.filter(|bar| is_below(target.mean(), *bar)) {
            terminal::complain(
                &format!(
                    "target `{name}` has a mean of {:.3}, below --threshold {bar}",
                    target.mean()
                ),
                None,
            );
            exit = Exit::Gate;
        }
    }
    if let Some((bar, lowest)) =
        gates.every_case.zip(tally.lowest).filter(|(bar, lowest)| is_below(*lowest, *bar))
    {
        terminal::complain(
            &format!("a case scores {lowest:.3}, below --case-threshold {bar}"),
            None,
        );
        exit = Exit::Gate;
    }
    exit
}

/// Rounding must not miss a gate.
fn is_below(score: f64, bar: f64) -> bool {
    !Score::clamped(score).reaches(Score::clamped(bar))
}
