//! A provider whose answers and errors have no secrets; itself a provider.

use agentv_core::{
    BatchProvider, CallContext, Layer, Provider, ProviderError, Redactor, Request, Response,
};
use std::sync::Arc;

/// Masks secrets as soon as an answer is there. It is the innermost layer, so that retries, the cache, cassettes and the
/// journal never see one.
#[derive(Debug)]
pub(super) struct Redacted {
    provider: Arc<dyn Provider>,
    redactor: Arc<Redactor>,
}

impl Redacted {
    /// The provider as it is, where nothing is masked.
    pub(super) fn around(
        provider: Arc<dyn Provider>,
        redactor: &Arc<Redactor>,
    ) -> Arc<dyn Provider> {
        if redactor.is_off() {
            return provider;
        }
        Arc::new(Self { provider, redactor: Arc::clone(redactor) })
    }

    fn response(&self, response: Response) -> Result<Response, ProviderError> {
        let masked = self.redactor.masked(&response).map_err(|error| cannot_mask(&error))?;
        Ok(Response { is_masked: true, ..masked.unwrap_or(response) })
    }

    fn error(&self, error: ProviderError) -> ProviderError {
        match self.redactor.masked(&error) {
            Ok(masked) => masked.unwrap_or(error),
            Err(problem) => ProviderError { kind: error.kind, ..cannot_mask(&problem) },
        }
    }
}

fn cannot_mask(error: &serde_json::Error) -> ProviderError {
    ProviderError::failed(format!("the secrets in the answer cannot be masked: {error}"))
}

impl Layer for Redacted {
    fn inner(&self) -> &dyn Provider {
        &*self.provider
    }

    async fn ask(&self, request: &Request, cx: &CallContext) -> Result<Response, ProviderError> {
        let answered = self.provider.invoke(request, cx).await;
        answered.map_err(|error| self.error(error)).and_then(|response| self.response(response))
    }

    async fn ask_batch(
        &self,
        batch: &dyn BatchProvider,
        requests: &[Request],
        cx: &CallContext,
    ) -> Result<Vec<Response>, ProviderError> {
        let answered = batch.invoke_batch(requests, cx).await.map_err(|error| self.error(error))?;
        answered.into_iter().map(|response| self.response(response)).collect()
    }

    async fn prepare(&self, cx: &CallContext) -> Result<(), ProviderError> {
        self.provider.prepare(cx).await.map_err(|error| self.error(error))
    }
}
