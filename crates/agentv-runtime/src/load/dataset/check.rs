//! The first pass over a dataset: notes all that is wrong and counts what is good. Rows are read one after the other and
//! checked on all cores, where that pays.

use super::source::{CaseSource, Pick, SourceKind};
use super::stream::{Data, Layout, Row, Rows, Seen, StreamSource};
use crate::config::Notes;
use crate::load::suite::case::{self, Purpose};
use crate::load::suite::loader;
use crate::load::suite::scope::CaseScope;
use crate::parallel::on_each_core;
use agentv_core::{EvalCase, TargetName};
use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// Up to so many bytes a dataset is held in memory, as other files are. Larger ones are streamed: they are read twice, but
/// memory does not grow with them.
const HELD: u64 = 256 * 1024;
/// How many bytes of rows are checked at a time.
const BATCH: usize = 32 * 1024;
/// Less than this is not shared: one thread checks it as quickly as two, of which the second has to be started first.
const SHARE: usize = 128 * 1024;

/// Checks a dataset.
pub(in crate::load) fn check(
    data: Data,
    layout: Layout,
    scope: CaseScope,
    notes: &mut Notes,
) -> io::Result<CaseSource> {
    let bytes = data.bytes()?;
    let purpose = if bytes <= HELD { Purpose::Run } else { Purpose::Check };
    let threads = usize::try_from(bytes).unwrap_or(usize::MAX).div_ceil(SHARE).max(1);
    let input = Mutex::new(Input { rows: layout.open(&data, Seen::first())?, batches: 0 });
    let gathered = Mutex::new(Gathered::new(notes));
    let work = || check_batches(&input, &layout, (&scope, purpose), &gathered);
    let outcomes = on_each_core(threads, work).ok_or_else(|| io::Error::other("a check failed"))?;
    outcomes.into_iter().collect::<io::Result<()>>()?;

    let found = gathered.into_inner().unwrap_or_else(PoisonError::into_inner).found;
    notes.absorb(found.notes);
    let twins = repeated(found.ids);
    if !twins.is_empty() {
        warn_of_twins(&data, &layout, &twins, notes)?;
    }
    let rows = input.into_inner().unwrap_or_else(PoisonError::into_inner).rows;
    let sha256 = rows.seen().sha256();
    let kind = if purpose == Purpose::Run {
        SourceKind::Held(found.cases.into())
    } else {
        let source = Arc::new(StreamSource::new(scope, data, layout, rows.seen().clone()));
        SourceKind::Streamed { source, picks: found.picks, only: None }
    };
    Ok(CaseSource { kind, by_target: found.by_target, total: rows.passed(), sha256 })
}

/// Where all threads take their rows from.
struct Input {
    rows: Rows,
    /// How many batches were taken.
    batches: usize,
}

/// Some rows, copied.
#[derive(Default)]
struct Batch {
    /// Its place among all batches.
    index: usize,
    bytes: Vec<u8>,
    /// Ordinal and line of each row, and where its bytes end.
    rows: Vec<(usize, usize, usize)>,
}

impl Input {
    /// The next rows. `false` if there are none.
    fn fill(&mut self, batch: &mut Batch) -> io::Result<bool> {
        batch.index = self.batches;
        batch.bytes.clear();
        batch.rows.clear();
        while batch.bytes.len() < BATCH {
            let Some(Row { ordinal, number, bytes }) = self.rows.next()? else { break };
            batch.bytes.extend_from_slice(bytes);
            batch.rows.push((ordinal, number, batch.bytes.len()));
        }
        self.batches += 1;
        Ok(!batch.rows.is_empty())
    }
}

impl Batch {
    fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        let mut start = 0;
        self.rows.iter().map(move |&(ordinal, number, end)| {
            let bytes = &self.bytes[start..end];
            start = end;
            Row { ordinal, number, bytes }
        })
    }
}

/// What there is to know of some rows.
struct Found {
    notes: Notes,
    /// Hashes of the ids. Eight bytes a case: a set of texts would hold the whole file.
    ids: Vec<u64>,
    /// The cases themselves, if they are held.
    cases: Vec<Arc<EvalCase>>,
    /// The lots of the wanted cases, if any are to be drawn and they are not held.
    picks: Vec<(Pick, Option<TargetName>)>,
    by_target: BTreeMap<Option<TargetName>, usize>,
}

impl Found {
    fn new(notes: Notes) -> Self {
        let (ids, cases, picks) = (Vec::new(), Vec::new(), Vec::new());
        Self { notes, ids, cases, picks, by_target: BTreeMap::new() }
    }

    fn add(&mut self, other: Self) {
        self.notes.absorb(other.notes);
        self.ids.extend(other.ids);
        self.cases.extend(other.cases);
        self.picks.extend(other.picks);
        for (target, count) in other.by_target {
            *self.by_target.entry(target).or_default() += count;
        }
    }
}

/// What was found so far, in the order of the file.
struct Gathered {
    found: Found,
    /// How many batches are in it.
    batches: usize,
    /// Of batches that were quicker than the one before them.
    early: BTreeMap<usize, Found>,
}

impl Gathered {
    fn new(notes: &Notes) -> Self {
        Self { found: Found::new(notes.of_same_file()), batches: 0, early: BTreeMap::new() }
    }

    fn add(&mut self, index: usize, found: Found) {
        self.early.insert(index, found);
        while let Some(next) = self.early.remove(&self.batches) {
            self.found.add(next);
            self.batches += 1;
        }
    }
}

/// Takes batches and checks them until there are no more.
fn check_batches(
    input: &Mutex<Input>,
    layout: &Layout,
    (scope, purpose): (&CaseScope, Purpose),
    gathered: &Mutex<Gathered>,
) -> io::Result<()> {
    let mut batch = Batch::default();
    while input.lock().unwrap_or_else(PoisonError::into_inner).fill(&mut batch)? {
        let found = check_batch(&batch, layout, scope, purpose);
        gathered.lock().unwrap_or_else(PoisonError::into_inner).add(batch.index, found);
    }
    Ok(())
}

fn check_batch(batch: &Batch, layout: &Layout, scope: &CaseScope, purpose: Purpose) -> Found {
    let mut found = Found::new(Notes::new(scope.given.suite.file.as_path()));
    for row in batch.rows() {
        let ordinal = row.ordinal;
        let Some(case) = layout.read(row, scope, purpose, &mut found.notes) else {
            continue;
        };
        found.ids.push(hash(case.id.as_str()));
        *found.by_target.entry(case.target.clone()).or_default() += 1;
        if purpose == Purpose::Run {
            found.cases.push(Arc::new(case));
        } else if scope.filter.selection.draws() {
            let pick = scope.filter.selection.pick(case.id.as_str(), ordinal);
            found.picks.push((pick, case.target));
        }
    }
    found
}

fn hash(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

/// The hashes that stand more than once.
fn repeated(mut hashes: Vec<u64>) -> HashSet<u64> {
    hashes.sort_unstable();
    hashes.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect()
}

/// Names each repeated id where it stands again.
fn warn_of_twins(
    data: &Data,
    layout: &Layout,
    twins: &HashSet<u64>,
    notes: &mut Notes,
) -> io::Result<()> {
    let mut first: BTreeMap<String, usize> = BTreeMap::new();
    let mut rows = layout.open(data, Seen::default())?;
    while let Some(row) = rows.next()? {
        layout.look_at(row, |node, text| {
            let Some(id) = case::id(node).filter(|id| twins.contains(&hash(id))) else { return };
            if let Some(earlier) = first.get(id) {
                let span = node.get("id").map(|id| id.span);
                loader::warn_of_twin(id, *earlier, span, notes);
                notes.locate(text, row.number);
            } else {
                first.insert(id.to_owned(), row.ordinal + 1);
            }
        });
    }
    Ok(())
}
