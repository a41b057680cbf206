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
pub(crate) mod plan;
pub(crate) mod provision;
pub(crate) mod report;
pub(crate) mod runs;
pub(crate) mod schema;
pub(crate) mod validate;

use agentv_runtime::parallel::cores;
use std::io;
use tokio::runtime::Runtime;

/// How many threads there are at least. Starting a program holds up a thread until the program runs: with one thread, 200
/// commands at 8 workers took 15 % longer on two cores than with two. More than there are cores are no quicker.
const LEAST_THREADS: usize = 2;

/// What waits for targets and judges.
pub(crate) fn runtime() -> io::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(cores().max(LEAST_THREADS))
        .enable_all()
        .build()
}
