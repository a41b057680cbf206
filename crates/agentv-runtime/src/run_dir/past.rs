//! What a run that ended early, or a complete one, has left: records and answers by their cases.

use super::RunFolder;
use super::index::{Index, PastAnswer, RecordedWork};
use super::journal::{CaseRevision, KeptAnswer};
use super::lines::lines;
use crate::atomic_file::AtomicFile;
use agentv_core::event::Place;
use agentv_core::outcome::outcome;
use agentv_core::{EvalCase, WorkId};
use agentv_wire::{RecordSummary, ResultRecord, RunSpend, Skipped};
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

/// Records and answers of earlier sessions, to be claimed by the current cases.
#[derive(Debug)]
pub struct Past {
    journal: PathBuf,
    records: Vec<PastRecord>,
    /// The places of records that were not claimed yet. Of several records of the same work the last counts.
    unclaimed: HashMap<WorkId, usize>,
    answers: HashMap<WorkId, Vec<PastAnswer>>,
    /// Current work without a record.
    open: HashSet<WorkId>,
    /// Whether the results end in the middle of a line.
    torn: bool,
    /// Answers that can no longer be graded.
    pub lost_workspaces: usize,
    /// What earlier calls used.
    pub spent: RunSpend,
}

/// A whole line of the results.
#[derive(Debug)]
struct PastRecord {
    eval_id: String,
    /// `None` if the journal does not know the record.
    work: Option<RecordedWork>,
    is_error: bool,
    bytes: u64,
    fate: Fate,
}

/// What becomes of a record.
#[derive(Debug, Clone, PartialEq)]
pub enum Fate {
    /// It is the record of a current case.
    Kept(Place),
    /// It is an error, and its case is tried again.
    Retried,
    /// No current case matches this record.
    Unclaimed,
}

/// What a current case finds.
#[derive(Debug)]
pub enum Claim {
    Done,
    /// It was answered, but not graded.
    Answered(Box<KeptAnswer>),
    Open,
}

/// What was done to the results before the run is resumed.
#[derive(Debug, Default)]
pub struct Rewritten {
    pub kept: usize,
    /// Cases that are not what they were.
    pub changed: Vec<String>,
    /// Cases that no longer exist.
    pub gone: Vec<String>,
    pub retried: usize,
    /// Whether a line was cut off in the middle.
    pub torn: bool,
    /// Lines that the journal does not know.
    pub unknown: usize,
}

impl Past {
    /// Reads what a run has left.
    pub fn read(folder: &RunFolder) -> io::Result<Self> {
        let journal = folder.files.journal();
        let index = Index::read(&journal)?;
        let mut past = Self {
            journal,
            records: Vec::new(),
            unclaimed: HashMap::new(),
            answers: HashMap::new(),
            open: HashSet::new(),
            torn: false,
            lost_workspaces: 0,
            spent: index.spent,
        };
        past.read_results(&folder.files.results(), &index)?;
        past.answers = index.answers;
        Ok(past)
    }

    fn read_results(&mut self, path: &Path, index: &Index) -> io::Result<()> {
        let (records, unclaimed) = (&mut self.records, &mut self.unclaimed);
        self.torn = lines(path, |line, place| {
            let work = index.work_of(line).cloned();
            let summary = serde_json::from_slice::<RecordSummary<Skipped>>(line).ok();
            if let Some(work) = &work {
                unclaimed.insert(work.id.clone(), records.len());
            }
            records.push(PastRecord {
                is_error: summary.as_ref().is_some_and(|record| !outcome(record).is_graded()),
                eval_id: summary.map(|record| record.eval_id).unwrap_or_default(),
                work,
                bytes: place.bytes as u64,
                fate: Fate::Unclaimed,
            });
            Ok(())
        })?;
        Ok(())
    }

    /// How many whole records there are.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// What there is for a trial of a case. Its record, if that is good, belongs to `place`; with `retry`, errors are not.
    pub fn claim(
        &mut self,
        (id, case): (WorkId, &EvalCase),
        place: Place,
        retry: bool,
    ) -> io::Result<Claim> {
        let revision = CaseRevision::of(case);
        let answer = self.take_answer(&id, &revision);
        if let Some(record) = self.take_record(&id, &revision) {
            if !(retry && record.is_error) {
                record.fate = Fate::Kept(place);
                return Ok(Claim::Done);
            }
            record.fate = Fate::Retried;
        }
        self.open.insert(id);
        let Some(answer) = answer else { return Ok(Claim::Open) };
        if answer.workspace {
            self.lost_workspaces += 1;
            return Ok(Claim::Open);
        }
        // An answer with an error in it is what a retry is to replace.
        let answer =
            answer.read(&self.journal)?.filter(|answer| answer.response.error.is_none() || !retry);
        Ok(answer.map_or(Claim::Open, |answer| Claim::Answered(Box::new(answer))))
    }

    /// The record of this work, if its case is still what it was.
    fn take_record(&mut self, id: &WorkId, revision: &CaseRevision) -> Option<&mut PastRecord> {
        let record = &mut self.records[*self.unclaimed.get(id)?];
        if record.work.as_ref()?.revision != *revision {
            return None;
        }
        self.unclaimed.remove(id);
        Some(record)
    }

    /// The last answer to this work, if its case is still what it was.
    fn take_answer(&mut self, id: &WorkId, revision: &CaseRevision) -> Option<PastAnswer> {
        let answers = self.answers.remove(id)?;
        answers.into_iter().rfind(|answer| answer.revision == *revision)
    }

    /// Leaves in the results what was claimed, in its old order, and shows each record that stays. What is taken out goes
    /// to another file, since it may have cost money. The results are whole at every moment: the old ones or the new ones.
    pub fn settle(
        self,
        folder: &RunFolder,
        mut stays: impl FnMut(ResultRecord, &Place),
    ) -> io::Result<Rewritten> {
        let mut done = Rewritten { torn: self.torn, ..Rewritten::default() };
        let path = folder.files.results();
        let all_stay = self.records.iter().all(|record| matches!(record.fate, Fate::Kept(_)));
        let mut new =
            if all_stay { None } else { Some(BufWriter::new(AtomicFile::create(&path)?)) };
        let mut removed = None;
        let mut whole = 0;
        let mut records = self.records.iter();
        lines(&path, |line, _| {
            let Some(record) = records.next() else { return Ok(()) };
            if let Fate::Kept(place) = &record.fate {
                done.kept += 1;
                whole += record.bytes;
                stays(serde_json::from_slice(line)?, place);
                return new.as_mut().map_or(Ok(()), |new| new.write_all(line));
            }
            done.count(record, &self.open);
            if removed.is_none() {
                removed =
                    Some(File::options().append(true).create(true).open(folder.files.removed())?);
            }
            removed.as_mut().map_or(Ok(()), |removed| removed.write_all(line))
        })?;
        if let Some(removed) = removed {
            removed.sync_data()?;
        }
        match new {
            None if self.torn => File::options().write(true).open(&path)?.set_len(whole)?,
            None => {}
            Some(new) => {
                new.into_inner().map_err(io::IntoInnerError::into_error)?.commit_synced()?;
            }
        }
        Ok(done)
    }
}

impl Rewritten {
    fn count(&mut self, record: &PastRecord, open: &HashSet<WorkId>) {
        match &record.work {
            None => self.unknown += 1,
            Some(_) if record.fate == Fate::Retried => self.retried += 1,
            Some(work) if open.contains(&work.id) => self.changed.push(record.eval_id.clone()),
            Some(_) => self.gone.push(record.eval_id.clone()),
        }
    }
}
