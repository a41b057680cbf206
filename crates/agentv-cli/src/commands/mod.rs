//! What the program can do; a file each.

pub(crate) mod cache;
pub(crate) mod cluster;
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
pub(crate) mod verify;
pub(crate) mod worker;

use crate::terminal;
use agentv_runtime::interrupts::Interrupts;
use agentv_runtime::open_files::{LEAST as LEAST_FILES, open_files};
use agentv_runtime::parallel::cores;
use agentv_runtime::process::{self, Processes};
use agentv_wire::Exit;
use tokio::runtime::Runtime;

/// How many threads there are at least. Starting a program holds up a thread until the program runs: with one thread, 200
/// commands at 8 workers took 15 % longer on two cores than with two. More than there are cores are no quicker.
const LEAST_THREADS: usize = 2;

/// What waits for targets and judges. If there can be none, that is said.
pub(crate) fn runtime() -> Result<Runtime, Exit> {
    let files = match open_files().limit() {
        files if files < LEAST_FILES => open_files().raise(),
        files => files,
    };
    if files < LEAST_FILES {
        let message = format!(
            "only {files} files may be open at a time; AgentV needs at least {LEAST_FILES}"
        );
        return Err(terminal::fail(&message, Some("raise the limit, as with `ulimit -n 1024`")));
    }
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(cores().max(LEAST_THREADS))
        .enable_all()
        .build()
        .map_err(|error| terminal::fail(&format!("the runtime cannot be started: {error}"), None))
}

/// Does work that starts programs, until it is done or the user stops it. Nothing that it started is left either way.
pub(crate) fn work<T>(processes: &Processes, work: impl Future<Output = T>) -> Result<T, Exit> {
    let runtime = runtime()?;
    // Without it orphans go to the system's first process, as they would without us.
    let _ = process::become_subreaper();
    let done = runtime.block_on(async {
        let mut interrupts = Interrupts::listen();
        tokio::select! {
            done = work => Some(done),
            () = interrupts.next() => None,
        }
    });
    processes.end_leftovers();
    done.ok_or_else(|| {
        terminal::complain("interrupted", None);
        Exit::Interrupted
    })
}
