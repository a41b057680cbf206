//! Case → request: what is sent, for models and for agents.

mod build;
pub mod placeholder;
pub mod preread;

pub use build::{build, guidelines_block};
