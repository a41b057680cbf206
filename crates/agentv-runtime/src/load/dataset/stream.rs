//! Datasets, row by row. Large ones are never held whole: once they are checked, the run streams them. A row is one case;
//! what a row is, the format says.

use super::csv::{self, Table};
use super::jsonl;
use super::row_ids::{self, IdOrigin, IdRepairs};
use super::source::SourceError;
use crate::config::{Node, Notes};
use crate::file_input::{self, FileRefusal};
use crate::hash::ContentHasher;
use crate::load::suite::case::{self, LoadPurpose};
use crate::load::suite::scope::CaseScope;
use agentv_core::EvalCase;
use foldhash::fast::FixedState;
use std::fs::File;
use std::hash::BuildHasher as _;
use std::io::{self, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A dataset that was checked.
#[derive(Debug)]
pub(in crate::load) struct StreamSource {
    scope: CaseScope,
    data: Data,
    layout: Layout,
    /// What the first pass saw; a later pass must see the same.
    seen: Seen,
    repairs: IdRepairs,
}

/// How much of a pipe is copied. A file may have any size.
const SPOOL_CAP: u64 = 256 << 20;

/// Where the rows are. A pipe can be read only once, so it is copied first.
#[derive(Debug)]
pub(in crate::load) enum Data {
    File(PathBuf),
    Spooled(tempfile::NamedTempFile),
}

impl Data {
    pub(in crate::load) fn new(path: &Path) -> io::Result<Self> {
        if std::fs::metadata(path)?.is_file() {
            return Ok(Self::File(path.to_owned()));
        }
        let pipe = file_input::open_argument(path)?;
        let mut copy = tempfile::NamedTempFile::new()?;
        if io::copy(&mut pipe.take(SPOOL_CAP + 1), &mut copy)? > SPOOL_CAP {
            return Err(FileRefusal::TooLarge(SPOOL_CAP).into());
        }
        Ok(Self::Spooled(copy))
    }

    pub(in crate::load) fn open(&self) -> io::Result<BufReader<File>> {
        let file = match self {
            Self::File(path) => file_input::open(path)?,
            Self::Spooled(copy) => copy.reopen()?,
        };
        Ok(BufReader::with_capacity(64 * 1024, file))
    }

    pub(in crate::load) fn bytes(&self) -> io::Result<u64> {
        let path = match self {
            Self::File(path) => path,
            Self::Spooled(copy) => copy.path(),
        };
        Ok(std::fs::metadata(path)?.len())
    }
}

/// The length of a file and a hash of its bytes, as far as it was read.
#[derive(Debug, Clone, Default)]
pub(in crate::load) struct Seen {
    bytes: u64,
    /// A quick hash: two files that share it by intent are not expected.
    hash: u64,
    /// What others know the file by. Only the first pass takes it.
    sha256: Option<ContentHasher>,
}

impl Seen {
    /// Nothing yet, for a first pass.
    pub(in crate::load) fn first() -> Self {
        Self { sha256: Some(ContentHasher::default()), ..Self::default() }
    }

    pub(in crate::load) fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.hash = FixedState::with_seed(self.hash).hash_one(bytes);
        if let Some(sha256) = &mut self.sha256 {
            sha256.update(bytes);
        }
    }

    /// The hash of the whole file, after a first pass.
    pub(in crate::load) fn sha256(&self) -> Option<[u8; 32]> {
        self.sha256.clone().map(ContentHasher::finish)
    }

    /// Whether there is more here than there was, which would never end if the run itself adds to the file.
    fn is_beyond(&self, other: &Self) -> bool {
        self.bytes > other.bytes
    }

    fn is_same(&self, other: &Self) -> bool {
        (self.bytes, self.hash) == (other.bytes, other.hash)
    }
}

/// How rows are written.
#[derive(Debug)]
pub(in crate::load) enum Layout {
    Lines,
    Table(Table),
}

/// One row, not read yet.
#[derive(Debug, Clone, Copy)]
pub(in crate::load) struct Row<'r> {
    /// Its place in the dataset, from 0, blank rows not counted.
    pub ordinal: usize,
    /// The line it starts on, from 1, blank lines counted.
    pub number: usize,
    pub bytes: &'r [u8],
}

/// What became of a row.
#[derive(Debug, Default)]
pub(super) struct ReadRow {
    /// `None` if it is not wanted, or wrong.
    pub case: Option<EvalCase>,
    /// The hash of its id, if the row has none of its own. It is there whether or not the case is wanted, so that equal
    /// rows are numbered alike in every run.
    pub derived: Option<u64>,
}

impl ReadRow {
    /// Reads the case of a row that has an id by now.
    pub(super) fn of(
        row: &Node<'_>,
        origin: IdOrigin,
        read: impl FnOnce(&Node<'_>) -> Option<EvalCase>,
    ) -> Self {
        let id = case::id(row).filter(|_| origin == IdOrigin::Derived);
        Self { derived: id.map(row_ids::hash), case: read(row) }
    }
}

/// Row after row, the buffer reused.
#[derive(Debug)]
pub(in crate::load) struct Rows {
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
    pub(in crate::load) fn next(&mut self) -> io::Result<Option<Row<'_>>> {
        let found = match &mut self.reader {
            RowReader::Lines(lines) => lines.next()?,
            RowReader::Records(records) => records.next()?,
        };
        let Some((number, bytes)) = found else { return Ok(None) };
        let ordinal = self.ordinal;
        self.ordinal += 1;
        Ok(Some(Row { ordinal, number, bytes }))
    }

    /// How many there were so far.
    pub(in crate::load) fn passed(&self) -> usize {
        self.ordinal
    }

    pub(in crate::load) fn seen(&self) -> &Seen {
        match &self.reader {
            RowReader::Lines(lines) => &lines.seen,
            RowReader::Records(records) => &records.seen,
        }
    }
}

impl Layout {
    /// Starts with the first row. `seen` is empty; what was seen is added to it.
    pub(in crate::load) fn open(&self, data: &Data, seen: Seen) -> io::Result<Rows> {
        let input = data.open()?;
        let reader = match self {
            Self::Lines => RowReader::Lines(jsonl::Lines::new(input, seen)),
            Self::Table(table) => RowReader::Records(Box::new(table.records(input, seen)?)),
        };
        Ok(Rows { reader, ordinal: 0 })
    }

    /// One row → one case. There is none if it is not wanted, or wrong, which is then noted.
    pub(super) fn read(
        &self,
        row: Row<'_>,
        scope: &CaseScope,
        purpose: LoadPurpose,
        notes: &mut Notes,
    ) -> ReadRow {
        match self {
            Self::Lines => jsonl::read(row, scope, purpose, notes),
            Self::Table(table) => table.read(row, scope, purpose, notes),
        }
    }

    /// Hands a row that is as it should be to `look`, with places and the text that they are in.
    pub(super) fn look_at(&self, row: Row<'_>, look: impl FnOnce(&Node<'_>, IdOrigin, &str)) {
        match self {
            Self::Lines => jsonl::look_at(row, look),
            Self::Table(table) => table.look_at(row, look),
        }
    }
}

impl StreamSource {
    pub(super) fn new(
        scope: CaseScope,
        (data, layout): (Data, Layout),
        seen: Seen,
        repairs: IdRepairs,
    ) -> Self {
        Self { scope, data, layout, seen, repairs }
    }

    pub(in crate::load) fn open(self: &Arc<Self>) -> Result<StreamedCases, SourceError> {
        let rows = self
            .layout
            .open(&self.data, Seen::default())
            .map_err(|source| self.io_error(source))?;
        Ok(StreamedCases { source: Arc::clone(self), rows, ended: false })
    }

    fn io_error(&self, source: io::Error) -> SourceError {
        SourceError::Io { path: self.scope.given.suite.file.clone(), source }
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
    pub(in crate::load) ordinal: usize,
    number: usize,
    bytes: Vec<u8>,
}

impl StreamedCases {
    pub(super) fn pull(&mut self) -> Result<Option<StreamedRow>, SourceError> {
        while !self.ended {
            let row = self.advance().inspect_err(|_| self.ended = true)?;
            let Some(row) = row else { break };
            if !self.source.repairs.left_out.contains(row.ordinal) {
                return Ok(Some(row));
            }
        }
        self.ended = true;
        Ok(None)
    }

    fn advance(&mut self) -> Result<Option<StreamedRow>, SourceError> {
        let source = &self.source;
        let changed = || SourceError::Changed { path: source.scope.given.suite.file.clone() };
        if self.rows.seen().is_beyond(&source.seen) {
            return Err(changed());
        }
        let row = self.rows.next().map_err(|error| source.io_error(error))?;
        if let Some(Row { ordinal, number, bytes }) = row {
            let source = Arc::clone(source);
            return Ok(Some(StreamedRow { source, ordinal, number, bytes: bytes.to_vec() }));
        }
        if self.rows.seen().is_same(&source.seen) { Ok(None) } else { Err(changed()) }
    }
}

impl StreamedRow {
    /// `None` if it is not wanted, or wrong, of which the first pass has said all there is to say.
    pub(in crate::load) fn case(&self) -> Option<EvalCase> {
        let row = Row { ordinal: self.ordinal, number: self.number, bytes: &self.bytes };
        let StreamSource { layout, scope, repairs, .. } = &*self.source;
        let mut case = layout.read(row, scope, LoadPurpose::Run, &mut Notes::new("")).case?;
        repairs.apply(&mut case);
        Some(case)
    }
}
