//! What holds for all calls to a target, whoever makes them: rates per minute, and how many are in flight.

use super::Spending;
use super::gate::{Gate, Pass};
use super::rate::{Bucket, Burst};
use super::shared::{LocalLimits, SharedLimits, TargetRate};
use crate::load::TargetSpec;
use crate::providers::{CallPolicy, Health, RateLimits};
use agentv_core::{ProviderError, Request, Response, TargetName};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The limits of every target of a run, by targets file and name.
#[derive(Debug)]
pub struct LimitBook {
    /// What holds for all who make calls for this run.
    shared: Arc<dyn SharedLimits>,
    /// A lock and not a message: looking one up is quick and happens once per eval file and target.
    limits: Mutex<HashMap<(PathBuf, TargetName), Arc<Limits>>>,
    /// What health checks found; locked as briefly.
    health: Mutex<HashMap<HealthKey, Health>>,
}

/// The targets file, the target's name and its settings: with other variables, a target may be another server.
type HealthKey = (PathBuf, TargetName, [u8; 32]);

impl Default for LimitBook {
    fn default() -> Self {
        Self {
            shared: Arc::new(LocalLimits::default()),
            limits: Mutex::default(),
            health: Mutex::default(),
        }
    }
}

impl LimitBook {
    pub fn new(shared: Arc<dyn SharedLimits>) -> Arc<Self> {
        Arc::new(Self { shared, ..Self::default() })
    }

    /// Of a run whose work is all done in this process.
    pub fn local(spending: &Arc<Spending>) -> Arc<Self> {
        Self::new(Arc::new(LocalLimits::new(Arc::clone(spending))))
    }

    /// Where the outcome of a target's health check is kept for the whole run.
    pub(super) fn health(&self, file: &Path, target: &TargetSpec) -> Health {
        let mut health = self.health.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (file.to_owned(), target.name.clone(), target.settings);
        Arc::clone(health.entry(key).or_default())
    }

    pub(super) fn shared(&self) -> &Arc<dyn SharedLimits> {
        &self.shared
    }

    pub(super) fn of(&self, file: &Path, name: &TargetName, policy: &CallPolicy) -> Arc<Limits> {
        let mut limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (file.to_owned(), name.clone());
        let new = || {
            let is_limited = policy.rate.rpm.is_some() || policy.rate.tpm.is_some();
            let rate = is_limited.then(|| TargetRate {
                file: file.to_owned(),
                target: name.clone(),
                limits: policy.rate,
            });
            Arc::new(Limits { gate: Gate::default(), rate, shared: Arc::clone(&self.shared) })
        };
        Arc::clone(limits.entry(key).or_insert_with(new))
    }
}

/// The limits of one target.
#[derive(Debug)]
pub(super) struct Limits {
    gate: Gate,
    rate: Option<TargetRate>,
    shared: Arc<dyn SharedLimits>,
}

/// What may be asked of a target per minute.
#[derive(Debug)]
pub(super) struct Rate {
    /// Whoever holds it is the next to go; the others queue up behind, first come, first served.
    turn: tokio::sync::Mutex<()>,
    /// A lock and not a message: it is held for a few instructions, never over a wait.
    buckets: Mutex<Buckets>,
    /// Tells the next to go that something was given back.
    settled: Notify,
}

#[derive(Debug)]
struct Buckets {
    requests: Option<Bucket>,
    tokens: Option<Bucket>,
}

/// What a call is thought to cost before it is made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Estimate {
    /// Of the prompt.
    input: f64,
    /// Of the answer, at most.
    output: f64,
}

/// Answers are seldom longer than this where they are not limited.
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
        Self { input: prompt as f64 / 4.0, output: output as f64 }
    }

    pub(super) fn total(self) -> f64 {
        self.input + self.output
    }

    /// In dollars, at these prices for a million.
    pub(super) fn cost(self, input: f64, output: f64) -> f64 {
        (self.input * input + self.output * output) / 1e6
    }
}

impl Limits {
    /// Waits until a call may be made. The rate comes first, since who waits for it must not keep others from calling.
    /// Whoever stops waiting leaves nothing behind.
    pub(super) async fn enter(
        &self,
        estimate: Estimate,
        cancel: &CancellationToken,
        waits: &(dyn Fn(Duration) + Send + Sync),
    ) -> Result<Pass<'_>, ProviderError> {
        let entering = async {
            if let Some(rate) = &self.rate {
                self.shared.acquire(rate, estimate.total(), waits).await;
            }
            self.gate.enter().await
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(ProviderError::cancelled()),
            pass = entering => Ok(pass),
        }
    }

    /// Puts the estimate right. A call that failed used no tokens that anybody counts; an answer without numbers used
    /// what was estimated.
    pub(super) fn settle(&self, estimate: Estimate, outcome: &Result<Response, ProviderError>) {
        let Some(rate) = &self.rate else { return };
        let used = match outcome {
            Ok(response) => response
                .reported
                .token_usage
                .map_or(estimate.total(), |usage| usage.input + usage.output),
            Err(_) => 0.0,
        };
        self.shared.correct(rate, estimate.total(), used);
    }
}

impl Rate {
    pub(super) fn new(RateLimits { rpm, tpm }: RateLimits, burst: Burst) -> Self {
        let now = Instant::now();
        let buckets = Buckets {
            requests: rpm.map(|limit| Bucket::new(limit, burst, now)),
            tokens: tpm.map(|limit| Bucket::new(limit, burst, now)),
        };
        Self {
            turn: tokio::sync::Mutex::default(),
            buckets: Mutex::new(buckets),
            settled: Notify::new(),
        }
    }

    /// Waits until there is room for a call of this many tokens.
    pub(super) async fn enter(&self, tokens: f64, waits: &(dyn Fn(Duration) + Send + Sync)) {
        let _turn = self.turn.lock().await;
        let mut is_told = false;
        loop {
            // Before the look, so that nothing given back meanwhile is missed.
            let settled = self.settled.notified();
            let wait = self.try_take(tokens);
            if wait.is_zero() {
                return;
            }
            if !std::mem::replace(&mut is_told, true) {
                waits(wait);
            }
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = settled => {}
            }
        }
    }

    /// Takes what the call needs, or says how long that will take to come.
    fn try_take(&self, amount: f64) -> Duration {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let Buckets { requests, tokens } = &mut *buckets;
        let now = Instant::now();
        let waits =
            [requests.as_mut(), tokens.as_mut()].map(|bucket| bucket.map(|it| it.wait(now)));
        let wait = waits.into_iter().flatten().max().unwrap_or_default();
        if wait.is_zero() {
            for (bucket, amount) in [(requests, 1.0), (tokens, amount)] {
                if let Some(bucket) = bucket {
                    bucket.take(amount);
                }
            }
        }
        wait
    }

    pub(super) fn settle(&self, estimated: f64, used: f64) {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bucket) = &mut buckets.tokens {
            bucket.settle(estimated, used);
            self.settled.notify_one();
        }
    }
}
