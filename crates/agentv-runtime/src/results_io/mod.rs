//! Results files as they are read back: found by name, read record by record, compared, merged.
//!
//! Files may be gigabytes, so no more than one record is in memory at a time. A last line that was cut off, as by a kill,
//! is left out and told; anything else that is no record is an error with its line.

mod find;
mod history;
mod merge;
mod reader;
mod recorded;
mod scored;

pub use find::find_results;
pub use history::{CaseHistory, History, read_history};
pub use merge::{Conflict, MergeError, Merged, merge};
pub use reader::{Reader, ResultsError};
pub use recorded::{Recall, Recorded, RecordedAnswer};
pub use scored::{ScoredRun, match_by_suite, read_scored};
