//! Who answers: the [`Provider`] trait, what goes in and what comes out.

use crate::{CallContext, EvalId};
use agentv_wire::{ChatMessage, Object, OutputMessage, TokenUsage, TraceEvent};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

/// A backend that can answer a prompt: a model over HTTP, an agent CLI, a command. One call is one try.
#[async_trait]
pub trait Provider: fmt::Debug + Send + Sync {
    /// Asks once. Comes back soon after `cx.cancel`, leaving nothing behind.
    async fn invoke(&self, request: &Request, cx: &CallContext) -> Result<Response, ProviderError>;

    fn info(&self) -> ProviderInfo;

    /// Whether its answers are free, so that another call is as good as a kept answer.
    fn is_free(&self) -> bool {
        false
    }

    /// Runs once before the first request, e.g. a health check.
    async fn prepare(&self, _cx: &CallContext) -> Result<(), ProviderError> {
        Ok(())
    }

    /// Whether it works in a directory that other cases use too, so that the files of one case are gone, or another's, once
    /// the next case is asked. An attempt with a workspace of its own does not.
    fn shares_directory(&self) -> bool {
        false
    }

    /// How many requests it can take at a time, where that is its own matter and not the user's.
    fn max_workers(&self) -> Option<NonZeroUsize> {
        None
    }

    /// The batch door, for backends which have one.
    fn batch(&self) -> Option<&dyn BatchProvider> {
        None
    }
}

/// Answers many requests with one call.
#[async_trait]
pub trait BatchProvider: Send + Sync {
    /// One response for each request, in the order given.
    async fn invoke_batch(
        &self,
        requests: &[Request],
        cx: &CallContext,
    ) -> Result<Vec<Response>, ProviderError>;
}

/// What is known of a kind of provider before it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProviderInfo {
    /// Its first name in `targets.yaml`.
    pub kind: &'static str,
    pub prompt_mode: PromptMode,
    /// Under which key a record keeps the request.
    pub recorded_as: RecordedAs,
    /// Whether its answers are made up: scores of a mock are not those of a real target.
    pub is_simulated: bool,
}

impl ProviderInfo {
    /// Of a model that is sent its prompt and nothing else.
    pub const fn model(kind: &'static str) -> Self {
        let (prompt_mode, recorded_as) = (PromptMode::Model, RecordedAs::Model);
        Self { kind, prompt_mode, recorded_as, is_simulated: false }
    }

    /// Of what plays a model.
    pub const fn simulated(kind: &'static str) -> Self {
        Self { is_simulated: true, ..Self::model(kind) }
    }

    /// Of an agent that can read files.
    pub const fn agent(kind: &'static str) -> Self {
        let (prompt_mode, recorded_as) = (PromptMode::Agent, RecordedAs::Agent);
        Self { kind, prompt_mode, recorded_as, is_simulated: false }
    }
}

/// How files reach the answerer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptMode {
    /// A model: contents are part of the prompt.
    Model,
    /// An agent: it can read files, so the prompt names them.
    Agent,
}

/// Under which key a record keeps the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordedAs {
    /// `lm_provider_request`
    Model,
    /// `agent_provider_request`
    Agent,
}

/// One question, ready to be sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    pub eval_id: String,
    /// From 0; more after a timeout.
    pub attempt: u32,
    /// The prompt as one text, with role markers if there is more than one voice.
    pub question: String,
    /// The guideline files' contents, or empty.
    pub guidelines: String,
    /// The prompt as a conversation, where there is more than one voice.
    pub chat: Option<Vec<ChatMessage>>,
    /// Set by graders, which bring their own rules.
    pub system_prompt: Option<String>,
    pub guideline_paths: Vec<PathBuf>,
    /// Files that belong to the question, without the guidelines.
    pub file_paths: Vec<PathBuf>,
    /// A directory made for this attempt, which the answerer may change: its working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<PathBuf>,
}

impl Request {
    /// A bare question that belongs to no case's input, as graders ask it.
    pub fn plain(eval_id: &EvalId, question: String) -> Self {
        Self {
            eval_id: eval_id.as_str().to_owned(),
            attempt: 0,
            question,
            guidelines: String::new(),
            chat: None,
            system_prompt: None,
            guideline_paths: Vec::new(),
            file_paths: Vec::new(),
            workspace: None,
        }
    }

    /// Every file the answerer may want to see, guidelines first.
    pub fn input_files(&self) -> impl Iterator<Item = &PathBuf> {
        self.guideline_paths.iter().chain(&self.file_paths)
    }
}

/// What came back. Kept in journals and caches, so it can be written and read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// An answer that is only text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The conversation with its tool calls, if the provider tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<OutputMessage>>,
    /// A trace that the provider gives by itself. Deprecated: `messages` say more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Vec<TraceEvent>>,
    #[serde(default)]
    pub reported: Reported,
    /// For the record's `provider_metadata`.
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub metadata: Object,
    /// There is an answer to grade, and yet something went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether this run has masked the secrets in it. Never written, since it is not known of an answer from a file.
    #[serde(skip)]
    pub is_masked: bool,
}

impl Response {
    /// An answer that is only text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    /// Whether it says more than its last words.
    pub fn tells_steps(&self) -> bool {
        let calls = |message: &OutputMessage| {
            message.tool_calls.as_ref().is_some_and(|calls| !calls.is_empty())
        };
        self.messages
            .as_ref()
            .is_some_and(|messages| messages.len() > 1 || messages.iter().any(calls))
            || self.trace.as_ref().is_some_and(|trace| !trace.is_empty())
    }
}

/// What a provider says that the answer cost; checked by [`crate::metrics::reported`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Reported {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_usage: Option<TokenUsage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<f64>,
}

impl Reported {
    /// Sums that no number holds end at the largest one, and what is no number at all is not known: JSON has no word for
    /// either, and an answer must be the same after it was kept.
    #[must_use]
    pub fn bounded(self) -> Self {
        let within = |number: f64| (!number.is_nan()).then(|| number.clamp(f64::MIN, f64::MAX));
        let tokens = |usage: TokenUsage| {
            let (input, output) = (within(usage.input)?, within(usage.output)?);
            Some(TokenUsage { input, output, cached: usage.cached.and_then(within) })
        };
        Self {
            token_usage: self.token_usage.and_then(tokens),
            cost_usd: self.cost_usd.and_then(within),
            duration_ms: self.duration_ms.and_then(within),
        }
    }
}

/// Why there is no answer. The kind is for deciding, the text for people.
#[derive(Debug, Clone, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct ProviderError {
    pub kind: ProviderErrorKind,
    pub message: String,
    /// For the record's `provider_metadata`: exit code, log file, …
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub metadata: Object,
}

/// The facts of an error that say what it cost.
const COST: &str = "cost_usd";
const TOKENS: &str = "token_usage";

/// What kind of failure, as far as anybody decides on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderErrorKind {
    /// Took too long; worth another attempt.
    Timeout,
    /// The user stopped the run.
    Cancelled,
    /// A server answered, but with this status.
    Http {
        status: u16,
        /// How long it asks us to wait, in milliseconds where it is written.
        #[serde(default, skip_serializing_if = "Option::is_none", with = "optional_milliseconds")]
        retry_after: Option<Duration>,
    },
    /// No answer, or only a part of one: the connection broke.
    Network,
    /// The connection could not be made, so nothing was sent.
    Unreachable,
    /// The program could not be started.
    NotStarted,
    /// Anything else that will not get better by asking again.
    Failed,
}

mod optional_milliseconds {
    use crate::answered::milliseconds;
    use serde::{Deserializer, Serializer};
    use std::time::Duration;

    #[expect(clippy::ref_option, reason = "serde passes the field by reference")]
    pub(super) fn serialize<S: Serializer>(
        duration: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        milliseconds::serialize(&duration.unwrap_or_default(), serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        milliseconds::deserialize(deserializer).map(Some)
    }
}

impl ProviderError {
    pub fn new(kind: ProviderErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), metadata: Object::new() }
    }

    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(ProviderErrorKind::Failed, message)
    }

    pub fn cancelled() -> Self {
        Self::new(ProviderErrorKind::Cancelled, "the run was stopped before the answer came")
    }

    /// A server answered with a status that is no success.
    pub fn http(status: u16, retry_after: Option<Duration>, message: impl Into<String>) -> Self {
        let kind = ProviderErrorKind::Http { status, retry_after };
        Self::new(kind, message).with("http_status", status)
    }

    /// A connection that broke.
    pub fn network(message: impl Into<String>) -> Self {
        Self::new(ProviderErrorKind::Network, message)
    }

    /// A connection that could not be made.
    pub fn unreachable(message: impl Into<String>) -> Self {
        Self::new(ProviderErrorKind::Unreachable, message)
    }

    /// A program that could not be started.
    pub fn not_started(message: impl Into<String>) -> Self {
        Self::new(ProviderErrorKind::NotStarted, message)
    }

    /// `what` timed out after this long.
    pub fn timed_out(what: &str, after: Duration) -> Self {
        Self::new(ProviderErrorKind::Timeout, format!("{what} timed out after {}", seconds(after)))
    }

    /// Adds a fact for the record.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<serde_json::Value>) -> Self {
        self.metadata.insert(key.to_owned(), value.into());
        self
    }

    /// Adds what it cost all the same, as far as that was said.
    #[must_use]
    pub fn costing(mut self, reported: &Reported) -> Self {
        let reported = reported.bounded();
        if let Some(cost) = reported.cost_usd {
            self = self.with(COST, cost);
        }
        if let Some(usage) = reported.token_usage.and_then(|usage| serde_json::to_value(usage).ok())
        {
            self = self.with(TOKENS, usage);
        }
        self
    }

    /// What it cost all the same.
    pub fn reported(&self) -> Reported {
        let usage = self.metadata.get(TOKENS).cloned();
        Reported {
            cost_usd: self.metadata.get(COST).and_then(serde_json::Value::as_f64),
            token_usage: usage.and_then(|usage| serde_json::from_value(usage).ok()),
            duration_ms: None,
        }
    }

    /// Whether it is certain that no model worked for it: a server refused it, or it never left.
    pub fn is_free(&self) -> bool {
        match self.kind {
            ProviderErrorKind::Http { .. }
            | ProviderErrorKind::Unreachable
            | ProviderErrorKind::NotStarted => true,
            ProviderErrorKind::Timeout
            | ProviderErrorKind::Cancelled
            | ProviderErrorKind::Network
            | ProviderErrorKind::Failed => false,
        }
    }

    pub fn is_timeout(&self) -> bool {
        self.kind == ProviderErrorKind::Timeout
    }

    /// The status that a server answered with.
    pub fn http_status(&self) -> Option<u16> {
        match self.kind {
            ProviderErrorKind::Http { status, .. } => Some(status),
            _ => None,
        }
    }

    /// How long a server asks us to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        match self.kind {
            ProviderErrorKind::Http { retry_after, .. } => retry_after,
            _ => None,
        }
    }
}

/// A time limit as a person writes it: whole seconds rounded up, or milliseconds below one second.
pub fn seconds(limit: Duration) -> String {
    if limit < Duration::from_secs(1) {
        return format!("{}ms", limit.as_millis());
    }
    format!("{}s", limit.as_secs() + u64::from(limit.subsec_nanos() > 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_tells_a_cost_that_no_number_holds() {
        let tokens = TokenUsage { input: f64::INFINITY, output: 1.0, cached: None };
        let reported = Reported {
            token_usage: Some(tokens),
            cost_usd: Some(f64::INFINITY),
            duration_ms: None,
        };
        let told = ProviderError::failed("no").costing(&reported).reported();
        assert_eq!(told, reported.bounded());
    }
}
