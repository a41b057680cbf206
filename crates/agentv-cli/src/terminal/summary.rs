//! The numbers at the end of a run, for pipes and logs. Scripts read these lines: their shape is part of the contract.

use super::screen::Screen;
use crate::format::{amount, count, money, score};
use agentv_runtime::run::{Placed, Tally};
use agentv_wire::RunSpend;

const RULE: &str = "==================================================";

/// Prints the summary of a run.
pub(crate) fn summary(tally: &Tally, screen: &mut Screen) {
    errors(tally, screen);
    screen.line("");
    heading("EVALUATION SUMMARY", screen);
    if tally.scores.is_empty() {
        screen.line("No results to summarize");
        return;
    }
    let count = tally.scores.len();
    screen.line(format!("Total eval cases: {count}"));
    if tally.errors > 0 {
        screen.line(format!("Failed: {}", tally.errors));
        screen.line(format!("Passed: {}", count - tally.errors));
    }
    statistics(&tally.scores, screen);
    screen.line("Score distribution:");
    for (range, count) in distribution(&tally.scores) {
        screen.line(format!("  {range}: {count}"));
    }
    extremes("Top performing eval cases:", &tally.top, screen);
    extremes("Lowest performing eval cases:", &tally.bottom, screen);
    screen.line("");
    last_lines(tally, screen);
    targets(tally, screen);
    workspaces(tally, screen);
    cost(&tally.paid, screen);
}

/// What also those are told who want to hear little.
pub(crate) fn last_lines(tally: &Tally, screen: &mut Screen) {
    let failed = tally.scores.len() - tally.passed;
    screen.line(format!("Status: {} pass, {failed} fail", tally.passed));
    if tally.judge_errors > 0 {
        screen.line(format!(
            "Grading errors: {} (see `error` in evaluator_results)",
            tally.judge_errors
        ));
    }
}

fn heading(text: &str, screen: &mut Screen) {
    for line in [RULE, text, RULE] {
        screen.line(line);
    }
}

fn errors(tally: &Tally, screen: &mut Screen) {
    if tally.errors == 0 {
        return;
    }
    screen.line("");
    heading("ERRORS", screen);
    for (id, error) in &tally.error_texts {
        screen.line(format!("\n❌ {id}\n   {error}"));
    }
    let more = tally.errors - tally.error_texts.len();
    if more > 0 {
        screen.line(format!("\n… and {more} more"));
    }
}

fn statistics(scores: &[f64], screen: &mut Screen) {
    let Some(found) = Statistics::of(scores) else { return };
    screen.line(format!("Mean score: {}", score(found.mean)));
    screen.line(format!("Median score: {}", score(found.median)));
    screen.line(format!("Min score: {}", score(found.min)));
    screen.line(format!("Max score: {}", score(found.max)));
    if let Some(deviation) = found.deviation {
        screen.line(format!("Std deviation: {}", score(deviation)));
    }
}

/// What many scores come to.
#[derive(Debug)]
pub(super) struct Statistics {
    pub mean: f64,
    pub median: f64,
    pub min: f64,
    pub max: f64,
    /// Of a sample; one number has none.
    pub deviation: Option<f64>,
}

impl Statistics {
    /// `None` without scores.
    #[expect(clippy::cast_precision_loss, reason = "numbers of cases are far below 2^52")]
    pub(super) fn of(scores: &[f64]) -> Option<Self> {
        let count = scores.len();
        let mean = scores.iter().sum::<f64>() / count as f64;
        let mut sorted = scores.to_vec();
        sorted.sort_by(f64::total_cmp);
        let median = if count.is_multiple_of(2) {
            f64::midpoint(*sorted.get((count / 2).checked_sub(1)?)?, sorted[count / 2])
        } else {
            sorted[count / 2]
        };
        let deviation = (count > 1).then(|| {
            let squares = scores.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
            (squares / (count - 1) as f64).sqrt()
        });
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        Some(Self { mean, median, min, max, deviation })
    }
}

/// How many scores lie in each of five ranges.
pub(super) fn distribution(scores: &[f64]) -> [(&'static str, usize); 5] {
    let edges = [0.2, 0.4, 0.6, 0.8];
    let mut bins = [("0.0-0.2", 0), ("0.2-0.4", 0), ("0.4-0.6", 0), ("0.6-0.8", 0), ("0.8-1.0", 0)];
    for value in scores {
        // As in 2.x, a bin's upper edge has a little slack: 0.6 counts below it, and so does 0.6000000000000001.
        let bin = edges.iter().position(|edge| *value < edge + 1e-9).unwrap_or(4);
        bins[bin].1 += 1;
    }
    bins
}

fn extremes(title: &str, cases: &[Placed], screen: &mut Screen) {
    screen.line(title);
    for (place, case) in cases.iter().enumerate() {
        screen.line(format!("  {}. {}: {}", place + 1, case.eval_id, score(case.score)));
    }
}

/// Where to look for what agents left behind.
fn workspaces(tally: &Tally, screen: &mut Screen) {
    if tally.kept == 0 {
        return;
    }
    screen.line("");
    screen.line(format!("Workspaces kept: {} (see `workspace` in the results)", tally.kept));
    for (id, path) in &tally.kept_paths {
        screen.line(format!("  {id}: {path}"));
    }
    let more = tally.kept - tally.kept_paths.len();
    if more > 0 {
        screen.line(format!("  … and {more} more"));
    }
}

/// What the calls cost, where anything is known of it.
fn cost(RunSpend { targets, judges }: &RunSpend, screen: &mut Screen) {
    let (dollars, tokens) = (targets.cost_usd + judges.cost_usd, targets.tokens + judges.tokens);
    if dollars == 0.0 && tokens == 0 {
        return;
    }
    let unpriced = targets.unpriced + judges.unpriced;
    let calls = targets.calls + judges.calls;
    let total = if unpriced >= calls { "unknown".to_owned() } else { money(dollars) };
    let parts = if judges.calls > 0 && total != "unknown" {
        format!(" (targets {}, judges {})", money(targets.cost_usd), money(judges.cost_usd))
    } else {
        String::new()
    };
    let more = match usize::try_from(unpriced).unwrap_or(usize::MAX) {
        0 => String::new(),
        _ if total == "unknown" => String::new(),
        calls => format!(", and {} of unknown cost", count(calls, "call", "calls")),
    };
    let tokens = if tokens > 0 { format!("; {} tokens", amount(tokens)) } else { String::new() };
    screen.line(format!("Cost: {total}{parts}{more}{tokens}"));
}

/// One line for each target, where there are several.
fn targets(tally: &Tally, screen: &mut Screen) {
    if tally.targets.len() < 2 {
        return;
    }
    screen.line("");
    screen.line("Targets:");
    let width = tally.targets.keys().map(|name| name.chars().count()).max().unwrap_or(0);
    for (name, target) in &tally.targets {
        let (mean, passed, cases, errors) =
            (score(target.mean()), target.passed, target.cases, target.errors);
        screen
            .line(format!("  {name:<width$}  mean {mean}  pass {passed}/{cases}  errors {errors}"));
    }
}
