//! A provider that remembers; itself a provider.

use super::key::{AnswerKey, TargetFingerprint};
use super::store::AnswerStore;
use agentv_core::call::Log;
use agentv_core::{BatchProvider, CallContext, Layer, Provider, ProviderError, Request, Response};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Whether answers are kept, before a target has its say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CacheChoice {
    /// Nothing is kept, whatever the target says: the user or the suite said so.
    Never,
    /// Only of targets that say `cache: true`.
    #[default]
    Asked,
    /// Of those, and of every model.
    Models,
}

impl CacheChoice {
    /// Whether the answers of a target are kept: what the target says itself wins over what its kind is.
    pub fn covers(self, target: Option<bool>, is_model: bool) -> bool {
        match self {
            Self::Never => false,
            Self::Asked => target == Some(true),
            Self::Models => target.unwrap_or(is_model),
        }
    }
}

/// Asks only what was not asked before.
#[derive(Debug)]
pub struct Cached {
    provider: Arc<dyn Provider>,
    settled: TargetFingerprint,
    store: Arc<dyn AnswerStore>,
    /// A full disk is worth one word, not one for each answer.
    has_warned: Arc<AtomicBool>,
}

impl Cached {
    pub fn new(
        provider: Arc<dyn Provider>,
        settled: TargetFingerprint,
        store: Arc<dyn AnswerStore>,
    ) -> Self {
        Self { provider, settled, store, has_warned: Arc::default() }
    }

    /// The key of an answer that may be kept. What an agent leaves in its workspace is a part of its answer that no file
    /// here could bring back.
    fn key(&self, request: &Request, cx: &CallContext) -> Option<AnswerKey> {
        if request.workspace.is_some() {
            cx.log.verbose(|| format!("{}: not cached, since it has a workspace", request.eval_id));
            return None;
        }
        Some(AnswerKey::of(&self.settled, request, cx))
    }

    async fn find(&self, key: Option<&AnswerKey>) -> Option<Response> {
        let mut response = self.store.find(key?).await?;
        response.metadata.insert("cached".to_owned(), true.into());
        Some(response)
    }

    /// Keeps a good answer: at once, or when its reader says that it is good.
    fn keep(&self, key: AnswerKey, response: &Response, cx: &CallContext) {
        if response.error.is_some() {
            return;
        }
        let (store, has_warned) = (Arc::clone(&self.store), Arc::clone(&self.has_warned));
        let (response, log) = (response.clone(), Arc::clone(&cx.log));
        let keep = move || {
            if let Err(error) = store.keep(&key, &response) {
                warn(&log, &has_warned, &*store, &error);
            }
        };
        match &cx.on_accepted {
            Some(on_accepted) => on_accepted.then(keep),
            None => keep(),
        }
    }
}

fn warn(
    log: &Arc<dyn Log>,
    has_warned: &AtomicBool,
    store: &dyn AnswerStore,
    error: &std::io::Error,
) {
    if !has_warned.swap(true, Ordering::Relaxed) {
        log.warn(format!("cannot cache answers in `{}`: {error}", store.place()));
    }
}

impl Layer for Cached {
    fn inner(&self) -> &dyn Provider {
        &*self.provider
    }

    async fn ask(&self, request: &Request, cx: &CallContext) -> Result<Response, ProviderError> {
        let key = self.key(request, cx);
        if let Some(response) = self.find(key.as_ref()).await {
            return Ok(response);
        }
        self.provider.prepare(cx).await?;
        let started = Instant::now();
        let mut response = self.provider.invoke(request, cx).await?;
        if let Some(key) = key {
            took(&mut response, started.elapsed());
            self.keep(key, &response, cx);
        }
        Ok(response)
    }

    /// One call for those that are not known.
    async fn ask_batch(
        &self,
        batch: &dyn BatchProvider,
        requests: &[Request],
        cx: &CallContext,
    ) -> Result<Vec<Response>, ProviderError> {
        let keys: Vec<Option<AnswerKey>> =
            requests.iter().map(|request| self.key(request, cx)).collect();
        let mut known = Vec::with_capacity(keys.len());
        for key in &keys {
            known.push(self.find(key.as_ref()).await);
        }
        let unknown = requests.iter().zip(&known).filter(|(_, known)| known.is_none());
        let unknown: Vec<Request> = unknown.map(|(request, _)| request.clone()).collect();
        let mut asked = self.ask_unknown(batch, &unknown, cx).await?.into_iter();
        let mut responses = Vec::with_capacity(requests.len());
        for (key, known) in keys.into_iter().zip(known) {
            if let Some(response) = known {
                responses.push(response);
            } else if let Some(response) = asked.next() {
                if let Some(key) = key {
                    self.keep(key, &response, cx);
                }
                responses.push(response);
            }
        }
        Ok(responses)
    }

    /// Put off until something is not known: what is known needs no healthy target.
    async fn prepare(&self, _: &CallContext) -> Result<(), ProviderError> {
        Ok(())
    }
}

/// The time belongs to the answer, so that it is graded the same when it is found again.
pub(crate) fn took(response: &mut Response, elapsed: Duration) {
    let milliseconds = (elapsed.as_secs_f64() * 1000.0).round();
    response.reported.duration_ms.get_or_insert(milliseconds);
}

impl Cached {
    async fn ask_unknown(
        &self,
        batch: &dyn BatchProvider,
        requests: &[Request],
        cx: &CallContext,
    ) -> Result<Vec<Response>, ProviderError> {
        if requests.is_empty() {
            return Ok(Vec::new());
        }
        self.provider.prepare(cx).await?;
        let responses = batch.invoke_batch(requests, cx).await?;
        // With too few or too many, it is not known which is whose.
        if responses.len() != requests.len() {
            let (got, asked) = (responses.len(), requests.len());
            return Err(ProviderError::failed(format!("{got} answers for {asked} requests")));
        }
        Ok(responses)
    }
}
