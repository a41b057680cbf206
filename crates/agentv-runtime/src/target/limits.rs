//! What holds for all calls to a target, whoever makes them: rates per minute, and how many are in flight.

use super::gate::{Gate, Pass};
use super::rate::Bucket;
use crate::providers::{CallPolicy, RateLimits};
use agentv_core::{ProviderError, Request, Response, TargetName};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The limits of every target of a run. They belong to a targets file and a name, since an account does not care which
/// eval file a call is for.
#[derive(Debug, Default)]
pub struct LimitBook {
    /// A lock and not a message: looking one up is quick and happens once per eval file and target.
    limits: Mutex<HashMap<(PathBuf, TargetName), Arc<Limits>>>,
}

impl LimitBook {
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(super) fn of(&self, file: &Path, name: &TargetName, policy: &CallPolicy) -> Arc<Limits> {
        let mut limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (file.to_owned(), name.clone());
        Arc::clone(limits.entry(key).or_insert_with(|| Arc::new(Limits::new(policy.rate))))
    }
}

/// The limits of one target.
#[derive(Debug)]
pub(super) struct Limits {
    gate: Gate,
    /// A lock and not a message: taking is quicker than sending, and it is never held over a wait.
    buckets: Option<Mutex<Buckets>>,
}

#[derive(Debug)]
struct Buckets {
    requests: Option<Bucket>,
    tokens: Option<Bucket>,
}

/// What a call is thought to cost before it is made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Estimate {
    tokens: f64,
}

/// Answers are seldom longer than this where nobody limits them.
const USUAL_OUTPUT_TOKENS: u64 = 1000;

impl Estimate {
    /// Four characters are about a token. What the answer may have counts in full, as vendors count it.
    #[expect(clippy::cast_precision_loss, reason = "an estimate, far below 2^52")]
    pub(super) fn of(request: &Request, max_output_tokens: Option<u64>) -> Self {
        let prompt = match &request.chat {
            Some(chat) => chat.iter().map(|message| message.content.len()).sum(),
            None => request.question.len() + request.guidelines.len(),
        };
        let prompt = prompt + request.system_prompt.as_ref().map_or(0, String::len);
        let output = max_output_tokens.unwrap_or(USUAL_OUTPUT_TOKENS);
        Self { tokens: prompt as f64 / 4.0 + output as f64 }
    }
}

impl Limits {
    fn new(RateLimits { rpm, tpm }: RateLimits) -> Self {
        let now = Instant::now();
        let buckets = Buckets {
            requests: rpm.map(|limit| Bucket::new(limit, now)),
            tokens: tpm.map(|limit| Bucket::new(limit, now)),
        };
        let limited = rpm.is_some() || tpm.is_some();
        Self { gate: Gate::default(), buckets: limited.then(|| Mutex::new(buckets)) }
    }

    /// Waits until a call may be made. The rate comes first, since who waits for it must not keep others from calling.
    pub(super) async fn enter(
        &self,
        estimate: Estimate,
        cancel: &CancellationToken,
        waits: impl FnOnce(Duration),
    ) -> Result<Pass<'_>, ProviderError> {
        let wait = self.reserve(estimate);
        let entering = async {
            if !wait.is_zero() {
                waits(wait);
                tokio::time::sleep(wait).await;
            }
            self.gate.enter().await
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => {
                self.give_back(estimate);
                Err(ProviderError::cancelled())
            }
            pass = entering => Ok(pass),
        }
    }

    fn reserve(&self, estimate: Estimate) -> Duration {
        let Some(buckets) = &self.buckets else { return Duration::ZERO };
        let mut buckets = buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let requests = buckets.requests.as_mut().map(|bucket| bucket.take(1.0, now));
        let tokens = buckets.tokens.as_mut().map(|bucket| bucket.take(estimate.tokens, now));
        requests.max(tokens).unwrap_or_default()
    }

    /// Puts the estimate right. A call that failed used no tokens that anybody counts; an answer without numbers used
    /// what was estimated.
    pub(super) fn settle(&self, estimate: Estimate, outcome: &Result<Response, ProviderError>) {
        let used = match outcome {
            Ok(response) => response
                .reported
                .token_usage
                .map_or(estimate.tokens, |usage| usage.input + usage.output),
            Err(_) => 0.0,
        };
        self.settle_tokens(estimate, used);
    }

    /// The call is not made after all.
    fn give_back(&self, estimate: Estimate) {
        self.settle_tokens(estimate, 0.0);
        if let Some(buckets) = &self.buckets {
            let mut buckets = buckets.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(bucket) = &mut buckets.requests {
                bucket.settle(1.0, 0.0);
            }
        }
    }

    fn settle_tokens(&self, estimate: Estimate, used: f64) {
        let Some(buckets) = &self.buckets else { return };
        let mut buckets = buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bucket) = &mut buckets.tokens {
            bucket.settle(estimate.tokens, used);
        }
    }
}
