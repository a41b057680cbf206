//! A directory for the files of one input, in memory where the system has such a place.

use agentv_core::prompt;
use agentv_core::{EvalCase, PromptMode};
use agentv_runtime::config::Env;
use agentv_runtime::load::{LoadedSuite, Loader, Report, Selection};
use agentv_runtime::process::Processes;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// Where the files of an input are written. Each thread has one, so that inputs do not see each other's files.
pub(crate) struct ScratchDir {
    dir: TempDir,
    pub loader: Loader,
}

thread_local! {
    static SCRATCH: ScratchDir = ScratchDir::new();
}

/// Does something with this thread's directory.
pub(crate) fn with<T>(act: impl FnOnce(&ScratchDir) -> T) -> T {
    SCRATCH.with(act)
}

impl ScratchDir {
    fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let mut builder = tempfile::Builder::new();
        builder.prefix("agentv-fuzz-");
        let dir = if memory.is_dir() { builder.tempdir_in(memory) } else { builder.tempdir() };
        let dir = dir.expect("a directory for scratch files");
        let root = dir.path().to_owned();
        let variables = [("KEY", "sk-0123456789"), ("NAME", "x")];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let loader = Loader {
            working_dir: root.clone(),
            repo_root: root.clone(),
            project_root: root,
            env: Env::new(variables),
            processes: Processes::new(String::new()),
            selection: Selection::default(),
            judge_sandbox: None,
            is_portable: false,
        };
        Self { dir, loader }
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Writes a file, over the one of the input before.
    pub(crate) fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.dir.path().join(name);
        fs::write(&path, bytes).expect("a scratch file");
        path
    }

    /// Loads a suite as a run does, and makes a prompt of each case.
    pub(crate) fn load(&self, path: &Path) -> Vec<Arc<EvalCase>> {
        let (loaded, report) = self.loader.suite(path);
        self.show(&report);
        let cases = loaded.as_ref().map(cases).unwrap_or_default();
        for (case, mode) in
            cases.iter().zip([PromptMode::Model, PromptMode::Agent].into_iter().cycle())
        {
            prompt::build(case, mode);
        }
        cases
    }

    /// Renders the first notes. One in eight reports is enough: it takes longer than finding what is wrong.
    pub(crate) fn show(&self, report: &Report) {
        if report.notes.first().is_some_and(|note| note.message.len() % 8 == 0) {
            for note in report.notes.iter().take(3) {
                agentv_cli::fuzzing::note(note, self.dir());
            }
        }
    }
}

fn cases(loaded: &LoadedSuite) -> Vec<Arc<EvalCase>> {
    let cases = loaded.cases.open().expect("cases that were just checked");
    let cases: Result<Vec<_>, _> = cases.collect();
    let cases = cases.expect("a file that was not changed");
    assert_eq!(cases.len(), loaded.cases.len(), "the two passes found different cases");
    cases
}
