//! What the calls of a run cost, and how much they may. One for the whole run: all files, targets and judges.

use super::shared::SharedLimits;
use agentv_core::call::Role;
use agentv_core::provider::Reported;
use agentv_core::{ProviderError, TargetName};
use agentv_wire::{Budget, RunSpend, Spent};
use std::fmt;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::sync::Notify;

/// Why no more calls are made.
#[derive(Debug, Clone, PartialEq)]
pub enum Overrun {
    Cost {
        max: f64,
    },
    Tokens {
        max: u64,
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
                "nobody knows what a call of target `{target}` costs, as `--max-cost` needs it"
            ),
            Self::UnknownTokens { target } => write!(
                f,
                "nobody knows how many tokens a call of target `{target}` uses, as `--max-tokens` needs it"
            ),
        }
    }
}

/// What a call is thought to use, or did use.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CallSpend {
    pub cost_usd: f64,
    pub tokens: f64,
}

impl CallSpend {
    pub(super) fn max(self, other: Self) -> Self {
        Self { cost_usd: self.cost_usd.max(other.cost_usd), tokens: self.tokens.max(other.tokens) }
    }
}

/// What a call came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Bill {
    /// What the answer said. Numbers that make no sense are none.
    Told { cost_usd: Option<f64>, tokens: Option<f64> },
    /// There is no answer, and nobody says what it cost: as much as was reserved for it.
    AsReserved,
    /// A server refused it.
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
        if error.http_status().is_some() {
            return Self::Nothing;
        }
        match Self::of(&error.reported()) {
            Self::Told { cost_usd: None, tokens: None } => Self::AsReserved,
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
    reserved: CallSpend,
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

    /// Notes that a call cannot be made within the budget, since nobody would know what it cost.
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
    pub(super) fn settle(&self, amount: CallSpend, used: &RunSpend, unknown: Option<Overrun>) {
        {
            let mut ledger = self.lock();
            ledger.in_flight = ledger.in_flight.saturating_sub(1);
            // Never below zero by what sums of fractions leave over.
            let left = |sum: f64, part: f64| (sum - part).max(0.0);
            ledger.reserved.cost_usd = left(ledger.reserved.cost_usd, amount.cost_usd);
            ledger.reserved.tokens = left(ledger.reserved.tokens, amount.tokens);
            ledger.spent.add(used);
            if let Some(unknown) = unknown {
                ledger.overrun.get_or_insert(unknown);
            }
            ledger.look(&self.budget);
        }
        self.settled.notify_waiters();
        if let Some(keeper) = self.keeper.get() {
            keeper(used);
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
        ledger.reserved.cost_usd += amount.cost_usd;
        ledger.reserved.tokens += amount.tokens;
        Some(Ok(()))
    }

    fn lock(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ledger {
    /// Whether something would be left if all calls under way cost what is thought.
    fn has_room(&self, budget: &Budget) -> bool {
        let spent = total(&self.spent);
        let cost = spent.cost_usd + self.reserved.cost_usd;
        let tokens = spent.tokens + self.reserved.tokens;
        budget.max_cost_usd.is_none_or(|max| cost < max)
            && budget.max_tokens.is_none_or(|max| tokens < whole(max))
    }

    /// Notices when the budget is spent.
    fn look(&mut self, budget: &Budget) {
        let spent = total(&self.spent);
        let overrun = match budget {
            Budget { max_cost_usd: Some(max), .. } if spent.cost_usd >= *max => {
                Overrun::Cost { max: *max }
            }
            Budget { max_tokens: Some(max), .. } if spent.tokens >= whole(*max) => {
                Overrun::Tokens { max: *max }
            }
            _ => return,
        };
        self.overrun.get_or_insert(overrun);
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

/// What is set apart for one call. Dropped without a word, the call was cut off, and may have cost what was thought.
#[derive(Debug)]
pub(super) struct Reservation<'a> {
    limits: &'a dyn SharedLimits,
    amount: CallSpend,
    target: &'a TargetName,
    role: Role,
    is_open: bool,
}

impl<'a> Reservation<'a> {
    /// Reserves for a call of a target in a role, as soon as there is room for it.
    pub(super) async fn take(
        limits: &'a dyn SharedLimits,
        amount: CallSpend,
        (target, role): (&'a TargetName, Role),
    ) -> Result<Self, Overrun> {
        limits.reserve(amount).await?;
        Ok(Self { limits, amount, target, role, is_open: true })
    }

    /// Puts in the place of the estimate what the call came to.
    pub(super) fn settle(mut self, bills: &[Bill]) {
        self.close(bills);
    }

    fn close(&mut self, bills: &[Bill]) {
        self.is_open = false;
        let mut used = Spent { calls: 1, ..Spent::default() };
        let budget = self.limits.budget();
        let mut unknown = None;
        let mut tokens = 0.0;
        for bill in bills {
            match bill {
                Bill::Told { cost_usd, tokens: told } => {
                    used.cost_usd += cost_usd.unwrap_or(0.0);
                    used.unpriced += u64::from(cost_usd.is_none());
                    tokens += told.unwrap_or(0.0);
                    if budget.max_cost_usd.is_some() && cost_usd.is_none() {
                        unknown = Some(Overrun::UnknownCost { target: self.target.clone() });
                    } else if budget.max_tokens.is_some() && told.is_none() {
                        unknown = Some(Overrun::UnknownTokens { target: self.target.clone() });
                    }
                }
                Bill::AsReserved => {
                    used.cost_usd += self.amount.cost_usd;
                    tokens += self.amount.tokens;
                }
                Bill::Nothing => {}
            }
        }
        used.tokens = rounded(tokens);
        let mut one = RunSpend::default();
        let side = if self.role == Role::Candidate { &mut one.targets } else { &mut one.judges };
        *side = used;
        self.limits.settle(self.amount, &one, unknown);
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        if self.is_open {
            self.close(&[Bill::AsReserved]);
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
    const THOUGHT: CallSpend = CallSpend { cost_usd: 1.0, tokens: 100.0 };

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
        assert!(spending.admit(THOUGHT).is_none());
        first.settle(&[Bill::Nothing]);
        let third = Reservation::take(&limits, THOUGHT, caller).await.unwrap();
        second.settle(&[USED]);
        third.settle(&[USED]);
        let overrun = Reservation::take(&limits, THOUGHT, caller).await.unwrap_err();
        assert_eq!(overrun, Overrun::Cost { max: 1.5 });
        let spent = spending.spent().targets;
        assert_eq!((spent.calls, spent.cost_usd, spent.tokens), (3, 2.0, 200));
    }

    #[tokio::test]
    async fn a_call_that_is_cut_off_costs_what_was_reserved_for_it() {
        let spending = within(5.0);
        let limits = limits(&spending);
        let target = TargetName::from("t");
        drop(Reservation::take(&limits, THOUGHT, (&target, Role::Judge)).await.unwrap());
        let used = Spent { calls: 1, cost_usd: 1.0, tokens: 100, unpriced: 0 };
        assert_eq!(spending.spent().judges, used);
        assert_eq!(spending.overrun(), None);
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
