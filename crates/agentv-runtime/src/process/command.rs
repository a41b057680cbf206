//! What is run, and how.

use super::environment::ChildEnvironment;
use super::find::in_path;
use super::sandbox::Confinement;
use agentv_wire::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;
use std::{fmt, io};

/// A program to run. There are no defaults to forget: every field is stated.
#[derive(Clone)]
pub struct Command {
    /// The program, then its arguments. A relative program with a `/` is taken from `cwd`.
    pub argv: Vec<OsString>,
    pub cwd: PathBuf,
    pub env: ChildEnvironment,
    pub stdin: Stdin,
    /// After this long the whole tree is ended.
    pub time_limit: Option<Duration>,
    /// How many bytes of stdout, and of stderr, are kept.
    pub output_cap: usize,
    /// How the tree is asked to end before it is made to.
    pub gentle: Gentle,
    /// What it is kept from, if it is.
    pub sandbox: Option<Confinement>,
}

/// What a child reads.
#[derive(Clone)]
pub enum Stdin {
    Nothing,
    Bytes(Vec<u8>),
}

/// The first signal on a time-out or a cancel. Clients differ in which one makes them end their own children.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gentle {
    Terminate,
    Interrupt,
    /// No grace: for programs with nothing to save.
    Kill,
}

impl Command {
    /// The `argv` of a script for the shell. Not a login shell, which would run the user's profile.
    pub fn shell(script: impl Into<OsString>) -> Vec<OsString> {
        vec!["/bin/sh".into(), "-c".into(), script.into()]
    }

    /// What the program is called in messages.
    pub(super) fn program(&self) -> String {
        self.argv.first().map(|program| program.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Starts it, in a process group of its own.
    pub(super) fn spawn(&self, run_id: &str, call_id: &str) -> io::Result<Child> {
        let Some((program, arguments)) = self.argv.split_first() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no program to run"));
        };
        // Nothing that needs `pre_exec` may be added here: std would fork instead of using posix_spawn, which is slow and
        // grows with our own memory. The same goes for a bare program beside a `PATH` of its own, hence `locate`.
        let mut command = self.starter(program)?;
        command
            .args(arguments)
            .current_dir(&self.cwd)
            .process_group(0)
            .stdin(match self.stdin {
                Stdin::Nothing => Stdio::null(),
                Stdin::Bytes(_) => Stdio::piped(),
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        self.env.apply(&mut command);
        command.env(env::RUN_ID, run_id).env(env::CALL_ID, call_id);
        command.envs(self.sandbox.iter().flat_map(Confinement::variables));
        command.spawn().map_err(|error| self.explain(error))
    }

    /// The program itself, or the launcher of its sandbox with the program as its first arguments.
    fn starter(&self, program: &OsStr) -> io::Result<std::process::Command> {
        #[expect(clippy::disallowed_methods, reason = "this is the one way to run a program")]
        let new = std::process::Command::new::<&OsStr>;
        let found = self.locate(program)?;
        let Some(sandbox) = self.sandbox.as_ref().filter(|sandbox| sandbox.nonce().is_some())
        else {
            let mut command = new(&found);
            command.arg0(program);
            return Ok(command);
        };
        let (launcher, arguments) = sandbox.launcher()?;
        let mut command = new(launcher.as_ref());
        command.arg0("agentv").args(arguments).arg(found).arg(program);
        Ok(command)
    }

    /// A bare name is looked up by us if the child gets a `PATH` of its own, else by the system.
    fn locate(&self, program: &OsStr) -> io::Result<OsString> {
        let Some(path) = self.env.path().filter(|_| !program.as_encoded_bytes().contains(&b'/'))
        else {
            return Ok(program.to_owned());
        };
        let found = in_path(program, path.as_ref(), &self.cwd);
        found.map(PathBuf::into_os_string).ok_or_else(|| rustix::io::Errno::NOENT.into())
    }

    /// The system says "not found" of a missing directory as of a missing program.
    fn explain(&self, error: io::Error) -> io::Error {
        if self.cwd.is_dir() {
            return error;
        }
        let text = format!("the working directory `{}` does not exist", self.cwd.display());
        io::Error::new(error.kind(), text)
    }
}

/// Stdin may be long, so it is not shown.
impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Command")
            .field("argv", &self.argv)
            .field("cwd", &self.cwd)
            .field("env", &self.env)
            .field("stdin", &self.stdin)
            .field("time_limit", &self.time_limit)
            .field("output_cap", &self.output_cap)
            .field("gentle", &self.gentle)
            .field("sandbox", &self.sandbox)
            .finish()
    }
}

impl fmt::Debug for Stdin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("Nothing"),
            Self::Bytes(bytes) => write!(f, "Bytes({})", bytes.len()),
        }
    }
}
