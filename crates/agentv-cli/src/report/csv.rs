//! A table for spreadsheets: one row per record.
//!
//! A spreadsheet runs a cell that starts with `=`, `+`, `-` or `@` as a formula, and answers come from models. Such text gets
//! a `'` before it, as OWASP advises; numbers are our own and are never touched.

use super::source::{Entry, Knowledge};
use super::{Format, FormatKind, Head};
use crate::clean::clean_lines;
use crate::format;
use agentv_wire::ReportSummary;
use std::io::{self, Write};

pub(super) const KIND: FormatKind =
    FormatKind { name: "csv", knowledge: Knowledge::Record, new: || Box::new(Csv) };

struct Csv;

const COLUMNS: [&str; 18] = [
    "eval_id",
    "dataset",
    "target",
    "trial",
    "outcome",
    "simulated",
    "score",
    "why",
    "duration_ms",
    "cost_usd",
    "grading_cost_usd",
    "input_tokens",
    "output_tokens",
    "tool_calls",
    "tags",
    "evaluators",
    "timestamp",
    "answer",
];

impl Format for Csv {
    fn begin(&mut self, _head: &Head<'_>, out: &mut dyn Write) -> io::Result<()> {
        row(&COLUMNS.map(str::to_owned), out)
    }

    fn entry(&mut self, entry: &Entry<'_>, out: &mut dyn Write) -> io::Result<()> {
        let record = entry.record;
        let used = entry.usage.total();
        let tokens = used.token_usage.as_ref();
        let evaluators = record.evaluators.iter().map(|grade| match &grade.error {
            None => format!("{}={}", grade.name, format::score(grade.score)),
            Some(_) => format!("{}=error", grade.name),
        });
        let cells = [
            text(&record.eval_id),
            text(&record.dataset),
            text(&record.target),
            record.trial.map(|trial| trial.to_string()).unwrap_or_default(),
            entry.outcome.name().to_owned(),
            if record.simulated { "true".to_owned() } else { String::new() },
            record.score.to_string(),
            text(&entry.why().unwrap_or_default()),
            number(record.metrics.duration_ms),
            number(used.cost_usd),
            number(entry.usage.grading.cost_usd),
            number(tokens.map(|tokens| tokens.input)),
            number(tokens.map(|tokens| tokens.output)),
            record.tool_calls().map(|calls| calls.to_string()).unwrap_or_default(),
            text(&record.tags.join("; ")),
            text(&evaluators.collect::<Vec<_>>().join("; ")),
            record.timestamp.clone(),
            text(&record.candidate_answer),
        ];
        row(&cells, out)
    }

    fn end(
        &mut self,
        _head: &Head<'_>,
        _summary: &ReportSummary,
        _out: &mut dyn Write,
    ) -> io::Result<()> {
        Ok(())
    }
}

fn row(cells: &[String; 18], out: &mut dyn Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(cells)?;
    writer.flush()
}

/// For programs, so with every digit; absent is empty and not zero.
fn number(value: Option<f64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// Text that no spreadsheet takes for a formula, and that does nothing to a terminal on which the file is looked at.
fn text(text: &str) -> String {
    let text = clean_lines(text);
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t']);
    if is_formula { format!("'{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_formula_is_text() {
        for formula in ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1"] {
            assert_eq!(text(formula), format!("'{formula}"));
        }
        assert_eq!(text("\r=1"), "\\r=1");
        assert_eq!(text("a=1\n\x1b"), "a=1\n\\x1b");
        assert_eq!(text(""), "");
    }
}
