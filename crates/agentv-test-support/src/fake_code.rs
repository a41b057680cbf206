//! A stand-in for `code`, the command line tool of VS Code.

use crate::{Meeting, TestContext};
use std::fs;
use std::path::{Path, PathBuf};

/// The stand-in, installed in a test's directory.
#[derive(Debug)]
pub struct FakeCode {
    program: PathBuf,
}

impl FakeCode {
    #[track_caller]
    pub(crate) fn write(cx: &TestContext, path: &str) -> Self {
        let program = cx.script(path, include_str!("fake_code.py"));
        let fake = Self { program };
        fs::create_dir(fake.state()).unwrap();
        fake
    }

    /// Where it is, for `vscode_cmd`.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// How it behaves from now on; `fake_code.py` says what there is.
    #[track_caller]
    pub fn set_mode(&self, mode: &str) {
        fs::write(self.state().join("mode"), mode).unwrap();
    }

    /// What it answers and prints from now on.
    #[track_caller]
    pub fn set_answer(&self, answer: &str) {
        fs::write(self.state().join("answer"), answer).unwrap();
    }

    /// Has chats tell the name of their subagent and wait until they may go on.
    #[track_caller]
    pub fn meet(&self) -> Meeting {
        self.set_mode("meet");
        Meeting::in_folder(&self.state())
    }

    /// The arguments of every call so far.
    #[track_caller]
    pub fn calls(&self) -> Vec<Vec<String>> {
        let calls = fs::read_to_string(self.state().join("calls.jsonl")).unwrap_or_default();
        calls.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The request files that it has answered, in the order of their names.
    #[track_caller]
    pub fn requests(&self) -> Vec<String> {
        let Ok(files) = fs::read_dir(self.state().join("requests")) else { return Vec::new() };
        let mut paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
        paths.sort();
        paths.iter().map(|path| fs::read_to_string(path).unwrap()).collect()
    }

    /// The process that hangs, or that answers in the background.
    #[track_caller]
    pub fn pid(&self) -> String {
        fs::read_to_string(self.state().join("pid")).unwrap()
    }

    fn state(&self) -> PathBuf {
        let mut path = self.program.clone().into_os_string();
        path.push(".state");
        path.into()
    }
}
