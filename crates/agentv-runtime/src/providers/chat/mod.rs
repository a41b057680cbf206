//! What chat APIs have in common: how a request becomes a conversation, how a reply becomes a response, what it cost.
//!
//! Tokens are counted in one way whatever the vendor: `token_usage.input` is every token of the prompt, `cached` is the
//! part of them that came from a cache, and `output` is every token that was generated, thoughts included.

pub(super) mod address;
pub(super) mod completions;
mod conversation;
mod pricing;
mod reply;
mod settings;
#[cfg(test)]
pub(super) mod testing;
mod usage;

pub(super) use conversation::{Conversation, Speaker};
pub(super) use pricing::{Pricing, Rates, Vendor, max_output_tokens};
pub(super) use reply::ChatReply;
pub(super) use settings::ChatSettings;
pub(super) use usage::ChatUsage;
