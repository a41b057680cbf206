//! What there is of a run that is taken up again.

use super::screen::Screen;
use agentv_runtime::run::{Plan, Resumed};

/// How many ids are named.
const NAMED: usize = 5;

/// Says what stays, what is done again and why.
pub(crate) fn resumed(run: &str, resumed: &Resumed, plan: &Plan, screen: &mut Screen) {
    let rewritten = &resumed.rewritten;
    let (kept, total) = (rewritten.kept, plan.total);
    let left = total - kept;
    let what = if plan.has_trials() { "trials" } else { "cases" };
    screen.line(format!("Resuming run {run}: {kept} of {total} {what} are done"));
    let mut say = |count: usize, text: &str| {
        if count > 0 {
            screen.line(format!("  {count} {text}"));
        }
    };
    say(usize::from(rewritten.torn), "record was cut off in the middle: its case is done again");
    say(rewritten.unknown, "lines of the results are not from this run: moved to removed.jsonl");
    say(resumed.answered, "answered before, and only graded now");
    say(resumed.lost_workspaces, "run again, since the workspace of the answer is gone");
    say(rewritten.retried, "ended in an error or ungraded: run or graded again");
    let changed = format!("changed since: run again ({})", named(&rewritten.changed));
    say(rewritten.changed.len(), &changed);
    let gone = format!("no longer wanted: moved to removed.jsonl ({})", named(&rewritten.gone));
    say(rewritten.gone.len(), &gone);
    if left == 0 {
        screen.line("  nothing is left to run");
        let errors = resumed.totals.all.counts.errors;
        if errors > 0 {
            screen.line(format!("  {errors} ended in an error; --retry-errors runs them again"));
        }
    }
}

/// The first of them.
pub(super) fn named(ids: &[String]) -> String {
    // Of a case with trials there is a record for each.
    let mut ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    ids.dedup();
    let first: Vec<&str> = ids.iter().take(NAMED).copied().collect();
    let more = if ids.len() > NAMED { ", …" } else { "" };
    format!("{}{more}", first.join(", "))
}
