//! JSONL datasets: a case per line. They are never held whole: a first pass checks and counts, the run streams.

use super::case::Purpose;
use super::scope::Scope;
use super::source::{CaseSource, SourceError, SourceKind};
use super::{case, json};
use crate::config::{Notes, Span};
use agentv_core::EvalCase;
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufRead, BufReader};
use std::path::PathBuf;
use std::sync::Arc;

/// A dataset that was checked.
#[derive(Debug)]
pub(super) struct JsonlSource {
    scope: Scope,
    data: Data,
    /// What the first pass saw; a later pass must see the same.
    seen: Seen,
}

/// Where the lines are. A pipe can be read only once, so it is copied first.
#[derive(Debug)]
pub(super) enum Data {
    File(PathBuf),
    Spooled(tempfile::NamedTempFile),
}

impl Data {
    pub(super) fn new(path: &std::path::Path) -> io::Result<Self> {
        if std::fs::metadata(path)?.is_file() {
            return Ok(Self::File(path.to_owned()));
        }
        let mut copy = tempfile::NamedTempFile::new()?;
        io::copy(&mut File::open(path)?, &mut copy)?;
        Ok(Self::Spooled(copy))
    }

    fn open(&self) -> io::Result<Lines> {
        let file = match self {
            Self::File(path) => File::open(path)?,
            Self::Spooled(copy) => copy.reopen()?,
        };
        Ok(Lines {
            reader: BufReader::with_capacity(64 * 1024, file),
            buffer: Vec::new(),
            number: 0,
            seen: Seen::default(),
        })
    }
}

/// The length of a file and a hash of its bytes.
#[derive(Debug, Clone, Default)]
struct Seen {
    bytes: u64,
    hash: DefaultHasher,
}

impl Seen {
    fn add(&mut self, line: &[u8]) {
        self.bytes += line.len() as u64;
        self.hash.write(line);
    }

    fn is_same(&self, other: &Self) -> bool {
        (self.bytes, self.hash.finish()) == (other.bytes, other.hash.finish())
    }
}

/// Physical lines, the buffer reused.
#[derive(Debug)]
struct Lines {
    reader: BufReader<File>,
    buffer: Vec<u8>,
    number: usize,
    seen: Seen,
}

/// A line that is not blank.
struct Line<'l> {
    /// From 1, blank lines counted.
    number: usize,
    bytes: &'l [u8],
}

impl Lines {
    fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        loop {
            self.buffer.clear();
            if self.reader.read_until(b'\n', &mut self.buffer)? == 0 {
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
        Ok(Some(Line { number: self.number, bytes }))
    }
}

const BOM: &[u8] = "\u{feff}".as_bytes();

/// The first pass: notes all that is wrong and counts what is good.
pub(super) fn check(data: Data, scope: Scope, notes: &mut Notes) -> io::Result<CaseSource> {
    let mut by_target = BTreeMap::new();
    let mut picks = Vec::new();
    let mut ids: Vec<u64> = Vec::new();
    let mut lines = data.open()?;
    let mut ordinal = 0;
    while let Some(line) = lines.next()? {
        if let Some(case) = read(&line, ordinal, &scope, Purpose::Check, notes) {
            ids.push(hash(case.id.as_str()));
            if scope.selection.draws() {
                let pick = scope.selection.pick(case.id.as_str(), ordinal);
                picks.push((pick, case.target.clone()));
            }
            *by_target.entry(case.target).or_default() += 1;
        }
        ordinal += 1;
    }
    let source = JsonlSource { scope, data, seen: lines.seen };
    let twins = repeated(ids);
    if !twins.is_empty() {
        warn_of_twins(&source, &twins, notes)?;
    }
    let kind = SourceKind::Streamed { source: Arc::new(source), picks, only: None };
    Ok(CaseSource { kind, by_target, total: ordinal })
}

/// One line → one case. `None` if it is not wanted, or wrong, which is then noted.
fn read(
    line: &Line<'_>,
    ordinal: usize,
    scope: &Scope,
    purpose: Purpose,
    notes: &mut Notes,
) -> Option<EvalCase> {
    let number = line.number;
    let text = match std::str::from_utf8(line.bytes) {
        Ok(text) => text,
        Err(error) => {
            let message = format!("Line {number}: byte {} is not UTF-8", error.valid_up_to() + 1);
            notes.error("jsonl::utf8", Some(Span::default()), message);
            notes.locate(&String::from_utf8_lossy(line.bytes), number);
            return None;
        }
    };
    let node = match json::parse(text) {
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
            return None;
        }
    };
    if !scope.selection.wants(&node) {
        return None;
    }
    let mark = notes.mark();
    let case = case::check(&node, ordinal, scope, purpose, notes);
    if notes.mark() == mark {
        return case;
    }
    // Something is to be said, so the line is read again in the way that knows places.
    notes.rewind(mark);
    let node = json::located(text).unwrap_or(node);
    let case = case::check(&node, ordinal, scope, purpose, notes);
    notes.locate(text, number);
    case
}

fn hash(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

/// The hashes that stand more than once. Eight bytes a case: a set of texts would hold the whole file.
fn repeated(mut hashes: Vec<u64>) -> HashSet<u64> {
    hashes.sort_unstable();
    hashes.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect()
}

/// Names each repeated id where it stands again.
fn warn_of_twins(source: &JsonlSource, twins: &HashSet<u64>, notes: &mut Notes) -> io::Result<()> {
    let mut first: BTreeMap<String, usize> = BTreeMap::new();
    let mut lines = source.data.open()?;
    while let Some(line) = lines.next()? {
        let Some(text) = std::str::from_utf8(line.bytes).ok() else { continue };
        let Some(node) = json::located(text).ok() else { continue };
        let Some(id) = case::id(&node).filter(|id| twins.contains(&hash(id))) else { continue };
        if let Some(earlier) = first.get(id) {
            let span = node.get("id").map(|id| id.span);
            super::suite::warn_of_twin(id, *earlier, span, notes);
            notes.locate(text, line.number);
        } else {
            first.insert(id.to_owned(), line.number);
        }
    }
    Ok(())
}

impl JsonlSource {
    pub(super) fn open(self: &Arc<Self>) -> Result<JsonlCases, SourceError> {
        let lines = self.data.open().map_err(|source| self.io_error(source))?;
        Ok(JsonlCases { source: Arc::clone(self), lines, ordinal: 0, ended: false })
    }

    fn io_error(&self, source: io::Error) -> SourceError {
        SourceError::Io { path: self.scope.suite.file.clone(), source }
    }
}

/// A later pass over the lines.
#[derive(Debug)]
pub struct JsonlCases {
    source: Arc<JsonlSource>,
    lines: Lines,
    ordinal: usize,
    ended: bool,
}

/// A line of the dataset, not read yet.
#[derive(Debug)]
pub struct JsonlLine {
    source: Arc<JsonlSource>,
    pub(super) ordinal: usize,
    number: usize,
    bytes: Vec<u8>,
}

impl JsonlCases {
    pub(super) fn pull(&mut self) -> Result<Option<JsonlLine>, SourceError> {
        if self.ended {
            return Ok(None);
        }
        let line = self.lines.next().map_err(|error| self.source.io_error(error));
        if let Some(Line { number, bytes }) = line.inspect_err(|_| self.ended = true)? {
            let (source, ordinal) = (Arc::clone(&self.source), self.ordinal);
            self.ordinal += 1;
            return Ok(Some(JsonlLine { source, ordinal, number, bytes: bytes.to_vec() }));
        }
        self.ended = true;
        if self.lines.seen.is_same(&self.source.seen) {
            return Ok(None);
        }
        Err(SourceError::Changed { path: self.source.scope.suite.file.clone() })
    }
}

impl JsonlLine {
    /// `None` if it is not wanted, or wrong, of which the first pass has said all there is to say.
    pub(super) fn case(&self) -> Option<EvalCase> {
        let line = Line { number: self.number, bytes: &self.bytes };
        read(&line, self.ordinal, &self.source.scope, Purpose::Run, &mut Notes::new(""))
    }
}
