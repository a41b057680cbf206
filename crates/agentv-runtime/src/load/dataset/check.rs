//! The first pass over a dataset: notes all that is wrong and counts what is good. Rows are read one after the other and
//! checked on all cores, where that pays.

use super::judged::JudgedCases;
use super::row_ids::{self, IdRepairs};
use super::source::{CaseSource, Pick, SourceKind};
use super::stream::{Data, Layout, ReadRow, Row, Rows, Seen, StreamSource};
use crate::config::Notes;
use crate::load::suite::case::LoadPurpose;
use crate::load::suite::scope::CaseScope;
use crate::parallel::on_each_core;
use agentv_core::{EvalCase, TargetName};
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// Up to this many bytes, a dataset is held in memory, as other files are. Larger ones are streamed: they are read twice, but
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
    let purpose = if bytes <= HELD { LoadPurpose::Run } else { LoadPurpose::Check };
    let threads = usize::try_from(bytes).unwrap_or(usize::MAX).div_ceil(SHARE).max(1);
    let input = Mutex::new(Input { rows: layout.open(&data, Seen::first())?, batches: 0 });
    let gathered = Mutex::new(Gathered::new(notes));
    let work = || check_batches(&input, &layout, (&scope, purpose), &gathered);
    let outcomes = on_each_core(threads, work).ok_or_else(|| io::Error::other("a check failed"))?;
    outcomes.into_iter().collect::<io::Result<()>>()?;

    let mut found = gathered.into_inner().unwrap_or_else(PoisonError::into_inner).found;
    notes.absorb(std::mem::replace(&mut found.notes, notes.of_same_file()));
    warn_of_derived(found.derived, &layout, notes);
    let repeated = row_ids::repeated(std::mem::take(&mut found.ids));
    let repairs = if repeated.is_empty() {
        IdRepairs::default()
    } else {
        IdRepairs::find(&repeated, (&data, &layout), &scope, notes)?
    };
    found.repair(&repairs);
    let rows = input.into_inner().unwrap_or_else(PoisonError::into_inner).rows;
    let sha256 = rows.seen().sha256();
    let kind = if purpose == LoadPurpose::Run {
        SourceKind::Held(found.cases.into())
    } else {
        let source =
            Arc::new(StreamSource::new(scope, (data, layout), rows.seen().clone(), repairs));
        SourceKind::Streamed { source, picks: found.picks, only: None }
    };
    let judged = found.judged.into_targets();
    Ok(CaseSource { kind, by_target: found.by_target, judged, total: rows.passed(), sha256 })
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
    /// Hashes of the ids.
    ids: Vec<u64>,
    /// How many rows have no id of their own.
    derived: usize,
    /// The cases themselves, if they are held.
    cases: Vec<Arc<EvalCase>>,
    /// The lots of the wanted cases, if any are to be drawn and they are not held.
    picks: Vec<(Pick, Option<TargetName>)>,
    by_target: BTreeMap<Option<TargetName>, usize>,
    judged: JudgedCases,
}

impl Found {
    fn new(notes: Notes) -> Self {
        let (ids, cases, picks) = (Vec::new(), Vec::new(), Vec::new());
        let (by_target, judged) = (BTreeMap::new(), JudgedCases::default());
        Self { notes, ids, derived: 0, cases, picks, by_target, judged }
    }

    fn add(&mut self, other: Self) {
        self.notes.absorb(other.notes);
        self.ids.extend(other.ids);
        self.derived += other.derived;
        self.cases.extend(other.cases);
        self.picks.extend(other.picks);
        for (target, count) in other.by_target {
            *self.by_target.entry(target).or_default() += count;
        }
        self.judged.add(other.judged);
    }

    /// Makes the ids unique.
    fn repair(&mut self, repairs: &IdRepairs) {
        self.cases.retain(|case| !repairs.left_out.contains(case.ordinal));
        for case in self.cases.iter_mut().filter_map(Arc::get_mut) {
            repairs.apply(case);
        }
        self.picks.retain(|(pick, _)| !repairs.left_out.contains(pick.ordinal));
        for new in &repairs.picks {
            let found = self.picks.binary_search_by_key(&new.ordinal, |(pick, _)| pick.ordinal);
            if let Ok(index) = found {
                self.picks[index].0 = *new;
            }
        }
        for target in &repairs.lost {
            if let Some(count) = self.by_target.get_mut(target) {
                *count -= 1;
            }
        }
        self.by_target.retain(|_, count| *count > 0);
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
    (scope, purpose): (&CaseScope, LoadPurpose),
    gathered: &Mutex<Gathered>,
) -> io::Result<()> {
    let mut batch = Batch::default();
    while input.lock().unwrap_or_else(PoisonError::into_inner).fill(&mut batch)? {
        let found = check_batch(&batch, layout, scope, purpose);
        gathered.lock().unwrap_or_else(PoisonError::into_inner).add(batch.index, found);
    }
    Ok(())
}

fn check_batch(batch: &Batch, layout: &Layout, scope: &CaseScope, purpose: LoadPurpose) -> Found {
    let mut found = Found::new(Notes::new(scope.given.suite.file.as_path()));
    for row in batch.rows() {
        let ordinal = row.ordinal;
        let ReadRow { case, derived } = layout.read(row, scope, purpose, &mut found.notes);
        found.ids.extend(derived);
        found.derived += usize::from(derived.is_some());
        let Some(case) = case else { continue };
        if derived.is_none() {
            found.ids.push(row_ids::hash(case.id.as_str()));
        }
        *found.by_target.entry(case.target.clone()).or_default() += 1;
        found.judged.look_at(&case);
        if purpose == LoadPurpose::Run {
            found.cases.push(Arc::new(case));
        } else if scope.filter.selection.draws() {
            let pick = scope.filter.selection.pick(case.id.as_str(), ordinal);
            found.picks.push((pick, case.target));
        }
    }
    found
}

/// Says how many rows have no id of their own. Of a table without a column for ids its header has said so.
fn warn_of_derived(count: usize, layout: &Layout, notes: &mut Notes) {
    let is_said = matches!(layout, Layout::Table(table) if !table.has_ids);
    if count == 0 || is_said {
        return;
    }
    let message = if count == 1 {
        "1 row has no `id`, so it gets one from a hash of its input".to_owned()
    } else {
        format!("{count} rows have no `id`, so each gets one from a hash of its input")
    };
    notes
        .warning("dataset::id", None, message)
        .help("give each row an `id`: results stay comparable when an input is edited");
}
