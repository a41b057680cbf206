//! Everything that touches the world, in the data's order: files are loaded, targets built, programs run, cases asked and
//! graded, records written.

#![cfg_attr(test, expect(clippy::disallowed_methods, reason = "tests read their own files"))]

#[cfg(not(unix))]
compile_error!("AgentV builds for Linux and macOS");

pub mod atomic_file;
pub mod clock;
pub mod config;
pub mod file_input;
pub mod hash;
pub mod interrupts;
pub mod load;
mod new_paths;
pub mod open_files;
pub mod parallel;

pub mod cache;
pub mod cassette;
mod deadline;
pub mod http;
pub mod process;
pub mod providers;
pub mod targets;
mod temp;
pub mod watch;
pub mod workspace;

pub mod convert;
pub mod evaluators;
pub mod generate;
pub mod import;

pub mod results_io;
pub mod run;
pub mod run_dir;
pub mod session;
pub mod writers;
mod written_file;
