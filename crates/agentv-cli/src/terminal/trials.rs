//! Cases that were asked several times: how good they are, how sure that is, and which of them cannot be relied on.

use super::screen::Screen;
use crate::format::{count, score};
use agentv_wire::TrialTotals;

/// A part for each suite on each target; nothing where no case has several trials.
pub(crate) fn trials(all: &[TrialTotals], screen: &mut Screen) {
    for totals in all {
        screen.line("");
        screen.line(format!("Trials of {} on {}:", totals.dataset, totals.target));
        screen.line(format!("  {}", asked(totals)));
        screen.line(format!("  Mean score: {}", mean(totals)));
        screen.line("     k  pass@k  pass^k");
        for pass in &totals.pass {
            let (any, all) = (score(pass.pass_at_k), score(pass.pass_hat_k));
            screen.line(format!("  {:>4}  {any:>6}  {all:>6}", pass.k));
        }
        flaky(totals, screen);
    }
}

fn asked(totals: &TrialTotals) -> String {
    let TrialTotals { trials, recorded, passed, ungraded, errors, .. } = totals;
    let cases = count(totals.cases, "case", "cases");
    let is_whole = totals.cases * *trials as usize == *recorded;
    let each = if is_whole { "times each" } else { "times at most" };
    let errors = if *errors == 0 { String::new() } else { format!(", {errors} errors") };
    let ungraded = if *ungraded == 0 { String::new() } else { format!(", {ungraded} ungraded") };
    format!("{cases}, {trials} {each}: {passed} of {recorded} pass{ungraded}{errors}")
}

fn mean(totals: &TrialTotals) -> String {
    let mean = totals.mean_score.map_or_else(|| "-".to_owned(), score);
    totals.interval.map_or(mean.clone(), |interval| {
        format!("{mean} (95 % interval {} to {})", score(interval.low), score(interval.high))
    })
}

fn flaky(totals: &TrialTotals, screen: &mut Screen) {
    let TrialTotals { flaky, flaky_cases, .. } = totals;
    if *flaky == 0 {
        screen.line("  Flaky cases: none");
        return;
    }
    screen.line(format!("  Flaky cases: {flaky}"));
    for case in flaky_cases {
        let shares = format!("{}/{}", case.passed, case.trials);
        screen.line(format!("    {shares} pass  {}", case.eval_id));
    }
    let more = flaky - flaky_cases.len();
    if more > 0 {
        screen.line(format!("    … and {more} more"));
    }
}
