//! `latency`, `cost`, `token_usage`: numbers of the run that must not exceed a limit. 1 if they do not, else 0.

mod cost;
mod latency;
mod token_usage;

pub use cost::{CostConfig, CostLimit};
pub use latency::{LatencyConfig, LatencyLimit};
pub use token_usage::{TokenUsageConfig, TokenUsageLimit};

use agentv_core::{Score, Verdict};

/// One number held against its limit.
struct Check {
    value: f64,
    limit: f64,
    /// The sentence, given `<=` or `>`.
    text: fn(value: f64, limit: f64, relation: &str) -> String,
}

/// Full marks if all hold.
fn grade(checks: impl IntoIterator<Item = Check>) -> Verdict {
    let mut verdict = Verdict::of(Score::ONE);
    for Check { value, limit, text } in checks {
        if value <= limit {
            verdict.hits.push(text(value, limit, "<="));
        } else {
            verdict.misses.push(text(value, limit, ">"));
            verdict.score = Score::ZERO;
        }
    }
    verdict
}
