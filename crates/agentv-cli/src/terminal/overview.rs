//! The summary of a run: tables first, then what did not pass and why, then the totals. So the end of it, which stays on the
//! screen, is what one looks for.

use super::case_line::PASSED;
use super::causes::{CauseLayout, cause_lines};
use super::line::Line;
use super::live::rows;
use super::screen::{Screen, stdout_size};
use super::style::{BAD, BOLD, DIM, DOUBTFUL, GOOD, NO_ANSWER, PLAIN, Paint};
use super::table::{Cell, Side, TextTable};
use super::text::{cut_end, cut_middle, one_line};
use super::totals::totals_lines;
use super::trials::trials;
use crate::format;
use agentv_core::totals::{GroupTotals, ScoreStatistics, Totals};
use agentv_wire::{EvaluatorTotals, RunTotals};
use std::time::Duration;
use unicode_width::UnicodeWidthStr as _;

/// The widest bar of the histogram.
const BAR: usize = 30;
/// Lines are not read more easily for being longer.
const WIDEST: usize = 120;
/// How wide the summary is in a pipe.
const PIPE: usize = 100;
/// With fewer cases the list of them says more than a histogram.
const ENOUGH_FOR_HISTOGRAM: usize = 10;
/// The rows that a shell's prompt takes below the summary.
const PROMPT: usize = 2;

/// A run that is over.
#[derive(Debug)]
pub(crate) struct OverviewInput<'a> {
    pub totals: &'a Totals,
    /// The same as every other view has them.
    pub numbers: &'a RunTotals,
    pub took: Duration,
    /// Where the results are.
    pub results: String,
    /// Notes on files that did not stop the run.
    pub warnings: usize,
    /// The lines that will be printed below it.
    pub below: &'a [String],
    /// Whether a person looks at it: then its end fits the screen, and cases that passed, which had no lines, are named.
    pub is_watched: bool,
}

/// Prints it all, but for what to do next.
pub(crate) fn overview(input: &OverviewInput<'_>, paint: Paint, screen: &mut Screen) {
    let mut page = Page { screen, paint, width: width() };
    let totals = input.totals;
    page.targets(totals, input.numbers);
    page.evaluators(input.numbers);
    trials(&input.numbers.trials, page.screen);
    page.scores(totals);
    page.workspaces(totals);
    let end = page.end(input);
    if input.is_watched {
        page.passed(totals);
    }
    let size = stdout_size().filter(|_| input.is_watched);
    let rows = size.map(|(width, height)| {
        let end = end.iter().map(Line::as_str);
        let taken = end.chain(input.below.iter().map(String::as_str));
        height.saturating_sub(taken.map(|line| rows(line, width)).sum::<usize>() + PROMPT)
    });
    page.lines(cause_lines(totals, CauseLayout { paint, width: page.width, rows }));
    page.lines(end);
}

struct Page<'a> {
    screen: &'a mut Screen,
    paint: Paint,
    width: usize,
}

impl Page<'_> {
    fn title(&mut self, text: &str, remark: &str) {
        self.screen.line("");
        let remark = if remark.is_empty() { String::new() } else { format!("  {remark}") };
        let remark = cut_end(&remark, self.width.saturating_sub(text.width()));
        self.screen.line(self.paint.paint(BOLD, text) + self.paint.paint(DIM, remark));
    }

    fn more(&mut self, shown: usize, all: usize) {
        if all > shown {
            let text = format!("  … and {} more", all - shown);
            self.screen.line(self.paint.paint(DIM, text));
        }
    }

    fn targets(&mut self, totals: &Totals, numbers: &RunTotals) {
        if totals.targets.is_empty() {
            return;
        }
        let has_cost = numbers.all.cost_usd.is_some();
        let has_ungraded = numbers.all.ungraded > 0;
        let mut table = TextTable::new()
            .column("Target", Side::Left, 0)
            .column("Mean", Side::Right, 5)
            .column("Pass", Side::Right, 0);
        if has_ungraded {
            table = table.column("Ungraded", Side::Right, 0);
        }
        table =
            table.column("Errors", Side::Right, 0).column("Mean time", Side::Right, 0).optional();
        if has_cost {
            table = table.column("Cost", Side::Right, 0);
        }
        for (name, target) in &totals.targets {
            let wire = target.wire();
            let mut row = vec![
                Cell::new(one_line(name)),
                Cell::new(format::narrow_mean_score(&wire)),
                passes(format::narrow_passes(&wire), wire.passed == wire.recorded),
            ];
            row.extend(has_ungraded.then(|| doubts(wire.ungraded)));
            row.push(errors(wire.errors));
            row.push(Cell::new(mean_time(target).map(format::duration).unwrap_or_default()));
            if has_cost {
                row.push(Cell::new(wire.cost_usd.map(format::money).unwrap_or_default()));
            }
            table.row(row);
        }
        self.table(&table);
    }

    fn evaluators(&mut self, numbers: &RunTotals) {
        if numbers.evaluators.is_empty() {
            return;
        }
        let mut table = TextTable::new()
            .column("Evaluator", Side::Left, 0)
            .column("Mean", Side::Right, 5)
            .column("Pass", Side::Right, 0)
            .column("Errors", Side::Right, 0)
            .column("Weight", Side::Right, 0)
            .column("Type", Side::Left, 0);
        // By weight, the heaviest first; by name where they are equal.
        let mut all: Vec<(&String, &EvaluatorTotals)> = numbers.evaluators.iter().collect();
        all.sort_by(|(_, one), (_, other)| other.weights.1.total_cmp(&one.weights.1));
        for (name, evaluator) in all.iter().take(20) {
            let EvaluatorTotals { passed, graded, mean_score, mean_interval, .. } = **evaluator;
            table.row(vec![
                Cell::new(one_line(name)),
                Cell::new(format::narrow_mean_of(mean_score, mean_interval)),
                passes(format!("{passed}/{graded}"), passed == graded),
                errors(evaluator.errors),
                Cell::new(format::range(evaluator.weights.0, evaluator.weights.1)),
                Cell::styled(evaluator.kind.clone(), DIM),
            ]);
        }
        self.table(&table);
        self.more(all.len().min(20), all.len());
    }

    fn table(&mut self, table: &TextTable) {
        self.screen.line("");
        for line in table.lines(self.paint, Some(self.width)) {
            self.screen.line(line);
        }
    }

    /// Of graded cases.
    fn scores(&mut self, totals: &Totals) {
        let scores = totals.scores.graded();
        if scores.len() < ENOUGH_FOR_HISTOGRAM {
            return;
        }
        let Some(found) = ScoreStatistics::of(scores.to_vec()) else { return };
        // The mean is at the end, with its interval.
        let mut numbers = vec![
            format!("median {}", format::score(found.median)),
            format!("min {}", format::score(found.min)),
            format!("max {}", format::score(found.max)),
        ];
        numbers.extend(found.deviation.map(|value| format!("deviation {}", format::score(value))));
        if scores.len() < totals.recorded() {
            numbers
                .push(format!("of {}", format::count(scores.len(), "graded case", "graded cases")));
        }
        self.title("Scores", &numbers.join("  "));
        let bins = ScoreStatistics::distribution(scores);
        let most = bins.iter().map(|(_, count)| *count).max().unwrap_or(0).max(1);
        let room = self.width.saturating_sub(20).clamp(5, BAR);
        for ((range, count), style) in bins.into_iter().zip([BAD, BAD, DOUBTFUL, DOUBTFUL, GOOD]) {
            // What is there is seen, however little it is.
            let length = if count == 0 { 0 } else { (count * room / most).max(1) };
            let bar = self.paint.paint(style, "█".repeat(length));
            let count = if length > 0 { format!(" {count}") } else { count.to_string() };
            self.screen.line(Line::from(format!("  {range}  ")) + bar + &*count);
        }
    }

    fn workspaces(&mut self, totals: &Totals) {
        let highlights = &totals.highlights;
        if highlights.kept == 0 {
            return;
        }
        self.title("Workspaces kept", "`workspace` in the results has all of them");
        for (id, path) in &highlights.kept_paths {
            self.screen.line(format!("  {}  {path}", one_line(id)));
        }
        self.more(highlights.kept_paths.len(), highlights.kept);
    }

    fn lines(&mut self, lines: Vec<Line>) {
        for line in lines {
            self.screen.line(line);
        }
    }

    /// The cases of a small run in which all of them passed.
    fn passed(&mut self, totals: &Totals) {
        let passed = &totals.highlights.passed;
        if passed.is_empty() || passed.len() < totals.recorded() {
            return;
        }
        self.title("Cases", "");
        let has_targets = totals.targets.len() > 1;
        for case in passed {
            let target =
                if has_targets { format!("  {}", one_line(&case.target)) } else { String::new() };
            let trial = case.trial.map(|trial| format!(" (trial {})", u64::from(trial) + 1));
            let id = one_line(&format!("{}{}", case.eval_id, trial.unwrap_or_default()));
            let id = cut_middle(&id, self.width.saturating_sub(target.width() + 11).max(8));
            let (mark, style) = PASSED;
            let start = Line::from("  ") + self.paint.paint(style, mark);
            let middle = format!(" {}  {id}", format::score(case.score));
            self.screen.line(start + &*middle + self.paint.paint(DIM, target));
        }
    }

    /// The totals, and where the results are.
    fn end(&self, input: &OverviewInput<'_>) -> Vec<Line> {
        let mut lines = vec![Line::default()];
        lines.extend(totals_lines(input.totals, input.numbers, input.took, self.paint));
        if input.warnings > 0 {
            let warnings = format::count(input.warnings, "warning", "warnings");
            let text = format!("{warnings} in files, shown above (--strict refuses them)");
            lines.push(self.paint.paint(DOUBTFUL, text));
        }
        if input.numbers.all.recorded > 0 {
            // Never cut: it is there to be copied.
            let results = self.paint.paint(DIM, "Results") + "  " + &*input.results;
            lines.extend([Line::default(), results]);
        }
        lines
    }
}

fn width() -> usize {
    stdout_size().map_or(PIPE, |(width, _)| width.saturating_sub(1)).min(WIDEST)
}

fn passes(text: String, is_all: bool) -> Cell {
    Cell::styled(text, if is_all { GOOD } else { PLAIN })
}

fn errors(count: usize) -> Cell {
    Cell::styled(count.to_string(), if count > 0 { NO_ANSWER } else { DIM })
}

fn doubts(count: usize) -> Cell {
    Cell::styled(count.to_string(), if count > 0 { DOUBTFUL } else { DIM })
}

fn mean_time(target: &GroupTotals) -> Option<Duration> {
    Duration::try_from_secs_f64(target.mean_duration_ms()? / 1000.0).ok()
}
