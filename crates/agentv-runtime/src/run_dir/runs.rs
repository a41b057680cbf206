//! The folders of all runs that were started in one directory.

use super::files::RunFiles;
use super::index::Index;
use super::journal::Journal;
use super::lines::lines;
use super::lock::{Lock, LockAttempt};
use super::manifest;
use super::signature::SigningKey;
use crate::new_paths::{claim_name, create_new_private_dir};
use agentv_core::totals::RecordedTotals;
use agentv_wire::{CaseTrialTotals, Ending, FileSeal, RecordSummary, RunInfo, RunTotals, Skipped};
use std::io;
use std::path::{Path, PathBuf};

/// `.agentv/runs`
#[derive(Debug, Clone)]
pub struct Runs {
    dir: PathBuf,
}

/// The folder of one run that is ours to work on.
#[derive(Debug)]
pub struct RunFolder {
    pub id: String,
    pub files: RunFiles,
    _lock: Lock,
}

/// What a run is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// A process works on it now.
    Running,
    /// It came to an end of its own making.
    Ended(Ending),
    /// It was killed, or the machine went down.
    Killed,
}

impl State {
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Ended(Ending::Complete) => "complete",
            Self::Ended(Ending::Interrupted) => "interrupted",
            Self::Ended(Ending::Stopped) => "stopped",
            Self::Ended(Ending::Failed) => "failed",
            Self::Killed => "killed",
        }
    }
}

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error("unknown run `{0}`")]
    Unknown(String),
    #[error("`{0}` is not a run id")]
    NoId(String),
    #[error("run `{run}` is in use by process {holder}")]
    InUse { run: String, holder: String },
    #[error(
        "`run.json` of run `{run}` is damaged ({source}); {} has {records} records and {answers} answers",
        dir.display()
    )]
    Damaged { run: String, dir: PathBuf, records: usize, answers: usize, source: io::Error },
    #[error("`{}` cannot be used: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// A run folder whose `run.json` cannot be read.
#[derive(Debug)]
pub struct DamagedRun {
    pub id: String,
    /// Whether the journal knows how it was begun, so that it can be resumed.
    pub is_known: bool,
    pub error: FolderError,
}

impl RunFiles {
    /// What is still in the folder of a run whose `run.json` cannot be read.
    fn damage(&self, id: &str, source: io::Error) -> FolderError {
        let mut records = 0;
        let counted = lines(&self.results(), |_, _| {
            records += 1;
            Ok(())
        });
        let index = Index::read(&self.journal()).unwrap_or_default();
        // What cannot be read counts as not there.
        let records = if counted.is_ok() { records } else { 0 };
        let answers = index.answers.len();
        FolderError::Damaged { run: id.to_owned(), dir: self.dir.clone(), records, answers, source }
    }

    fn has_content(&self) -> bool {
        let has = |path: PathBuf| std::fs::metadata(path).is_ok_and(|file| file.len() > 0);
        has(self.results()) || has(self.journal())
    }
}

impl Runs {
    /// The runs that were started in this directory.
    pub fn of(working_dir: &Path) -> Self {
        Self { dir: working_dir.join(".agentv/runs") }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// A folder for a new run, only for its owner. Its name is the id, with a number where another run has it already.
    pub fn create(&self, id: &str) -> Result<RunFolder, FolderError> {
        let wanted = self.files(id).dir;
        let failed = |source| FolderError::Io { path: wanted.clone(), source };
        let (dir, ()) = claim_name(&wanted, create_new_private_dir).map_err(failed)?;
        let id = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let files = RunFiles { dir };
        std::fs::create_dir(files.logs()).map_err(failed)?;
        RunFolder::lock(&id, files)
    }

    /// The folder of a run that is there.
    pub fn open(&self, id: &str) -> Result<RunFolder, FolderError> {
        RunFolder::lock(id, self.checked(id)?)
    }

    /// What is known of each run, the newest first. What is no run folder is passed over.
    pub fn list(&self) -> Vec<RunInfo> {
        let entries = std::fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut runs: Vec<RunInfo> = names.filter_map(|name| self.info(&name).ok()).collect();
        runs.sort_by(|one, other| other.run.cmp(&one.run));
        runs
    }

    /// The ids of all folders, the newest first, even if nothing in them can be read.
    pub fn ids(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut ids: Vec<String> = names.filter(|name| self.checked(name).is_ok()).collect();
        ids.sort_by(|one, other| other.cmp(one));
        ids
    }

    /// What is known of a run.
    pub fn info(&self, id: &str) -> Result<RunInfo, FolderError> {
        let files = self.checked(id)?;
        // What `run.json` has lost, the journal still knows.
        let mut info = match files.info() {
            Ok(info) => info,
            Err(source) => files.begun().ok_or_else(|| files.damage(id, source))?,
        };
        // The folder's name is what it is called by.
        id.clone_into(&mut info.run);
        Ok(info)
    }

    /// Folders whose `run.json` cannot be read, the newest first, though there is something in them. The run of some is known
    /// all the same, by the journal.
    pub fn damaged(&self) -> Vec<DamagedRun> {
        let entries = std::fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut damaged: Vec<DamagedRun> = names
            .filter_map(|id| {
                let files = self.checked(&id).ok()?;
                let error = files.info().err().filter(|_| files.has_content())?;
                let is_known = files.begun().is_some();
                Some(DamagedRun { error: files.damage(&id, error), id, is_known })
            })
            .collect();
        damaged.sort_by(|one, other| other.id.cmp(&one.id));
        damaged
    }

    pub fn state(&self, info: &RunInfo) -> State {
        if Lock::is_held(&self.files(&info.run).lock()) {
            return State::Running;
        }
        info.ending.map_or(State::Killed, State::Ended)
    }

    /// The numbers of a run by its records, as far as they can be read, and each of its cases that has trials. `None`
    /// without results.
    pub fn totals(&self, info: &RunInfo) -> Option<(RunTotals, Vec<CaseTrialTotals>)> {
        let results = self.checked(&info.run).ok()?.results();
        let mut recorded = fold(&results, RecordedTotals::default()).ok()?;
        if recorded.is_mixed() {
            recorded = fold(&results, RecordedTotals::by_case()).ok()?;
        }
        let (totals, cases) = recorded.finish();
        Some((totals.wire(Some(info.cases)), cases))
    }

    /// Removes a run with all that is in its folder. The output stays, where it has a name of its own.
    pub fn remove(&self, id: &str) -> Result<(), FolderError> {
        let folder = self.open(id)?;
        let failed = |source| FolderError::Io { path: folder.files.dir.clone(), source };
        std::fs::remove_dir_all(&folder.files.dir).map_err(failed)
    }

    /// The files of a run, whether it is there or not.
    pub fn files(&self, id: &str) -> RunFiles {
        RunFiles { dir: self.dir.join(id) }
    }

    /// The folder of this name, if it is one here and nothing else.
    fn checked(&self, id: &str) -> Result<RunFiles, FolderError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if id.is_empty() || !id.chars().all(plain) {
            return Err(FolderError::NoId(id.to_owned()));
        }
        let files = self.files(id);
        // A link may lead anywhere.
        let is_folder = std::fs::symlink_metadata(&files.dir).is_ok_and(|found| found.is_dir());
        if is_folder { Ok(files) } else { Err(FolderError::Unknown(id.to_owned())) }
    }
}

/// Torn lines do not count.
fn fold(results: &Path, mut totals: RecordedTotals) -> io::Result<RecordedTotals> {
    lines(results, |line, _| {
        if let Ok(record) = serde_json::from_slice::<RecordSummary<Skipped>>(line) {
            totals.add(&record);
        }
        Ok(())
    })?;
    Ok(totals)
}

impl RunFolder {
    fn lock(id: &str, files: RunFiles) -> Result<Self, FolderError> {
        match Lock::take(&files.lock()) {
            Ok(LockAttempt::Ours(lock)) => Ok(Self { id: id.to_owned(), files, _lock: lock }),
            Ok(LockAttempt::Theirs(holder)) => {
                Err(FolderError::InUse { run: id.to_owned(), holder })
            }
            Err(source) => Err(FolderError::Io { path: files.dir, source }),
        }
    }

    /// Seals the folder of a run that has ended; `results` is what was written to them.
    pub fn seal(
        &self,
        journal: &Journal,
        results: FileSeal,
        key: Option<&SigningKey>,
    ) -> io::Result<()> {
        manifest::write(&self.files, &self.id, journal, results, key)
    }

    /// The run goes on, so it is not sealed any more.
    pub fn unseal(&self) -> io::Result<()> {
        manifest::remove(&self.files)
    }

    /// Whether what is known of the run is still there.
    pub fn has_info(&self) -> bool {
        self.files.info().is_ok()
    }

    /// Writes down what is known of the run.
    pub fn write_info(&self, info: &RunInfo) -> io::Result<()> {
        self.files.write_info(info)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_one_id_have_folders_of_their_own() {
        let dir = tempfile::tempdir().unwrap();
        let runs = Runs::of(dir.path());
        let folders = [(); 3].map(|()| runs.create("run").unwrap());
        assert_eq!(folders.map(|folder| folder.id), ["run", "run-2", "run-3"]);
    }
}
