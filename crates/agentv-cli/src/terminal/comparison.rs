//! A comparison for people: the cases, what they come to, and what that means.

use super::Screen;
use super::line::Line;
use super::screen::stdout_size;
use super::style::{self, BAD, BOLD, DIM, DOUBTFUL, GOOD, PLAIN, Paint};
use super::table::{Cell, Side, TextTable};
use crate::format::{count, p_value, percent, signed};
use agentv_wire::comparison::{
    CaseName, ComparedGroup, Comparison, ComparisonSide, ComparisonVerdict, MatchedCase,
    MeanInterval, PairOutcome, PairedTest, Statistics,
};
use anstyle::Style;

/// How many cases that are in one run only are named.
const NAMED: usize = 5;

/// Which matched cases the table lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShownCases {
    All,
    /// Wins and losses.
    Changed,
}

/// Prints each comparison, and an overview where there are several.
pub(crate) fn show_comparisons(
    comparisons: &[Comparison],
    shown: ShownCases,
    paint: Paint,
    screen: &mut Screen,
) {
    // Of standard output only: what goes into a file or a pipe is not cut.
    let width = stdout_size().map(|(width, _)| width);
    let mut page = Page { screen, shown, paint, width };
    for comparison in comparisons {
        page.comparison(comparison);
    }
    if comparisons.len() > 1 {
        page.overview(comparisons);
    }
}

/// Prints each comparison as 2.x did: every case, and the sign of the mean.
pub(crate) fn show_comparisons_2x(comparisons: &[Comparison], paint: Paint, screen: &mut Screen) {
    let width = stdout_size().map(|(width, _)| width);
    let mut page = Page { screen, shown: ShownCases::All, paint, width };
    for comparison in comparisons {
        page.start(comparison);
        page.summary_2x(comparison);
        page.line("");
    }
}

/// Where lines go, and how wide and colourful they may be.
struct Page<'s> {
    screen: &'s mut Screen,
    shown: ShownCases,
    paint: Paint,
    width: Option<usize>,
}

impl Page<'_> {
    fn comparison(&mut self, comparison: &Comparison) {
        self.start(comparison);
        self.line(counts(comparison));
        self.verdict(comparison);
        for (title, groups) in [
            ("Evaluator", &comparison.evaluators),
            ("Tag", &comparison.tags),
            ("Target", &comparison.targets),
        ] {
            self.groups(title, groups, comparison.statistics.level);
        }
        self.line("");
    }

    /// The cases, and those that could not be compared.
    fn start(&mut self, comparison: &Comparison) {
        self.line("");
        self.line(format!("Comparing: {} → {}", comparison.baseline, comparison.candidate));
        self.line("");
        if comparison.matched.is_empty() {
            self.line("No matching cases: nothing can be compared");
        } else {
            self.matched(&comparison.matched);
        }
        self.unmatched(comparison);
        self.line("");
    }

    fn line(&mut self, line: impl Into<Line>) {
        self.screen.line(line);
    }

    fn table(&mut self, table: &TextTable) {
        for line in table.lines(self.paint, self.width) {
            self.line(line);
        }
    }

    fn matched(&mut self, cases: &[MatchedCase]) {
        let is_shown =
            |case: &&MatchedCase| self.shown == ShownCases::All || case.outcome != PairOutcome::Tie;
        let shown: Vec<&MatchedCase> = cases.iter().filter(is_shown).collect();
        if !shown.is_empty() {
            self.cases(&shown);
        }
        let hidden = cases.len() - shown.len();
        if hidden > 0 {
            let text = format!("{} not shown (--all shows them)", count(hidden, "tie", "ties"));
            self.line(self.paint.paint(DIM, text));
        }
    }

    fn cases(&mut self, cases: &[&MatchedCase]) {
        let mut table = TextTable::new()
            .column("Eval ID", Side::Left, 7)
            .column("Baseline", Side::Right, 8)
            .column("Candidate", Side::Right, 9)
            .column("Delta", Side::Right, 8)
            .column("Result", Side::Left, 6);
        let has_remarks = cases.iter().any(|case| !remark(case).is_empty());
        if has_remarks {
            table = table.column("", Side::Left, 0);
        }
        for case in cases {
            let (mark, word, style) = match case.outcome {
                PairOutcome::Win => ("✓", "win", GOOD),
                PairOutcome::Loss => ("✗", "loss", BAD),
                PairOutcome::Tie => ("=", "tie", DIM),
            };
            table.row(vec![
                Cell::new(case_label(&case.case)),
                Cell::new(format!("{:.2}", case.score1)),
                Cell::new(format!("{:.2}", case.score2)),
                Cell::styled(signed(case.delta, 2), style),
                Cell::styled(format!("{mark} {word}"), style),
                Cell::styled(remark(case), DIM),
            ]);
        }
        self.table(&table);
    }

    fn unmatched(&mut self, comparison: &Comparison) {
        let unmatched = &comparison.unmatched;
        let lists = [
            ("only in baseline", &unmatched.cases1),
            ("only in candidate", &unmatched.cases2),
            ("without a graded record in one of the runs", &unmatched.ungraded),
        ];
        if lists.iter().all(|(_, cases)| cases.is_empty()) {
            return;
        }
        self.line("");
        let text = format!(
            "⚠ Unmatched: {} in baseline, {} in candidate",
            unmatched.file1, unmatched.file2
        );
        self.line(self.paint.paint(DOUBTFUL, text));
        for (which, cases) in lists.into_iter().filter(|(_, cases)| !cases.is_empty()) {
            self.line(format!("  {which}: {}", named(cases)));
        }
    }

    /// Scripts of 2.x read this line: its shape is part of the contract.
    fn summary_2x(&mut self, comparison: &Comparison) {
        let summary = &comparison.summary;
        let (status, style) = if summary.mean_delta > 0.0 {
            ("improved", GOOD)
        } else if summary.mean_delta < 0.0 {
            ("regressed", BAD)
        } else {
            ("neutral", DIM)
        };
        let counts = format!("{} | Mean Δ: ", counts(comparison));
        let delta = self.paint.paint(style, signed(summary.mean_delta, 3));
        let status = self.paint.paint(style, status);
        self.line(Line::from(counts) + delta + " | Status: " + status);
    }

    fn verdict(&mut self, comparison: &Comparison) {
        if !comparison.matched.is_empty() {
            self.line("");
            for line in measure_lines(comparison) {
                self.line(line);
            }
        }
        self.line("");
        let (word, style) = verdict_words(comparison.verdict);
        let head = self.paint.paint(BOLD, "Verdict:");
        self.line(head + " " + self.paint.paint(style.bold(), word));
        for reason in &comparison.reasons {
            self.line(format!("  {reason}"));
        }
    }

    fn groups(&mut self, title: &str, groups: &[ComparedGroup], level: f64) {
        if groups.is_empty() {
            return;
        }
        self.line("");
        let (groups, remarks) = compared_groups(groups);
        self.group_table(title, &groups, level);
        for remark in remarks {
            self.line(self.paint.paint(DIM, format!("{title} {remark}")));
        }
    }

    fn group_table(&mut self, title: &str, groups: &[&ComparedGroup], level: f64) {
        if groups.is_empty() {
            return;
        }
        let mut table = TextTable::new()
            .column(title, Side::Left, 7)
            .column("Cases", Side::Right, 5)
            .column("Baseline", Side::Right, 8)
            .column("Candidate", Side::Right, 9)
            .column("Delta", Side::Right, 8)
            .column("p", Side::Right, 6)
            .column("p (Holm)", Side::Right, 8);
        if groups.iter().any(|group| group.errors1 + group.errors2 > 0) {
            table = table.column("Errors", Side::Right, 6);
        }
        for group in groups {
            let delta = signed(group.mean_delta, 3);
            let style = if group.p_adjusted > level {
                PLAIN
            } else if group.mean_delta < 0.0 {
                BAD
            } else {
                GOOD
            };
            table.row(vec![
                Cell::new(&group.name),
                Cell::new(group.cases.to_string()),
                Cell::new(format!("{:.3}", group.mean1)),
                Cell::new(format!("{:.3}", group.mean2)),
                Cell::styled(delta, style),
                Cell::new(p_value(group.p_value)),
                Cell::styled(p_value(group.p_adjusted), style),
                Cell::styled(format!("{} → {}", group.errors1, group.errors2), style::DIM),
            ]);
        }
        self.table(&table);
    }

    fn overview(&mut self, comparisons: &[Comparison]) {
        let mut table = TextTable::new()
            .column("Candidate", Side::Left, 9)
            .column("Cases", Side::Right, 5)
            .column("Baseline", Side::Right, 8)
            .column("Mean", Side::Right, 8)
            .column("Delta", Side::Right, 8)
            .column("p (Holm)", Side::Right, 8)
            .column("Verdict", Side::Left, 7);
        for comparison in comparisons {
            let (word, style) = verdict_words(comparison.verdict);
            let summary = &comparison.summary;
            table.row(vec![
                Cell::new(&comparison.candidate),
                Cell::new(summary.matched.to_string()),
                Cell::new(format!("{:.3}", summary.mean1)),
                Cell::new(format!("{:.3}", summary.mean2)),
                Cell::new(signed(summary.mean2 - summary.mean1, 3)),
                Cell::new(p_value(comparison.statistics.p_adjusted)),
                Cell::styled(word, style),
            ]);
        }
        self.table(&table);
        self.line("");
    }
}

/// The groups that have numbers, and why others have none: `only in baseline: tone`.
pub(super) fn compared_groups(groups: &[ComparedGroup]) -> (Vec<&ComparedGroup>, Vec<String>) {
    let (compared, others): (Vec<_>, Vec<_>) = groups.iter().partition(|group| group.cases > 0);
    let reasons = [
        (Some(ComparisonSide::Baseline), "only in baseline"),
        (Some(ComparisonSide::Candidate), "only in candidate"),
        (None, "without a case that both runs graded"),
    ];
    let remark = |(run, reason): (Option<ComparisonSide>, &str)| {
        let names: Vec<&str> = others
            .iter()
            .filter(|group| group.only_in == run)
            .map(|group| group.name.as_str())
            .collect();
        (!names.is_empty()).then(|| format!("{reason}: {}", names.join(", ")))
    };
    (compared, reasons.into_iter().filter_map(remark).collect())
}

fn counts(Comparison { summary, .. }: &Comparison) -> String {
    format!(
        "Summary: {}, {}, {}",
        count(summary.wins, "win", "wins"),
        count(summary.losses, "loss", "losses"),
        count(summary.ties, "tie", "ties"),
    )
}

/// The id, with what else tells the case apart.
pub(super) fn case_label(case: &CaseName) -> String {
    let dataset = case.dataset.as_ref().map(|dataset| format!("{dataset}/")).unwrap_or_default();
    let target = case.target.as_ref().map(|target| format!(" @ {target}")).unwrap_or_default();
    format!("{dataset}{}{target}", case.eval_id)
}

/// The first names of a list, and how many more there are.
pub(super) fn named(cases: &[CaseName]) -> String {
    let names: Vec<String> = cases.iter().take(NAMED).map(case_label).collect();
    let more = cases.len() - names.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", names.join(", "))
}

/// The mean score and the pass rate, each with its interval and its test.
fn measure_lines(comparison: &Comparison) -> Vec<String> {
    let Comparison { summary, statistics, pass_statistics, .. } = comparison;
    let score = |value: f64| format!("{value:.3}");
    let mut lines = measure("Mean score", [summary.mean1, summary.mean2].map(score), statistics, 3);
    let rates = summary.pass_rate1.zip(summary.pass_rate2);
    if let (Some((one, other)), Some(statistics)) = (rates, pass_statistics) {
        // In percentage points.
        let points = in_points(statistics);
        lines.extend(measure("Pass rate", [one, other].map(percent), &points, 1));
    }
    lines
}

fn measure(
    name: &str,
    [one, other]: [String; 2],
    statistics: &Statistics,
    decimals: usize,
) -> Vec<String> {
    let delta = signed(statistics.difference, decimals);
    let interval = interval(statistics, decimals).map(|text| format!("   {text}"));
    let adjusted = if (statistics.p_adjusted - statistics.p_value).abs() < 1e-9 {
        String::new()
    } else {
        format!(", {} with Holm's correction", p_value(statistics.p_adjusted))
    };
    vec![
        format!("{name:<11} {one} → {other}   Δ {delta}{}", interval.unwrap_or_default()),
        format!(
            "{:<11} p = {}{adjusted}   {}",
            "",
            p_value(statistics.p_value),
            test_words(statistics)
        ),
    ]
}

/// Rates as percentages.
pub(super) fn in_points(statistics: &Statistics) -> Statistics {
    let interval = statistics
        .interval
        .map(|interval| MeanInterval { low: interval.low * 100.0, high: interval.high * 100.0 });
    Statistics { difference: statistics.difference * 100.0, interval, ..statistics.clone() }
}

/// What is special about a case: trials, and those that are left out.
pub(super) fn remark(case: &MatchedCase) -> String {
    let mut parts = Vec::new();
    if case.trials1 == case.trials2 && case.trials1 > 1 {
        parts.push(format!("{} trials", case.trials1));
    } else if case.trials1 != case.trials2 {
        parts.push(format!("{} → {} trials", case.trials1, case.trials2));
    }
    if case.errors1 + case.errors2 > 0 {
        let left_out = count(case.errors1 + case.errors2, "trial", "trials");
        parts.push(format!("{left_out} without a grade left out"));
    }
    parts.join(", ")
}

/// The interval of the difference.
pub(super) fn interval(statistics: &Statistics, decimals: usize) -> Option<String> {
    let interval = statistics.interval?;
    let confidence = rounded(statistics.confidence * 100.0);
    let (low, high) = (signed(interval.low, decimals), signed(interval.high, decimals));
    Some(format!("{confidence} % interval {low} to {high}"))
}

/// Without a fraction that only rounding made.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

pub(super) fn test_words(statistics: &Statistics) -> String {
    let test = match statistics.test {
        PairedTest::Mcnemar => "exact McNemar test",
        PairedTest::SignFlipExact => "exact sign-flip test",
        PairedTest::SignFlipSampled => "sign-flip test",
        PairedTest::TrialPermutation => "sign-flip and trial permutation test",
    };
    format!("{test}, {}", count(statistics.cases, "case", "cases"))
}

pub(super) fn verdict_words(verdict: ComparisonVerdict) -> (&'static str, Style) {
    match verdict {
        ComparisonVerdict::Regression => ("regression", BAD),
        ComparisonVerdict::Improvement => ("improvement", GOOD),
        ComparisonVerdict::NoEvidence => ("no evidence of a difference", PLAIN),
        ComparisonVerdict::TooFewCases => ("too few cases", DOUBTFUL),
    }
}
