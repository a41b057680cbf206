//! What is not in a record, as there was too much of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What was left out of what an agent printed; `provider_metadata.omitted` in a record. The beginning and the end are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", default)]
pub struct Omitted {
    /// Messages, with the calls of tools in them.
    #[serde(skip_serializing_if = "is_zero")]
    pub messages: u64,
    /// Calls of tools.
    #[serde(skip_serializing_if = "is_zero")]
    pub tool_calls: u64,
    /// Bytes of texts and of results of tools that were cut.
    #[serde(skip_serializing_if = "is_zero")]
    pub text_bytes: u64,
    /// Lines that were longer than a line may be.
    #[serde(skip_serializing_if = "is_zero")]
    pub lines: u64,
    /// Bytes of the log.
    #[serde(skip_serializing_if = "is_zero")]
    pub log_bytes: u64,
}

impl Omitted {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// This and more.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            messages: self.messages + other.messages,
            tool_calls: self.tool_calls + other.tool_calls,
            text_bytes: self.text_bytes + other.text_bytes,
            lines: self.lines + other.lines,
            log_bytes: self.log_bytes + other.log_bytes,
        }
    }
}

/// `messages: 12, log_bytes: 3400`
impl fmt::Display for Omitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [
            ("messages", self.messages),
            ("tool_calls", self.tool_calls),
            ("text_bytes", self.text_bytes),
            ("lines", self.lines),
            ("log_bytes", self.log_bytes),
        ];
        let shown = counts.iter().filter(|(_, count)| *count > 0);
        let shown: Vec<String> = shown.map(|(name, count)| format!("{name}: {count}")).collect();
        f.write_str(&shown.join(", "))
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
