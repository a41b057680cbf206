//! How calls of a target are repeated and paced: what a provider's settings say, for the layer around it.

use crate::config::{Count, Fields, FromNode, Node, Numeric, Wrong};
use agentv_core::RetryPolicy;
use schemars::JsonSchema;
use std::num::NonZeroU32;
use std::time::Duration;

/// What the layer around a provider does for it. Nothing, for one that looks after itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallPolicy {
    /// When a failed call is repeated.
    pub retry: Option<RetryPolicy>,
    /// How fast calls may follow each other.
    pub rate: RateLimits,
    /// What a call may generate at most, for an estimate of its tokens.
    pub max_output_tokens: Option<u64>,
}

impl CallPolicy {
    /// Whether there is nothing to do.
    pub fn is_none(&self) -> bool {
        self.retry.is_none() && self.rate == RateLimits::default()
    }
}

/// What a target's account allows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema)]
pub struct RateLimits {
    /// Requests per minute. Calls wait rather than be refused. No limit if absent.
    #[schemars(with = "Option<u32>")]
    pub rpm: Option<NonZeroU32>,
    /// Tokens per minute, of prompts and answers together; estimated before a call, put right after it. No limit if
    /// absent.
    #[schemars(with = "Option<u32>")]
    pub tpm: Option<NonZeroU32>,
}

impl RateLimits {
    pub fn read(fields: &mut Fields<'_, '_>) -> Self {
        Self {
            rpm: fields.take::<PerMinute>("rpm").map(|limit| limit.0),
            tpm: fields.take::<PerMinute>("tpm").map(|limit| limit.0),
        }
    }
}

struct PerMinute(NonZeroU32);

impl FromNode for PerMinute {
    fn from_node(node: &Node<'_>) -> Result<Self, Wrong> {
        let count = Count::from_node(node).ok().and_then(|count| u32::try_from(count.0).ok());
        count
            .and_then(NonZeroU32::new)
            .map(Self)
            .ok_or(Wrong { expected: "a whole number from 1 up" })
    }
}

/// When a call that failed is repeated. Statuses outside the list, and refused keys above all, fail at once.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema)]
pub struct RetrySettings {
    /// How often a failed call is repeated; 3 if absent.
    pub max_retries: Option<u32>,
    /// Milliseconds before the first repetition, a quarter more or less; 1000 if absent.
    #[schemars(with = "Option<u64>")]
    pub retry_initial_delay_ms: Option<Duration>,
    /// No wait is longer than this many milliseconds, whatever the server's `Retry-After` asks for; 60000 if absent.
    #[schemars(with = "Option<u64>")]
    pub retry_max_delay_ms: Option<Duration>,
    /// By how much each wait is longer than the one before; 2 if absent.
    pub retry_backoff_factor: Option<f64>,
    /// The statuses that are worth another call; 500, 408, 429, 502, 503 and 504 if absent. Broken connections always are.
    pub retry_status_codes: Option<Vec<u16>>,
}

impl RetrySettings {
    pub fn read(fields: &mut Fields<'_, '_>) -> Self {
        let milliseconds = |count: Count| Duration::from_millis(count.0);
        Self {
            max_retries: fields.take::<Times>("max_retries").map(|times| times.0),
            retry_initial_delay_ms: fields.take("retry_initial_delay_ms").map(milliseconds),
            retry_max_delay_ms: fields.take("retry_max_delay_ms").map(milliseconds),
            retry_backoff_factor: fields.take::<Factor>("retry_backoff_factor").map(|one| one.0),
            retry_status_codes: fields.take::<Statuses>("retry_status_codes").map(|list| list.0),
        }
    }

    /// The settings with the defaults of those that are absent.
    pub fn policy(&self) -> RetryPolicy {
        let default = RetryPolicy::default();
        RetryPolicy {
            max_retries: self.max_retries.unwrap_or(default.max_retries),
            initial_delay: self.retry_initial_delay_ms.unwrap_or(default.initial_delay),
            max_delay: self.retry_max_delay_ms.unwrap_or(default.max_delay),
            backoff_factor: self.retry_backoff_factor.unwrap_or(default.backoff_factor),
            status_codes: self.retry_status_codes.clone().unwrap_or(default.status_codes),
        }
    }
}

struct Times(u32);

impl FromNode for Times {
    fn from_node(node: &Node<'_>) -> Result<Self, Wrong> {
        let expected = "a whole number from 0 to 1000";
        let times = Count::from_node(node).ok().and_then(|count| u32::try_from(count.0).ok());
        times.filter(|times| *times <= 1000).map(Self).ok_or(Wrong { expected })
    }
}

struct Factor(f64);

impl FromNode for Factor {
    fn from_node(node: &Node<'_>) -> Result<Self, Wrong> {
        let factor = Numeric::from_node(node).ok().map(|number| number.0);
        factor
            .filter(|factor| *factor >= 1.0)
            .map(Self)
            .ok_or(Wrong { expected: "a number from 1 up" })
    }
}

struct Statuses(Vec<u16>);

impl FromNode for Statuses {
    fn from_node(node: &Node<'_>) -> Result<Self, Wrong> {
        let wrong = Wrong { expected: "a list of HTTP statuses, each from 100 to 599" };
        let status = |node: &Node<'_>| {
            let count = Count::from_node(node).ok()?;
            u16::try_from(count.0).ok().filter(|status| (100..600).contains(status))
        };
        let items = node.as_list().ok_or(wrong)?;
        items.iter().map(status).collect::<Option<_>>().map(Self).ok_or(wrong)
    }
}
