//! JSONL datasets: a case per line.

use super::row_ids::{self, IdOrigin};
use super::stream::{ReadRow, Row, Seen};
use crate::config::{Node, Notes, Span};
use crate::file_input::{self, CAP};
use crate::load::suite::case;
use crate::load::suite::case::LoadPurpose;
use crate::load::suite::scope::CaseScope;
use crate::load::syntax::json;
use std::fs::File;
use std::io::{self, BufReader};

/// Physical lines, the buffer reused.
#[derive(Debug)]
pub(in crate::load) struct Lines {
    reader: BufReader<File>,
    buffer: Vec<u8>,
    number: usize,
    pub seen: Seen,
}

impl Lines {
    pub(in crate::load) fn new(reader: BufReader<File>, seen: Seen) -> Self {
        Self { reader, buffer: Vec::new(), number: 0, seen }
    }

    /// The number and the text of the next line that is not blank.
    pub(in crate::load) fn next(&mut self) -> io::Result<Option<(usize, &[u8])>> {
        loop {
            self.buffer.clear();
            if file_input::read_line(&mut self.reader, &mut self.buffer, CAP)? == 0 {
                return Ok(None);
            }
            self.number += 1;
            self.seen.add(&self.buffer);
            if !self.buffer.trim_ascii().is_empty() {
                break;
            }
        }
        let bytes = self.buffer.trim_ascii_end();
        let bytes = if self.number == 1 { bytes.strip_prefix(BOM).unwrap_or(bytes) } else { bytes };
        Ok(Some((self.number, bytes)))
    }
}

const BOM: &[u8] = "\u{feff}".as_bytes();

/// One line → one case. There is none if it is not wanted, or wrong, which is then noted.
pub(super) fn read(
    line: Row<'_>,
    scope: &CaseScope,
    purpose: LoadPurpose,
    notes: &mut Notes,
) -> ReadRow {
    let Row { ordinal, number, .. } = line;
    let text = match std::str::from_utf8(line.bytes) {
        Ok(text) => text,
        Err(error) => {
            let message = format!("Line {number}: byte {} is not UTF-8", error.valid_up_to() + 1);
            notes.error("jsonl::utf8", Some(Span::default()), message);
            notes.locate(&String::from_utf8_lossy(line.bytes), number);
            return ReadRow::default();
        }
    };
    let mut node = match json::parse(text) {
        Ok(node) => node,
        Err(error) => {
            let at = u32::try_from(error.column().saturating_sub(1)).unwrap_or(u32::MAX);
            let reason = error.to_string();
            let reason = reason.split(" at line ").next().unwrap_or_default();
            let message = format!("Line {number}: Invalid JSON - {reason}");
            notes.error(
                "jsonl::syntax",
                Some(Span { start: at, end: at.saturating_add(1) }),
                message,
            );
            notes.locate(text, number);
            return ReadRow::default();
        }
    };
    let origin = row_ids::complete(&mut node);
    ReadRow::of(&node, origin, |node| {
        scope.filter.wants(node).then_some(())?;
        let mark = notes.mark();
        let case = case::check(node, ordinal, scope, purpose, notes);
        if notes.mark() == mark {
            return case;
        }
        // Something is to be said, so the line is read again in the way that knows places.
        notes.rewind(mark);
        let located = located(text);
        let case = case::check(located.as_ref().unwrap_or(node), ordinal, scope, purpose, notes);
        notes.locate(text, number);
        case
    })
}

/// A line with places, and with an id.
fn located(text: &str) -> Option<Node<'_>> {
    let mut node = json::located(text).ok()?;
    row_ids::complete(&mut node);
    Some(node)
}

/// Hands a line that can be read to `look`, with places.
pub(super) fn look_at(line: Row<'_>, look: impl FnOnce(&Node<'_>, IdOrigin, &str)) {
    let Ok(text) = std::str::from_utf8(line.bytes) else { return };
    if let Ok(mut node) = json::located(text) {
        let origin = row_ids::complete(&mut node);
        look(&node, origin, text);
    }
}
