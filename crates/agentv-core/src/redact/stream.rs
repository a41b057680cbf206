//! Masks what comes in pieces. A secret that is cut in two by the end of a piece is masked all the same.

use super::{Redactor, mask};
use std::ops::Range;
use std::sync::Arc;

/// With patterns of the user, whole lines are looked at, up to this length.
const LONGEST_LINE: usize = 64 << 10;
/// How much of what was passed on is needed to tell whether a word begins.
const CONTEXT: usize = 2;

/// Text that arrives in pieces and is passed on without secrets. What may be the beginning of one is held until more comes;
/// that is never more than the longest secret, key or line.
#[derive(Debug)]
pub struct RedactedStream {
    redactor: Arc<Redactor>,
    /// The last bytes that were passed on, then those that are held.
    text: Vec<u8>,
    /// How many of them were passed on.
    passed: usize,
}

impl RedactedStream {
    pub fn new(redactor: Arc<Redactor>) -> Self {
        Self { redactor, text: Vec::new(), passed: 0 }
    }

    /// Takes a piece, and adds what can be passed on to `out`.
    pub fn push(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        if self.redactor.is_off() {
            out.extend_from_slice(piece);
            return;
        }
        self.text.extend_from_slice(piece);
        let waits_for_line = self.redactor.patterns.is_some() && !piece.contains(&b'\n');
        if waits_for_line && self.text.len() - self.passed < LONGEST_LINE {
            return;
        }
        let scan = self.redactor.scan(&self.text, self.passed);
        let held_from = self.redactor.held_from(&self.text, self.passed, scan.open_from);
        self.pass_on(held_from, scan.spans, out);
    }

    /// No more comes: adds what was held.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        let spans = self.redactor.scan(&self.text, self.passed).spans;
        self.pass_on(self.text.len(), spans, out);
    }

    fn pass_on(&mut self, until: usize, mut spans: Vec<Range<usize>>, out: &mut Vec<u8>) {
        spans.retain(|span| span.start < until);
        let until = spans.last().map_or(until, |last| until.max(last.end));
        mask(&self.text, self.passed..until, &spans, out);
        let keep_from = until.saturating_sub(CONTEXT);
        self.text.drain(..keep_from);
        self.passed = until - keep_from;
    }
}

impl Redactor {
    /// From where on the text may be the beginning of a secret whose rest has not come yet.
    fn held_from(&self, text: &[u8], from: usize, open_from: Option<usize>) -> usize {
        let ends = [open_from, self.value_may_begin(text, from), self.line_begins(text, from)];
        ends.into_iter().flatten().min().unwrap_or(text.len()).max(from)
    }

    /// Where the last line begins, which patterns of the user must see as a whole.
    fn line_begins(&self, text: &[u8], from: usize) -> Option<usize> {
        self.patterns.as_ref().filter(|_| text.len() - from < LONGEST_LINE)?;
        Some(text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1))
    }

    /// The first place from which on the text is the beginning of something that the automaton knows.
    fn value_may_begin(&self, text: &[u8], from: usize) -> Option<usize> {
        let longest = self.known.iter().map(Vec::len).max()?;
        let start = text.len().saturating_sub(longest - 1).max(from);
        (start..text.len()).find(|at| {
            let rest = &text[*at..];
            // Sorted, so all that begin with `rest` come right after it.
            let next = self.known.partition_point(|known| known.as_slice() <= rest);
            self.known.get(next).is_some_and(|known| known.starts_with(rest))
        })
    }
}
