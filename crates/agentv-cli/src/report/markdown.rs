//! A short page for pull requests and job summaries: the verdict, the failures with why, tables by target and evaluator.

use super::source::{Entry, Knowledge};
use super::{Format, FormatKind, Head};
use crate::clean::clean;
use crate::format::{count, mean_of, mean_score, millis, money, pass_rate_interval, score, tokens};
use crate::terminal::code;
use agentv_wire::{EvaluatorTotals, Outcome, OutcomeTotals, PassOfK, ReportSummary, TrialTotals};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

pub(super) const KIND: FormatKind = FormatKind {
    name: "markdown",
    knowledge: Knowledge::Record,
    new: || Box::<Markdown>::default(),
};

/// How many cases that did not pass are listed; a job summary is no place for thousands.
const LISTED: usize = 50;

/// The rows of cases that did not pass; all else is in the summary.
#[derive(Debug, Default)]
pub(super) struct Markdown {
    errors: Vec<String>,
    ungraded: Vec<String>,
    failures: Vec<String>,
}

impl Format for Markdown {
    fn entry(&mut self, entry: &Entry<'_>, _out: &mut dyn Write) -> io::Result<()> {
        self.note(entry);
        Ok(())
    }

    fn end(
        &mut self,
        head: &Head<'_>,
        summary: &ReportSummary,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        out.write_all(self.page(head, summary).as_bytes())
    }
}

impl Markdown {
    /// Keeps what will be said of a record.
    pub(super) fn note(&mut self, entry: &Entry<'_>) {
        let record = entry.record;
        let (list, word) = match entry.outcome {
            Outcome::Pass => return,
            Outcome::Fail => (&mut self.failures, "✗ fail"),
            Outcome::Ungraded => (&mut self.ungraded, "? ungraded"),
            Outcome::Error => (&mut self.errors, "! error"),
        };
        if list.len() < LISTED {
            let (id, target) = (code(&record.label()), code(&record.target));
            let why = plain(&entry.why().unwrap_or_default());
            let score = if entry.outcome.is_graded() { score(record.score) } else { String::new() };
            list.push(format!("| {word} | {id} | {target} | {score} | {why} |"));
        }
    }

    pub(super) fn page(&self, head: &Head<'_>, summary: &ReportSummary) -> String {
        let totals = &summary.totals;
        let mut page = format!("## AgentV: {}\n\n", verdict(&totals.all));
        page += &figures_table(summary);
        self.list_failures(&totals.all, &mut page);
        if totals.targets.len() > 1 {
            targets(&totals.targets, &mut page);
        }
        evaluators(&totals.evaluators, &mut page);
        trials(&totals.trials, &mut page);
        if totals.all.recorded > 0 {
            page += "\n95 % intervals are in brackets.\n";
        }
        let _ = write!(page, "\n{}\n", origin(head));
        page
    }

    fn list_failures(&self, all: &OutcomeTotals, page: &mut String) {
        let unlucky = all.recorded - all.passed;
        if unlucky == 0 {
            return;
        }
        *page += "\n### Did not pass\n\n";
        *page += "| | Case | Target | Score | Why |\n| --- | --- | --- | ---: | --- |\n";
        let lists = self.errors.iter().chain(&self.ungraded).chain(&self.failures);
        let rows: Vec<&String> = lists.take(LISTED).collect();
        for row in &rows {
            let _ = writeln!(page, "{row}");
        }
        if unlucky > rows.len() {
            let _ = write!(page, "\n… and {} more\n", unlucky - rows.len());
        }
    }
}

/// `7 of 10 cases passed`
pub(crate) fn verdict(all: &OutcomeTotals) -> String {
    match (all.recorded, all.passed) {
        (0, _) => "no results".to_owned(),
        (recorded, passed) if recorded == passed => {
            format!("✓ {}", count(recorded, "case passed", "cases passed"))
        }
        (recorded, passed) => format!("✗ {passed} of {} passed", count(recorded, "case", "cases")),
    }
}

fn figures_table(summary: &ReportSummary) -> String {
    let all = &summary.totals.all;
    let mut cells = vec![("Pass rate", pass_rate_interval(all)), ("Mean score", mean_score(all))];
    cells.push(("Passed", all.passed.to_string()));
    cells.push(("Failed", all.failed.to_string()));
    cells.push(("Ungraded", all.ungraded.to_string()));
    cells.push(("Errors", all.errors.to_string()));
    let not_run = summary.totals.not_run.filter(|not_run| *not_run > 0);
    cells.extend(not_run.map(|not_run| ("Not run", not_run.to_string())));
    if summary.totals.grading_errors > 0 {
        cells.push(("Grading errors", summary.totals.grading_errors.to_string()));
    }
    if let Some(cost) = all.cost_usd {
        cells.push(("Cost", money(cost)));
    }
    if let Some(cost) = all.grading_cost_usd {
        cells.push(("Of which grading", money(cost)));
    }
    if let Some(usage) = &all.token_usage {
        cells.push(("Tokens", format!("{} in, {} out", tokens(usage.input), tokens(usage.output))));
    }
    if let Some(time) = summary.wall_ms.or(all.duration_ms) {
        cells.push(("Time", millis(time)));
    }
    if summary.totals.simulated > 0 {
        cells.push(("Simulated", summary.totals.simulated.to_string()));
    }
    let row = |cells: Vec<&str>| format!("| {} |\n", cells.join(" | "));
    row(cells.iter().map(|(title, _)| *title).collect())
        + &row(cells.iter().map(|_| "---:").collect())
        + &row(cells.iter().map(|(_, text)| text.as_str()).collect())
}

fn targets(targets: &BTreeMap<String, OutcomeTotals>, page: &mut String) {
    *page += "\n### Targets\n\n";
    *page += "| Target | Cases | Pass rate | Mean | Failed | Ungraded | Errors | Cost |\n";
    *page += "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";
    for (name, totals) in targets {
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            code(name),
            totals.recorded,
            pass_rate_interval(totals),
            mean_score(totals),
            totals.failed,
            totals.ungraded,
            totals.errors,
            totals.cost_usd.map(money).unwrap_or_default()
        );
    }
}

fn evaluators(evaluators: &BTreeMap<String, EvaluatorTotals>, page: &mut String) {
    if evaluators.is_empty() {
        return;
    }
    *page += "\n### Evaluators\n\n";
    *page += "| Evaluator | Type | Graded | Mean | Full score | Errors |\n| --- | --- | ---: | ---: | ---: | ---: |\n";
    for (name, evaluator) in evaluators {
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} | {} |",
            code(name),
            plain(&evaluator.kind),
            evaluator.graded,
            mean_of(evaluator.mean_score, evaluator.mean_interval),
            evaluator.full,
            evaluator.errors
        );
    }
}

/// A row for each `k`, of each suite on each target where cases have several trials.
fn trials(all: &[TrialTotals], page: &mut String) {
    if all.is_empty() {
        return;
    }
    *page += "\n### Trials\n\n";
    *page += "| Suite | Target | Cases | k | pass@k | pass^k |\n| --- | --- | ---: | ---: | ---: | ---: |\n";
    for totals in all {
        let (suite, target) = (code(&totals.dataset), code(&totals.target));
        for pass in &totals.pass {
            let PassOfK { k, cases, .. } = *pass;
            let is_part = (1..totals.cases).contains(&cases);
            let all = totals.cases;
            let cases = if is_part { format!("{cases} of {all}") } else { all.to_string() };
            let at = mean_of(Some(pass.pass_at_k), pass.pass_at_k_interval);
            let hat = mean_of(Some(pass.pass_hat_k), pass.pass_hat_k_interval);
            let _ = writeln!(page, "| {suite} | {target} | {cases} | {k} | {at} | {hat} |");
        }
    }
}

/// Where the numbers come from.
fn origin(head: &Head<'_>) -> String {
    let Some(run) = head.run else { return format!("Results: {}", code(head.results)) };
    let commit = run.git.as_ref().map(|git| {
        let short: String = git.commit.chars().take(12).collect();
        format!(" at {}", code(&short))
    });
    let command = code(&format!("agentv {}", run.command.join(" ")));
    format!("Run {}{}: {command}", code(&run.run), commit.unwrap_or_default())
}

/// Text that stays text: no picture, no mention, no tag, no emphasis.
fn plain(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in clean(text).chars() {
        match character {
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '&' => safe += "&amp;",
            // GitHub tells people whom a text names.
            '@' => safe += "&#64;",
            '\\' | '`' | '*' | '_' | '[' | ']' | '!' | '|' | '~' => {
                safe.push('\\');
                safe.push(character);
            }
            _ => safe.push(character),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        assert_eq!(plain("<b>@you ![x](y)|*z*"), "&lt;b&gt;&#64;you \\!\\[x\\](y)\\|\\*z\\*");
        assert_eq!(plain("a\n\x1b"), "a\\\\n\\\\x1b");
        assert_eq!(code("a`b|c\nd"), "`a'b\\|c\\nd`");
    }
}
