//! One run of the program, before and after.

use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;

/// No server listens here, so a test that tries to leave the machine fails at once.
const NOWHERE: &str = "http://127.0.0.1:9";

/// A run to come. Its environment is made from nothing: of ours, only `PATH` is handed on.
#[derive(Debug)]
pub struct Invocation {
    command: Command,
    args: Vec<OsString>,
    stdin: Vec<u8>,
    cwd: PathBuf,
}

impl Invocation {
    pub(crate) fn new(binary: &Path, dir: &Path, args: Vec<OsString>) -> Self {
        #[expect(clippy::disallowed_methods, reason = "tests run the program from outside")]
        let mut command = Command::new(binary);
        command.env_clear().args(&args);
        #[expect(clippy::disallowed_methods, reason = "the one variable that tests inherit")]
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command.env("HOME", dir.join(".home")).env("TMPDIR", dir.join(".tmp"));
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
            command.env(name, NOWHERE).env(name.to_lowercase(), NOWHERE);
        }
        for name in ["NO_PROXY", "no_proxy"] {
            command.env(name, "127.0.0.1,localhost");
        }
        Self { command, args, stdin: Vec::new(), cwd: dir.to_owned() }
    }

    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// A directory inside the test's; the program starts in the test's own otherwise.
    #[must_use]
    pub fn cwd(mut self, relative: impl AsRef<Path>) -> Self {
        self.cwd = self.cwd.join(relative);
        self
    }

    /// Runs it to its end.
    #[track_caller]
    pub fn run(self) -> Ran {
        self.start().finish()
    }

    /// Starts it on a terminal of its own, of this many rows and columns.
    #[track_caller]
    pub fn on_terminal(mut self, rows: u16, columns: u16) -> crate::Terminal {
        self.command.current_dir(&self.cwd);
        crate::Terminal::start(self.command, rows, columns)
    }

    /// Starts it, for tests that have something to do meanwhile.
    #[track_caller]
    pub fn start(mut self) -> Running {
        self.command.current_dir(&self.cwd);
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child =
            self.command.spawn().unwrap_or_else(|error| panic!("{:?}: {error}", self.command));
        let (mut pipe, stdin) = (child.stdin.take(), self.stdin);
        // On a thread of its own, as the program may say much before it reads. One that reads nothing closes the pipe,
        // which is no fault of the test.
        let feeder = std::thread::spawn(move || {
            pipe.as_mut().map_or(Ok(()), |pipe| pipe.write_all(&stdin)).ok();
        });
        Running { child, feeder, args: self.args, cwd: self.cwd }
    }
}

/// A run under way.
#[derive(Debug)]
pub struct Running {
    child: Child,
    feeder: JoinHandle<()>,
    args: Vec<OsString>,
    cwd: PathBuf,
}

impl Running {
    /// Sends a signal by its short name, such as `INT`.
    #[track_caller]
    pub fn signal(&self, name: &str) {
        #[expect(clippy::disallowed_methods, reason = "tests run programs from outside")]
        let mut kill = Command::new("sh");
        let sent = kill.args(["-c", &format!("kill -{name} {}", self.child.id())]).status();
        assert!(sent.unwrap().success(), "the signal {name} cannot be sent");
    }

    /// The same for a program that may have ended.
    pub fn signal_if_alive(&self, name: &str) {
        #[expect(clippy::disallowed_methods, reason = "tests run programs from outside")]
        let mut kill = Command::new("sh");
        kill.args(["-c", &format!("kill -{name} {} 2>/dev/null", self.child.id())]).status().ok();
    }

    /// Waits for the next line on stderr.
    #[track_caller]
    pub fn read_error_line(&mut self) -> String {
        let mut line = String::new();
        // A buffer of one byte takes nothing that belongs to those who read next.
        let mut stderr = BufReader::with_capacity(1, self.child.stderr.take().unwrap());
        stderr.read_line(&mut line).unwrap();
        self.child.stderr = Some(stderr.into_inner());
        line
    }

    /// Waits for the next line on stdout.
    #[track_caller]
    pub fn read_line(&mut self) -> String {
        let mut line = String::new();
        // A buffer of one byte takes nothing that belongs to those who read next.
        let mut stdout = BufReader::with_capacity(1, self.child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        self.child.stdout = Some(stdout.into_inner());
        line
    }

    /// From now on its output is not read, as when `head` has seen enough.
    pub fn close_stdout(&mut self) {
        self.child.stdout = None;
    }

    /// Waits for its end.
    #[track_caller]
    pub fn finish(self) -> Ran {
        let output = self.child.wait_with_output().unwrap();
        self.feeder.join().unwrap();
        Ran {
            code: exit_code(output.status),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            args: self.args,
            cwd: self.cwd,
        }
    }
}

/// As a shell tells it: a death by signal is 128 and the signal.
pub(crate) fn exit_code(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt as _;
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(-1)
}

/// What became of a run. Every check shows all that the program said when it fails.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
    args: Vec<OsString>,
    cwd: PathBuf,
}

impl Ran {
    #[track_caller]
    pub fn success(&self) -> &Self {
        self.code(0)
    }

    #[track_caller]
    pub fn code(&self, expected: i32) -> &Self {
        assert!(self.code == expected, "expected exit code {expected}\n{}", self.said());
        self
    }

    #[track_caller]
    pub fn stdout_has(&self, text: &str) -> &Self {
        assert!(self.stdout.contains(text), "expected `{text}` on stdout\n{}", self.said());
        self
    }

    #[track_caller]
    pub fn stderr_has(&self, text: &str) -> &Self {
        assert!(self.stderr.contains(text), "expected `{text}` on stderr\n{}", self.said());
        self
    }

    #[track_caller]
    pub fn stdout_lacks(&self, text: &str) -> &Self {
        assert!(!self.stdout.contains(text), "did not expect `{text}` on stdout\n{}", self.said());
        self
    }

    #[track_caller]
    pub fn stderr_lacks(&self, text: &str) -> &Self {
        assert!(!self.stderr.contains(text), "did not expect `{text}` on stderr\n{}", self.said());
        self
    }

    /// The lines of the JSONL file that `--out`, or else the line `Output path: …`, names.
    #[track_caller]
    pub fn records(&self) -> Vec<Value> {
        let path = self.out_file();
        let text = fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {error}\n{}", path.display(), self.said()));
        text.lines().map(|line| parse(line)).collect()
    }

    /// The only record.
    #[track_caller]
    pub fn record(&self) -> Value {
        let mut records = self.records();
        assert!(records.len() == 1, "expected one record, not {}\n{}", records.len(), self.said());
        records.remove(0)
    }

    /// The only record of this case.
    #[track_caller]
    pub fn record_of(&self, eval_id: &str) -> Value {
        let mut records = self.records();
        records.retain(|record| record["eval_id"] == eval_id);
        assert!(
            records.len() == 1,
            "expected one record of `{eval_id}`, not {}\n{}",
            records.len(),
            self.said()
        );
        records.remove(0)
    }

    #[track_caller]
    fn out_file(&self) -> PathBuf {
        let named = self.args.iter().zip(self.args.iter().skip(1)).find_map(|(flag, value)| {
            (flag == "--out").then(|| value.to_string_lossy().into_owned())
        });
        let joined = self
            .args
            .iter()
            .find_map(|arg| arg.to_string_lossy().strip_prefix("--out=").map(ToOwned::to_owned));
        let told = self.stdout.lines().find_map(|line| line.strip_prefix("Output path: "));
        let Some(path) = named.or(joined).or_else(|| told.map(ToOwned::to_owned)) else {
            panic!("neither `--out` nor `Output path:` says where the records are\n{}", self.said())
        };
        self.cwd.join(path)
    }

    /// The whole run, for the message of a failed check.
    fn said(&self) -> String {
        let mut text = String::from("$ agentv");
        for arg in &self.args {
            write!(text, " {}", arg.to_string_lossy()).unwrap();
        }
        let Self { code, stdout, stderr, .. } = self;
        write!(text, "\nexit code {code}\n--- stdout\n{stdout}\n--- stderr\n{stderr}").unwrap();
        text
    }
}

/// What the only evaluator of this name found, out of a record.
#[track_caller]
pub fn result_of<'r>(record: &'r Value, evaluator: &str) -> &'r Value {
    let results = record["evaluator_results"].as_array().map_or(&[][..], Vec::as_slice);
    let mut found = results.iter().filter(|result| result["name"] == evaluator);
    match (found.next(), found.next()) {
        (Some(result), None) => result,
        _ => panic!("expected one result of `{evaluator}` in {record:#}"),
    }
}

#[track_caller]
fn parse(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("no JSON ({error}): {line}"))
}

/// Whether the process of this id, as a script wrote it down, still runs.
#[cfg(target_os = "linux")]
pub fn is_alive(pid: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    // The state follows the name, which is in parentheses. One that is dead but not yet buried is no longer running.
    status.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}
