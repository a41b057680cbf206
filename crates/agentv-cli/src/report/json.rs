//! The report for programs: [`agentv_wire::Report`], written case by case.

use super::brief::brief;
use super::source::{Entry, Knowledge};
use super::{Format, FormatKind, Head};
use crate::clean::clean_json;
use agentv_wire::{ReportSummary, number};
use serde::Serialize;
use std::io::{self, Write};

pub(super) const KIND: FormatKind = FormatKind {
    name: "json",
    knowledge: Knowledge::Places,
    new: || Box::new(Json { is_first: true }),
};

struct Json {
    is_first: bool,
}

impl Format for Json {
    fn begin(&mut self, head: &Head<'_>, out: &mut dyn Write) -> io::Result<()> {
        write!(out, "{{\"results\":{}", json(&head.results)?)?;
        if let Some(run) = head.run {
            write!(out, ",\n\"run\":{}", json(run)?)?;
        }
        out.write_all(b",\n\"cases\":[")
    }

    fn entry(&mut self, entry: &Entry<'_>, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(if std::mem::take(&mut self.is_first) { b"\n" } else { b",\n" })?;
        out.write_all(json(&brief(entry))?.as_bytes())
    }

    fn end(
        &mut self,
        _head: &Head<'_>,
        summary: &ReportSummary,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        writeln!(out, "],\n\"summary\":{}}}", json(summary)?)
    }
}

/// The report may go to a terminal.
fn json(value: &impl Serialize) -> io::Result<String> {
    Ok(clean_json(&number::to_string(value)?).into_owned())
}
