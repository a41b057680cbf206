//! What `agentv eval --format json` prints: one event per line.

use crate::{Outcome, RunTotals, Status};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One line of the output of `agentv eval --format json`. The first is `run`, the last is `summary`; a run that is refused
/// prints none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum ProgressEvent {
    /// The run begins.
    Run(RunBegins),
    /// A case is being asked.
    Started(CaseStarts),
    /// A case is done, and its record is in the results file.
    Finished(CaseEnds),
    /// A target, a judge or AgentV had something to say.
    Log(LogLine),
    /// The user wants the run to end: no more cases are started. A second time: now.
    Stopping,
    /// The run is over.
    Summary(Box<RunSummary>),
}

/// A run, before its first case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct RunBegins {
    /// The id of the run.
    pub run: String,
    /// How many cases there are, on all targets together.
    pub total: usize,
    /// How many of them have their records from an earlier run.
    pub done: usize,
    /// Where records go.
    pub out: String,
    /// `<target> [provider=<kind>]`, one for each eval file and target.
    pub targets: Vec<String>,
}

/// A case that is being asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct CaseStarts {
    pub eval_id: String,
    /// `<target> [provider=<kind>]`
    pub target: String,
}

/// A case that is done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct CaseEnds {
    pub eval_id: String,
    /// `<target> [provider=<kind>]`
    pub target: String,
    /// How many cases are done, this one included, and how many there are.
    pub done: usize,
    pub total: usize,
    pub score: f64,
    pub status: Status,
    pub outcome: Outcome,
    /// Why the case has no answer, or could not be graded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How long the target took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<f64>,
    /// What target and judges cost, as far as it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Tokens of target and judges, prompts and answers.
    pub tokens: f64,
    /// Gradings that failed.
    pub grading_errors: usize,
    /// What was missed: the first five, each cut after 400 bytes. Empty where the case passed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub misses: Vec<String>,
}

/// Something that was said during the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct LogLine {
    pub level: LogLineLevel,
    pub text: String,
}

/// `verbose` lines are there only with `--verbose`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogLineLevel {
    Verbose,
    Warning,
}

/// What a run came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct RunSummary {
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
    /// Where the records are.
    pub out: String,
}

/// A case that failed, and why. Texts are cut.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct FailedCase {
    pub eval_id: String,
    pub target: String,
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
