//! What a run comes to, in a few lines: the same for a terminal, a pipe and `--quiet`.

use super::counts::{Count, shown};
use super::line::Line;
use super::live::whole;
use super::style::{BOLD, DIM, Paint};
use crate::format;
use agentv_core::totals::Totals;
use agentv_wire::{OutcomeTotals, RunSpend, RunTotals};
use std::time::Duration;

/// The counts, the pass rate and the mean score with their intervals, and what the run used.
pub(crate) fn totals_lines(
    totals: &Totals,
    numbers: &RunTotals,
    took: Duration,
    paint: Paint,
) -> Vec<Line> {
    let all = &numbers.all;
    let not_run = numbers.not_run.filter(|not_run| *not_run > 0);
    let not_run = not_run.map(|not_run| format!("{not_run} not run"));
    if all.recorded == 0 {
        let more = not_run.map(|not_run| format!(" {not_run}.")).unwrap_or_default();
        return vec![paint.paint(BOLD, format!("No case was run.{more}"))];
    }
    let counts = shown(totals.all.counts).map(|Count { mark, style, cases, word }| {
        paint.paint(style.bold(), format!("{mark} {cases} {word}"))
    });
    let mut parts: Vec<Line> = counts.collect();
    parts.extend(not_run.map(|not_run| paint.paint(BOLD, not_run)));
    parts.push(format!("in {}", format::duration(took)).into());
    let rate = format::pass_rate_interval(all);
    let mut details = vec![
        format!("pass rate {rate}, 95 % interval in brackets"),
        format!("mean score {}", format::mean_score(all)),
    ];
    details.extend(cost(all, &totals.paid));
    details.extend(tokens(all).filter(|_| spending(&totals.paid).is_none()));
    details.extend(remarks(numbers));
    let details = details.into_iter().map(|text| paint.paint(DIM, text));
    std::iter::once(Line::joined(parts, "  ")).chain(details).collect()
}

/// What was paid; and what the answers and their grading cost, where not all of them were paid for.
fn cost(all: &OutcomeTotals, paid: &RunSpend) -> Option<String> {
    let recorded = format::money(all.cost_usd.unwrap_or_default());
    let dollars = format::money(paid.targets.cost_usd + paid.judges.cost_usd);
    let spending = spending(paid);
    if all.cost_usd.is_none() || recorded == dollars {
        return spending.map(|spending| format!("cost {spending}"));
    }
    let spending = spending.unwrap_or(dollars);
    Some(format!("cost {spending}; {recorded} with cached, replayed and mock answers"))
}

/// The tokens of all answers and gradings.
fn tokens(all: &OutcomeTotals) -> Option<String> {
    let used = all.token_usage.filter(|used| used.input + used.output > 0.0)?;
    let amount = |tokens| format::amount(whole(tokens));
    Some(format!("{} tokens read, {} written", amount(used.input), amount(used.output)))
}

/// `$0.37 (targets $0.25, judges $0.12), and 1 call of unknown cost; 372 tokens`, where anything is known of it.
pub(super) fn spending(RunSpend { targets, judges }: &RunSpend) -> Option<String> {
    let (dollars, tokens) = (targets.cost_usd + judges.cost_usd, targets.tokens + judges.tokens);
    if dollars == 0.0 && tokens == 0 {
        return None;
    }
    let unreported = targets.unreported + judges.unreported;
    let unpriced = targets.unpriced + judges.unpriced + unreported;
    let is_known = unpriced < targets.calls + judges.calls;
    let total = if is_known { format::money(dollars) } else { "unknown".to_owned() };
    let parts = (is_known && judges.calls > 0).then(|| {
        let [targets, judges] = [targets, judges].map(|spent| format::money(spent.cost_usd));
        format!(" (targets {targets}, judges {judges})")
    });
    let unknown = (is_known && unpriced > 0).then(|| {
        let calls = usize::try_from(unpriced).unwrap_or(usize::MAX);
        format!(", and {} of unknown cost", format::count(calls, "call", "calls"))
    });
    let tokens = (tokens > 0).then(|| format!("; {} tokens", format::amount(tokens)));
    Some([Some(total), parts, unknown, tokens].into_iter().flatten().collect())
}

fn remarks(numbers: &RunTotals) -> Option<String> {
    let counts = [
        (numbers.grading_errors, "grading error", "grading errors", ""),
        (numbers.retries, "retry", "retries", ""),
        (numbers.simulated, "answer", "answers", " made up by a mock target or a dry run"),
    ];
    let some = counts.into_iter().filter(|(number, ..)| *number > 0);
    let texts = some.map(|(number, one, many, more)| format::count(number, one, many) + more);
    let texts: Vec<String> = texts.collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}
