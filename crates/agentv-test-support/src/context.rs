//! An empty repository in a temporary directory.

use crate::{FakeAgent, Invocation, JudgeDump, Ran, cli_target, suite, targets};
use std::ffi::OsStr;
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A directory of a test's own, removed with it. It counts as a repository, so nothing above it is looked at.
#[derive(Debug)]
pub struct TestContext {
    dir: TempDir,
    binary: PathBuf,
}

impl TestContext {
    /// The CLI's tests pass `env!("CARGO_BIN_EXE_agentv")`.
    #[track_caller]
    pub fn new(binary: impl Into<PathBuf>) -> Self {
        let dir = tempfile::Builder::new().prefix("agentv-test-").tempdir().unwrap();
        for inside in [".git", ".home", ".tmp"] {
            fs::create_dir(dir.path().join(inside)).unwrap();
        }
        Self { dir, binary: binary.into() }
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// A path in the directory, whether or not something is there.
    pub fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.dir().join(relative)
    }

    /// Where the program makes its temporary files. A test that ran well leaves it empty.
    pub fn temp(&self) -> PathBuf {
        self.path(".tmp")
    }

    /// Writes a file, with its folders, and gives its absolute path.
    #[track_caller]
    pub fn write(&self, relative: impl AsRef<Path>, text: &str) -> PathBuf {
        let path = self.path(relative);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).unwrap();
        }
        fs::write(&path, text).unwrap();
        path
    }

    /// Writes a file that can be run; the text starts with its `#!` line.
    #[track_caller]
    pub fn script(&self, relative: impl AsRef<Path>, text: &str) -> PathBuf {
        assert!(text.starts_with("#!"), "a script starts with `#!`");
        let path = self.write(relative, text);
        make_executable(&path);
        path
    }

    #[track_caller]
    pub fn read(&self, relative: impl AsRef<Path>) -> String {
        let path = self.path(relative);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The program with these arguments, not started yet.
    pub fn agentv<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Invocation {
        self.agentv_at(&self.binary, args)
    }

    /// The same for another program, such as a script that starts it under some limit.
    pub fn agentv_at<S: AsRef<OsStr>>(
        &self,
        binary: &Path,
        args: impl IntoIterator<Item = S>,
    ) -> Invocation {
        let args = args.into_iter().map(|arg| arg.as_ref().to_owned()).collect();
        Invocation::new(binary, self.dir(), args)
    }

    /// Another program, in the same environment.
    pub fn program<S: AsRef<OsStr>>(
        &self,
        program: &str,
        args: impl IntoIterator<Item = S>,
    ) -> Invocation {
        let args = args.into_iter().map(|arg| arg.as_ref().to_owned()).collect();
        Invocation::new(Path::new(program), self.dir(), args)
    }

    /// A code judge that keeps what it was given and prints `output`, in a folder of this name.
    #[track_caller]
    pub fn judge_dump(&self, name: &str, output: &str) -> JudgeDump {
        JudgeDump::write(self, name, output)
    }

    /// An agent program of this name that keeps what it was given and then runs `then`, a piece of a shell script.
    #[track_caller]
    pub fn fake_agent(&self, name: &str, then: &str) -> FakeAgent {
        FakeAgent::write(self, name, then)
    }

    /// A stand-in for `code` at this path.
    #[track_caller]
    pub fn fake_code(&self, path: &str) -> crate::FakeCode {
        crate::FakeCode::write(self, path)
    }

    /// A place in a folder of this name where children tell that they are there, and wait.
    #[track_caller]
    pub fn meeting(&self, name: &str) -> crate::Meeting {
        crate::Meeting::new(self, name)
    }

    /// A `cli` target whose answer file holds exactly this, for the list in [`targets`](crate::targets).
    #[track_caller]
    pub fn cli_target_answering(&self, name: &str, answer: &str) -> String {
        let file = self.write(format!(".answers/{name}"), answer);
        cli_target(name, &format!("cat '{}' > {{OUTPUT_FILE}}", file.display()))
    }

    /// Runs the one case of [`suite`] on a `cli` target that answers exactly this. The records are in `out.jsonl`.
    #[track_caller]
    pub fn grade(&self, answer: impl Display, evaluators: impl Display) -> Ran {
        let target = self.cli_target_answering("default", &answer.to_string());
        self.write("targets.yaml", &targets(&[target]));
        self.write("suite.yaml", &suite(evaluators));
        self.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).run()
    }

    /// Text for a snapshot: the directory, which differs from run to run, reads `[DIR]`.
    pub fn redact(&self, text: &str) -> String {
        text.replace(&self.dir().display().to_string(), "[DIR]")
    }
}

fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
