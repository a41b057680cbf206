//! Tokens as one counts them, whatever the vendor calls them.

use agentv_wire::TokenUsage;

/// What an API said that a call used. Vendors differ in what their `input` includes; here it is all of the prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::providers) struct ChatUsage {
    /// Every token of the prompt, from a cache or not.
    pub input: u64,
    /// The part of `input` that was read from a cache.
    pub cached: Option<u64>,
    /// The part of `input` that was written to a cache, where that has a price of its own.
    pub written: u64,
    /// Every token that was generated, thoughts included.
    pub output: u64,
}

#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
impl From<ChatUsage> for TokenUsage {
    fn from(usage: ChatUsage) -> Self {
        Self {
            input: usage.input as f64,
            output: usage.output as f64,
            cached: usage.cached.map(|cached| cached as f64),
        }
    }
}
