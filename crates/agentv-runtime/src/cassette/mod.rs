//! All calls of a run in one text file: recorded once, replayed without asking anybody.
//!
//! A call is found by who was asked, for which case, trial and purpose, and by what was asked: a cassette never answers a
//! question that it has not heard. The file is the same however many workers made it, and has no clock times and no paths
//! of one machine, so that Git shows what has changed.

mod call;
mod recording;
mod replaying;

pub use call::{CallKey, CassetteError};
pub use recording::{Recorder, RecordingProvider};
pub use replaying::{Player, Replaying};

use std::sync::Arc;

/// Whether calls are recorded or replayed.
#[derive(Debug, Clone, Default)]
pub enum Tape {
    #[default]
    Off,
    Recording(Arc<Recorder>),
    Replaying(Arc<Player>),
}
