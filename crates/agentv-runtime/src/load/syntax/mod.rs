//! Bytes → nodes, with places. Knows YAML and JSON, and nothing of what they say.

pub(super) mod json;
mod text;
pub(super) mod yaml;
mod yaml_error;

pub(super) use text::read_text;
