//! How many calls of graders a judge takes at once.

use super::shared::{JudgeLimit, SharedLimits};
use crate::deadline::QueueTimer;
use agentv_core::{CallContext, Layer, Provider, ProviderError, Request, Response};
use std::sync::Arc;

/// A target as graders call it. Cases are graded beside each other and their judges are asked at the same time, so a judge
/// that says how much it takes (`workers`) is given no more, whichever case asks. Who waits for its turn holds nothing.
#[derive(Debug)]
pub(super) struct JudgeCalls {
    provider: Arc<dyn Provider>,
    limit: JudgeLimit,
    limits: Arc<dyn SharedLimits>,
}

impl JudgeCalls {
    pub(super) fn new(
        provider: Arc<dyn Provider>,
        limit: JudgeLimit,
        limits: Arc<dyn SharedLimits>,
    ) -> Self {
        Self { provider, limit, limits }
    }
}

impl Layer for JudgeCalls {
    fn inner(&self) -> &dyn Provider {
        &*self.provider
    }

    async fn ask(&self, request: &Request, cx: &CallContext) -> Result<Response, ProviderError> {
        let turn = {
            let _waiting = QueueTimer::enter(&cx.queue_time);
            tokio::select! {
                biased;
                () = cx.cancel.cancelled() => return Err(ProviderError::cancelled()),
                turn = self.limits.judge_turn(&self.limit) => turn,
            }
        };
        let outcome = self.provider.invoke(request, cx).await;
        drop(turn);
        outcome
    }
}
