//! A provider whose calls are paid for out of the run's budget; itself a provider.

use super::limits::Estimate;
use super::shared::SharedLimits;
use super::spending::{Bill, CallEstimate, CallSpend, Overrun, Reservation};
use crate::deadline::QueueTimer;
use crate::providers::{Billing, Tells};
use agentv_core::{
    BatchProvider, CallContext, Layer, Provider, ProviderError, Request, Response, TargetName,
};
use agentv_wire::Budget;
use std::sync::{Arc, Mutex, PoisonError};

/// Asks only while there is money left. It is around the retries, so that one call is one call, and inside of the cache, as
/// what is known costs nothing.
#[derive(Debug)]
pub(super) struct Metered {
    name: TargetName,
    provider: Arc<dyn Provider>,
    billing: Billing,
    max_output_tokens: Option<u64>,
    limits: Arc<dyn SharedLimits>,
    /// The largest call so far. A lock and not a message: it is held for a comparison.
    largest: Mutex<Option<CallSpend>>,
}

impl Metered {
    /// The provider as it is, where it makes no calls.
    pub(super) fn around(
        name: &TargetName,
        provider: Arc<dyn Provider>,
        (billing, max_output_tokens): (Billing, Option<u64>),
        limits: &Arc<dyn SharedLimits>,
    ) -> Arc<dyn Provider> {
        if billing.is_free() {
            return provider;
        }
        Arc::new(Self {
            name: name.clone(),
            provider,
            billing,
            max_output_tokens,
            limits: Arc::clone(limits),
            largest: Mutex::default(),
        })
    }

    /// What a call is thought to use: as much as the largest so far; before the first, by the length of the prompt.
    fn estimate(&self, request: &Request) -> CallEstimate {
        let largest = *self.largest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(amount) = largest {
            return CallEstimate { amount, is_priced: true };
        }
        let tokens = Estimate::of(request, self.max_output_tokens);
        let cost = self.billing.price.map(|price| tokens.cost(price.input, price.output));
        let amount = CallSpend { cost_usd: cost.unwrap_or(0.0), tokens: tokens.total() };
        CallEstimate { amount, is_priced: cost.is_some() }
    }

    fn learn(&self, bill: &Bill) {
        let Bill::Told { cost_usd, tokens } = bill else { return };
        let used = CallSpend { cost_usd: cost_usd.unwrap_or(0.0), tokens: tokens.unwrap_or(0.0) };
        let mut largest = self.largest.lock().unwrap_or_else(PoisonError::into_inner);
        *largest = Some(largest.map_or(used, |largest| largest.max(used)));
    }

    /// A call that is made all the same would be counted as free, so it is not made.
    fn unknowable(&self) -> Option<Overrun> {
        unknowable(&self.name, &self.billing, self.limits.budget())
    }

    async fn reserve<'a>(
        &'a self,
        estimate: CallEstimate,
        cx: &CallContext,
    ) -> Result<Reservation<'a>, ProviderError> {
        let refuse = |overrun: Overrun| {
            cx.case.refuse();
            ProviderError::failed(overrun.to_string())
        };
        if let Some(overrun) = self.unknowable() {
            return Err(refuse(self.limits.stop(overrun)));
        }
        let _line = QueueTimer::enter(&cx.queue_time);
        tokio::select! {
            biased;
            () = cx.cancel.cancelled() => Err(ProviderError::cancelled()),
            reserved = Reservation::take(&*self.limits, estimate, (&self.name, cx.purpose.role)) => reserved.map_err(refuse),
        }
    }
}

/// Why a target's calls cannot be counted in this budget, if that is known before they are made.
pub(super) fn unknowable(name: &TargetName, billing: &Billing, budget: Budget) -> Option<Overrun> {
    if budget.max_cost_usd.is_some() && billing.cost == Tells::Never {
        return Some(Overrun::UnknownCost { target: name.clone() });
    }
    (budget.max_tokens.is_some() && billing.tokens == Tells::Never)
        .then(|| Overrun::UnknownTokens { target: name.clone() })
}

impl Layer for Metered {
    fn inner(&self) -> &dyn Provider {
        &*self.provider
    }

    async fn ask(&self, request: &Request, cx: &CallContext) -> Result<Response, ProviderError> {
        let reservation = self.reserve(self.estimate(request), cx).await?;
        let outcome = self.provider.invoke(request, cx).await;
        let bill = match &outcome {
            Ok(response) => Bill::of(&response.reported),
            Err(error) => Bill::of_failure(error),
        };
        self.learn(&bill);
        reservation.settle(&[bill]);
        outcome
    }

    /// One call, however many answers it brings.
    async fn ask_batch(
        &self,
        batch: &dyn BatchProvider,
        requests: &[Request],
        cx: &CallContext,
    ) -> Result<Vec<Response>, ProviderError> {
        let mut whole = CallEstimate { is_priced: true, ..CallEstimate::default() };
        for request in requests {
            whole.add(self.estimate(request));
        }
        let reservation = self.reserve(whole, cx).await?;
        let outcome = batch.invoke_batch(requests, cx).await;
        let bills = match &outcome {
            Ok(responses) => {
                responses.iter().map(|one| Bill::of(&one.reported)).collect::<Vec<_>>()
            }
            Err(error) => vec![Bill::of_failure(error)],
        };
        for bill in &bills {
            self.learn(bill);
        }
        reservation.settle(&bills);
        outcome
    }
}
