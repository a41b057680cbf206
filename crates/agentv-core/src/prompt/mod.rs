//! Case → request: what is sent, for models and for agents.

mod build;
mod fill;
pub mod placeholder;
pub mod preread;

pub use build::{build, guidelines_block};
pub use fill::fill;
