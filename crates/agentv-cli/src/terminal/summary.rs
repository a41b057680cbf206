//! `--compat 2x`: the numbers at the end of a run, in the lines that scripts of 2.x read.

use super::screen::Screen;
use super::totals::spending;
use crate::format::{
    count, mean_score, narrow_mean_score, narrow_passes, pass_rate_interval, score,
};
use agentv_core::totals::{Highlights, Placed, ScoreStatistics, Totals};
use agentv_wire::{OutcomeTotals, RunTotals};

const RULE: &str = "==================================================";

/// Prints the summary of a run. Up to the lowest cases, the lines mean what they meant in 2.x: every record has a score, and
/// that of an error is 0.
pub(crate) fn summary(totals: &Totals, numbers: &RunTotals, screen: &mut Screen) {
    errors(&totals.highlights, screen);
    screen.line("");
    heading("EVALUATION SUMMARY", screen);
    let count = totals.recorded();
    if count == 0 {
        screen.line("No results to summarize");
        return;
    }
    screen.line(format!("Total eval cases: {count}"));
    let with_error = totals.highlights.with_error;
    if with_error > 0 {
        screen.line(format!("Failed: {with_error}"));
        screen.line(format!("Passed: {}", count - with_error));
    }
    let scores = totals.scores.all();
    let distribution = ScoreStatistics::distribution(&scores);
    statistics(scores, screen);
    screen.line("Score distribution:");
    for (range, count) in distribution {
        screen.line(format!("  {range}: {count}"));
    }
    extremes("Top performing eval cases:", &totals.highlights.top, screen);
    extremes("Lowest performing eval cases:", &totals.highlights.bottom, screen);
    screen.line("");
    last_lines(numbers, screen);
    targets(numbers, screen);
    workspaces(&totals.highlights, screen);
    if let Some(cost) = spending(&totals.paid) {
        screen.line(format!("Cost: {cost}"));
    }
}

fn last_lines(numbers: &RunTotals, screen: &mut Screen) {
    let all = &numbers.all;
    let mut status = vec![format!("{} pass", all.passed), format!("{} fail", all.failed)];
    if all.ungraded > 0 {
        status.push(format!("{} ungraded", all.ungraded));
    }
    if all.errors > 0 {
        status.push(count(all.errors, "error", "errors"));
    }
    let not_run = numbers.not_run.filter(|not_run| *not_run > 0);
    status.extend(not_run.map(|not_run| format!("{not_run} not run")));
    screen.line(format!("Status: {}", status.join(", ")));
    if all.recorded > 0 {
        screen.line(format!("Pass rate: {}", pass_rate_interval(all)));
    }
    // Not the `Mean score` above, in which an error counts as 0.
    if all.recorded > 0 {
        screen.line(format!("Mean of graded cases: {}", mean_score(all)));
    }
    if numbers.grading_errors > 0 {
        screen.line(format!(
            "Grading errors: {} (see `error` in evaluator_results)",
            numbers.grading_errors
        ));
    }
    if numbers.retries > 0 {
        screen.line(format!("Retries: {}", numbers.retries));
    }
    if numbers.simulated > 0 {
        screen.line(format!("Simulated answers: {}", numbers.simulated));
    }
}

fn heading(text: &str, screen: &mut Screen) {
    for line in [RULE, text, RULE] {
        screen.line(line);
    }
}

fn errors(highlights: &Highlights, screen: &mut Screen) {
    if highlights.with_error == 0 {
        return;
    }
    screen.line("");
    heading("ERRORS", screen);
    for kept in &highlights.errors {
        screen.line("");
        screen.line(format!("❌ {}", kept.eval_id));
        screen.line(format!("   {}", kept.error));
    }
    let more = highlights.with_error - highlights.errors.len();
    if more > 0 {
        screen.line("");
        screen.line(format!("… and {more} more"));
    }
}

fn statistics(scores: Vec<f64>, screen: &mut Screen) {
    let Some(found) = ScoreStatistics::of(scores) else { return };
    screen.line(format!("Mean score: {}", score(found.mean)));
    screen.line(format!("Median score: {}", score(found.median)));
    screen.line(format!("Min score: {}", score(found.min)));
    screen.line(format!("Max score: {}", score(found.max)));
    if let Some(deviation) = found.deviation {
        screen.line(format!("Std deviation: {}", score(deviation)));
    }
}

fn extremes(title: &str, cases: &[Placed], screen: &mut Screen) {
    screen.line(title);
    for (place, case) in cases.iter().enumerate() {
        screen.line(format!("  {}. {}: {}", place + 1, case.eval_id, score(case.score)));
    }
}

/// Where to look for what agents left behind.
fn workspaces(highlights: &Highlights, screen: &mut Screen) {
    if highlights.kept == 0 {
        return;
    }
    screen.line("");
    screen.line(format!("Workspaces kept: {} (see `workspace` in the results)", highlights.kept));
    for (id, path) in &highlights.kept_paths {
        screen.line(format!("  {id}: {path}"));
    }
    let more = highlights.kept - highlights.kept_paths.len();
    if more > 0 {
        screen.line(format!("  … and {more} more"));
    }
}

/// One line for each target, where there are several.
fn targets(numbers: &RunTotals, screen: &mut Screen) {
    if numbers.targets.len() < 2 {
        return;
    }
    screen.line("");
    screen.line("Targets:");
    let width = numbers.targets.keys().map(|name| name.chars().count()).max().unwrap_or(0);
    for (name, target) in &numbers.targets {
        let OutcomeTotals { errors, ungraded, .. } = target;
        let (mean, passes) = (narrow_mean_score(target), narrow_passes(target));
        let ungraded = if *ungraded > 0 { format!("  ungraded {ungraded}") } else { String::new() };
        screen.line(format!(
            "  {name:<width$}  mean {mean}  pass {passes}  errors {errors}{ungraded}"
        ));
    }
}
