//! What a run came to, for people: what went wrong first, and why; then the numbers; then what to do next.

use super::case_line::{BROKEN, FAILED, UNGRADED};
use super::counts::{Count, shown};
use super::line::Line;
use super::live::whole;
use super::screen::{Screen, stdout_size};
use super::style::{BAD, BOLD, DIM, DOUBTFUL, GOOD, PLAIN, Paint};
use super::table::{Cell, Side, TextTable};
use super::text::{cut_end, cut_middle, one_line, wrapped};
use super::trials::trials;
use crate::format;
use agentv_core::totals::{Failure, GroupTotals, ScoreStatistics, Totals};
use agentv_wire::{EvaluatorTotals, Outcome, RunSpend, RunTotals};
use anstyle::Style;
use std::time::Duration;
use unicode_width::UnicodeWidthStr as _;

/// So many failures, errors and failed gradings are shown each.
const SHOWN: usize = 8;
/// So many lines of a reason.
const REASON_LINES: usize = 2;
/// The widest bar of the histogram.
const BAR: usize = 30;
/// Lines are not read more easily for being longer.
const WIDEST: usize = 120;
/// What a pipe is taken for.
const USUAL: usize = 80;

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
}

/// What the answers and their grading cost. Those that were remembered, or made up by a mock, were not paid for.
fn price(worth: f64, paid: &RunSpend) -> String {
    let paid = format::money(paid.targets.cost_usd + paid.judges.cost_usd);
    let worth = format::money(worth);
    if paid == worth { format!("for {worth}") } else { format!("worth {worth} ({paid} paid)") }
}

/// A command that may be wanted next, and what for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub command: String,
    pub purpose: &'static str,
}

/// Prints it all, but for what to do next.
pub(crate) fn overview(ending: &OverviewInput<'_>, paint: Paint, screen: &mut Screen) {
    let mut page = Page { screen, paint, width: width() };
    let totals = ending.totals;
    page.failures(totals);
    page.errors(totals);
    page.grading_errors(totals);
    page.targets(totals, ending.numbers);
    page.evaluators(ending.numbers);
    trials(&ending.numbers.trials, page.screen);
    page.scores(totals);
    page.workspaces(totals);
    page.verdict(ending);
    page.end(ending);
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

    /// A case by its mark, with what belongs to it on the right.
    fn case(&mut self, (mark, style): (&str, Style), id: &str, right: &str) {
        let right = one_line(right);
        let id = cut_middle(&one_line(id), self.width.saturating_sub(right.width() + 6).max(8));
        let right = if right.is_empty() { right } else { format!("  {right}") };
        let mark = self.paint.paint(style, mark);
        let id = format!(" {id}");
        self.screen.line(Line::from("  ") + mark + &*id + self.paint.paint(DIM, right));
    }

    /// A text below a case, with a word that says what it is.
    fn detail(&mut self, word: &str, text: &str, style: Style) {
        let room = self.width.saturating_sub(13).max(12);
        for (number, line) in wrapped(text, room, REASON_LINES).iter().enumerate() {
            let word = if number == 0 { word } else { "" };
            let word = self.paint.paint(DIM, format!("{word:<8}"));
            let text = self.paint.paint(style, line);
            self.screen.line(Line::from("    ") + word + " " + text);
        }
    }

    fn more(&mut self, shown: usize, all: usize) {
        if all > shown {
            let text = format!("  … and {} more", all - shown);
            self.screen.line(self.paint.paint(DIM, text));
        }
    }

    fn failures(&mut self, totals: &Totals) {
        let failed = totals.all.counts.failed;
        if failed == 0 {
            return;
        }
        self.title("Failures", "the worst first");
        let failures = &totals.highlights.failures;
        for failure in failures.iter().take(SHOWN) {
            self.failure(failure, totals.targets.len() > 1);
        }
        self.more(SHOWN.min(failures.len()), failed);
    }

    fn failure(&mut self, failure: &Failure, with_target: bool) {
        let Failure { placed, target, misses, reasoning, answer, .. } = failure;
        let score = format::score(placed.score);
        let right = if with_target { format!("{score}  {target}") } else { score };
        self.case(FAILED, &placed.eval_id, &right);
        for miss in misses.iter().take(3) {
            self.detail("missed", miss, PLAIN);
        }
        if let Some(reasoning) = reasoning {
            self.detail("because", reasoning, PLAIN);
        }
        let answer = if answer.trim().is_empty() { "(nothing)" } else { answer };
        self.detail("answer", answer, DIM);
    }

    fn errors(&mut self, totals: &Totals) {
        let errors = totals.all.counts.errors;
        if errors == 0 {
            return;
        }
        self.title("Errors", "no answer, so no grade");
        let listed = totals.highlights.errors.iter();
        let listed: Vec<_> = listed.filter(|kept| kept.outcome == Outcome::Error).collect();
        for kept in listed.iter().take(SHOWN) {
            self.case(BROKEN, &kept.eval_id, "");
            self.detail("error", &kept.error, BAD);
        }
        self.more(SHOWN.min(listed.len()), errors);
    }

    fn grading_errors(&mut self, totals: &Totals) {
        if totals.grading_errors == 0 {
            return;
        }
        self.title("Grading errors", "grading failed; the answer was not judged");
        let listed = &totals.highlights.grading_errors;
        for error in listed.iter().take(SHOWN) {
            self.case(UNGRADED, &error.eval_id, &error.evaluator);
            self.detail("error", &error.message, DOUBTFUL);
        }
        self.more(SHOWN.min(listed.len()), totals.grading_errors);
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

    /// One line that says it all.
    fn verdict(&mut self, ending: &OverviewInput<'_>) {
        let (totals, all) = (ending.totals, &ending.numbers.all);
        self.screen.line("");
        if all.recorded == 0 {
            self.screen.line(self.paint.paint(BOLD, "No case was run."));
            return;
        }
        let mut parts: Vec<Line> = shown(totals.all.counts)
            .map(|Count { mark, style, cases, word }| {
                self.paint.paint(style.bold(), format!("{mark} {cases} {word}"))
            })
            .collect();
        let not_run = ending.numbers.not_run.filter(|not_run| *not_run > 0);
        parts.extend(not_run.map(|not_run| self.paint.paint(DIM, format!("{not_run} not run"))));
        parts.push(format!("in {}", format::duration(ending.took)).into());
        parts.extend(all.cost_usd.map(|cost| price(cost, &totals.paid).into()));
        self.screen.line(Line::joined(parts, "  "));
        let rate = format!("pass rate {}", format::pass_rate_interval(all));
        self.screen.line(self.paint.paint(DIM, format!("{rate}, 95 % interval in brackets")));
        let mean = format!("mean score {}", format::mean_score(all));
        self.screen.line(self.paint.paint(DIM, mean));
        if let Some(tokens) = all.token_usage.filter(|used| used.input + used.output > 0.0) {
            let amount = |tokens| format::amount(whole(tokens));
            let (read, written) = (amount(tokens.input), amount(tokens.output));
            let text = format!("{read} tokens read, {written} written");
            self.screen.line(self.paint.paint(DIM, text));
        }
        if ending.numbers.retries > 0 {
            let retries = format::count(ending.numbers.retries, "retry", "retries");
            self.screen.line(self.paint.paint(DIM, retries));
        }
        if ending.numbers.simulated > 0 {
            let simulated = format::count(ending.numbers.simulated, "answer", "answers");
            let text = format!("{simulated} made up by a mock target or a dry run");
            self.screen.line(self.paint.paint(DIM, text));
        }
    }

    fn end(&mut self, ending: &OverviewInput<'_>) {
        if ending.warnings > 0 {
            let warnings = format::count(ending.warnings, "warning", "warnings");
            let text = format!("{warnings} in files, shown above (--strict refuses them)");
            self.screen.line(self.paint.paint(DOUBTFUL, text));
        }
        if ending.numbers.all.recorded > 0 {
            self.screen.line("");
            // Never cut: it is there to be copied.
            self.screen.line(self.paint.paint(DIM, "Results") + "  " + &*ending.results);
        }
    }
}

/// Prints what may be wanted next.
pub(crate) fn steps(next: &[Step], paint: Paint, screen: &mut Screen) {
    let widths = || next.iter().map(|step| step.command.width());
    let room = |command: usize, step: &Step| 9 + command + 2 + step.purpose.width() <= width();
    // Purposes stand below each other if all of them have room there.
    let widest = widths().max().filter(|widest| next.iter().all(|step| room(*widest, step)));
    for (number, step) in next.iter().enumerate() {
        let word = paint.paint(DIM, if number == 0 { "Next   " } else { "       " });
        // A command is there to be copied, so it is never cut.
        let command = paint.paint(BOLD, &step.command);
        let own = step.command.width();
        let purpose = if room(own, step) {
            Line::from(" ".repeat(widest.unwrap_or(own) - own + 2)) + paint.paint(DIM, step.purpose)
        } else {
            Line::default()
        };
        screen.line(word + "  " + command + purpose);
    }
}

fn width() -> usize {
    stdout_size().map_or(USUAL, |(width, _)| width.saturating_sub(1)).min(WIDEST)
}

fn passes(text: String, is_all: bool) -> Cell {
    Cell::styled(text, if is_all { GOOD } else { PLAIN })
}

fn errors(count: usize) -> Cell {
    Cell::styled(count.to_string(), if count > 0 { BAD } else { DIM })
}

fn doubts(count: usize) -> Cell {
    Cell::styled(count.to_string(), if count > 0 { DOUBTFUL } else { DIM })
}

fn mean_time(target: &GroupTotals) -> Option<Duration> {
    Duration::try_from_secs_f64(target.mean_duration_ms()? / 1000.0).ok()
}
