//! The probe before the first request.

use super::command::{CommandCall, OUTPUT_CAP, Values};
use super::{Cli, Healthcheck};
use crate::http;
use agentv_core::provider::{ProviderErrorKind, seconds};
use agentv_core::{CallContext, ProviderError};
use std::error::Error;
use std::time::Duration;

/// What was found, or that the run was stopped before anything was.
type Found = Result<Result<(), String>, ProviderError>;

impl Cli {
    /// Runs the check. Only its own outcome is remembered, not that it was stopped.
    pub(super) async fn examine(&self, check: &Healthcheck, cx: &CallContext) -> Found {
        let limit = |own: &Option<Duration>| own.or(self.settings.timeout_seconds);
        match check {
            Healthcheck::Http { url, timeout_seconds } => {
                get(url, limit(timeout_seconds), cx).await
            }
            Healthcheck::Command { command_template, cwd, timeout_seconds } => {
                let cwd = self.resolve(cwd.as_deref());
                let call = CommandCall {
                    template: command_template,
                    values: Values::without_question("healthcheck", cx),
                    cwd: &cwd,
                    time_limit: limit(timeout_seconds),
                    output_cap: OUTPUT_CAP,
                    label: Some("healthcheck".to_owned()),
                };
                self.probe(call, cx).await
            }
        }
    }

    async fn probe(&self, call: CommandCall<'_>, cx: &CallContext) -> Found {
        let file = self.output_file(&call, ".json")?;
        match self.run(call, file.as_ref(), cx).await {
            Ok(run) if run.output.ended.is_success() => Ok(Ok(())),
            Ok(run) => Ok(Err(run.error().message)),
            Err(error) if error.kind == ProviderErrorKind::Cancelled => Err(error),
            Err(error) => Ok(Err(error.message)),
        }
    }
}

async fn get(url: &str, limit: Option<Duration>, cx: &CallContext) -> Found {
    let client = match http::client() {
        Ok(client) => client,
        Err(error) => return Ok(Err(chain(&error))),
    };
    let mut request = client.get(url);
    if let Some(limit) = limit {
        request = request.timeout(limit);
    }
    let answer = tokio::select! {
        biased;
        () = cx.cancel.cancelled() => return Err(ProviderError::cancelled()),
        answer = request.send() => answer,
    };
    Ok(match answer {
        Ok(answer) if answer.status().is_success() => Ok(()),
        Ok(answer) => {
            let status = answer.status();
            let text = status.canonical_reason().unwrap_or_default();
            Err(format!("HTTP {} {text}", status.as_u16()).trim_end().to_owned())
        }
        Err(error) if error.is_timeout() => Err(limit
            .map_or_else(|| chain(&error), |limit| format!("timed out after {}", seconds(limit)))),
        // The address may carry a key.
        Err(error) => Err(chain(&error.without_url())),
    })
}

/// An error with all its causes.
fn chain(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| (*error).source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
