//! `contains`, `equals`, `regex`, `is_json`: plain checks of the answer's text. 1 if it is as wanted, else 0.

mod contains;
mod equals;
mod is_json;
mod pattern;

pub use contains::{Contains, ContainsConfig, ContainsMode, Texts};
pub use equals::{Equals, EqualsConfig};
pub use is_json::{IsJson, IsJsonConfig, SchemaConfig};
pub use pattern::{Pattern, PatternConfig};
