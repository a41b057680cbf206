//! The one door to other programs: bounded capture, no hang on an unread stdin, and nothing left behind.
//!
//! A process group is not enough to end what an agent started, since agents run tools in sessions of their own. So on
//! Linux AgentV is a child subreaper ([`become_subreaper`]), and every child carries the ids of its run and its call in its
//! environment. A program may clean that, so children also carry a mark of their call as a resource limit that has no effect
//! ([`mark`]). When a call ends, orphans that came to us and carry its id or its mark are ended with all that they started;
//! on a time-out or a cancel the whole of `/proc` is walked. Elsewhere the process group is all there is.
//!
//! Where few files may be open, programs wait for each other ([`place`]).

mod command;
mod environment;
mod find;
mod interpreter;
mod leader;
mod mark;
mod output;
mod pipes;
mod place;
#[cfg(target_os = "linux")]
mod procfs;
mod quote;
mod run;
pub mod sandbox;
mod tree;
mod watch;

#[cfg(test)]
mod tests;

pub use command::{Command, Gentle, Stdin};
pub use environment::{ChildEnvironment, EnvironmentRule, SecretPolicy};
pub use find::{FindError, find};
pub use interpreter::{interpreted, shell_words};
pub use output::{Captured, Output, ProgramExit};
pub use place::Caller;
pub use quote::{first_program, is_plain, quote};
pub use run::{Processes, RunError};
pub use tree::become_subreaper;
pub use watch::{OutputStream, Watch, Watcher};
