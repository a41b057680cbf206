//! The one door to other programs: bounded capture, no hang on an unread stdin, and nothing left behind.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// A program to run. There are no defaults to forget: every field is stated.
#[derive(Debug, Clone)]
pub struct Command {
    /// The program, then its arguments.
    pub argv: Vec<OsString>,
    pub cwd: PathBuf,
    /// Set on top of what the child inherits.
    pub env: Vec<(String, String)>,
    pub stdin: Stdin,
    /// After this long the whole tree is ended.
    pub time_limit: Option<Duration>,
    /// How much of stdout, and of stderr, is kept.
    pub output_cap: usize,
}

/// What a child reads.
#[derive(Debug, Clone)]
pub enum Stdin {
    Nothing,
    Bytes(Vec<u8>),
}

/// Runs programs for one run of AgentV.
#[derive(Debug)]
pub struct Processes {}

impl Processes {
    pub fn end_leftovers(&self) {}
}
