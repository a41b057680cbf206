//! What the files of a run folder are called.

use super::lines::lines;
use crate::atomic_file::write_atomically;
use crate::file_input;
use agentv_wire::{RunInfo, number};
use serde::Deserialize;
use std::io;
use std::path::{Path, PathBuf};

/// The format of run folders that this version writes, resumes and grades. Format 1 knew cases by file and place.
pub const RUN_FORMAT: u32 = 2;

/// What the records of a run are called in its folder.
pub const RESULTS: &str = "results.jsonl";

/// What `agentv report` writes, after the run has ended.
pub(super) const REPORT: &str = "report.html";

/// How a line of the journal starts that says how the run was begun.
pub(super) const BEGUN: &str = "{\"begun\":";

#[derive(Deserialize)]
struct BegunLine {
    begun: RunInfo,
}

/// The files of a run folder, for whoever may look into it. To look is no claim: nothing is locked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFiles {
    pub dir: PathBuf,
}

impl RunFiles {
    /// Those of the run folder that a file of results lies in, if it is one.
    pub fn beside(results: &Path) -> Option<Self> {
        let files = Self { dir: results.parent()?.to_owned() };
        // One of the two may have been damaged or removed.
        let is_folder = files.info_path().is_file() || files.journal().is_file();
        is_folder.then_some(files)
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

    pub fn manifest(&self) -> PathBuf {
        self.dir.join("manifest.json")
    }

    pub(super) fn signature(&self) -> PathBuf {
        self.dir.join("manifest.sig")
    }

    /// Files that no manifest names: the manifest itself, the lock, and what is not of the run.
    pub(super) fn is_apart(&self, name: &str) -> bool {
        let path = self.dir.join(name);
        [self.manifest(), self.signature(), self.lock()].contains(&path) || name == REPORT
    }

    pub(super) fn logs(&self) -> PathBuf {
        self.dir.join("logs")
    }

    pub fn info_path(&self) -> PathBuf {
        self.dir.join("run.json")
    }

    /// What `run.json` says.
    pub fn info(&self) -> io::Result<RunInfo> {
        Ok(serde_json::from_slice(&file_input::read(&self.info_path())?)?)
    }

    /// What is known of the run: by `run.json`, or else by the journal.
    pub fn known(&self) -> Option<RunInfo> {
        self.info().ok().or_else(|| self.begun())
    }

    /// What the journal says of how the run was begun, or resumed. Journals of earlier versions do not.
    pub fn begun(&self) -> Option<RunInfo> {
        let mut begun = None;
        lines(&self.journal(), |line, _| {
            if line.starts_with(BEGUN.as_bytes()) {
                begun = serde_json::from_slice::<BegunLine>(line)
                    .ok()
                    .map(|line| line.begun)
                    .or(begun.take());
            }
            Ok(())
        })
        .ok()?;
        begun
    }

    /// Writes `run.json` so that it is there whole, the old or the new one.
    pub(super) fn write_info(&self, info: &RunInfo) -> io::Result<()> {
        write_atomically(&self.info_path(), number::to_string_pretty(info)? + "\n")
    }
}
