//! Values that a person wrote, with their places, and how to read them so that all that is wrong is said at once.
//!
//! Loaders, providers and evaluators read their keys through [`Fields`]; nothing here knows any of them.

mod env;
mod fields;
mod masking;
mod node;
mod note;
mod number;
mod search;
mod secret;
mod secrets;
mod variables;

pub use env::{Env, EnvError, Scrub, variable_reference};
pub use fields::{Fields, FromNode, Leftovers, Owner, Wrong, same_key, suggestion, typos_between};
pub use node::{Entry, Kind, Map, Node, Span};
pub use note::{Cost, Dropped, Note, NotePlace, Notes};
pub use number::{Count, Numeric};
pub use search::{FileSearch, Found};
pub use secret::{MISSING_SECRET, Presence};
pub use secrets::{Secrets, names_a_secret, secrets_of_address};
pub use variables::Variables;
