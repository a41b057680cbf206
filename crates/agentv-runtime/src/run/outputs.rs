//! Who is shown what happens, and where records go. The two are told apart, since their failures mean different things.

use super::case::Work;
use crate::run_dir::Journal;
use crate::writers::{Render, ResultFile};
use agentv_core::RunEvent;
use agentv_wire::ResultRecord;
use std::sync::Arc;
use std::{fmt, io};

/// Where records go. If one of these fails, the run fails: results would be lost.
#[derive(Debug)]
pub struct Outputs {
    pub results: ResultFile,
    /// The output, where it is not the same file as the results.
    pub copy: Option<ResultFile>,
    /// What makes it possible to take the run up again.
    pub journal: Option<Arc<Journal>>,
    /// Lines for the journal that are not in it yet.
    entries: Vec<u8>,
}

impl Outputs {
    /// One results file and nothing besides.
    pub fn only(results: ResultFile) -> Self {
        Self { results, copy: None, journal: None, entries: Vec::new() }
    }

    /// The results of a run folder, with its journal.
    pub fn kept(results: ResultFile, copy: Option<ResultFile>, journal: Arc<Journal>) -> Self {
        Self { results, copy, journal: Some(journal), entries: Vec::new() }
    }

    pub(super) fn rendering(&self) -> Rendering {
        Rendering {
            results: self.results.kind().render,
            copy: self.copy.as_ref().map(|copy| copy.kind().render),
            journal: self.journal.clone(),
        }
    }

    /// Takes a record; it waits in memory until [`Outputs::commit`].
    pub(super) fn add(&mut self, rendered: &Rendered) {
        let (record, rest) = rendered.bytes.split_at(rendered.record);
        let (entry, copied) = rest.split_at(rendered.entry);
        self.results.add(record);
        self.entries.extend_from_slice(entry);
        if let Some(copy) = &mut self.copy {
            copy.add(copied);
        }
    }

    /// Hands everything taken so far to the system. The journal comes first: a record that it does not know cannot be told
    /// from another, while a line about a record that is not there does no harm.
    pub(super) fn commit(&mut self) -> io::Result<()> {
        if let Some(journal) = self.journal.as_ref().filter(|_| !self.entries.is_empty()) {
            let kept = journal.append(&self.entries);
            self.entries.clear();
            kept?;
        }
        self.results.commit()?;
        self.copy.as_mut().map_or(Ok(()), ResultFile::commit)
    }

    /// Makes it last through a power cut. Costs nothing where nothing is new.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        if let Some(journal) = &self.journal {
            journal.sync()?;
        }
        self.sync_results()
    }

    /// The same, but only where an answer may have cost money: a million free ones would have to wait for the disk.
    pub(super) fn sync_paid(&mut self) -> io::Result<()> {
        let is_paid = self.journal.as_ref().is_some_and(|journal| journal.has_answers());
        if is_paid { self.sync() } else { Ok(()) }
    }

    /// The same for the end of a run. Where every answer was free, the journal is not waited for: all that could be lost is
    /// knowledge of which case a record is of, and then it is run again.
    pub(super) fn sync_last(&mut self) -> io::Result<()> {
        if let Some(journal) = self.journal.as_ref().filter(|journal| journal.has_answers()) {
            journal.sync()?;
        }
        self.sync_results()
    }

    fn sync_results(&mut self) -> io::Result<()> {
        self.results.sync()?;
        self.copy.as_mut().map_or(Ok(()), ResultFile::sync)
    }
}

/// How a record becomes bytes. Records are rendered by the workers: the one dispatcher would be what all wait for.
#[derive(Debug, Clone)]
pub(super) struct Rendering {
    results: Render,
    copy: Option<Render>,
    journal: Option<Arc<Journal>>,
}

/// A record as bytes: as it is in the results, its line for the journal, and as it is in the output, one after the other.
#[derive(Debug)]
pub(super) struct Rendered {
    bytes: Vec<u8>,
    /// How many of the bytes are the record.
    record: usize,
    /// How many are the journal's line.
    entry: usize,
}

impl Rendered {
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }
}

impl Rendering {
    pub(super) fn render(&self, record: &ResultRecord, work: &Work) -> io::Result<Rendered> {
        let mut bytes = Vec::with_capacity(1024);
        (self.results)(record, &mut bytes)?;
        let recorded = bytes.len();
        if let Some(journal) = &self.journal {
            journal.recorded((&work.id, &work.case), &mut bytes)?;
        }
        let entered = bytes.len();
        if let Some(render) = self.copy {
            render(record, &mut bytes)?;
        }
        Ok(Rendered { bytes, record: recorded, entry: entered - recorded })
    }
}

/// Shows the run to someone. It cannot fail the run.
pub trait Reporter: fmt::Debug + Send {
    fn event(&mut self, event: &RunEvent);

    /// Whether it shows when a case is answered and when it is graded. If not, these events are not sent at all: for cases
    /// that take no time, sending them costs as much as the rest.
    fn wants_phases(&self) -> bool {
        true
    }

    /// Nothing more is waiting: a good moment to show what was gathered.
    fn pause(&mut self) {}
}
