//! Cases that were asked several times: how good they are, how sure that is, and which of them cannot be relied on.

use super::screen::Screen;
use crate::format::{count, score, score_interval};
use agentv_wire::{PassOfK, TrialTotals};

/// A part for each suite on each target; nothing where no case has several trials.
pub(crate) fn trials(all: &[TrialTotals], screen: &mut Screen) {
    for totals in all {
        screen.line("");
        screen.line(format!("Trials of {} on {}:", totals.dataset, totals.target));
        screen.line(format!("  {}", asked(totals)));
        screen.line(format!("  Mean score: {}", mean(totals)));
        screen.line("     k  pass@k  95 % interval   pass^k  95 % interval");
        for pass in &totals.pass {
            screen.line(pass_line(pass, totals.cases));
        }
        flaky(totals, screen);
    }
}

/// pass@k and pass^k, with the cases behind them where these are not all.
fn pass_line(pass: &PassOfK, all_cases: usize) -> String {
    let (any, all) = (score(pass.pass_at_k), score(pass.pass_hat_k));
    let interval = |interval: Option<_>| interval.map(score_interval).unwrap_or_default();
    let of_any = interval(pass.pass_at_k_interval);
    let of_all = interval(pass.pass_hat_k_interval);
    // Files of earlier versions do not tell.
    let is_part = (1..all_cases).contains(&pass.cases);
    let cases =
        if is_part { format!("{} of {all_cases} cases", pass.cases) } else { String::new() };
    let line = format!("  {:>4}  {any:>6}  {of_any:<14}  {all:>6}  {of_all:<14}  {cases}", pass.k);
    line.trim_end().to_owned()
}

fn asked(totals: &TrialTotals) -> String {
    let TrialTotals { trials, recorded, passed, ungraded, errors, .. } = totals;
    let cases = count(totals.cases, "case", "cases");
    let is_whole = totals.cases * *trials as usize == *recorded;
    let each = if is_whole { "times each" } else { "times at most" };
    let errors = if *errors == 0 {
        String::new()
    } else {
        format!(", {}", count(*errors, "error", "errors"))
    };
    let ungraded = if *ungraded == 0 { String::new() } else { format!(", {ungraded} ungraded") };
    format!("{cases}, {trials} {each}: {passed} of {recorded} passed{ungraded}{errors}")
}

fn mean(totals: &TrialTotals) -> String {
    let mean = totals.mean_score.map_or_else(|| "-".to_owned(), score);
    totals.interval.map_or(mean.clone(), |interval| {
        format!("{mean} (95 % interval {})", score_interval(interval))
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
        screen.line(format!("    {shares} passed  {}", case.eval_id));
    }
    let more = flaky - flaky_cases.len();
    if more > 0 {
        screen.line(format!("    … and {more} more"));
    }
}
