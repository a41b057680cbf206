//! What a run leaves in `.agentv/runs/<run id>/`, so that it can be looked at later and taken up again after a crash.
//!
//! ```text
//! run.json        who ran what, when, and what came of it
//! results.jsonl   the records; the same file as the run's output, where the file system allows it
//! journal.jsonl   answers before they are graded, and which case each record is of
//! manifest.json   what all files were when the run ended; manifest.sig signs it
//! removed.jsonl   records that a later resume took out of the results
//! lock            held while the run goes on
//! logs/           for what programs have to say
//! ```

mod asked;
mod chain;
mod facts;
mod files;
mod index;
mod journal;
mod lines;
mod link;
mod lock;
mod manifest;
mod past;
mod runs;
mod signature;
mod verify;

pub use asked::asked;
pub use facts::{git_head, host};
pub use files::{RESULTS, RUN_FORMAT, RunFiles};
pub use index::{Index, PastAnswer, RecordedWork};
pub use journal::{CaseRevision, Journal, KeptAnswer, LineHash};
pub use lines::LinePlace;
pub(crate) use link::is_same;
pub use link::{Link, folder_of_output, link};
pub use past::{Claim, Fate, Past, Rewritten};
pub use runs::{DamagedRun, FolderError, RunFolder, Runs, State};
pub use signature::{KeyError, PublicKey, SigningKey};
pub use verify::{can_be_verified, verify};
