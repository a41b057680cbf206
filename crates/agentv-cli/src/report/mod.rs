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
use agentv_runtime::results_io::ResultsError;
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
    github: Option<&mut Github>,
) -> Result<WrittenReports, ResultsError> {
    let open = |wanted: &Wanted| Open::new(wanted.kind, Sink::open(&wanted.destination));
    let mut reports: Vec<Open<Sink>> = wanted.iter().map(open).collect();
    let (summary, torn) = render(source, &mut reports, github)?;
    let closed = reports.into_iter().map(|open| open.sink.and_then(Sink::close));
    let failed = wanted
        .iter()
        .zip(closed)
        .filter_map(|(wanted, closed)| Some((wanted.destination.clone(), closed.err()?)))
        .collect();
    Ok(WrittenReports { summary, torn, failed })
}

/// Reads the results once for all reports. Gives the summary, and the line of a last record that was cut off.
fn render<S: Write>(
    source: &Source,
    reports: &mut [Open<S>],
    mut github: Option<&mut Github>,
) -> Result<(ReportSummary, Option<usize>), ResultsError> {
    let head = Head { results: &source.shown, run: source.info.as_ref() };
    let deepest = reports.iter().map(|open| open.knowledge).max();
    let knowledge = deepest.max(github.as_ref().map(|_| Knowledge::Places)).unwrap_or_default();
    for open in &mut *reports {
        open.feed(|format, out| format.begin(&head, out));
    }
    let mut recorded = RecordedTotals::default();
    let mut entries = source.entries(knowledge)?;
    while let Some(entry) = entries.next()? {
        recorded.add(entry.record);
        for open in &mut *reports {
            open.feed(|format, out| format.entry(&entry, out));
        }
        if let Some(github) = &mut github {
            github.entry(&entry);
        }
    }
    let torn = entries.torn();
    let summary = summary::summary(recorded, source)?;
    for open in reports {
        open.feed(|format, out| format.end(&head, &summary, out));
    }
    if let Some(github) = github {
        github.finish(&head, &summary);
    }
    Ok((summary, torn))
}

/// A format and its report.
#[cfg(feature = "fuzzing")]
pub(crate) type RenderedReport = (&'static str, Vec<u8>);

/// The text of every format, in memory.
#[cfg(feature = "fuzzing")]
pub(crate) fn texts(source: &Source) -> Result<(ReportSummary, Vec<RenderedReport>), ResultsError> {
    let mut reports: Vec<Open<Vec<u8>>> =
        FORMATS.iter().map(|kind| Open::new(kind, Ok(Vec::new()))).collect();
    let (summary, _) = render(source, &mut reports, Some(&mut Github::default()))?;
    let texts = reports.into_iter().map(|open| open.sink.unwrap_or_default());
    Ok((summary, FORMATS.iter().map(|kind| kind.name).zip(texts).collect()))
}

/// A report that is being written.
struct Open<S> {
    knowledge: Knowledge,
    format: Box<dyn Format>,
    /// Once it cannot be written any more, nothing more is tried.
    sink: io::Result<S>,
}

impl<S: Write> Open<S> {
    fn new(kind: &FormatKind, sink: io::Result<S>) -> Self {
        Self { knowledge: kind.knowledge, format: (kind.new)(), sink }
    }

    fn feed(&mut self, write: impl FnOnce(&mut dyn Format, &mut dyn Write) -> io::Result<()>) {
        if let Ok(sink) = &mut self.sink
            && let Err(error) = write(self.format.as_mut(), sink)
        {
            self.sink = Err(error);
        }
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

/// The same for an error: its end often says what failed, so that is kept, too.
fn error_line(text: &str, most: usize) -> String {
    let text = one_line(text, usize::MAX);
    let length = text.chars().count();
    if length <= most {
        return text;
    }
    let (start, gap) = (most / 3, " … ");
    let end = most.saturating_sub(start + gap.chars().count());
    let head: String = text.chars().take(start).collect();
    let tail: String = text.chars().skip(length - end).collect();
    format!("{}{gap}{}", head.trim_end(), tail.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_keeps_its_end() {
        assert_eq!(error_line(" a\n\tb  c ", 20), "a b c");
        assert_eq!(error_line("one two three four five", 15), "one t … ur five");
        assert_eq!(error_line("", 4), "");
    }

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
