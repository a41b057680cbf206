//! One call, as it is in a line of the file.

use agentv_core::call::Role;
use agentv_core::provider::ProviderErrorKind;
use agentv_core::{
    CallContext, EvalId, EvaluatorName, ProviderError, Request, Response, SuiteId, TargetName,
    WorkId,
};
use agentv_wire::{Object, number};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Which call: for which work, whom, in which role, and for the how many-th time.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CallKey {
    #[serde(with = "work_text")]
    pub work: WorkId,
    /// Whom is asked.
    pub target: TargetName,
    pub role: Role,
    /// Who grades, unless this is the candidate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluator: Option<EvaluatorName>,
    /// From 1: of a candidate the attempt, of a grader how often it has asked this before.
    pub ask: u32,
}

/// A call of a cassette of version 1, which does not say of which suite and which candidate it is.
#[derive(Debug, Deserialize)]
pub(super) struct LegacyCallKey {
    eval_id: EvalId,
    target: TargetName,
    #[serde(default)]
    trial: Option<u32>,
    role: Role,
    #[serde(default)]
    evaluator: Option<EvaluatorName>,
    ask: u32,
}

impl CallKey {
    pub(super) fn of(target: &TargetName, request: &Request, cx: &CallContext) -> Self {
        let purpose = &cx.purpose;
        let mut work = purpose.work.as_deref().cloned().unwrap_or_else(|| WorkId {
            suite: SuiteId::from(""),
            eval_id: EvalId::from(request.eval_id.as_str()),
            target: target.clone(),
            trial: 0,
        });
        let of_candidate = purpose.role == Role::Candidate;
        if of_candidate {
            // In a batch, each request has the id of its case.
            work.eval_id = EvalId::from(request.eval_id.as_str());
        }
        Self {
            work,
            target: target.clone(),
            role: purpose.role,
            evaluator: purpose.evaluator.clone(),
            ask: if of_candidate { request.attempt + 1 } else { purpose.repetition },
        }
    }

    /// As a cassette of version 1 knows it.
    pub(super) fn legacy(mut self) -> Self {
        (self.work.suite, self.work.target) = (SuiteId::from(""), TargetName::from(""));
        self
    }
}

impl From<LegacyCallKey> for CallKey {
    fn from(key: LegacyCallKey) -> Self {
        let LegacyCallKey { eval_id, target, trial, role, evaluator, ask } = key;
        let work = WorkId {
            suite: SuiteId::from(""),
            eval_id,
            target: TargetName::from(""),
            trial: trial.unwrap_or(0),
        };
        Self { work, target, role, evaluator, ask }
    }
}

impl fmt::Display for CallKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { work, target, role, evaluator, ask } = self;
        write!(f, "target `{target}` for case `{}`", work.eval_id)?;
        let evaluator = evaluator.as_ref().map(EvaluatorName::as_str).unwrap_or_default();
        match role {
            Role::Candidate => {}
            Role::Judge => write!(f, " as the judge of `{evaluator}`")?,
            Role::Proxy => write!(f, " as asked by the script of `{evaluator}`")?,
        }
        if work.trial > 0 {
            write!(f, ", trial {}", work.trial)?;
        }
        write!(f, ", ask {ask}")
    }
}

/// A [`WorkId`] in its text form, which reads well in a diff.
mod work_text {
    use agentv_core::WorkId;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        work: &WorkId,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(work)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<WorkId, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// The first line of the file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CassetteHeader {
    pub agentv_cassette: u32,
}

pub(super) const VERSION: u32 = 2;
/// Read, but no longer written.
pub(super) const LEGACY_VERSION: u32 = 1;

/// Another line of the file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CassetteLine<K = CallKey> {
    pub call: K,
    /// A hash of what was asked.
    pub request: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Response>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RecordedError>,
}

/// An error that can be written and read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct RecordedError {
    kind: FailureKind,
    message: String,
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    metadata: Object,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FailureKind {
    Timeout,
    Http(u16),
    Network,
    Failed,
}

impl CassetteLine {
    pub(super) fn new(
        call: CallKey,
        request: String,
        outcome: &Result<Response, ProviderError>,
    ) -> Self {
        let (response, error) = match outcome {
            Ok(response) => (Some(without_log(response.clone())), None),
            Err(error) => (None, Some(RecordedError::of(error))),
        };
        Self { call, request, response, error }
    }

    pub(super) fn text(&self) -> io::Result<String> {
        number::to_string(self).map_err(io::Error::other)
    }
}

impl<K: Into<CallKey>> CassetteLine<K> {
    /// What came back; an answer without words, if the line says nothing.
    pub(super) fn outcome(self) -> (CallKey, String, Result<Response, ProviderError>) {
        let outcome = match self.error {
            Some(error) => Err(error.into()),
            None => Ok(self.response.unwrap_or_default()),
        };
        (self.call.into(), self.request, outcome)
    }
}

/// The log of a call is on the machine that made it.
const LOG_FILE: &str = "log_file";

fn without_log(mut response: Response) -> Response {
    response.metadata.shift_remove(LOG_FILE);
    response
}

impl RecordedError {
    fn of(error: &ProviderError) -> Self {
        let kind = match error.kind {
            ProviderErrorKind::Timeout => FailureKind::Timeout,
            ProviderErrorKind::Http { status, .. } => FailureKind::Http(status),
            ProviderErrorKind::Network | ProviderErrorKind::Unreachable => FailureKind::Network,
            // A run that was stopped has no cassette.
            ProviderErrorKind::Cancelled
            | ProviderErrorKind::NotStarted
            | ProviderErrorKind::Failed => FailureKind::Failed,
        };
        let mut metadata = error.metadata.clone();
        metadata.shift_remove(LOG_FILE);
        Self { kind, message: error.message.clone(), metadata }
    }
}

impl From<RecordedError> for ProviderError {
    fn from(failure: RecordedError) -> Self {
        let kind = match failure.kind {
            FailureKind::Timeout => ProviderErrorKind::Timeout,
            FailureKind::Http(status) => ProviderErrorKind::Http { status, retry_after: None },
            FailureKind::Network => ProviderErrorKind::Network,
            FailureKind::Failed => ProviderErrorKind::Failed,
        };
        Self { kind, message: failure.message, metadata: failure.metadata }
    }
}

/// Why a cassette cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CassetteError {
    #[error("the cassette `{}` cannot be read", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the cassette `{}` cannot be written", path.display())]
    Unwritable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("`{}` is not a cassette of this version", path.display())]
    Foreign { path: PathBuf },
    #[error("the cassette `{}` has a line {number} that cannot be read", path.display())]
    Broken {
        path: PathBuf,
        number: usize,
        #[source]
        source: serde_json::Error,
    },
}
