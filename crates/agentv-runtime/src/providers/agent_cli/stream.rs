//! Bytes as they come, to lines, to events.

use super::log::StreamLog;
use super::reader::{Event, EventReader, Reading, read_all};
use crate::process::{Captured, OutputStream, Watcher};
use agentv_wire::Omitted;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// The longest line that is kept. An answer of two million characters is a line of 2.4 MB; beyond this a line is no answer
/// but a program that never stops. As JSON it may take ten times as much memory.
const LINE_CAP: usize = 16 << 20;

/// Cuts bytes into lines. Only `\n` ends one: text may hold U+2028, and a piece may end inside a character.
#[derive(Debug, Default)]
pub(super) struct JsonLines {
    begun: Vec<u8>,
    /// The line at hand is longer than anybody wants; it is skipped to its end.
    is_skipping: bool,
    /// How many lines were skipped.
    skipped: u64,
}

impl JsonLines {
    pub(super) fn push(&mut self, mut bytes: &[u8], line: &mut impl FnMut(&[u8])) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (head, rest) = bytes.split_at(end);
            if self.begun.is_empty() && !self.is_skipping {
                line(head);
            } else {
                self.keep(head);
                self.finish(line);
            }
            bytes = &rest[1..];
        }
        self.keep(bytes);
    }

    /// The last line, which nothing ended.
    pub(super) fn finish(&mut self, line: &mut impl FnMut(&[u8])) {
        if !self.begun.is_empty() && !self.is_skipping {
            line(&self.begun);
        }
        self.begun.clear();
        self.is_skipping = false;
    }

    fn keep(&mut self, bytes: &[u8]) {
        if !self.is_skipping && self.begun.len() + bytes.len() > LINE_CAP {
            self.skipped += 1;
            self.is_skipping = true;
            self.begun = Vec::new();
        }
        if !self.is_skipping {
            self.begun.extend_from_slice(bytes);
        }
    }
}

/// Listens to one client: reads its events and keeps its log.
pub(super) struct Listener<R> {
    state: Mutex<State<R>>,
}

struct State<R> {
    stdout: JsonLines,
    stderr: JsonLines,
    hearing: Hearing<R>,
}

/// Apart from the lines, which are borrowed while one is heard.
struct Hearing<R> {
    reader: R,
    log: Option<StreamLog>,
    events: usize,
    last: Option<Instant>,
}

impl<R: EventReader> Listener<R> {
    pub(super) fn new(log: Option<StreamLog>) -> Self {
        let hearing = Hearing { reader: R::default(), log, events: 0, last: None };
        let state = State { stdout: JsonLines::default(), stderr: JsonLines::default(), hearing };
        Self { state: Mutex::new(state) }
    }

    /// All that was heard. What comes later is lost, and nothing does: the program has ended.
    pub(super) fn finish(&self) -> Heard<R> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { stdout, stderr, hearing } = &mut *state;
        stdout.finish(&mut |line| hearing.line(OutputStream::Stdout, line));
        stderr.finish(&mut |line| hearing.line(OutputStream::Stderr, line));
        let omitted = Omitted {
            lines: stdout.skipped + stderr.skipped,
            log_bytes: hearing.log.take().map_or(0, StreamLog::finish),
            ..Omitted::default()
        };
        let reader = std::mem::take(&mut hearing.reader);
        Heard { was_done: reader.is_done(), reader, events: hearing.events, omitted }
    }
}

impl<R: EventReader> Hearing<R> {
    fn line(&mut self, stream: OutputStream, line: &[u8]) {
        let events = match stream {
            OutputStream::Stdout => Event::parse(line).unwrap_or_default(),
            OutputStream::Stderr => Vec::new(),
        };
        for event in &events {
            self.reader.event(event);
        }
        self.events += events.len();
        if let Some(log) = &mut self.log {
            log.line(stream, line, &events);
        }
    }
}

impl<R: EventReader> Watcher for Listener<R> {
    fn saw(&self, stream: OutputStream, bytes: &[u8]) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { stdout, stderr, hearing } = &mut *state;
        let lines = match stream {
            OutputStream::Stdout => stdout,
            OutputStream::Stderr => stderr,
        };
        lines.push(bytes, &mut |line| hearing.line(stream, line));
        hearing.last = Some(Instant::now());
    }

    fn done_since(&self) -> Option<Instant> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.hearing.last.filter(|_| state.hearing.reader.is_done())
    }
}

impl<R> fmt::Debug for Listener<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}

/// What a client said until its end.
pub(super) struct Heard<R> {
    reader: R,
    events: usize,
    /// It had printed its result.
    pub(super) was_done: bool,
    /// What neither the reader nor the log got.
    pub(super) omitted: Omitted,
}

impl<R: EventReader> Heard<R> {
    /// Where there was no event in any line, the output may be one document over many lines.
    pub(super) fn reading(self, stdout: &Captured) -> Reading {
        match stdout.bytes_if_whole() {
            Some(whole) if self.events == 0 => read_all::<R>(whole),
            _ => self.reader.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(pieces: &[&[u8]]) -> Vec<String> {
        let mut lines = JsonLines::default();
        let mut found = Vec::new();
        let mut take = |line: &[u8]| found.push(String::from_utf8_lossy(line).into_owned());
        for piece in pieces {
            lines.push(piece, &mut take);
        }
        lines.finish(&mut take);
        found
    }

    #[test]
    fn a_character_may_be_cut_in_two() {
        assert_eq!(lines(&[b"a\xe6\x97", b"\xa5\nb", b"", b"c"]), ["a日", "bc"]);
    }

    #[test]
    fn only_a_newline_ends_a_line() {
        assert_eq!(
            lines(&["a\u{2028}b\u{85}c\r\n\nd\n".as_bytes()]),
            ["a\u{2028}b\u{85}c\r", "", "d"]
        );
    }

    #[test]
    fn a_line_without_an_end_is_not_kept_for_ever() {
        let mut cut = JsonLines::default();
        let mut found = Vec::new();
        let mut take = |line: &[u8]| found.push(line.to_vec());
        cut.push(&vec![b'x'; LINE_CAP], &mut take);
        cut.push(b"xx", &mut take);
        assert_eq!(cut.begun.capacity(), 0);
        cut.push(b"x\nnext\n", &mut take);
        assert_eq!(found, [b"next"]);
        assert_eq!(cut.skipped, 1);
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(text in "[ab\n]{0,40}", at in 0_usize..40) {
            let at = at.min(text.len());
            let (head, tail) = text.as_bytes().split_at(at);
            prop_assert_eq!(lines(&[head, tail]), lines(&[text.as_bytes()]));
        }
    }
}
