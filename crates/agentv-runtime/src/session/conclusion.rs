//! What a run comes to: which gates were missed, what failed as a whole, and the exit code.

use crate::run::{Ended, RunOutcome, Stop};
use crate::targets::Overrun;
use agentv_core::Score;
use agentv_core::amount::count;
use agentv_core::amount::{dollars, tokens};
use agentv_core::gate::is_within;
use agentv_core::totals::{Counts, Totals};
use agentv_wire::{CaseLimit, Exit, RunGates, RunSpend};

/// The verdict on a run as a whole.
#[derive(Debug)]
pub struct Conclusion {
    pub exit: Exit,
    /// What failed, in the order in which it is told.
    pub problems: Vec<Problem>,
    /// What is worth a warning.
    pub warnings: Vec<String>,
}

/// Something that failed, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub message: String,
    pub help: Option<String>,
}

impl Conclusion {
    /// Adds a problem. Of several exit codes the highest wins.
    pub(super) fn add(&mut self, exit: Exit, message: impl Into<String>, help: Option<String>) {
        self.exit = self.exit.max(exit);
        self.problems.push(Problem { message: message.into(), help });
    }
}

/// Looks at how a run ended, and at its gates. `run` is what can be resumed.
pub(super) fn of(outcome: &RunOutcome, gates: &RunGates, run: Option<&str>) -> Conclusion {
    let mut conclusion =
        Conclusion { exit: Exit::Success, problems: Vec::new(), warnings: Vec::new() };
    let again = run.map(|run| format!("resume it with `agentv eval --resume {run}`"));
    match &outcome.ended {
        Ended::Complete => {}
        Ended::Interrupted => {
            let message = "interrupted: cases under way have no record";
            conclusion.add(Exit::Interrupted, message, again);
            return conclusion;
        }
        Ended::Unwritable(error) => {
            let help = again.map_or_else(
                || "records before this are whole".to_owned(),
                |again| format!("records before this are whole; {again}"),
            );
            let message = format!("results could not be written: {error}");
            conclusion.add(Exit::Incomplete, message, Some(help));
            return conclusion;
        }
        Ended::Unreadable(error) => {
            conclusion.add(Exit::Incomplete, format!("the run ended early: {error}"), again);
            return conclusion;
        }
        Ended::Stopped(Stop::Budget(overrun)) => {
            let Problem { message, help } = over_budget(overrun, outcome, run);
            conclusion.add(Exit::Incomplete, message, help);
            return conclusion;
        }
        Ended::Stopped(stop) => {
            let (flag, exit) = match stop {
                Stop::TooManyErrors => ("--max-errors", Exit::Incomplete),
                _ => ("--fail-fast", Exit::Success),
            };
            let message = format!("{flag} stopped the run: not every case has a record");
            conclusion.add(exit, message, again);
        }
    }
    check_gates(&outcome.totals, gates, &mut conclusion);
    conclusion
}

/// A case that has no grade fails the run before any gate: a gate cannot be passed by failing to look.
fn check_gates(totals: &Totals, gates: &RunGates, conclusion: &mut Conclusion) {
    let counts = totals.all.counts;
    if !allows(gates.allow_errors, counts) {
        conclusion.exit = conclusion.exit.max(Exit::Incomplete);
        // Without a limit, the counts of the summary say it all.
        if gates.allow_errors.is_some() {
            let Counts { errors, ungraded, .. } = counts;
            let errors = count(errors, "error", "errors");
            let message = format!("{errors} and {ungraded} ungraded of {}", counts.recorded());
            let help = "`--allow-errors=N` or `=N%` allows up to that many".to_owned();
            conclusion.add(Exit::Incomplete, message, Some(help));
        }
        return;
    }
    if gates.fail_fast && counts.passed < counts.recorded() {
        conclusion.exit = conclusion.exit.max(Exit::Gate);
    }
    for (name, target) in &totals.targets {
        let mean = target.gate_mean();
        let Some(bar) = gates.threshold.filter(|bar| is_below(mean, *bar)) else { continue };
        let has_zeros = target.counts.graded() < target.counts.recorded();
        let note = if has_zeros { " (errors and ungraded cases count as 0)" } else { "" };
        let message =
            format!("target `{name}` has a mean of {mean:.3}, below --threshold {bar}{note}");
        conclusion.add(Exit::Gate, message, None);
    }
    let lowest = totals.scores.lowest();
    if let Some((bar, lowest)) =
        gates.case_threshold.zip(lowest).filter(|(bar, lowest)| is_below(*lowest, *bar))
    {
        let message = format!("a case scores {lowest:.3}, below --case-threshold {bar}");
        conclusion.add(Exit::Gate, message, None);
    }
}

/// Whether no more cases are in error or ungraded than the user allows.
fn allows(allowed: Option<CaseLimit>, counts: Counts) -> bool {
    let limit = allowed.unwrap_or(CaseLimit::Cases(0));
    is_within(limit, counts.ungraded + counts.errors, counts.recorded())
}

/// Rounding must not miss a gate.
fn is_below(score: f64, bar: f64) -> bool {
    !Score::clamped(score).reaches(Score::clamped(bar))
}

/// What of a budget is set apart for calls that failed without a report of what they used.
fn held_for(amount: Option<String>, paid: &RunSpend) -> String {
    let Some(amount) = amount else { return String::new() };
    let calls = match paid.targets.unreported + paid.judges.unreported {
        1 => "1 failed call that did not report its use".to_owned(),
        calls => format!("{calls} failed calls that did not report their use"),
    };
    format!(", and an estimate of {amount} for {calls}")
}

/// Why the budget ended the run.
fn over_budget(overrun: &Overrun, outcome: &RunOutcome, run: Option<&str>) -> Problem {
    let RunSpend { targets, judges } = &outcome.totals.paid;
    let missing = count(outcome.missing, "case was not run", "cases were not run");
    let resume = |flag: &str| {
        let run = run?;
        Some(format!(
            "resume it with a larger budget, which counts all sessions: `agentv eval --resume {run} {flag}`"
        ))
    };
    let (spent, help) = match overrun {
        Overrun::Cost { max, held } => {
            let spent = dollars(targets.cost_usd + judges.cost_usd);
            let held = (*held > 0.0).then(|| dollars(*held));
            let held = held_for(held, &outcome.totals.paid);
            (format!(": {spent} of {}{held}", dollars(*max)), resume("--max-cost USD"))
        }
        Overrun::Tokens { max, held } => {
            let spent = tokens(targets.tokens + judges.tokens);
            let held = (*held > 0).then(|| format!("{} tokens", tokens(*held)));
            let held = held_for(held, &outcome.totals.paid);
            (format!(": {spent} of {} tokens{held}", tokens(*max)), resume("--max-tokens N"))
        }
        Overrun::UnknownCost { .. } => {
            let help = "have the target report `cost_usd`, or leave `--max-cost` out";
            (String::new(), Some(help.to_owned()))
        }
        Overrun::UnknownTokens { .. } => {
            let help = "have the target report `token_usage`, or leave `--max-tokens` out";
            (String::new(), Some(help.to_owned()))
        }
    };
    Problem { message: format!("{overrun}{spent}; {missing}"), help }
}
