//! One call, as it stands in a line of the file.

use agentv_core::call::Role;
use agentv_core::provider::ProviderErrorKind;
use agentv_core::{CallContext, ProviderError, Request, Response, TargetName};
use agentv_wire::{Object, number};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Who was asked for what.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Call {
    pub eval_id: String,
    pub target: String,
    /// From 0; absent for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<u32>,
    pub role: Role,
    /// Who grades, unless this is the candidate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluator: Option<String>,
    /// From 1: of a candidate the attempt, of a grader how often it has asked this before.
    pub ask: u32,
}

impl Call {
    pub(super) fn of(target: &TargetName, request: &Request, cx: &CallContext) -> Self {
        let purpose = &cx.purpose;
        let of_candidate = purpose.role == Role::Candidate;
        let case =
            purpose.work.as_ref().filter(|_| !of_candidate).map(|work| work.eval_id.to_string());
        Self {
            eval_id: case.unwrap_or_else(|| request.eval_id.clone()),
            target: target.to_string(),
            trial: purpose.later_trial(),
            role: purpose.role,
            evaluator: purpose.evaluator.as_ref().map(ToString::to_string),
            ask: if of_candidate { request.attempt + 1 } else { purpose.repetition },
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { eval_id, target, trial, role, evaluator, ask } = self;
        write!(f, "target `{target}` for case `{eval_id}`")?;
        let evaluator = evaluator.as_deref().unwrap_or_default();
        match role {
            Role::Candidate => {}
            Role::Judge => write!(f, " as the judge of `{evaluator}`")?,
            Role::Proxy => write!(f, " as asked by the script of `{evaluator}`")?,
        }
        if let Some(trial) = trial {
            write!(f, ", trial {trial}")?;
        }
        write!(f, ", ask {ask}")
    }
}

/// The first line of the file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Head {
    pub agentv_cassette: u32,
}

pub(super) const VERSION: u32 = 1;

/// Another line of the file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Line {
    pub call: Call,
    /// A hash of what was asked.
    pub request: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Response>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
}

/// An error that can be written and read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Failure {
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

impl Line {
    pub(super) fn new(
        call: Call,
        request: String,
        outcome: &Result<Response, ProviderError>,
    ) -> Self {
        let (response, error) = match outcome {
            Ok(response) => (Some(without_log(response.clone())), None),
            Err(error) => (None, Some(Failure::of(error))),
        };
        Self { call, request, response, error }
    }

    pub(super) fn text(&self) -> io::Result<String> {
        number::to_string(self).map_err(io::Error::other)
    }

    /// What came back; an answer without words, if the line says nothing.
    pub(super) fn outcome(self) -> (Call, String, Result<Response, ProviderError>) {
        let outcome = match self.error {
            Some(error) => Err(error.into()),
            None => Ok(self.response.unwrap_or_default()),
        };
        (self.call, self.request, outcome)
    }
}

/// The log of a call is on the machine that made it.
const LOG_FILE: &str = "log_file";

fn without_log(mut response: Response) -> Response {
    response.metadata.shift_remove(LOG_FILE);
    response
}

impl Failure {
    fn of(error: &ProviderError) -> Self {
        let kind = match error.kind {
            ProviderErrorKind::Timeout => FailureKind::Timeout,
            ProviderErrorKind::Http { status, .. } => FailureKind::Http(status),
            ProviderErrorKind::Network => FailureKind::Network,
            // A run that was stopped has no cassette.
            ProviderErrorKind::Cancelled | ProviderErrorKind::Failed => FailureKind::Failed,
        };
        let mut metadata = error.metadata.clone();
        metadata.shift_remove(LOG_FILE);
        Self { kind, message: error.message.clone(), metadata }
    }
}

impl From<Failure> for ProviderError {
    fn from(failure: Failure) -> Self {
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
    #[error("`{}` is no cassette of this version", path.display())]
    Foreign { path: PathBuf },
    #[error("the cassette `{}` has a line {number} that cannot be read", path.display())]
    Broken {
        path: PathBuf,
        number: usize,
        #[source]
        source: serde_json::Error,
    },
}
