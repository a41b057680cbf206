//! What was answered to a piece of work, before it is graded.

use crate::evaluator::AnswerDetail;
use crate::{ProviderError, Response};
use agentv_wire::{ExecutionMetrics, FileChanges, TraceSummary};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// An answer, or the reason why there is none, whatever source it comes from. Serialisable, so that it can be graded by
/// another process than the one that asked.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Answered {
    #[serde(flatten, with = "outcome")]
    pub outcome: Result<Response, ProviderError>,
    /// How long the last attempt took, without the making of its workspace.
    #[serde(rename = "wall_ms", with = "milliseconds")]
    pub wall: Duration,
    /// Which attempt brought it, from 0.
    pub attempt: u32,
    /// How closely it can be looked at.
    pub detail: AnswerDetail,
    /// What the agent changed in its workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_changes: Option<FileChanges>,
    /// The agent's workspace, as long as it is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<PathBuf>,
    /// The numbers of an answer whose messages are gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numbers: Option<Box<AnswerNumbers>>,
    /// Whether the journal of this run has it already.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_kept: bool,
}

/// What a record says of an answer besides its text.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AnswerNumbers {
    pub summary: TraceSummary,
    pub metrics: ExecutionMetrics,
}

impl Answered {
    /// An answer with all that the target said.
    pub fn whole(outcome: Result<Response, ProviderError>, wall: Duration, attempt: u32) -> Self {
        Self {
            outcome,
            wall,
            attempt,
            detail: AnswerDetail::Trace,
            file_changes: None,
            workspace: None,
            numbers: None,
            is_kept: false,
        }
    }

    /// No answer at all.
    pub fn failed(error: ProviderError) -> Self {
        Self::whole(Err(error), Duration::ZERO, 0)
    }
}

/// `{"response": …}` or `{"error": …}`.
mod outcome {
    use super::{Deserialize, ProviderError, Response, Serialize};
    use serde::{Deserializer, Serializer};

    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    enum Written<'a> {
        Response(&'a Response),
        Error(&'a ProviderError),
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Read {
        Response(Response),
        Error(ProviderError),
    }

    pub(super) fn serialize<S: Serializer>(
        outcome: &Result<Response, ProviderError>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match outcome {
            Ok(response) => Written::Response(response),
            Err(error) => Written::Error(error),
        }
        .serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Result<Response, ProviderError>, D::Error> {
        Ok(match Read::deserialize(deserializer)? {
            Read::Response(response) => Ok(response),
            Read::Error(error) => Err(error),
        })
    }
}

/// A duration as a number of milliseconds.
pub(crate) mod milliseconds {
    use serde::{Deserialize as _, Deserializer, Serializer};
    use std::time::Duration;

    pub(crate) fn serialize<S: Serializer>(
        duration: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(duration.as_secs_f64() * 1000.0)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        let milliseconds = f64::deserialize(deserializer)?;
        Ok(Duration::try_from_secs_f64(milliseconds / 1000.0).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(answered: &Answered, golden: serde_json::Value) {
        assert_eq!(serde_json::to_value(answered).unwrap(), golden);
        let read: Answered = serde_json::from_value(golden).unwrap();
        assert_eq!(serde_json::to_value(read).unwrap(), serde_json::to_value(answered).unwrap());
    }

    #[test]
    fn an_answer_is_the_same_after_a_way_through_json() {
        let mut answered =
            Answered::whole(Ok(Response::text("hi")), Duration::from_micros(1500), 1);
        answered.workspace = Some("/tmp/w".into());
        check(
            &answered,
            json!({
                "response": { "text": "hi", "reported": {} },
                "wall_ms": 1.5,
                "attempt": 1,
                "detail": "trace",
                "workspace": "/tmp/w",
            }),
        );
    }

    #[test]
    fn so_is_an_error_with_its_facts() {
        let error = ProviderError::http(429, Some(Duration::from_secs(2)), "slow down");
        check(
            &Answered::failed(error),
            json!({
                "error": {
                    "kind": { "http": { "status": 429, "retry_after": 2000.0 } },
                    "message": "slow down",
                    "metadata": { "http_status": 429 },
                },
                "wall_ms": 0.0,
                "attempt": 0,
                "detail": "trace",
            }),
        );
    }
}
