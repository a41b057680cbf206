//! Limits that hold for a whole run, wherever its work is done: its budget, and the rates of its targets.

use super::limits::Rate;
use super::rate::Burst;
use super::spending::{CallSpend, Overrun, SettledCall, Spending};
use crate::providers::RateLimits;
use agentv_core::TargetName;
use agentv_wire::Budget;
use async_trait::async_trait;
use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;

/// What all calls of a run share. The run that ordered the work has the last word; whoever makes calls asks first.
#[async_trait]
pub trait SharedLimits: fmt::Debug + Send + Sync {
    /// What all calls together may use.
    fn budget(&self) -> Budget;

    /// Sets an amount apart for a call. While calls under way may use up the budget, it waits for them.
    async fn reserve(&self, amount: CallSpend) -> Result<(), Overrun>;

    /// Puts what a call used in the place of what was set apart for it.
    fn settle(&self, call: &SettledCall);

    /// Notes that a call cannot be made within the budget. Returns why no more calls are made.
    fn stop(&self, overrun: Overrun) -> Overrun;

    /// Waits until the rate of a target allows a call of this many tokens; `waits` hears how long that takes.
    async fn acquire(
        &self,
        rate: &TargetRate,
        tokens: f64,
        waits: &(dyn Fn(Duration) + Send + Sync),
    );

    /// Corrects the tokens of a call once they are known.
    fn correct(&self, rate: &TargetRate, estimated: f64, used: f64);

    /// Waits until a judge takes one more call of a grader.
    async fn judge_turn(&self, judge: &JudgeLimit) -> JudgeTurn;
}

/// How many calls of graders a judge takes at once.
#[derive(Debug, Clone)]
pub struct JudgeLimit {
    pub file: PathBuf,
    pub target: TargetName,
    pub workers: NonZeroUsize,
}

/// The right to call a judge. Dropped, another grader may.
pub struct JudgeTurn(Box<dyn Any + Send>);

impl JudgeTurn {
    /// Holds what gives the turn back when it is dropped.
    pub fn holding(held: impl Any + Send) -> Self {
        Self(Box::new(held))
    }
}

impl fmt::Debug for JudgeTurn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(_held) = self;
        f.write_str("JudgeTurn")
    }
}

/// The rate of a target. It belongs to a targets file and a name, since an account does not care which eval file a call is
/// for.
#[derive(Debug, Clone)]
pub struct TargetRate {
    pub file: PathBuf,
    pub target: TargetName,
    pub limits: RateLimits,
}

/// The limits of a run, kept in this process.
#[derive(Debug, Default)]
pub struct LocalLimits {
    spending: Arc<Spending>,
    /// A lock and not a message: looking one up is quick.
    rates: Mutex<HashMap<(PathBuf, TargetName), Arc<Rate>>>,
    /// The calls of graders that each judge takes at once; locked as briefly.
    judges: Mutex<HashMap<(PathBuf, TargetName), Arc<Semaphore>>>,
    burst: Burst,
}

impl LocalLimits {
    pub fn new(spending: Arc<Spending>) -> Self {
        Self { spending, ..Self::default() }
    }

    /// The same for a run whose work is done by many machines.
    pub fn for_machines(spending: Arc<Spending>) -> Self {
        Self { spending, burst: Burst::Small, ..Self::default() }
    }

    fn rate(&self, rate: &TargetRate) -> Arc<Rate> {
        let mut rates = self.rates.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (rate.file.clone(), rate.target.clone());
        Arc::clone(rates.entry(key).or_insert_with(|| Arc::new(Rate::new(rate.limits, self.burst))))
    }
}

#[async_trait]
impl SharedLimits for LocalLimits {
    fn budget(&self) -> Budget {
        self.spending.budget()
    }

    async fn reserve(&self, amount: CallSpend) -> Result<(), Overrun> {
        self.spending.reserve(amount).await
    }

    fn settle(&self, call: &SettledCall) {
        self.spending.settle(call);
    }

    fn stop(&self, overrun: Overrun) -> Overrun {
        self.spending.stop(overrun)
    }

    async fn acquire(
        &self,
        rate: &TargetRate,
        tokens: f64,
        waits: &(dyn Fn(Duration) + Send + Sync),
    ) {
        self.rate(rate).enter(tokens, waits).await;
    }

    fn correct(&self, rate: &TargetRate, estimated: f64, used: f64) {
        self.rate(rate).settle(estimated, used);
    }

    async fn judge_turn(&self, judge: &JudgeLimit) -> JudgeTurn {
        let permits = {
            let mut judges = self.judges.lock().unwrap_or_else(PoisonError::into_inner);
            let key = (judge.file.clone(), judge.target.clone());
            let permits = judges.entry(key);
            Arc::clone(permits.or_insert_with(|| Arc::new(Semaphore::new(judge.workers.get()))))
        };
        JudgeTurn::holding(permits.acquire_owned().await)
    }
}
