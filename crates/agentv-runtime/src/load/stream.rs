//! Datasets that are never held whole: a first pass checks and counts, the run streams. A row is one case; what a row is,
//! the format says.

use super::case::{self, Purpose};
use super::csv::{self, Table};
use super::jsonl;
use super::scope::Scope;
use super::source::{CaseSource, SourceError, SourceKind};
use crate::config::{Node, Notes};
use agentv_core::EvalCase;
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A dataset that was checked.
#[derive(Debug)]
pub(super) struct StreamSource {
    scope: Scope,
    data: Data,
    layout: Layout,
    /// What the first pass saw; a later pass must see the same.
    seen: Seen,
}

/// Where the rows are. A pipe can be read only once, so it is copied first.
#[derive(Debug)]
pub(super) enum Data {
    File(PathBuf),
    Spooled(tempfile::NamedTempFile),
}

impl Data {
    pub(super) fn new(path: &Path) -> io::Result<Self> {
        if std::fs::metadata(path)?.is_file() {
            return Ok(Self::File(path.to_owned()));
        }
        let mut copy = tempfile::NamedTempFile::new()?;
        io::copy(&mut File::open(path)?, &mut copy)?;
        Ok(Self::Spooled(copy))
    }

    pub(super) fn open(&self) -> io::Result<BufReader<File>> {
        let file = match self {
            Self::File(path) => File::open(path)?,
            Self::Spooled(copy) => copy.reopen()?,
        };
        Ok(BufReader::with_capacity(64 * 1024, file))
    }
}

/// The length of a file and a hash of its bytes.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    bytes: u64,
    hash: DefaultHasher,
}

impl Seen {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.hash.write(bytes);
    }

    /// Whether there is more here than there was, which would never end if the run itself adds to the file.
    fn is_beyond(&self, other: &Self) -> bool {
        self.bytes > other.bytes
    }

    fn is_same(&self, other: &Self) -> bool {
        (self.bytes, self.hash.finish()) == (other.bytes, other.hash.finish())
    }
}

/// How rows are written.
#[derive(Debug)]
pub(super) enum Layout {
    Lines,
    Table(Table),
}

/// One row, not read yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'r> {
    /// Its place in the dataset, from 0, blank rows not counted.
    pub ordinal: usize,
    /// The line it starts on, from 1, blank lines counted.
    pub number: usize,
    pub bytes: &'r [u8],
}

/// Row after row, the buffer reused.
#[derive(Debug)]
struct Rows {
    reader: RowReader,
    /// The place of the next row.
    ordinal: usize,
}

#[derive(Debug)]
enum RowReader {
    Lines(jsonl::Lines),
    Records(Box<csv::Records>),
}

impl Rows {
    fn next(&mut self) -> io::Result<Option<Row<'_>>> {
        let found = match &mut self.reader {
            RowReader::Lines(lines) => lines.next()?,
            RowReader::Records(records) => records.next()?,
        };
        let Some((number, bytes)) = found else { return Ok(None) };
        let ordinal = self.ordinal;
        self.ordinal += 1;
        Ok(Some(Row { ordinal, number, bytes }))
    }

    fn seen(&self) -> &Seen {
        match &self.reader {
            RowReader::Lines(lines) => &lines.seen,
            RowReader::Records(records) => &records.seen,
        }
    }
}

impl Layout {
    fn open(&self, data: &Data) -> io::Result<Rows> {
        let input = data.open()?;
        let reader = match self {
            Self::Lines => RowReader::Lines(jsonl::Lines::new(input)),
            Self::Table(table) => RowReader::Records(Box::new(table.records(input)?)),
        };
        Ok(Rows { reader, ordinal: 0 })
    }

    /// One row → one case. `None` if it is not wanted, or wrong, which is then noted.
    fn read(
        &self,
        row: Row<'_>,
        scope: &Scope,
        purpose: Purpose,
        notes: &mut Notes,
    ) -> Option<EvalCase> {
        match self {
            Self::Lines => jsonl::read(row, scope, purpose, notes),
            Self::Table(table) => table.read(row, scope, purpose, notes),
        }
    }

    /// Hands a row that is as it should be to `look`, with places and the text that they are in.
    fn look_at(&self, row: Row<'_>, look: impl FnOnce(&Node<'_>, &str)) {
        match self {
            Self::Lines => jsonl::look_at(row, look),
            Self::Table(table) => table.look_at(row, look),
        }
    }
}

/// The first pass: notes all that is wrong and counts what is good.
pub(super) fn check(
    data: Data,
    layout: Layout,
    scope: Scope,
    notes: &mut Notes,
) -> io::Result<CaseSource> {
    let mut by_target = BTreeMap::new();
    let mut picks = Vec::new();
    let mut ids: Vec<u64> = Vec::new();
    let mut rows = layout.open(&data)?;
    while let Some(row) = rows.next()? {
        let ordinal = row.ordinal;
        if let Some(case) = layout.read(row, &scope, Purpose::Check, notes) {
            ids.push(hash(case.id.as_str()));
            if scope.selection.draws() {
                let pick = scope.selection.pick(case.id.as_str(), ordinal);
                picks.push((pick, case.target.clone()));
            }
            *by_target.entry(case.target).or_default() += 1;
        }
    }
    let total = rows.ordinal;
    let source = StreamSource { scope, data, layout, seen: rows.seen().clone() };
    let twins = repeated(ids);
    if !twins.is_empty() {
        warn_of_twins(&source, &twins, notes)?;
    }
    let kind = SourceKind::Streamed { source: Arc::new(source), picks, only: None };
    Ok(CaseSource { kind, by_target, total })
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
fn warn_of_twins(source: &StreamSource, twins: &HashSet<u64>, notes: &mut Notes) -> io::Result<()> {
    let mut first: BTreeMap<String, usize> = BTreeMap::new();
    let mut rows = source.layout.open(&source.data)?;
    while let Some(row) = rows.next()? {
        source.layout.look_at(row, |node, text| {
            let Some(id) = case::id(node).filter(|id| twins.contains(&hash(id))) else { return };
            if let Some(earlier) = first.get(id) {
                let span = node.get("id").map(|id| id.span);
                super::suite::warn_of_twin(id, *earlier, span, notes);
                notes.locate(text, row.number);
            } else {
                first.insert(id.to_owned(), row.ordinal + 1);
            }
        });
    }
    Ok(())
}

impl StreamSource {
    pub(super) fn open(self: &Arc<Self>) -> Result<StreamedCases, SourceError> {
        let rows = self.layout.open(&self.data).map_err(|source| self.io_error(source))?;
        Ok(StreamedCases { source: Arc::clone(self), rows, ended: false })
    }

    fn io_error(&self, source: io::Error) -> SourceError {
        SourceError::Io { path: self.scope.suite.file.clone(), source }
    }
}

/// A later pass over the rows.
#[derive(Debug)]
pub struct StreamedCases {
    source: Arc<StreamSource>,
    rows: Rows,
    ended: bool,
}

/// A row of the dataset, not read yet.
#[derive(Debug)]
pub struct StreamedRow {
    source: Arc<StreamSource>,
    pub(super) ordinal: usize,
    number: usize,
    bytes: Vec<u8>,
}

impl StreamedCases {
    pub(super) fn pull(&mut self) -> Result<Option<StreamedRow>, SourceError> {
        if self.ended {
            return Ok(None);
        }
        let changed = || SourceError::Changed { path: self.source.scope.suite.file.clone() };
        if self.rows.seen().is_beyond(&self.source.seen) {
            self.ended = true;
            return Err(changed());
        }
        let row = self.rows.next().map_err(|error| self.source.io_error(error));
        if let Some(Row { ordinal, number, bytes }) = row.inspect_err(|_| self.ended = true)? {
            let source = Arc::clone(&self.source);
            return Ok(Some(StreamedRow { source, ordinal, number, bytes: bytes.to_vec() }));
        }
        self.ended = true;
        if self.rows.seen().is_same(&self.source.seen) {
            return Ok(None);
        }
        Err(changed())
    }
}

impl StreamedRow {
    /// `None` if it is not wanted, or wrong, of which the first pass has said all there is to say.
    pub(super) fn case(&self) -> Option<EvalCase> {
        let row = Row { ordinal: self.ordinal, number: self.number, bytes: &self.bytes };
        let StreamSource { layout, scope, .. } = &*self.source;
        layout.read(row, scope, Purpose::Run, &mut Notes::new(""))
    }
}
