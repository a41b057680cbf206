//! A comparison for a pull request: short, the verdict first, long lists folded away.

use super::Screen;
use super::comparison::{
    case_label, compared_groups, in_points, interval, named, remark, test_words, verdict_words,
};
use crate::clean::clean;
use crate::format::{count, p_value, percent, signed};
use agentv_wire::comparison::{ComparedGroup, Comparison, PairOutcome, Statistics};

/// How many changed cases are listed; GitHub takes no longer comments.
const LISTED: usize = 50;

/// Prints each comparison as a section.
pub(crate) fn markdown_comparisons(comparisons: &[Comparison], screen: &mut Screen) {
    for (index, comparison) in comparisons.iter().enumerate() {
        if index > 0 {
            screen.line("");
        }
        section(comparison, screen);
    }
}

fn section(comparison: &Comparison, screen: &mut Screen) {
    let Comparison { summary, statistics, pass_statistics, unmatched, .. } = comparison;
    let (word, _) = verdict_words(comparison.verdict);
    let [baseline, candidate] =
        [&comparison.baseline, &comparison.candidate].map(|name| code(name));
    screen.line(format!("### {baseline} → {candidate}"));
    screen.line("");
    screen.line(format!("**Verdict: {word}**"));
    screen.line("");
    for reason in &comparison.reasons {
        screen.line(format!("* {reason}"));
    }
    if unmatched.file1 + unmatched.file2 > 0 {
        screen.line(format!(
            "* unmatched: {} in the baseline, {} in the candidate",
            unmatched.file1, unmatched.file2
        ));
    }
    if !unmatched.ungraded.is_empty() {
        screen.line(format!(
            "* without a graded record in one of the runs: {}",
            code(&named(&unmatched.ungraded))
        ));
    }
    if comparison.matched.is_empty() {
        return;
    }
    screen.line("");
    screen.line("| | Baseline | Candidate | Delta | Interval | p | p (Holm) |");
    screen.line("| --- | ---: | ---: | ---: | --- | ---: | ---: |");
    let score = |value: f64| format!("{value:.3}");
    screen.line(measure("Mean score", [summary.mean1, summary.mean2].map(score), statistics, 3));
    let rates = summary.pass_rate1.zip(summary.pass_rate2);
    if let (Some((one, other)), Some(statistics)) = (rates, pass_statistics) {
        let points = in_points(statistics);
        screen.line(measure("Pass rate", [one, other].map(percent), &points, 1));
    }
    screen.line("");
    screen.line(format!(
        "{}, {}, {}; {}",
        count(summary.wins, "win", "wins"),
        count(summary.losses, "loss", "losses"),
        count(summary.ties, "tie", "ties"),
        test_words(statistics),
    ));
    changes(comparison, screen);
    groups("Evaluator", &comparison.evaluators, screen);
    groups("Tag", &comparison.tags, screen);
    groups("Target", &comparison.targets, screen);
}

/// The row of a measure.
fn measure(
    name: &str,
    [one, other]: [String; 2],
    statistics: &Statistics,
    decimals: usize,
) -> String {
    format!(
        "| {name} | {one} | {other} | {} | {} | {} | {} |",
        signed(statistics.difference, decimals),
        interval(statistics, decimals).unwrap_or_default(),
        p_value(statistics.p_value),
        p_value(statistics.p_adjusted)
    )
}

/// Losses first: they are what a reviewer looks for.
fn changes(comparison: &Comparison, screen: &mut Screen) {
    let of = |outcome| comparison.matched.iter().filter(move |case| case.outcome == outcome);
    let changed: Vec<_> = of(PairOutcome::Loss).chain(of(PairOutcome::Win)).collect();
    if changed.is_empty() {
        return;
    }
    screen.line("");
    screen.line(format!(
        "<details><summary>{} changed</summary>",
        count(changed.len(), "case", "cases")
    ));
    screen.line("");
    screen.line("| Case | Baseline | Candidate | Delta | |");
    screen.line("| --- | ---: | ---: | ---: | --- |");
    for case in changed.iter().take(LISTED) {
        let word = if case.outcome == PairOutcome::Loss { "✗ loss" } else { "✓ win" };
        let remark = remark(case);
        let remark = if remark.is_empty() { remark } else { format!(" ({remark})") };
        screen.line(format!(
            "| {} | {:.2} | {:.2} | {} | {word}{remark} |",
            code(&case_label(&case.case)),
            case.score1,
            case.score2,
            signed(case.delta, 2)
        ));
    }
    screen.line("");
    if changed.len() > LISTED {
        screen.line(format!("… and {} more", changed.len() - LISTED));
        screen.line("");
    }
    screen.line("</details>");
}

fn groups(title: &str, groups: &[ComparedGroup], screen: &mut Screen) {
    if groups.is_empty() {
        return;
    }
    let (groups, remarks) = compared_groups(groups);
    if !groups.is_empty() {
        group_table(title, &groups, screen);
    }
    for remark in remarks {
        screen.line("");
        screen.line(format!("{title} {}", clean(&remark)));
    }
}

fn group_table(title: &str, groups: &[&ComparedGroup], screen: &mut Screen) {
    screen.line("");
    screen.line(format!("| {title} | Cases | Baseline | Candidate | Delta | p | p (Holm) |"));
    screen.line("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    for group in groups {
        screen.line(format!(
            "| {} | {} | {:.3} | {:.3} | {} | {} | {} |",
            code(&group.name),
            group.cases,
            group.mean1,
            group.mean2,
            signed(group.mean_delta, 3),
            p_value(group.p_value),
            p_value(group.p_adjusted)
        ));
    }
}

/// A name that cannot end its cell or its quotes.
pub(crate) fn code(name: &str) -> String {
    let safe = clean(name).replace('`', "'").replace('|', "\\|");
    if safe.is_empty() { safe } else { format!("`{safe}`") }
}
