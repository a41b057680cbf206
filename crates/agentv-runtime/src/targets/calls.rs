//! A provider with retries and limits around it, which is a provider again: judges, the proxy and the run get them without
//! knowing.

use super::gate::{Change, Pass};
use super::limits::{Estimate, Limits};
use crate::deadline::QueueTimer;
use crate::providers::{CallPolicy, Made};
use agentv_core::call::Waiting;
use agentv_core::provider::ProviderErrorKind;
use agentv_core::{CallContext, Layer, Provider, ProviderError, Request, Response, TargetName};
use agentv_wire::event::WaitReason;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Too many requests.
const THROTTLED: u16 = 429;

/// A provider under its name. From outside to inside: retry, rate, calls in flight, provider. Waiting holds no place among
/// the calls in flight.
#[derive(Debug)]
pub struct Target {
    name: TargetName,
    provider: Arc<dyn Provider>,
    policy: CallPolicy,
    limits: Arc<Limits>,
}

impl Target {
    /// The provider as it is, where there is nothing to do around it.
    pub(super) fn around(
        name: &TargetName,
        made: Made,
        limits: impl FnOnce(&CallPolicy) -> Arc<Limits>,
    ) -> Arc<dyn Provider> {
        let Made { provider, policy, .. } = made;
        if policy.is_none() {
            return provider;
        }
        let limits = limits(&policy);
        Arc::new(Self { name: name.clone(), provider, policy, limits })
    }

    /// One call, in its turn.
    async fn call(
        &self,
        request: &Request,
        attempt: u32,
        cx: &CallContext,
    ) -> Result<Response, ProviderError> {
        let estimate = Estimate::of(request, self.policy.max_output_tokens);
        let waits = |delay| {
            self.say(cx, request, || format!("waits {delay:.1?} for its rate limit"));
            let (target, reason) = (self.name.clone(), WaitReason::RateLimit);
            cx.waits(Waiting { target, reason, is_throttled: false, attempt, delay });
        };
        let pass = {
            let _line = QueueTimer::enter(&cx.queue_time);
            self.limits.enter(estimate, &cx.cancel, &waits).await?
        };
        let started = Instant::now();
        let mut outcome = self.provider.invoke(request, cx).await;
        if let Ok(response) = &mut outcome {
            // What was waited for turns and retries is no part of how long the model took.
            response.reported.duration_ms.get_or_insert_with(|| milliseconds(started.elapsed()));
        }
        self.limits.settle(estimate, &outcome);
        self.tell_gate(pass, &outcome, cx);
        outcome
    }

    /// Only a refusal for their number says that there are too many calls; a broken server says nothing about that.
    fn tell_gate(
        &self,
        pass: Pass<'_>,
        outcome: &Result<Response, ProviderError>,
        cx: &CallContext,
    ) {
        let change = match outcome {
            Ok(_) => pass.answered(),
            Err(error) if error.http_status() == Some(THROTTLED) => pass.throttled(),
            Err(_) => None,
        };
        match change {
            None => {}
            Some(Change::Narrowed { allowed }) => cx.log.verbose(|| {
                format!("{}: too many requests; at most {allowed} at once from now on", self.name)
            }),
            Some(Change::Restored) => cx.log.verbose(|| {
                format!("{}: answers come again; as many at once as before", self.name)
            }),
        }
    }

    fn say(&self, cx: &CallContext, request: &Request, what: impl FnOnce() -> String) {
        cx.log.verbose(|| format!("{}: {} {}", self.name, request.eval_id, what()));
    }
}

impl Layer for Target {
    fn inner(&self) -> &dyn Provider {
        &*self.provider
    }

    /// Calls until there is an answer, or an error that is worth no other call.
    async fn ask(&self, request: &Request, cx: &CallContext) -> Result<Response, ProviderError> {
        let mut was_cut_off = false;
        for tries in 1.. {
            let mut error = match self.call(request, tries, cx).await {
                Ok(response) => return Ok(after(tries, response)),
                Err(error) => error,
            };
            // For the budget this is one call: an earlier attempt may have used something though the last one did not.
            was_cut_off |= !error.is_free();
            if was_cut_off && error.kind == ProviderErrorKind::Unreachable {
                error.kind = ProviderErrorKind::Network;
            }
            let retry = self.policy.retry.as_ref();
            let Some(wait) = retry.and_then(|retry| retry.next_delay(tries, &error, jitter()))
            else {
                return Err(given_up(tries, error));
            };
            self.say(cx, request, || format!("retries in {wait:.1?}: {error}"));
            let is_throttled = error.http_status() == Some(THROTTLED);
            cx.waits(Waiting {
                target: self.name.clone(),
                reason: WaitReason::Retry,
                is_throttled,
                attempt: tries + 1,
                delay: wait,
            });
            tokio::select! {
                biased;
                () = cx.cancel.cancelled() => return Err(ProviderError::cancelled()),
                () = tokio::time::sleep(wait) => {}
            }
        }
        Err(ProviderError::failed("there are no more numbers to count tries with"))
    }
}

/// The record says so where the first call was not enough.
fn after(tries: u32, mut response: Response) -> Response {
    if tries > 1 {
        response.metadata.insert("tries".to_owned(), tries.into());
    }
    response
}

fn given_up(tries: u32, mut error: ProviderError) -> ProviderError {
    if tries == 1 {
        return error;
    }
    error.message = format!("{} (after {tries} tries)", error.message);
    error.with("tries", tries)
}

fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1000.0).round()
}

/// Anything from 0 to 1. Without random numbers, the middle.
fn jitter() -> f64 {
    f64::from(getrandom::u32().unwrap_or(u32::MAX / 2)) / f64::from(u32::MAX)
}
