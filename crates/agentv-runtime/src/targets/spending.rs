//! What the calls of a run cost, and how much they may. One for the whole run: all files, targets and judges.

use super::shared::SharedLimits;
use agentv_core::call::Role;
use agentv_core::provider::Reported;
use agentv_core::{ProviderError, TargetName};
use agentv_wire::{Budget, RunSpend, Spent};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::sync::Notify;

/// Why no more calls are made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overrun {
    Cost {
        max: f64,
        /// What of it is set apart for calls that did not report what they used.
        held: f64,
    },
    Tokens {
        max: u64,
        held: u64,
    },
    /// Calls of this target do not report their cost. Counted as free, they would defeat the budget.
    UnknownCost {
        target: TargetName,
    },
    UnknownTokens {
        target: TargetName,
    },
}

impl Overrun {
    /// Whether the budget is not spent, but of no use.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::UnknownCost { .. } | Self::UnknownTokens { .. })
    }
}

impl fmt::Display for Overrun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cost { .. } => f.write_str("the budget of `--max-cost` is spent"),
            Self::Tokens { .. } => f.write_str("the budget of `--max-tokens` is spent"),
            Self::UnknownCost { target } => write!(
                f,
                "the cost of a call of target `{target}` is not known, which `--max-cost` needs"
            ),
            Self::UnknownTokens { target } => write!(
                f,
                "the tokens of a call of target `{target}` are not known, which `--max-tokens` needs"
            ),
        }
    }
}

/// What a call is thought to use, or did use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct CallSpend {
    pub cost_usd: f64,
    pub tokens: f64,
}

/// A call that has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SettledCall {
    /// What was set apart for it.
    pub reserved: CallSpend,
    /// What it used, as far as it was reported.
    pub used: RunSpend,
    /// What stays set apart, since its use is not known. It counts in the budget, and is nowhere shown as used.
    pub held: CallSpend,
    /// Why no more calls can be counted, if that is so.
    pub unknown: Option<Overrun>,
}

/// What is thought of a call before it is made.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct CallEstimate {
    pub amount: CallSpend,
    /// Whether the cost is more than a guess of nothing: there is a price, or an earlier call reported one.
    pub is_priced: bool,
}

impl CallEstimate {
    /// Counts another call in.
    pub(super) fn add(&mut self, other: Self) {
        self.amount.add(other.amount);
        self.is_priced &= other.is_priced;
    }
}

impl CallSpend {
    fn add(&mut self, other: Self) {
        self.cost_usd += other.cost_usd;
        self.tokens += other.tokens;
    }

    /// Never below zero by what sums of fractions leave over.
    fn remove(&mut self, other: Self) {
        self.cost_usd = (self.cost_usd - other.cost_usd).max(0.0);
        self.tokens = (self.tokens - other.tokens).max(0.0);
    }

    pub(super) fn max(self, other: Self) -> Self {
        Self { cost_usd: self.cost_usd.max(other.cost_usd), tokens: self.tokens.max(other.tokens) }
    }
}

/// What a call came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Bill {
    /// What the answer said. Numbers that make no sense are none.
    Told { cost_usd: Option<f64>, tokens: Option<f64> },
    /// There is no answer, and what it used was not reported.
    Unreported,
    /// A server refused it, or it was never made.
    Nothing,
}

impl Bill {
    pub(super) fn of(reported: &Reported) -> Self {
        let sane = |number: f64| number.is_finite() && number >= 0.0;
        let tokens = reported.token_usage.map(|usage| usage.input + usage.output);
        Self::Told {
            cost_usd: reported.cost_usd.filter(|cost| sane(*cost)),
            tokens: tokens.filter(|n| sane(*n)),
        }
    }

    /// Servers charge for answers. A call that broke off, or an agent that failed on its way, may well have cost something.
    pub(super) fn of_failure(error: &ProviderError) -> Self {
        match Self::of(&error.reported()) {
            Self::Told { cost_usd: None, tokens: None } if error.is_free() => Self::Nothing,
            Self::Told { cost_usd: None, tokens: None } => Self::Unreported,
            told => told,
        }
    }
}

/// Takes down what each call used, so that a run that is killed has not forgotten it.
type Keeper = Box<dyn Fn(&RunSpend) + Send + Sync>;

/// What was spent, what is reserved, and what may be.
#[derive(Default)]
pub struct Spending {
    budget: Budget,
    /// A lock and not a message: it is held for a few additions, never over a wait.
    ledger: Mutex<Ledger>,
    /// Tells those who wait that a call has ended.
    settled: Notify,
    keeper: OnceLock<Keeper>,
}

#[derive(Debug, Default)]
struct Ledger {
    spent: RunSpend,
    /// For calls under way.
    reserved: CallSpend,
    /// For calls that ended without a report of what they used.
    held: CallSpend,
    in_flight: usize,
    overrun: Option<Overrun>,
}

impl fmt::Debug for Spending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Spending").field(&self.budget).finish()
    }
}

impl Spending {
    pub fn within(budget: Budget) -> Self {
        Self { budget, ..Self::default() }
    }

    pub fn budget(&self) -> Budget {
        self.budget
    }

    /// What an earlier session of the run has spent counts, too.
    pub fn start_from(&self, spent: RunSpend) {
        let mut ledger = self.lock();
        ledger.spent = spent;
        ledger.look(&self.budget);
    }

    /// Has what each call used taken down from now on.
    pub fn keep_with(&self, keeper: impl Fn(&RunSpend) + Send + Sync + 'static) {
        // There is one run folder, and so one who sets this.
        let _ = self.keeper.set(Box::new(keeper));
    }

    /// What was spent so far.
    pub fn spent(&self) -> RunSpend {
        self.lock().spent
    }

    /// Why no more calls are made, if that is so.
    pub fn overrun(&self) -> Option<Overrun> {
        self.lock().overrun.clone()
    }

    /// Notes that a call cannot be made within the budget, since its cost would not be known.
    pub(super) fn stop(&self, overrun: Overrun) -> Overrun {
        let mut ledger = self.lock();
        ledger.overrun.get_or_insert(overrun).clone()
    }

    /// Sets an amount apart for a call. While others are under way that may use up the budget, it waits for them: so the
    /// budget is exceeded by one call, and by one for each worker only where calls use more than was estimated.
    pub(super) async fn reserve(&self, amount: CallSpend) -> Result<(), Overrun> {
        loop {
            // Before the look, so that nothing that is settled meanwhile is missed.
            let settled = self.settled.notified();
            if let Some(admitted) = self.admit(amount) {
                return admitted;
            }
            settled.await;
        }
    }

    /// Puts what a call used in the place of what was set apart for it.
    pub(super) fn settle(&self, call: &SettledCall) {
        {
            let mut ledger = self.lock();
            ledger.in_flight = ledger.in_flight.saturating_sub(1);
            ledger.reserved.remove(call.reserved);
            ledger.held.add(call.held);
            ledger.spent.add(&call.used);
            if let Some(unknown) = &call.unknown {
                ledger.overrun.get_or_insert_with(|| unknown.clone());
            }
            ledger.look(&self.budget);
        }
        self.settled.notify_waiters();
        if let Some(keeper) = self.keeper.get() {
            keeper(&call.used);
        }
    }

    /// `None` while it is to wait.
    fn admit(&self, amount: CallSpend) -> Option<Result<(), Overrun>> {
        let mut ledger = self.lock();
        if let Some(overrun) = &ledger.overrun {
            return Some(Err(overrun.clone()));
        }
        if ledger.in_flight > 0 && !ledger.has_room(&self.budget) {
            return None;
        }
        ledger.in_flight += 1;
        ledger.reserved.add(amount);
        Some(Ok(()))
    }

    fn lock(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ledger {
    /// Whether something would be left if all calls under way cost what is thought.
    fn has_room(&self, budget: &Budget) -> bool {
        let mut sum = self.counted();
        sum.add(self.reserved);
        budget.max_cost_usd.is_none_or(|max| sum.cost_usd < max)
            && budget.max_tokens.is_none_or(|max| sum.tokens < whole(max))
    }

    /// Notices when the budget is spent.
    fn look(&mut self, budget: &Budget) {
        let counted = self.counted();
        let overrun = match budget {
            Budget { max_cost_usd: Some(max), .. } if counted.cost_usd >= *max => {
                Overrun::Cost { max: *max, held: self.held.cost_usd }
            }
            Budget { max_tokens: Some(max), .. } if counted.tokens >= whole(*max) => {
                Overrun::Tokens { max: *max, held: rounded(self.held.tokens) }
            }
            _ => return,
        };
        self.overrun.get_or_insert(overrun);
    }

    /// What is used up of the budget by calls that have ended.
    fn counted(&self) -> CallSpend {
        let mut sum = total(&self.spent);
        sum.add(self.held);
        sum
    }
}

/// Of targets and judges together.
fn total(spend: &RunSpend) -> CallSpend {
    let RunSpend { targets, judges } = spend;
    CallSpend {
        cost_usd: targets.cost_usd + judges.cost_usd,
        tokens: whole(targets.tokens) + whole(judges.tokens),
    }
}

#[expect(clippy::cast_precision_loss, reason = "tokens are far below 2^52")]
fn whole(tokens: u64) -> f64 {
    tokens as f64
}

/// What is set apart for one call. Dropped without a word, the call was cut off, and what it used is not known.
#[derive(Debug)]
pub(super) struct Reservation<'a> {
    limits: &'a dyn SharedLimits,
    estimate: CallEstimate,
    target: &'a TargetName,
    role: Role,
    is_open: bool,
}

impl<'a> Reservation<'a> {
    /// Reserves for a call of a target in a role, as soon as there is room for it.
    pub(super) async fn take(
        limits: &'a dyn SharedLimits,
        estimate: CallEstimate,
        (target, role): (&'a TargetName, Role),
    ) -> Result<Self, Overrun> {
        limits.reserve(estimate.amount).await?;
        Ok(Self { limits, estimate, target, role, is_open: true })
    }

    /// Puts in the place of the estimate what the call came to.
    pub(super) fn settle(mut self, bills: &[Bill]) {
        self.close(bills);
    }

    fn close(&mut self, bills: &[Bill]) {
        self.is_open = false;
        let reserved = self.estimate.amount;
        let mut used = Spent { calls: 1, ..Spent::default() };
        let (mut tokens, mut held, mut unknown) = (0.0, CallSpend::default(), None);
        for bill in bills {
            match bill {
                Bill::Told { cost_usd, tokens: told } => {
                    used.cost_usd += cost_usd.unwrap_or(0.0);
                    used.unpriced += u64::from(cost_usd.is_none());
                    tokens += told.unwrap_or(0.0);
                }
                Bill::Unreported => {
                    used.unreported += 1;
                    held = reserved;
                }
                Bill::Nothing => {}
            }
            unknown = unknown.or_else(|| self.unknown(bill));
        }
        used.tokens = rounded(tokens);
        let mut sides = RunSpend::default();
        let is_target = self.role == Role::Candidate;
        *(if is_target { &mut sides.targets } else { &mut sides.judges }) = used;
        self.limits.settle(&SettledCall { reserved, used: sides, held, unknown });
    }

    /// Why this bill cannot be counted in the budget: a number that the budget needs was not reported, and there is no
    /// estimate that could take its place.
    fn unknown(&self, bill: &Bill) -> Option<Overrun> {
        let budget = self.limits.budget();
        let (no_cost, no_tokens) = match bill {
            Bill::Told { cost_usd, tokens } => (cost_usd.is_none(), tokens.is_none()),
            Bill::Unreported => (!self.estimate.is_priced, false),
            Bill::Nothing => (false, false),
        };
        if budget.max_cost_usd.is_some() && no_cost {
            return Some(Overrun::UnknownCost { target: self.target.clone() });
        }
        (budget.max_tokens.is_some() && no_tokens)
            .then(|| Overrun::UnknownTokens { target: self.target.clone() })
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        if self.is_open {
            self.close(&[Bill::Unreported]);
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a sum of sane numbers"
)]
fn rounded(tokens: f64) -> u64 {
    tokens.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::LocalLimits;
    use std::sync::Arc;

    const USED: Bill = Bill::Told { cost_usd: Some(1.0), tokens: Some(100.0) };
    const AMOUNT: CallSpend = CallSpend { cost_usd: 1.0, tokens: 100.0 };
    const THOUGHT: CallEstimate = CallEstimate { amount: AMOUNT, is_priced: true };

    fn within(dollars: f64) -> Arc<Spending> {
        let budget = Budget { max_cost_usd: Some(dollars), max_tokens: None };
        Arc::new(Spending::within(budget))
    }

    /// What calls see of it.
    fn limits(spending: &Arc<Spending>) -> LocalLimits {
        LocalLimits::new(Arc::clone(spending))
    }

    #[tokio::test]
    async fn who_may_not_fit_waits_for_the_calls_under_way() {
        let spending = within(1.5);
        let limits = limits(&spending);
        let target = TargetName::from("t");
        let caller = (&target, Role::Candidate);
        let first = Reservation::take(&limits, THOUGHT, caller).await.unwrap();
        // Half a dollar is left, so the second may go; the third may not, as long as the two may use up everything.
        let second = Reservation::take(&limits, THOUGHT, caller).await.unwrap();
        assert!(spending.admit(AMOUNT).is_none());
        first.settle(&[Bill::Nothing]);
        let third = Reservation::take(&limits, THOUGHT, caller).await.unwrap();
        second.settle(&[USED]);
        third.settle(&[USED]);
        let overrun = Reservation::take(&limits, THOUGHT, caller).await.unwrap_err();
        assert_eq!(overrun, Overrun::Cost { max: 1.5, held: 0.0 });
        let spent = spending.spent().targets;
        assert_eq!((spent.calls, spent.cost_usd, spent.tokens), (3, 2.0, 200));
    }

    #[tokio::test]
    async fn an_estimate_is_held_for_a_call_that_is_cut_off_and_never_shown_as_used() {
        let spending = within(1.5);
        let limits = limits(&spending);
        let target = TargetName::from("t");
        let caller = (&target, Role::Judge);
        drop(Reservation::take(&limits, THOUGHT, caller).await.unwrap());
        let used = Spent { calls: 1, unreported: 1, ..Spent::default() };
        assert_eq!((spending.spent().judges, spending.overrun()), (used, None));
        let second = Reservation::take(&limits, THOUGHT, caller).await.unwrap();
        second.settle(&[Bill::Unreported]);
        assert_eq!(spending.overrun(), Some(Overrun::Cost { max: 1.5, held: 2.0 }));
        assert_eq!(total(&spending.spent()), CallSpend::default());
    }

    #[tokio::test]
    async fn without_an_estimate_a_call_that_is_cut_off_ends_it() {
        let spending = within(1.5);
        let limits = limits(&spending);
        let target = TargetName::from("t");
        let unpriced = CallEstimate { is_priced: false, ..THOUGHT };
        drop(Reservation::take(&limits, unpriced, (&target, Role::Judge)).await.unwrap());
        assert_eq!(spending.overrun(), Some(Overrun::UnknownCost { target }));
    }

    #[test]
    fn what_never_left_and_what_a_server_refused_used_nothing() {
        for free in [
            ProviderError::http(400, None, "no"),
            ProviderError::unreachable("refused"),
            ProviderError::not_started("no such file"),
        ] {
            assert_eq!(Bill::of_failure(&free), Bill::Nothing, "{free}");
        }
        for lost in [ProviderError::network("lost"), ProviderError::failed("exit 1")] {
            assert_eq!(Bill::of_failure(&lost), Bill::Unreported, "{lost}");
        }
    }

    #[tokio::test]
    async fn what_is_not_told_ends_it() {
        let spending = within(5.0);
        let limits = limits(&spending);
        let target = TargetName::from("t");
        let call = Reservation::take(&limits, THOUGHT, (&target, Role::Proxy)).await.unwrap();
        call.settle(&[Bill::Told { cost_usd: None, tokens: Some(1.0) }]);
        assert_eq!(spending.overrun(), Some(Overrun::UnknownCost { target }));
        assert_eq!(spending.spent().judges.unpriced, 1);
    }

    #[test]
    fn numbers_that_make_no_sense_are_none() {
        let reported = |cost| Reported { cost_usd: Some(cost), ..Reported::default() };
        for cost in [-1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Bill::of(&reported(cost)), Bill::Told { cost_usd: None, tokens: None });
        }
    }
}
