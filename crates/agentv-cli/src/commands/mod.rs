//! What the program can do; a file each.

pub(crate) mod cache;
pub(crate) mod compare;
pub(crate) mod convert;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod eval;
pub(crate) mod generate;
pub(crate) mod grade;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod judge;
pub(crate) mod merge;
pub(crate) mod provision;
pub(crate) mod report;
pub(crate) mod runs;
pub(crate) mod schema;
pub(crate) mod validate;

use std::io;
use tokio::runtime::Runtime;

/// What waits for targets and judges. On this thread alone: a run brings threads of its own.
pub(crate) fn runtime() -> io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}
