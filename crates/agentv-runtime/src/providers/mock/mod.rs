//! Canned answers, optionally after a delay: for dry runs, demos and tests of evaluators. It makes no calls.

mod reply;

pub use reply::MockReply;

use super::{Billing, Deps, FromSettings};
use crate::config::Fields;
use agentv_core::{CallContext, Provider, ProviderError, ProviderInfo, Request, Response};
use agentv_wire::DryRunDelay;
use agentv_wire::TraceEvent;
use async_trait::async_trait;
use reply::Trace;
use schemars::JsonSchema;
use std::time::{Duration, SystemTime};

/// Says the same to everyone, or something else in each trial.
#[derive(Debug)]
pub struct Mock {
    settings: MockSettings,
}

/// `provider: mock`: the same answer to everyone, with no key, network or cost: for trying things out and for tests.
#[derive(Debug, Clone, JsonSchema)]
pub struct MockSettings {
    /// The answer.
    #[serde(default)]
    pub response: String,
    /// Several answers, for trials: the first trial of a case gets the first, and so on from the start again. Beats
    /// `response`.
    #[serde(default)]
    pub responses: Vec<String>,
    /// Milliseconds to wait before answering.
    #[serde(default)]
    pub delay_ms: u64,
    /// With `delay_max_ms`: wait for a random time between the two. Beats `delay_ms`.
    #[serde(default)]
    pub delay_min_ms: u64,
    /// See `delay_min_ms`.
    #[serde(default)]
    pub delay_max_ms: u64,
    /// A trace to come with the answer.
    #[serde(default)]
    pub trace: Option<Vec<TraceEvent>>,
    /// Answers by what is asked, to play an agent or a judge: the first that fits. What none fits gets `response`.
    #[serde(default)]
    pub replies: Vec<MockReply>,
}

const DEFAULT_RESPONSE: &str =
    r#"{"answer":"Mock response. Set `response` on this target to choose your own."}"#;

impl FromSettings for Mock {
    const NAMES: &'static [&'static str] = &["mock"];
    const INFO: ProviderInfo = ProviderInfo::simulated("mock");
    type Settings = MockSettings;

    fn read(fields: &mut Fields<'_, '_>) -> Option<MockSettings> {
        Some(MockSettings {
            response: fields.take("response").unwrap_or_else(|| DEFAULT_RESPONSE.to_owned()),
            responses: fields.take("responses").unwrap_or_default(),
            delay_ms: fields.take("delay_ms").unwrap_or(0),
            delay_min_ms: fields.take("delay_min_ms").unwrap_or(0),
            delay_max_ms: fields.take("delay_max_ms").unwrap_or(0),
            trace: fields.take::<Trace>("trace").map(|trace| trace.0),
            replies: reply::read(fields),
        })
    }

    fn billing(_settings: &MockSettings) -> Billing {
        Billing::FREE
    }

    fn from_settings(settings: MockSettings, _deps: &Deps) -> Self {
        Self { settings }
    }
}

impl Mock {
    /// The stand-in for another target in a dry run.
    pub fn dry_run(delay: DryRunDelay) -> Self {
        Self::saying(r#"{"answer":"Mock dry-run response"}"#, delay)
    }

    /// The stand-in for judges in a dry run. What it says can be read by every judge; it gives no scores, since nothing was judged.
    pub fn dry_run_judge(delay: DryRunDelay) -> Self {
        let response = r#"{"score":0,"checks":[],"reasoning":"Dry run: no judge was asked."}"#;
        Self::saying(response, delay)
    }

    fn saying(response: &str, delay: DryRunDelay) -> Self {
        Self {
            settings: MockSettings {
                response: response.to_owned(),
                responses: Vec::new(),
                delay_ms: delay.fixed_ms,
                delay_min_ms: delay.min_ms,
                delay_max_ms: delay.max_ms,
                trace: None,
                replies: Vec::new(),
            },
        }
    }
}

impl MockSettings {
    fn answer(&self, trial: u32) -> &str {
        let turn = (trial as usize).checked_rem(self.responses.len());
        turn.map_or(&self.response, |turn| &self.responses[turn])
    }

    fn delay(&self) -> Duration {
        let (min, max) = (self.delay_min_ms, self.delay_max_ms.max(self.delay_min_ms));
        if max == 0 {
            return Duration::from_millis(self.delay_ms);
        }
        // Not a matter of security or statistics: the clock's last digits are random enough.
        let nanos = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |elapsed| elapsed.subsec_nanos());
        Duration::from_millis(min + u64::from(nanos) % (max - min + 1))
    }
}

#[async_trait]
impl Provider for Mock {
    async fn invoke(&self, request: &Request, cx: &CallContext) -> Result<Response, ProviderError> {
        let reply = self.settings.replies.iter().find(|reply| reply.answers(request));
        let delay = reply.and_then(|reply| reply.delay_ms).map(Duration::from_millis);
        let delay = delay.unwrap_or_else(|| self.settings.delay());
        if !delay.is_zero() {
            tokio::select! {
                () = tokio::time::sleep(delay) => {}
                () = cx.cancel.cancelled() => return Err(ProviderError::cancelled()),
            }
        }
        if let Some(reply) = reply {
            return reply.reply(cx.purpose.trial());
        }
        Ok(Response {
            trace: self.settings.trace.clone(),
            ..Response::text(self.settings.answer(cx.purpose.trial()))
        })
    }

    fn is_free(&self) -> bool {
        true
    }

    fn info(&self) -> ProviderInfo {
        Self::INFO
    }
}
