//! A provider around another one: [`Layer`].

use crate::CallContext;
use crate::provider::{BatchProvider, Provider, ProviderError, ProviderInfo, Request, Response};
use async_trait::async_trait;
use std::fmt;
use std::num::NonZeroUsize;

/// Does something around the calls of another provider, and is a [`Provider`] by that. All that it does not say itself is
/// as the other one says, so that no layer can forget to pass it on.
pub trait Layer: fmt::Debug + Send + Sync {
    /// The one behind it.
    fn inner(&self) -> &dyn Provider;

    /// [`Provider::invoke`], with what is done around it.
    fn ask(
        &self,
        request: &Request,
        cx: &CallContext,
    ) -> impl Future<Output = Result<Response, ProviderError>> + Send;

    /// [`BatchProvider::invoke_batch`], with what is done around it. `batch` is that of the one behind it.
    fn ask_batch(
        &self,
        batch: &dyn BatchProvider,
        requests: &[Request],
        cx: &CallContext,
    ) -> impl Future<Output = Result<Vec<Response>, ProviderError>> + Send {
        async move { batch.invoke_batch(requests, cx).await }
    }

    /// [`Provider::prepare`]. A layer that may not need the one behind it puts this off until it does.
    fn prepare(&self, cx: &CallContext) -> impl Future<Output = Result<(), ProviderError>> + Send {
        async move { self.inner().prepare(cx).await }
    }
}

#[async_trait]
impl<L: Layer> Provider for L {
    async fn invoke(&self, request: &Request, cx: &CallContext) -> Result<Response, ProviderError> {
        self.ask(request, cx).await
    }

    fn info(&self) -> ProviderInfo {
        self.inner().info()
    }

    fn is_free(&self) -> bool {
        self.inner().is_free()
    }

    fn shares_directory(&self) -> bool {
        self.inner().shares_directory()
    }

    async fn prepare(&self, cx: &CallContext) -> Result<(), ProviderError> {
        Layer::prepare(self, cx).await
    }

    fn max_workers(&self) -> Option<NonZeroUsize> {
        self.inner().max_workers()
    }

    fn batch(&self) -> Option<&dyn BatchProvider> {
        self.inner().batch().map(|_| self as &dyn BatchProvider)
    }
}

#[async_trait]
impl<L: Layer> BatchProvider for L {
    async fn invoke_batch(
        &self,
        requests: &[Request],
        cx: &CallContext,
    ) -> Result<Vec<Response>, ProviderError> {
        match self.inner().batch() {
            Some(batch) => self.ask_batch(batch, requests, cx).await,
            None => Err(ProviderError::failed("batch calls are not supported")),
        }
    }
}
