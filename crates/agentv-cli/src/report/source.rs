//! Which results are reported, and all that is known of each record.

use super::brief;
use super::cases::{CaseBook, CasePlace, Expected};
use crate::settings::Environment;
use agentv_core::outcome::outcome;
use agentv_core::totals::{RecordUsage, usage};
use agentv_core::{Response, SuiteId};
use agentv_runtime::hash::sha256_of_file;
use agentv_runtime::process::Processes;
use agentv_runtime::results_io::{Reader, ResultsError};
use agentv_runtime::run_dir::{Index, PastAnswer, RecordedWork, RunFiles};
use agentv_wire::{Outcome, RecordSummary, RunFileKind, RunInfo};
use std::path::{Path, PathBuf};

/// How much a format wants to know of each case besides its record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Knowledge {
    #[default]
    Record,
    /// Its place in its eval file.
    Places,
    /// What was expected, and the conversation behind the answer, too.
    All,
}

/// Results to be reported.
#[derive(Debug)]
pub(crate) struct Source {
    pub path: PathBuf,
    /// The path as people see it.
    pub shown: String,
    pub info: Option<RunInfo>,
    /// The run's folder, if there is one.
    pub folder: Option<RunFiles>,
    /// The eval files as they are now, if that is what the run saw.
    evals: Vec<PathBuf>,
    repo_root: PathBuf,
    loader: agentv_runtime::load::Loader,
}

impl Source {
    /// Finds a run by its name; without one it is the last run.
    pub(crate) fn find(
        name: Option<&Path>,
        environment: &Environment,
    ) -> Result<Self, ResultsError> {
        let path = environment.results_of(name.unwrap_or(Path::new("latest")))?;
        Ok(Self::of_file(path, environment))
    }

    /// A file of results; where it lies in a run folder, all that is in there is used.
    pub(crate) fn of_file(path: PathBuf, environment: &Environment) -> Self {
        let folder = RunFiles::beside(&path);
        let info = folder.as_ref().and_then(RunFiles::known);
        let folder = info.as_ref().and(folder);
        let evals = info.as_ref().map(unchanged_evals).unwrap_or_default();
        Self {
            shown: environment.shown(&path),
            repo_root: environment.repo_root.clone(),
            // Nothing is started: files are only read.
            loader: environment.loader(&Processes::new(String::new())),
            path,
            info,
            folder,
            evals,
        }
    }

    /// Results without a run folder, of these eval files.
    pub(crate) fn with_evals(mut self, evals: &[PathBuf]) -> Self {
        if self.folder.is_none() {
            self.evals = evals.to_vec();
        }
        self
    }

    /// Where a report goes that was not given a name.
    pub(crate) fn default_html(&self) -> PathBuf {
        match &self.folder {
            Some(folder) => folder.dir.join("report.html"),
            None => self.path.with_extension("html"),
        }
    }

    /// Files that a report must not replace.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &Path> {
        [self.path.as_path()].into_iter().chain(self.evals.iter().map(PathBuf::as_path))
    }

    pub(super) fn entries(&self, knowledge: Knowledge) -> Result<Entries, ResultsError> {
        let unreadable = |source| ResultsError::Unreadable { path: self.shown.clone(), source };
        let reader = Reader::open(&self.path, &self.shown)?;
        let wanted = self.folder.as_ref().filter(|_| knowledge > Knowledge::Record);
        let journal = wanted.map(RunFiles::journal);
        let known = journal.as_deref().map(Index::read).transpose().map_err(unreadable)?;
        Ok(Entries {
            reader,
            journal: journal.unwrap_or_default(),
            known: known.unwrap_or_default(),
            cases: self.cases(knowledge),
            repo_root: self.repo_root.clone(),
            record: None,
            index: 0,
        })
    }

    fn cases(&self, knowledge: Knowledge) -> CaseBook {
        if knowledge == Knowledge::Record {
            return CaseBook::default();
        }
        CaseBook::read(&self.evals, &self.loader.project_root, knowledge, &self.loader)
    }
}

/// What a run saw is what its cases are; a file that was edited since would tell something else.
fn unchanged_evals(info: &RunInfo) -> Vec<PathBuf> {
    let root = Path::new(&info.working_dir);
    let evals = info.files.iter().filter(|file| file.kind == RunFileKind::Eval);
    let same = evals.filter(|file| {
        sha256_of_file(&root.join(&file.path)).is_ok_and(|hash| hex::encode(hash) == file.sha256)
    });
    same.map(|file| root.join(&file.path)).collect()
}

/// Record after record.
#[derive(Debug)]
pub(super) struct Entries {
    reader: Reader,
    journal: PathBuf,
    /// What the journal knows.
    known: Index,
    cases: CaseBook,
    repo_root: PathBuf,
    record: Option<RecordSummary>,
    index: usize,
}

/// One record and what is known of its case.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    /// The place in the results, from 0.
    pub index: usize,
    pub record: &'a RecordSummary,
    pub outcome: Outcome,
    pub usage: RecordUsage,
    /// The record as it is in the results.
    pub json: &'a str,
    work: Option<&'a RecordedWork>,
    answer: Option<&'a PastAnswer>,
    journal: &'a Path,
    cases: &'a CaseBook,
    repo_root: &'a Path,
}

impl Entries {
    pub(super) fn next(&mut self) -> Result<Option<Entry<'_>>, ResultsError> {
        let Some(record) = self.reader.read::<RecordSummary>()? else { return Ok(None) };
        let record = self.record.insert(record);
        let index = self.index;
        self.index += 1;
        let json = self.reader.json();
        let work = self.known.work_of(format!("{json}\n").as_bytes());
        Ok(Some(Entry {
            index,
            outcome: outcome(record),
            usage: usage(record),
            record,
            json,
            work,
            answer: work.and_then(|work| self.known.answer_to(work)),
            journal: &self.journal,
            cases: &self.cases,
            repo_root: &self.repo_root,
        }))
    }

    pub(super) fn torn(&self) -> Option<usize> {
        self.reader.torn()
    }
}

impl Entry<'_> {
    fn suite(&self) -> Option<&SuiteId> {
        self.work.map(|work| &work.id.suite).or(self.record.suite.as_ref())
    }

    /// Why it did not pass, in one line.
    pub(super) fn why(&self) -> Option<String> {
        brief::why(self.record, self.outcome)
    }

    /// Where the case is. The file is named from the repository's root, as GitHub does.
    pub(super) fn place(&self) -> Option<CasePlace> {
        let mut place = self.cases.place(self.record, self.suite())?;
        if let Ok(inside) = place.file.strip_prefix(self.repo_root) {
            place.file = inside.to_owned();
        }
        Some(place)
    }

    pub(super) fn expected(&self) -> Option<&Expected> {
        self.cases.expected(self.record, self.suite())
    }

    /// What the target answered, with all its steps. A journal that cannot be read is one that says nothing.
    pub(super) fn answer(&self) -> Option<Response> {
        Some(self.answer?.read(self.journal).ok()??.response)
    }
}
