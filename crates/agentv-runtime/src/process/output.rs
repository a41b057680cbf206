//! What a program left: how it ended and what it printed, within bounds.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::process::ExitStatus;
use std::time::Duration;

/// A program that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    pub ended: ProgramExit,
    pub stdout: Captured,
    pub stderr: Captured,
    /// From its start until its pipes were closed.
    pub elapsed: Duration,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramExit {
    Code(i32),
    /// It was killed.
    Signal(i32),
}

impl ProgramExit {
    pub(super) fn of(status: ExitStatus) -> Self {
        use std::os::unix::process::ExitStatusExt;
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code),
            (None, signal) => Self::Signal(signal.unwrap_or_default()),
        }
    }

    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }

    pub fn code(self) -> Option<i32> {
        match self {
            Self::Code(code) => Some(code),
            Self::Signal(_) => None,
        }
    }
}

/// `exit code 3`, `signal 9`
impl fmt::Display for ProgramExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
        }
    }
}

/// What came out of a pipe: all of it, or its beginning and its end with the middle counted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Captured {
    bytes: Vec<u8>,
    /// Where in `bytes` something is missing, and how many bytes.
    gap: Option<(usize, u64)>,
}

#[cfg(feature = "fuzzing")]
impl Captured {
    /// What a program printed, if this is all of it.
    pub(crate) fn whole(bytes: &[u8]) -> Self {
        Self { bytes: bytes.to_vec(), gap: None }
    }
}

impl Captured {
    /// Everything, if nothing had to be dropped.
    pub fn bytes_if_whole(&self) -> Option<&[u8]> {
        self.gap.is_none().then_some(&self.bytes)
    }

    /// How many bytes were over the cap.
    pub fn dropped(&self) -> u64 {
        self.gap.map_or(0, |(_, dropped)| dropped)
    }

    /// Up to this many of the first bytes; fewer if those after them were dropped.
    pub fn start(&self, bytes: usize) -> &[u8] {
        let known = self.gap.map_or(self.bytes.len(), |(at, _)| at);
        &self.bytes[..known.min(bytes)]
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The text, with a mark where something is missing. Bytes that are no UTF-8 are replaced.
    pub fn text_lossy(&self) -> Cow<'_, str> {
        let Some((at, dropped)) = self.gap else { return String::from_utf8_lossy(&self.bytes) };
        let (head, tail) = self.bytes.split_at(at);
        let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
        format!("{head}\n… {dropped} bytes left out …\n{tail}").into()
    }

    /// The last `chars` characters, without the space around them.
    pub fn tail(&self, chars: usize) -> String {
        // A character has up to four bytes; the four more are for one that is cut in two.
        let enough = chars.saturating_mul(4).saturating_add(4);
        let text = match self.gap {
            Some((at, _)) if self.bytes.len() - at < enough => self.text_lossy(),
            _ => String::from_utf8_lossy(&self.bytes[self.bytes.len().saturating_sub(enough)..]),
        };
        let text = text.trim_end();
        let start = text.char_indices().rev().take(chars).last().map_or(text.len(), |(at, _)| at);
        text[start..].trim_start().to_owned()
    }
}

/// A pipe's contents while they arrive. Memory is bounded by the cap, whatever is printed.
#[derive(Debug)]
pub(super) struct Capture {
    head: Vec<u8>,
    head_cap: usize,
    /// A window over the last bytes.
    tail: VecDeque<u8>,
    tail_cap: usize,
    dropped: u64,
}

impl Capture {
    pub(super) fn new(cap: usize) -> Self {
        let head_cap = cap / 2;
        Self {
            head: Vec::new(),
            head_cap,
            tail: VecDeque::new(),
            tail_cap: cap - head_cap,
            dropped: 0,
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(bytes.len().min(self.head_cap - self.head.len()));
        self.head.extend_from_slice(head);

        let (skipped, kept) = rest.split_at(rest.len().saturating_sub(self.tail_cap));
        let pushed_out = (self.tail.len() + kept.len()).saturating_sub(self.tail_cap);
        self.tail.drain(..pushed_out);
        self.tail.extend(kept);
        self.dropped += (skipped.len() + pushed_out) as u64;
    }

    pub(super) fn finish(self) -> Captured {
        let Self { head: mut bytes, tail, dropped, .. } = self;
        let gap = (dropped > 0).then_some((bytes.len(), dropped));
        bytes.extend(tail);
        Captured { bytes, gap }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn captured(cap: usize, pieces: &[&[u8]]) -> Captured {
        let mut capture = Capture::new(cap);
        for piece in pieces {
            capture.push(piece);
        }
        capture.finish()
    }

    #[test]
    fn the_middle_is_counted() {
        let output = captured(6, &[b"abcd", b"efgh", b"ijkl"]);
        assert_eq!(output.bytes_if_whole(), None);
        assert_eq!(output.dropped(), 6);
        assert_eq!(output.text_lossy(), "abc\n… 6 bytes left out …\njkl");
        assert_eq!(output.tail(2), "kl");
        assert_eq!((output.start(9), output.start(2)), (&b"abc"[..], &b"ab"[..]));
    }

    #[test]
    fn up_to_the_cap_nothing_is_lost() {
        let output = captured(6, &[b"abcd", b"ef"]);
        assert_eq!(output.bytes_if_whole(), Some(&b"abcdef"[..]));
        assert_eq!(output.dropped(), 0);
    }

    #[test]
    fn a_tail_is_counted_in_characters() {
        let output = captured(100, &["aé😀😀\n".as_bytes()]);
        assert_eq!(output.tail(3), "é😀😀");
        assert_eq!(output.tail(99), "aé😀😀");
        assert_eq!(output.tail(0), "");
        assert_eq!(Captured::default().tail(5), "");
    }

    #[test]
    fn text_that_is_no_utf8_is_shown_all_the_same() {
        assert_eq!(captured(9, &[b"a\xffb"]).text_lossy(), "a\u{fffd}b");
    }

    proptest! {
        #[test]
        fn head_and_tail_are_those_of_the_input(
            cap in 0_usize..20,
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..30), 0..6),
        ) {
            let all = pieces.concat();
            let output = captured(cap, &pieces.iter().map(Vec::as_slice).collect::<Vec<_>>());
            prop_assert_eq!(output.dropped(), all.len().saturating_sub(cap) as u64);
            if all.len() <= cap {
                prop_assert_eq!(output.bytes_if_whole(), Some(all.as_slice()));
            } else {
                let (head, tail) = output.bytes.split_at(cap / 2);
                prop_assert!(all.starts_with(head) && all.ends_with(tail));
                prop_assert_eq!(output.bytes.len(), cap);
            }
            let _ = (output.text_lossy(), output.tail(3));
        }
    }
}
