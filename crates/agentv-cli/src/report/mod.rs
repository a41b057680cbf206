//! A run, or a file of results, in the formats that people and other programs read.
//!
//! ```text
//! results ─► Source ─► Entry, one after the other ─► Format ─► Sink: a file that is whole or not there, or stdout
//!                            └─► RecordedTotals ────┘
//! ```
//!
//! Records are read once for all formats together, and only one is in memory at a time; a format keeps no more of it than
//! it needs. To add a format: a file with a `Format`, and a line in [`FORMATS`].

mod brief;
mod cases;
mod csv;
mod github;
mod html;
mod json;
mod junit;
mod markdown;
mod sink;
mod source;
mod summary;

pub(crate) use github::{Github, tell_github};
pub(crate) use markdown::verdict;
pub(crate) use sink::{Destination, Wanted};
pub(crate) use source::Source;

use agentv_core::totals::RecordedTotals;
use agentv_wire::{ReportSummary, RunInfo};
use sink::Sink;
use source::{Entry, Knowledge};
use std::io::{self, Write};

/// One kind of report.
#[derive(Debug)]
pub(crate) struct FormatKind {
    /// Its flag without the dashes, and its name in `--report`.
    pub name: &'static str,
    knowledge: Knowledge,
    new: fn() -> Box<dyn Format>,
}

/// Every format, in the order of the help.
pub(crate) const FORMATS: [FormatKind; 5] =
    [html::KIND, junit::KIND, markdown::KIND, csv::KIND, json::KIND];

/// Turns records into text. Whatever must stand before them is written by `begin`, what can only be known after them by
/// `end`.
trait Format {
    fn begin(&mut self, _head: &Head<'_>, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn entry(&mut self, entry: &Entry<'_>, out: &mut dyn Write) -> io::Result<()>;
    fn end(
        &mut self,
        head: &Head<'_>,
        summary: &ReportSummary,
        out: &mut dyn Write,
    ) -> io::Result<()>;
}

/// What is known before the first record.
#[derive(Debug)]
struct Head<'a> {
    /// Where the records are read from, as people see it.
    results: &'a str,
    run: Option<&'a RunInfo>,
}

/// What came of writing reports.
#[derive(Debug)]
pub(crate) struct WrittenReports {
    pub summary: ReportSummary,
    /// The line of a last record that was cut off.
    pub torn: Option<usize>,
    /// Reports that could not be written, and why. The others are there.
    pub failed: Vec<(Destination, io::Error)>,
}

/// Reads the results once and writes everything that is wanted. With `github`, what GitHub is told is gathered on the way.
pub(crate) fn write(
    source: &Source,
    wanted: &[Wanted],
    mut github: Option<&mut Github>,
) -> Result<WrittenReports, agentv_runtime::results_io::ResultsError> {
    let head = Head { results: &source.shown, run: source.info.as_ref() };
    let deepest = wanted.iter().map(|wanted| wanted.kind.knowledge).max();
    let knowledge = deepest.max(github.as_ref().map(|_| Knowledge::Places)).unwrap_or_default();
    let mut sinks: Vec<Open> = wanted.iter().map(Open::new).collect();
    for open in &mut sinks {
        open.feed(|format, out| format.begin(&head, out));
    }
    let mut recorded = RecordedTotals::default();
    let mut entries = source.entries(knowledge)?;
    while let Some(entry) = entries.next()? {
        recorded.add(entry.record);
        for open in &mut sinks {
            open.feed(|format, out| format.entry(&entry, out));
        }
        if let Some(github) = &mut github {
            github.entry(&entry);
        }
    }
    let torn = entries.torn();
    let summary = summary::summary(recorded, source)?;
    for open in &mut sinks {
        open.feed(|format, out| format.end(&head, &summary, out));
    }
    if let Some(github) = github {
        github.finish(&head, &summary);
    }
    let failed = sinks.into_iter().filter_map(Open::close).collect();
    Ok(WrittenReports { summary, torn, failed })
}

/// A report that is being written.
struct Open {
    destination: Destination,
    format: Box<dyn Format>,
    /// Once it cannot be written any more, nothing more is tried.
    sink: io::Result<Sink>,
}

impl Open {
    fn new(wanted: &Wanted) -> Self {
        Self {
            destination: wanted.destination.clone(),
            format: (wanted.kind.new)(),
            sink: Sink::open(&wanted.destination),
        }
    }

    fn feed(&mut self, write: impl FnOnce(&mut dyn Format, &mut dyn Write) -> io::Result<()>) {
        if let Ok(sink) = &mut self.sink
            && let Err(error) = write(self.format.as_mut(), sink)
        {
            self.sink = Err(error);
        }
    }

    fn close(self) -> Option<(Destination, io::Error)> {
        let closed = self.sink.and_then(Sink::close);
        closed.err().map(|error| (self.destination, error))
    }
}

/// The start of a text in one line, for places where there is little room.
fn one_line(text: &str, most: usize) -> String {
    let mut line = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let gap = usize::from(!line.is_empty());
        let room = most.saturating_sub(length + gap);
        if gap == 1 {
            line.push(' ');
        }
        let count = word.chars().count();
        if count > room {
            line.extend(word.chars().take(room.saturating_sub(1)));
            return line.trim_end().to_owned() + "…";
        }
        line.push_str(word);
        length += gap + count;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_where_room_ends() {
        assert_eq!(one_line(" a\n\tb  c ", 20), "a b c");
        assert_eq!(one_line("one two three", 9), "one two…");
        assert_eq!(one_line("one two three", 10), "one two t…");
        assert_eq!(one_line("unbroken", 4), "unb…");
        assert_eq!(one_line("", 4), "");
    }

    #[test]
    fn names_of_formats_are_unique() {
        let mut names: Vec<&str> = FORMATS.iter().map(|kind| kind.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), FORMATS.len());
    }
}
