//! A record as everything that counts or shows records needs it: the one reader of results files.
//!
//! It is lenient. Only `eval_id` and `score` must be there, as in results of 2.x; what is of another shape than expected is
//! taken as absent where nothing depends on it.

use crate::{
    EvaluatorFailure, EvaluatorResult, FailureKind, JudgeErrorPolicy, Object, Outcome,
    ResultRecord, Status, SuiteId, TokenUsage, Usage, VerdictWord,
};
use serde::de::{DeserializeOwned, Deserializer, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// One record in short. `T` is [`String`], or [`Skipped`] for readers that need no texts: then answers, misses and
/// reasoning are passed over without being kept.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(bound(deserialize = "T: Deserialize<'de> + Default"))]
pub struct RecordSummary<T = String> {
    pub eval_id: String,
    pub score: f64,
    #[serde(default, deserialize_with = "or_default")]
    pub timestamp: String,
    #[serde(default)]
    pub suite: Option<SuiteId>,
    #[serde(default, deserialize_with = "or_default")]
    pub dataset: String,
    #[serde(default, deserialize_with = "or_default")]
    pub target: String,
    /// Which trial of its case, from 0, where there are several.
    #[serde(default)]
    pub trial: Option<u32>,
    /// As it is written; older records have none. `agentv_core::outcome` decides.
    #[serde(default, deserialize_with = "if_understood")]
    pub outcome: Option<Outcome>,
    /// Records of 2.x have none.
    #[serde(default, deserialize_with = "if_understood")]
    pub status: Option<Status>,
    #[serde(default, deserialize_with = "or_default")]
    pub simulated: bool,
    #[serde(default, deserialize_with = "or_default")]
    pub tags: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub metadata: Object,
    #[serde(default, deserialize_with = "or_default")]
    pub misses: Vec<T>,
    #[serde(default, deserialize_with = "or_default")]
    pub candidate_answer: T,
    #[serde(default)]
    pub reasoning: Option<T>,
    #[serde(rename = "evaluator_results", default, deserialize_with = "or_default")]
    pub evaluators: Vec<EvaluatorSummary>,
    /// What the default judge used, where it has no entry among the evaluators.
    #[serde(default)]
    pub evaluator_usage: Option<Usage>,
    /// Absent where there was no answer.
    #[serde(rename = "trace_summary", default)]
    pub trace: Option<TraceCounts>,
    #[serde(rename = "execution_metrics", default, deserialize_with = "or_default")]
    pub metrics: MetricsSummary,
    #[serde(default, deserialize_with = "or_default")]
    pub failed_required: Vec<String>,
    #[serde(default)]
    pub workspace: Option<String>,
    #[serde(default, deserialize_with = "any_text")]
    pub error: Option<String>,
    /// Why the case failed. Files do not have it: it takes the record and its case.
    #[serde(skip)]
    pub cause: Option<Box<FailureCause>>,
}

/// Why a case failed: the evaluator that decided it, and the score that was needed.
#[derive(Debug, Clone, PartialEq)]
pub struct FailureCause {
    pub evaluator: String,
    /// The evaluator's score.
    pub score: f64,
    /// The score of the case, if it is this one that has to reach `needed`, and not the evaluator's.
    pub case_score: Option<f64>,
    pub needed: f64,
    /// What the evaluator missed first, else its reasoning; empty if it gave neither.
    pub text: String,
}

/// What one evaluator found, with the members of a composite.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct EvaluatorSummary {
    pub name: String,
    #[serde(rename = "type", default, deserialize_with = "or_default")]
    pub kind: String,
    pub score: f64,
    #[serde(default = "one")]
    pub weight: f64,
    #[serde(default, deserialize_with = "if_understood")]
    pub verdict: Option<VerdictWord>,
    #[serde(default, deserialize_with = "grading_failure")]
    pub error: Option<EvaluatorFailure>,
    #[serde(default)]
    pub usage: Option<Usage>,
    #[serde(rename = "evaluator_results", default, deserialize_with = "or_default")]
    pub members: Vec<EvaluatorSummary>,
}

/// A trace in two numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct TraceCounts {
    #[serde(default)]
    pub event_count: usize,
    #[serde(default)]
    pub tool_calls_by_name: BTreeMap<String, usize>,
}

/// What the target's answer took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
pub struct MetricsSummary {
    #[serde(default)]
    pub token_usage: Option<TokenUsage>,
    #[serde(default)]
    pub cost_usd: Option<f64>,
    #[serde(default)]
    pub duration_ms: Option<f64>,
}

/// A text that is passed over: whoever reads names and numbers does not hold whole answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Skipped;

impl<'de> Deserialize<'de> for Skipped {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

impl AsRef<str> for Skipped {
    fn as_ref(&self) -> &'static str {
        ""
    }
}

/// How much of the texts of a record events and totals keep; the rest is in the record.
const MISSES: usize = 5;
const TEXT_BYTES: usize = 400;
const ANSWER_LINES: usize = 3;

impl RecordSummary {
    /// Takes a record apart that is written already, so that hardly anything is copied. The texts that say why a case did
    /// not pass are cut; a case that passed, or whose error says why, has none.
    pub fn excerpt(record: ResultRecord, cause: Option<FailureCause>) -> Self {
        let cause = cause
            .map(|cause| Box::new(FailureCause { text: cut(cause.text, TEXT_BYTES), ..cause }));
        let needs_why = record.status == Status::Fail && record.error.is_none();
        let why = needs_why.then(|| {
            let misses = record.misses.into_iter().take(MISSES).map(|miss| cut(miss, TEXT_BYTES));
            let reasoning = record.reasoning.map(|reasoning| cut(reasoning, TEXT_BYTES));
            (misses.collect(), reasoning, cut_answer(record.candidate_answer))
        });
        let (misses, reasoning, candidate_answer) = why.unwrap_or_default();
        let evaluators = record.evaluator_results.unwrap_or_default();
        Self {
            eval_id: record.eval_id,
            score: record.score,
            timestamp: record.timestamp,
            suite: record.suite,
            dataset: record.dataset,
            target: record.target,
            trial: record.trial,
            outcome: record.outcome,
            status: Some(record.status),
            simulated: record.simulated,
            tags: record.tags,
            metadata: record.metadata,
            misses,
            candidate_answer,
            reasoning,
            evaluators: evaluators.into_iter().map(EvaluatorSummary::from).collect(),
            evaluator_usage: record.evaluator_usage,
            trace: record.trace_summary.map(|trace| TraceCounts {
                event_count: trace.event_count,
                tool_calls_by_name: trace.tool_calls_by_name,
            }),
            metrics: MetricsSummary {
                token_usage: record.execution_metrics.token_usage,
                cost_usd: record.execution_metrics.cost_usd,
                duration_ms: record.execution_metrics.duration_ms,
            },
            failed_required: record.failed_required,
            workspace: record.workspace,
            error: record.error,
            cause,
        }
    }
}

impl<T> RecordSummary<T> {
    /// How many tools were called, where that is known.
    pub fn tool_calls(&self) -> Option<usize> {
        self.trace.as_ref().map(|trace| trace.tool_calls_by_name.values().sum())
    }

    /// The id, with the trial where there are several. Records count from 0, people from 1.
    pub fn label(&self) -> String {
        match self.trial {
            Some(trial) => format!("{} (trial {})", self.eval_id, u64::from(trial) + 1),
            None => self.eval_id.clone(),
        }
    }
}

impl From<EvaluatorResult> for EvaluatorSummary {
    fn from(result: EvaluatorResult) -> Self {
        let error = result
            .error
            .map(|error| EvaluatorFailure { message: cut_error(error.message), ..error });
        let members = result.evaluator_results.unwrap_or_default();
        Self {
            name: result.name,
            kind: result.kind,
            score: result.score,
            weight: result.weight,
            verdict: Some(result.verdict),
            error,
            usage: result.usage,
            members: members.into_iter().map(Self::from).collect(),
        }
    }
}

fn cut_answer(answer: String) -> String {
    let end = answer.match_indices('\n').nth(ANSWER_LINES - 1).map_or(answer.len(), |(at, _)| at);
    cut(answer, end.min(TEXT_BYTES))
}

/// The first bytes of a text; an `…` says that there was more.
fn cut(mut text: String, bytes: usize) -> String {
    if text.len() > bytes {
        text.truncate(text.floor_char_boundary(bytes));
        text.truncate(text.trim_end().len());
        text.push('…');
        text.shrink_to_fit();
    }
    text
}

/// The start of an error and more of its end, which often says what failed.
fn cut_error(text: String) -> String {
    if text.len() <= TEXT_BYTES {
        return text;
    }
    let start = text.floor_char_boundary(TEXT_BYTES / 4);
    let end = text.ceil_char_boundary(text.len() - TEXT_BYTES * 3 / 4);
    format!("{} … {}", text[..start].trim_end(), text[end..].trim_start())
}

fn one() -> f64 {
    1.0
}

/// `null` is as good as nothing.
fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// A word that another version wrote is no reason to refuse the record.
fn if_understood<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let value = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).ok())
}

/// An error is an error, in whichever shape it is written.
fn any_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    })
}

fn grading_failure<'de, D>(deserializer: D) -> Result<Option<EvaluatorFailure>, D::Error>
where
    D: Deserializer<'de>,
{
    let value = Value::deserialize(deserializer)?;
    if value.is_null() {
        return Ok(None);
    }
    let message = value.get("message").unwrap_or(&value);
    let message = message.as_str().map_or_else(|| message.to_string(), str::to_owned);
    let kind = value.get("kind").and_then(|kind| FailureKind::deserialize(kind).ok());
    let policy = value.get("on_judge_error");
    Ok(Some(EvaluatorFailure {
        kind: kind.unwrap_or(FailureKind::Provider),
        message,
        on_judge_error: policy.and_then(|policy| JudgeErrorPolicy::deserialize(policy).ok()),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_is_cut_to_its_first_lines() {
        let check = |answer: &str, expected: &str| {
            assert_eq!(cut_answer(answer.to_owned()), expected);
        };
        check("one", "one");
        check("1\n2\n3", "1\n2\n3");
        check("1\n2\n3\n4", "1\n2\n3…");
        check(&"ä".repeat(300), &format!("{}…", "ä".repeat(200)));
    }

    #[test]
    fn an_error_keeps_its_end() {
        assert_eq!(cut_error("short".to_owned()), "short");
        let long = cut_error(format!("{} the end", "ä".repeat(600)));
        assert!(long.ends_with("ä the end") && long.starts_with("ääää"), "{long}");
        assert!(long.len() <= TEXT_BYTES + 8, "{}", long.len());
    }

    #[test]
    fn an_id_and_a_score_are_enough() {
        let read = |value: Value| serde_json::from_value::<RecordSummary>(value);
        let bare = read(json!({ "eval_id": "a", "score": 0.5 })).unwrap();
        assert_eq!((bare.eval_id.as_str(), bare.score, bare.outcome), ("a", 0.5, None));
        assert!(read(json!({ "eval_id": "a" })).is_err());
        assert!(read(json!({ "score": 1 })).is_err());
    }

    #[test]
    fn odd_values_are_absent_values() {
        let odd = json!({
            "eval_id": "a", "score": 1, "status": "great", "outcome": null, "tags": null, "error": { "code": 1 },
            "evaluator_results": [
                { "name": "j", "score": 0, "error": { "kind": "gremlins", "message": "no" } },
                { "name": "k", "score": 0, "error": "broken" },
            ],
        });
        let record: RecordSummary = serde_json::from_value(odd).unwrap();
        assert_eq!((record.status, record.outcome), (None, None));
        assert_eq!(record.error.as_deref(), Some(r#"{"code":1}"#));
        let messages: Vec<&str> = record
            .evaluators
            .iter()
            .filter_map(|grade| Some(grade.error.as_ref()?.message.as_str()))
            .collect();
        assert_eq!(messages, ["no", "broken"]);
        assert!((record.evaluators[0].weight - 1.0).abs() < 1e-12);
    }

    #[test]
    fn texts_can_be_passed_over() {
        let whole = json!({
            "eval_id": "a", "score": 1, "candidate_answer": "long", "misses": ["x"], "reasoning": "y",
        });
        let record: RecordSummary<Skipped> = serde_json::from_value(whole).unwrap();
        assert_eq!((record.misses.len(), record.candidate_answer), (1, Skipped));
    }
}
