//! Masks secrets in everything that a run keeps or shows: values of keys in all forms in which they travel, and texts that
//! look like well-known keys.
//!
//! Text is masked when it arrives, before it is graded, hashed or written, so that a resume and a replay see the same text
//! as the run. One pass of an Aho–Corasick automaton finds values and the beginnings of well-known keys, so the time grows
//! with the text and not with the number of secrets.

mod forms;
mod json;
mod search;
mod shapes;
mod stream;

pub use stream::RedactedStream;

use crate::Secret;
use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};
use regex::bytes::{Regex, RegexBuilder};
use shapes::{Extent, KeyShape, SHAPES};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

/// What a secret is replaced by.
pub const MASK: &str = "[redacted]";
/// Shorter values are not masked: they would be found in ordinary text.
pub const SHORTEST_SECRET: usize = 8;
/// A regular expression of a user may not need more memory than this.
const PATTERN_SIZE: usize = 1 << 20;

/// Masks secrets in text. The default masks nothing.
#[derive(Default)]
pub struct Redactor {
    automaton: Option<AhoCorasick>,
    /// Of the automaton's patterns, the first ones are values of secrets, the rest are the beginnings of [`SHAPES`].
    values: usize,
    /// The user's own patterns.
    patterns: Option<Regex>,
    /// All that the automaton knows, sorted, to tell whether text at the end of a piece may be the beginning of it.
    known: Vec<Vec<u8>>,
}

/// What was found in a text.
#[derive(Debug, Default)]
struct Scan {
    /// Secrets, in order and apart from each other.
    spans: Vec<Range<usize>>,
    /// Where a well-known key begins that may go on behind the end of the text.
    open_from: Option<usize>,
}

/// A pattern of the user that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    #[error("`{pattern}` is not a regular expression: {reason}")]
    Invalid { pattern: String, reason: String },
    #[error("`{pattern}` matches the empty text, so it would mask everything")]
    MatchesEmpty { pattern: String },
}

/// Checks a pattern of the user.
pub fn check_pattern(pattern: &str) -> Result<(), PatternError> {
    let invalid = |error: regex::Error| PatternError::Invalid {
        pattern: pattern.to_owned(),
        // The rest of a syntax error draws the pattern once more.
        reason: error.to_string().lines().last().unwrap_or_default().trim().to_owned(),
    };
    let regex = build(pattern).map_err(invalid)?;
    if regex.is_match(b"") {
        return Err(PatternError::MatchesEmpty { pattern: pattern.to_owned() });
    }
    Ok(())
}

fn build(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).size_limit(PATTERN_SIZE).build()
}

impl Redactor {
    /// Masks these secrets, texts that look like well-known keys, and what the patterns match. Patterns that
    /// [`check_pattern`] refuses are left out.
    pub fn new<'s, 'p>(
        secrets: impl IntoIterator<Item = &'s Secret>,
        patterns: impl IntoIterator<Item = &'p str>,
    ) -> Self {
        let mut values = BTreeSet::new();
        for secret in secrets {
            values.extend(forms::of(secret.expose()));
        }
        let beginnings = SHAPES.iter().map(|shape| shape.prefix.as_bytes().to_vec());
        let (count, known) = (values.len(), values.into_iter().chain(beginnings));
        let mut known: Vec<Vec<u8>> = known.collect();
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            // A third quicker than what is chosen for this many patterns, at a few hundred kilobytes.
            .kind(Some(AhoCorasickKind::DFA))
            .build(&known)
            .ok();
        known.sort();
        let checked = patterns.into_iter().filter(|pattern| check_pattern(pattern).is_ok());
        let joined: Vec<String> = checked.map(|pattern| format!("(?:{pattern})")).collect();
        let patterns = (!joined.is_empty()).then(|| build(&joined.join("|")).ok()).flatten();
        Self { automaton, values: count, patterns, known }
    }

    /// Masks nothing.
    pub fn off() -> Self {
        Self::default()
    }

    pub fn is_off(&self) -> bool {
        self.automaton.is_none()
    }

    /// The text without secrets.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            // What is cut out are whole characters, unless a pattern of the user speaks of bytes.
            Cow::Owned(masked) => Cow::Owned(String::from_utf8_lossy(&masked).into_owned()),
        }
    }

    /// The bytes without secrets.
    pub fn bytes<'t>(&self, bytes: &'t [u8]) -> Cow<'t, [u8]> {
        let spans = self.scan(bytes, 0).spans;
        if spans.is_empty() {
            return Cow::Borrowed(bytes);
        }
        let mut masked = Vec::with_capacity(bytes.len());
        mask(bytes, 0..bytes.len(), &spans, &mut masked);
        Cow::Owned(masked)
    }

    /// Whether there is something to mask.
    fn finds(&self, text: &str) -> bool {
        let text = text.as_bytes();
        // All that is known is at least as long as the shortest secret.
        (text.len() >= SHORTEST_SECRET && self.next_known(text, 0, &mut None).is_some())
            || self.patterns.as_ref().is_some_and(|patterns| patterns.is_match(text))
    }

    /// Where secrets are, from this place on.
    fn scan(&self, text: &[u8], from: usize) -> Scan {
        let mut scan = Scan::default();
        let mut at = from;
        while let Some(found) = self.next_known(text, at, &mut scan.open_from) {
            at = found.end;
            scan.spans.push(found);
        }
        if let Some(patterns) = &self.patterns {
            let found = patterns.find_iter(&text[from..]);
            scan.spans.extend(found.map(|found| from + found.start()..from + found.end()));
            scan.spans = merged(scan.spans);
        }
        scan
    }

    /// The next value of a secret, or text that looks like a well-known key.
    fn next_known(
        &self,
        text: &[u8],
        from: usize,
        open_from: &mut Option<usize>,
    ) -> Option<Range<usize>> {
        let automaton = self.automaton.as_ref()?;
        let mut at = from;
        loop {
            let found = automaton.find(Input::new(text).range(at..))?;
            let Some(shape) = self.shape(found.pattern().as_usize()) else {
                return Some(found.range());
            };
            let extent = shape.extent(text, found.start());
            if matches!(extent, Extent::Open(_)) {
                open_from.get_or_insert(found.start());
            }
            match extent {
                Extent::Ends(end) | Extent::Open(Some(end)) => return Some(found.start()..end),
                Extent::NotAKey | Extent::Open(None) => at = found.start() + 1,
            }
        }
    }

    /// The shape that a pattern of the automaton is the beginning of.
    fn shape(&self, pattern: usize) -> Option<&'static KeyShape> {
        SHAPES.get(pattern.checked_sub(self.values)?)
    }
}

/// Copies a part of the text, with a mask in place of each span.
fn mask(text: &[u8], part: Range<usize>, spans: &[Range<usize>], out: &mut Vec<u8>) {
    let mut at = part.start;
    for span in spans {
        out.extend_from_slice(&text[at..span.start]);
        out.extend_from_slice(MASK.as_bytes());
        at = span.end;
    }
    out.extend_from_slice(&text[at..part.end]);
}

/// Spans in order, with those that touch made one.
fn merged(mut spans: Vec<Range<usize>>) -> Vec<Range<usize>> {
    spans.sort_by_key(|span| span.start);
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(spans.len());
    for span in spans {
        match merged.last_mut() {
            Some(last) if span.start < last.end => last.end = last.end.max(span.end),
            _ => merged.push(span),
        }
    }
    merged
}

/// What it looks for is secret.
impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({} forms)", self.values)
    }
}

#[cfg(test)]
mod tests;
