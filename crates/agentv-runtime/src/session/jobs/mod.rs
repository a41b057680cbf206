//! Work that is handed over as messages: a [`Job`](crate::run::Job) of each piece of work, and the work of each job.

mod files;
mod reader;
mod writer;

pub use files::SentFile;
pub use reader::{JobReader, ReadBatch};
pub use writer::{JobWriter, WrittenJob};

use agentv_wire::SuiteId;

/// Why a job cannot be made, or cannot be done here.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    #[error("the suite `{0}` cannot be read any more")]
    Unreadable(SuiteId),
    #[error("case `{0}` was not loaded as one that can be sent away")]
    NotPortable(String),
    #[error("the file `{path}` cannot be sent: {reason}")]
    File { path: String, reason: String },
    #[error("the job cannot be run here: {0}")]
    Refused(String),
    #[error("target `{0}` has other settings here")]
    OtherTarget(String),
}
