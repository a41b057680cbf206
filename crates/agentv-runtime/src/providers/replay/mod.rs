//! Answers that were given before: for trying evaluators on past runs, with no model at all. It makes no calls.
//!
//! ```yaml
//! - name: replay
//!   provider: replay
//!   file: recordings.ndjson
//! ```

pub(super) mod recordings;

#[cfg(test)]
mod tests;

pub use recordings::{RecordedOutcome, Recording};

use super::{Billing, Deps, FromSettings, Need};
use crate::config::Fields;
use agentv_core::{CallContext, Provider, ProviderError, ProviderInfo, Request, Response};
use async_trait::async_trait;
use recordings::Recordings;
use schemars::JsonSchema;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// Gives each case the answer that was recorded for its id.
#[derive(Debug)]
pub struct Replay {
    path: PathBuf,
    /// Opened on first use, by whoever comes first; it stays as it is from then on.
    recordings: OnceLock<Result<Arc<Recordings>, String>>,
}

/// `provider: replay`: each case gets the answer that was recorded for its id, with tool calls, tokens and cost. `agentv
/// import` writes such recordings.
#[derive(Debug, Clone, JsonSchema)]
pub struct ReplaySettings {
    /// The recordings: a line of JSON each, with `id` and `response` or `error`. Relative to the eval file's directory. Also
    /// called `recordings`. May be `${{ VARIABLE }}`.
    pub file: String,
}

impl FromSettings for Replay {
    const NAMES: &'static [&'static str] = &["replay"];
    const INFO: ProviderInfo = ProviderInfo::agent("replay");
    type Settings = ReplaySettings;

    fn read(fields: &mut Fields<'_, '_>) -> Option<ReplaySettings> {
        Some(ReplaySettings { file: fields.need_env_text(&["file", "recordings"])? })
    }

    /// What was recorded was paid for then.
    fn billing(_settings: &ReplaySettings) -> Billing {
        Billing::FREE
    }

    fn needs(_settings: &ReplaySettings) -> Vec<Need> {
        vec![Need::Readiness]
    }

    fn from_settings(settings: ReplaySettings, deps: &Deps) -> Self {
        Self { path: deps.eval_dir.join(settings.file), recordings: OnceLock::new() }
    }
}

#[async_trait]
impl Provider for Replay {
    async fn invoke(
        &self,
        request: &Request,
        _cx: &CallContext,
    ) -> Result<Response, ProviderError> {
        let outcome = self.recordings()?.find(&request.eval_id).map_err(ProviderError::failed)?;
        match outcome {
            RecordedOutcome::Response(response) => Ok(*response),
            RecordedOutcome::Error(message) => Err(ProviderError::failed(message)),
        }
    }

    fn info(&self) -> ProviderInfo {
        Self::INFO
    }

    /// A file that is not there fails every case alike, so it is looked for first.
    async fn prepare(&self, _cx: &CallContext) -> Result<(), ProviderError> {
        self.recordings().map(drop)
    }
}

impl Replay {
    fn recordings(&self) -> Result<&Recordings, ProviderError> {
        let opened = self.recordings.get_or_init(|| {
            let opened = Recordings::open(&self.path);
            opened.map(Arc::new).map_err(|error| {
                format!("the recordings `{}` cannot be read: {error}", self.path.display())
            })
        });
        opened.as_deref().map_err(ProviderError::failed)
    }
}
