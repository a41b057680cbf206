//! Keys that all chat APIs share.

use super::Pricing;
use crate::config::{Count, Fields, Numeric};
use crate::providers::{CallPolicy, RateLimits, RetrySettings};
use schemars::JsonSchema;

/// What every chat API can be told.
#[derive(Debug, Clone, Default, JsonSchema)]
pub(in crate::providers) struct ChatSettings {
    /// How freely the model may choose its words; the vendor's default if absent.
    pub temperature: Option<f64>,
    /// How many tokens the answer may have. Also called `max_tokens`.
    pub max_output_tokens: Option<u64>,
    /// What tokens cost, where AgentV's own table does not know the model or you pay something else.
    pub pricing: Option<Pricing>,
    #[schemars(flatten)]
    pub rate: RateLimits,
    #[schemars(flatten)]
    pub retry: RetrySettings,
}

impl ChatSettings {
    pub(in crate::providers) fn read(fields: &mut Fields<'_, '_>) -> Self {
        let count = |count: Count| count.0;
        Self {
            temperature: fields.take::<Numeric>("temperature").map(|number| number.0),
            max_output_tokens: fields.take_of(&["max_output_tokens", "max_tokens"]).map(count),
            pricing: fields.sub(&["pricing"]).and_then(|mut fields| Pricing::read(&mut fields)),
            rate: RateLimits::read(fields),
            retry: RetrySettings::read(fields),
        }
    }

    pub(in crate::providers) fn policy(&self) -> CallPolicy {
        CallPolicy {
            retry: Some(self.retry.policy()),
            rate: self.rate,
            max_output_tokens: self.max_output_tokens,
        }
    }

    /// The same where the answer's length may also be told as `max_completion_tokens`, which then holds.
    pub(in crate::providers) fn policy_within(
        &self,
        max_completion_tokens: Option<u64>,
    ) -> CallPolicy {
        let policy = self.policy();
        let longest = max_completion_tokens.or(policy.max_output_tokens);
        CallPolicy { max_output_tokens: longest, ..policy }
    }
}
