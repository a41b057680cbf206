//! The candidate's trace: taken from its messages where it gives none itself, and summed up.

mod extract;
mod summary;

pub use extract::from_messages;
pub use summary::summarize;
