//! What the run may spend: refused before it begins, counted while it goes on, told when it is spent.

use super::Refusal;
use crate::format::{amount, count as counted, money};
use crate::terminal;
use agentv_runtime::run::{Outcome, Outputs, Plan, Resumed, Unmetered, unmetered};
use agentv_runtime::targets::{Overrun, Spending};
use agentv_wire::RunSpend;
use std::sync::Arc;

/// Refuses a plan with calls that nobody could count.
pub(super) fn afford(plan: &Plan) -> Result<(), Refusal> {
    let found = unmetered(plan).map_err(|error| Refusal::incomplete(error.to_string()))?;
    let Some(first) = found.first() else { return Ok(()) };
    let (flag, what) = match first.overrun {
        Overrun::UnknownTokens { .. } => ("--max-tokens", "how many tokens"),
        _ => ("--max-cost", "what"),
    };
    let names = found.iter().map(|one| format!("`{}` ({})", one.target, one.kind));
    let names = names.collect::<Vec<_>>().join(", ");
    let verb = if flag == "--max-cost" { "cost" } else { "use" };
    Err(Refusal::usage(
        format!("nobody can know {what} calls of {names} {verb}, so `{flag}` cannot hold"),
        help(first),
    ))
}

fn help(one: &Unmetered) -> String {
    match (&one.overrun, one.kind) {
        (Overrun::UnknownCost { .. }, "openai" | "azure" | "anthropic" | "gemini") => {
            "state its price in the targets file, in dollars for a million tokens: `pricing: {input: 0.5, output: 1.5}`"
                .to_owned()
        }
        (Overrun::UnknownCost { .. }, "codex" | "gemini-cli") => {
            format!("`{}` tells only its tokens: use `--max-tokens`", one.kind)
        }
        (_, kind) => format!("`{kind}` tells neither cost nor tokens: leave the budget out"),
    }
}

/// Counts what earlier sessions spent, and has what is spent from now on taken down in the run folder.
pub(super) fn count(spending: &Spending, resumed: Option<&Resumed>, outputs: &Outputs) {
    if let Some(resumed) = resumed {
        let RunSpend { targets, judges } = resumed.spent;
        let unpriced = targets.unpriced + judges.unpriced;
        if spending.budget().max_cost_usd.is_some() && unpriced > 0 {
            terminal::warn(&format!(
                "{} before did not say what they cost, and `--max-cost` does not count them",
                counted(usize::try_from(unpriced).unwrap_or(usize::MAX), "call", "calls")
            ));
        }
        spending.start_from(resumed.spent);
    }
    if let Some(journal) = &outputs.journal {
        let journal = Arc::clone(journal);
        spending.keep_with(move |spend| journal.spent(spend));
    }
}

/// Says that the budget ended the run. `run` is what can be taken up again.
pub(super) fn complain(overrun: &Overrun, outcome: &Outcome, run: Option<&str>) {
    let RunSpend { targets, judges } = &outcome.tally.paid;
    let how = match overrun {
        Overrun::Cost { max } => {
            let spent = targets.cost_usd + judges.cost_usd;
            format!(": {} of {}", money(spent), money(*max))
        }
        Overrun::Tokens { max } => {
            format!(": {} of {} tokens", amount(targets.tokens + judges.tokens), amount(*max))
        }
        Overrun::UnknownCost { .. } | Overrun::UnknownTokens { .. } => String::new(),
    };
    let missing = counted(outcome.missing, "case was not run", "cases were not run");
    let flag = match overrun {
        Overrun::Cost { .. } => "--max-cost USD",
        Overrun::Tokens { .. } => "--max-tokens N",
        Overrun::UnknownCost { .. } => {
            return terminal::complain(
                &format!("{overrun}; {missing}"),
                Some("have the target tell `cost_usd`, or leave `--max-cost` out"),
            );
        }
        Overrun::UnknownTokens { .. } => {
            return terminal::complain(
                &format!("{overrun}; {missing}"),
                Some("have the target tell `token_usage`, or leave `--max-tokens` out"),
            );
        }
    };
    let again = run.map(|run| {
        format!("go on with a larger budget, which counts all sessions: `agentv eval --resume {run} {flag}`")
    });
    terminal::complain(&format!("{overrun}{how}; {missing}"), again.as_deref());
}
