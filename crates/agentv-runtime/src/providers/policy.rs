//! How calls of a target are repeated and paced: what a provider's settings say, for the layer around it.

use crate::config::{Count, Fields, FromNode, Leftovers, Node, Numeric, Span, Wrong};
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

/// When a call that failed is repeated. Statuses outside the list fail at once; 401 and 403 always do.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema)]
pub struct RetrySettings {
    /// How often a failed call is repeated; 3 if absent. This key and those about waits and statuses may also be in a
    /// mapping `retry`.
    pub max_retries: Option<u32>,
    /// Milliseconds before the first repetition, a quarter more or less; 1000 if absent. Also called `initial_delay_ms`.
    #[schemars(with = "Option<u64>")]
    pub retry_initial_delay_ms: Option<Duration>,
    /// No wait is longer than this many milliseconds, even if the server's `Retry-After` asks for more; 60000 if absent.
    /// Also called `max_delay_ms`.
    #[schemars(with = "Option<u64>")]
    pub retry_max_delay_ms: Option<Duration>,
    /// By how much each wait is longer than the one before; 2 if absent. Also called `backoff_factor`.
    pub retry_backoff_factor: Option<f64>,
    /// The statuses that are retried; 500, 408, 429, 502, 503, 504 and 529 if absent. Broken connections are always
    /// retried, 401 and 403 never. Also called `retryable_status_codes`.
    pub retry_status_codes: Option<Vec<u16>>,
}

/// The names of each key: that of 2.x, then that of the specification.
const INITIAL_DELAY: &[&str] = &["retry_initial_delay_ms", "initial_delay_ms"];
const MAX_DELAY: &[&str] = &["retry_max_delay_ms", "max_delay_ms"];
const BACKOFF_FACTOR: &[&str] = &["retry_backoff_factor", "backoff_factor"];
const STATUS_CODES: &[&str] = &["retry_status_codes", "retryable_status_codes"];

impl RetrySettings {
    /// Every key that is read here, for those who must know which keys say nothing about the answers.
    pub const KEYS: [&'static str; 10] = [
        "retry",
        "max_retries",
        INITIAL_DELAY[0],
        INITIAL_DELAY[1],
        MAX_DELAY[0],
        MAX_DELAY[1],
        BACKOFF_FACTOR[0],
        BACKOFF_FACTOR[1],
        STATUS_CODES[0],
        STATUS_CODES[1],
    ];

    /// The target's own keys win over those of its mapping `retry`.
    pub fn read(fields: &mut Fields<'_, '_>) -> Self {
        let own = Self::read_keys(fields);
        let Some(mut nested) = fields.sub(&["retry"]) else { return own };
        let inner = Self::read_keys(&mut nested);
        nested.finish(Leftovers::Warn);
        Self {
            max_retries: own.max_retries.or(inner.max_retries),
            retry_initial_delay_ms: own.retry_initial_delay_ms.or(inner.retry_initial_delay_ms),
            retry_max_delay_ms: own.retry_max_delay_ms.or(inner.retry_max_delay_ms),
            retry_backoff_factor: own.retry_backoff_factor.or(inner.retry_backoff_factor),
            retry_status_codes: own.retry_status_codes.or(inner.retry_status_codes),
        }
    }

    fn read_keys(fields: &mut Fields<'_, '_>) -> Self {
        let milliseconds = |count: Count| Duration::from_millis(count.0);
        Self {
            max_retries: fields.take::<Times>("max_retries").map(|times| times.0),
            retry_initial_delay_ms: fields.take_of(INITIAL_DELAY).map(milliseconds),
            retry_max_delay_ms: fields.take_of(MAX_DELAY).map(milliseconds),
            retry_backoff_factor: fields.take_of::<Factor>(BACKOFF_FACTOR).map(|one| one.0),
            retry_status_codes: status_codes(fields),
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

/// The listed statuses. What is listed and never retried is noted.
fn status_codes(fields: &mut Fields<'_, '_>) -> Option<Vec<u16>> {
    let Statuses { listed, span } = fields.take_of(STATUS_CODES)?;
    for status in RetryPolicy::NEVER_RETRIED.iter().filter(|status| listed.contains(status)) {
        let message = format!(
            "status {status} is never retried, though `{}` of {} lists it",
            STATUS_CODES[0],
            fields.owner()
        );
        fields
            .warning_at("retry::never", span, message)
            .help(format!("remove {status}: a refused key is refused again"));
    }
    Some(listed)
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

struct Statuses {
    listed: Vec<u16>,
    span: Span,
}

impl FromNode for Statuses {
    fn from_node(node: &Node<'_>) -> Result<Self, Wrong> {
        let wrong = Wrong { expected: "a list of HTTP statuses, each from 100 to 599" };
        let status = |node: &Node<'_>| {
            let count = Count::from_node(node).ok()?;
            u16::try_from(count.0).ok().filter(|status| (100..600).contains(status))
        };
        let items = node.as_list().ok_or(wrong)?;
        let listed = items.iter().map(status).collect::<Option<_>>().ok_or(wrong)?;
        Ok(Self { listed, span: node.span })
    }
}
