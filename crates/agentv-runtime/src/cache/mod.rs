//! Answers that are remembered from one run to the next: asked once, paid once.
//!
//! An answer is found by a hash of everything that shapes it. What does not is left out: the target's name, its key, how fast
//! it may be called, which attempt this is.

mod cached;
mod key;
mod store;

pub(crate) use cached::took;
pub use cached::{CacheChoice, Cached};
pub use key::{AnswerKey, RequestDigest, TargetFingerprint};
pub use store::{AnswerStore, Cleared, Stats, Store};
