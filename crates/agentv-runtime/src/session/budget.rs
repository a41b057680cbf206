//! What the run may spend: checked before it begins, and counted from what earlier sessions spent.

use super::Refused;
use crate::run::{Outputs, Plan, Resumed, Unmetered, unmetered};
use crate::targets::{Overrun, Spending};
use agentv_wire::RunSpend;
use std::sync::Arc;

/// Refuses a plan with calls that cannot be counted in its budget.
pub(super) fn check(plan: &Plan) -> Result<(), Refused> {
    let found = unmetered(plan).map_err(|error| Refused::incomplete(error.to_string()))?;
    let Some(first) = found.first() else { return Ok(()) };
    let (flag, what) = match first.overrun {
        Overrun::UnknownTokens { .. } => ("--max-tokens", "number of tokens"),
        _ => ("--max-cost", "cost"),
    };
    let names = found.iter().map(|one| format!("`{}` ({})", one.target, one.kind));
    let names = names.collect::<Vec<_>>().join(", ");
    Err(Refused::usage(
        format!("the {what} of calls to {names} is not known, so `{flag}` cannot hold"),
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
            format!("`{}` reports only its tokens: use `--max-tokens`", one.kind)
        }
        (_, kind) => format!("`{kind}` reports neither cost nor tokens: leave the budget out"),
    }
}

/// Counts what earlier sessions spent, and has what is spent from now on noted in the run folder.
pub(super) fn count(
    spending: &Spending,
    resumed: Option<&Resumed>,
    outputs: &Outputs,
    warnings: &mut Vec<String>,
) {
    if let Some(resumed) = resumed {
        let RunSpend { targets, judges } = resumed.spent;
        let unpriced = targets.unpriced + judges.unpriced;
        if spending.budget().max_cost_usd.is_some() && unpriced > 0 {
            let calls = if unpriced == 1 { "call" } else { "calls" };
            warnings.push(format!(
                "the cost of {unpriced} earlier {calls} is not known, and `--max-cost` does not count them"
            ));
        }
        let unreported = targets.unreported + judges.unreported;
        if !spending.budget().is_unlimited() && unreported > 0 {
            let calls = if unreported == 1 { "call" } else { "calls" };
            warnings.push(format!(
                "{unreported} earlier {calls} failed without a report of what was used, and the budget does not count them"
            ));
        }
        spending.start_from(resumed.spent);
    }
    if let Some(journal) = &outputs.journal {
        let journal = Arc::clone(journal);
        spending.keep_with(move |spend| journal.spent(spend));
    }
}
