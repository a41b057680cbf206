//! What the files of a run folder are called.

use crate::atomic_file::write_atomically;
use crate::file_input;
use agentv_wire::{RunInfo, number};
use std::io;
use std::path::{Path, PathBuf};

/// The format of run folders that this version writes, resumes and grades. Format 1 knew cases by file and place.
pub const RUN_FORMAT: u32 = 2;

/// What the records of a run are called in its folder.
pub const RESULTS: &str = "results.jsonl";

/// The files of a run folder, for whoever may look into it. To look is no claim: nothing is locked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFiles {
    pub dir: PathBuf,
}

impl RunFiles {
    /// Those of the run folder that a file of results lies in, if it is one.
    pub fn beside(results: &Path) -> Option<Self> {
        let files = Self { dir: results.parent()?.to_owned() };
        files.info_path().is_file().then_some(files)
    }

    pub fn results(&self) -> PathBuf {
        self.dir.join(RESULTS)
    }

    pub fn journal(&self) -> PathBuf {
        self.dir.join("journal.jsonl")
    }

    pub(super) fn removed(&self) -> PathBuf {
        self.dir.join("removed.jsonl")
    }

    pub(super) fn lock(&self) -> PathBuf {
        self.dir.join("lock")
    }

    pub(super) fn logs(&self) -> PathBuf {
        self.dir.join("logs")
    }

    pub(super) fn info_path(&self) -> PathBuf {
        self.dir.join("run.json")
    }

    /// What `run.json` says.
    pub fn info(&self) -> io::Result<RunInfo> {
        Ok(serde_json::from_slice(&file_input::read(&self.info_path())?)?)
    }

    /// Writes `run.json` so that it is there whole, the old or the new one.
    pub(super) fn write_info(&self, info: &RunInfo) -> io::Result<()> {
        write_atomically(&self.info_path(), number::to_string_pretty(info)? + "\n")
    }
}
