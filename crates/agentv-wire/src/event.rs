//! What happens in a run, as displays read it and `agentv eval --format json` prints it: one event per line.

use crate::{Outcome, RecordSummary, RunTotals, Status, SuiteId, TargetName, WorkId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One event of a run, and one line of the output of `agentv eval --format json`. The first is `planned`, the last is
/// `ended`; a run that is refused has none. An event about a case has the four parts of its [`WorkId`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum RunEvent {
    /// The run begins.
    Planned(Box<RunPlanned>),
    /// A worker has begun with a case.
    Started(CaseStarted),
    /// A call for a case has to wait before it is made.
    Waiting(Box<CaseWaiting>),
    /// A case has its answer, or an error instead.
    Answered(CaseAnswered),
    /// The answer of a case is being graded.
    Grading(CaseGrading),
    /// A case is done, and its record is in the results file.
    Finished(Box<CaseFinished>),
    /// A target, a judge or AgentV has something to say.
    Log(LogLine),
    /// The user wants the run to end: no more cases are started. A second time: now.
    Stopping,
    /// The run is over.
    Ended(Box<RunEnded>),
}

/// A run, before its first case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct RunPlanned {
    /// The id of the run.
    pub run: String,
    /// How many records there are to be: trials of cases, on all targets together.
    pub total: usize,
    /// How many of them there are already, from an earlier session of a resumed run.
    pub done: usize,
    /// Where records go.
    pub out: String,
    /// Every suite on every target.
    pub targets: Vec<TargetPlan>,
}

/// One suite on one target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct TargetPlan {
    /// The target's name.
    pub name: TargetName,
    /// The kind of its provider.
    pub provider: String,
    pub suite: SuiteId,
    /// How many cases of the suite it answers.
    pub cases: usize,
    /// How many trials each of them has.
    pub trials: u32,
}

/// A case that a worker has begun with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct CaseStarted {
    #[serde(flatten)]
    pub work: Arc<WorkId>,
    /// `<target> [provider=<kind>]`, for people. Not an identity, and not in JSON.
    #[serde(skip)]
    pub label: Arc<str>,
}

/// A call that has to wait before it is made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct CaseWaiting {
    #[serde(flatten)]
    pub work: Arc<WorkId>,
    /// The target that is called: the case's own, or one that grades.
    pub called_target: TargetName,
    pub reason: WaitReason,
    /// Whether the server refused the attempt before because there were too many requests.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub throttled: bool,
    /// Which attempt it waits for, from 1.
    pub attempt: u32,
    /// For how long, as far as is known.
    pub delay_ms: f64,
    /// Until when: ISO 8601, UTC, milliseconds.
    pub until: String,
}

/// Why a call waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitReason {
    /// The target's own rate limit (`rpm`, `tpm`).
    RateLimit,
    /// The attempt before failed.
    Retry,
}

/// A case that has its answer, or an error instead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct CaseAnswered {
    #[serde(flatten)]
    pub work: Arc<WorkId>,
    /// How long its last attempt took, the waits of its calls included.
    pub duration_ms: f64,
    /// Why there is no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A case whose answer is being graded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct CaseGrading {
    #[serde(flatten)]
    pub work: Arc<WorkId>,
}

/// A case that is done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct CaseFinished {
    #[serde(flatten)]
    pub work: Arc<WorkId>,
    /// `<target> [provider=<kind>]`, for people. Not an identity, and not in JSON.
    #[serde(skip)]
    pub label: Arc<str>,
    /// The place of its case among all cases of the run. Not in JSON.
    #[serde(skip)]
    pub position: usize,
    /// How many trials the case has on its target.
    pub trials: u32,
    /// How many records there are, this one included.
    pub done: usize,
    /// How many records there are to be.
    pub total: usize,
    pub outcome: Outcome,
    pub status: Status,
    /// What target and judges cost, as far as it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Tokens of target and judges, prompts and answers.
    pub tokens: f64,
    /// Gradings that failed.
    pub grading_errors: usize,
    /// The record with its texts cut, as totals and displays need it. JSON has only some of it, and an event that is read
    /// has no more than that.
    #[serde(flatten, with = "record_fields")]
    #[schemars(with = "record_fields::RecordFields<'static>")]
    pub record: RecordSummary,
}

/// What the JSON of a finished case has of its record, without a copy of its texts.
mod record_fields {
    use crate::RecordSummary;
    use crate::record_summary::MetricsSummary;
    use schemars::JsonSchema;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::borrow::Cow;

    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub(super) struct RecordFields<'a> {
        pub score: f64,
        /// Why the case has no answer, or could not be graded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<String>")]
        pub error: Option<Cow<'a, str>>,
        /// How long the target took.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub duration_ms: Option<f64>,
        /// What was missed: the first five, each cut after 400 bytes. Empty where the case passed.
        #[serde(default, skip_serializing_if = "<[String]>::is_empty")]
        #[schemars(with = "Vec<String>")]
        pub misses: Cow<'a, [String]>,
    }

    pub(super) fn serialize<S: Serializer>(
        record: &RecordSummary,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let fields = RecordFields {
            score: record.score,
            error: record.error.as_deref().map(Cow::Borrowed),
            duration_ms: record.metrics.duration_ms,
            misses: Cow::Borrowed(&record.misses),
        };
        fields.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<RecordSummary, D::Error> {
        let RecordFields { score, error, duration_ms, misses } =
            RecordFields::deserialize(deserializer)?;
        Ok(RecordSummary {
            score,
            error: error.map(Cow::into_owned),
            metrics: MetricsSummary { duration_ms, ..MetricsSummary::default() },
            misses: misses.into_owned(),
            ..RecordSummary::default()
        })
    }
}

/// Something that was said during the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct LogLine {
    pub level: LogLevel,
    pub text: String,
}

/// How loud. `verbose` lines are there only with `--verbose`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    Verbose,
    Warning,
}

/// What a run came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct RunEnded {
    /// The id of the run.
    pub run: String,
    /// What the program ends with.
    pub exit_code: u8,
    /// How long the run took, without loading files.
    pub duration_ms: f64,
    pub totals: RunTotals,
    /// The worst 20 cases that failed, the worst first.
    pub failures: Vec<FailedCase>,
    /// The first 20 gradings that failed.
    pub grading_errors: Vec<FailedGrading>,
    /// How many attempts followed a failed one: the same as in `totals`, but there if it is 0.
    pub retries: usize,
    /// Where the records are.
    pub out: String,
}

/// A case that failed, and why. Texts are cut.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct FailedCase {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<SuiteId>,
    pub eval_id: String,
    pub target: String,
    /// Which trial of the case, from 0, where there are several. Only the first that failed is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<u32>,
    pub score: f64,
    pub misses: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// The first lines of the answer.
    pub answer: String,
}

/// A grading that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct FailedGrading {
    pub eval_id: String,
    pub evaluator: String,
    pub message: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn work() -> Arc<WorkId> {
        Arc::new("evals/a.yaml#refund@gpt~1".parse().unwrap())
    }

    #[track_caller]
    fn check(event: &RunEvent, golden: serde_json::Value) {
        assert_eq!(serde_json::to_value(event).unwrap(), golden);
        assert_eq!(serde_json::from_value::<RunEvent>(golden).unwrap(), *event);
    }

    #[test]
    fn an_event_about_a_case_has_the_four_parts_of_its_identity() {
        check(
            &RunEvent::Grading(CaseGrading { work: work() }),
            json!({
                "event": "grading",
                "suite": "evals/a.yaml", "eval_id": "refund", "target": "gpt", "trial": 1,
            }),
        );
        check(
            &RunEvent::Waiting(Box::new(CaseWaiting {
                work: work(),
                called_target: TargetName::from("judge"),
                reason: WaitReason::Retry,
                throttled: true,
                attempt: 2,
                delay_ms: 1500.0,
                until: "2026-11-16T04:39:16.429Z".to_owned(),
            })),
            json!({
                "event": "waiting",
                "suite": "evals/a.yaml", "eval_id": "refund", "target": "gpt", "trial": 1,
                "called_target": "judge", "reason": "retry", "throttled": true, "attempt": 2,
                "delay_ms": 1500.0, "until": "2026-11-16T04:39:16.429Z",
            }),
        );
    }

    #[test]
    fn a_finished_case_tells_of_its_record_what_programs_need() {
        let record = RecordSummary {
            score: 0.5,
            misses: vec!["a".to_owned()],
            error: Some("broken".to_owned()),
            ..RecordSummary::default()
        };
        let finished = CaseFinished {
            work: work(),
            label: Arc::default(),
            position: 0,
            trials: 2,
            done: 3,
            total: 4,
            outcome: Outcome::Fail,
            status: Status::Fail,
            cost_usd: None,
            tokens: 12.0,
            grading_errors: 0,
            record,
        };
        check(
            &RunEvent::Finished(Box::new(finished)),
            json!({
                "event": "finished",
                "suite": "evals/a.yaml", "eval_id": "refund", "target": "gpt", "trial": 1,
                "trials": 2, "done": 3, "total": 4, "outcome": "fail", "status": "fail",
                "tokens": 12.0, "grading_errors": 0,
                "score": 0.5, "error": "broken", "misses": ["a"],
            }),
        );
    }
}
