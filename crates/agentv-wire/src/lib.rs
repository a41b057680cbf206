//! The contract: every shape that crosses a process boundary, the names of the environment variables and the exit codes.
//!
//! | boundary | letter case | module |
//! | --- | --- | --- |
//! | results files, a code judge's stdin and stdout, an agent's output messages | `snake_case` | [`result`], [`outcome`], [`record_summary`], [`code_judge`], [`message`], [`trace`], [`metrics`], [`file_changes`], [`omitted`], [`sandbox`] |
//! | what `compare` prints as JSON | `snake_case` | [`comparison`] |
//! | what `plan` prints as JSON | `snake_case` | [`plan`] |
//! | what `eval --format json` prints | `snake_case` | [`event`] |
//! | what `report --json` writes | `snake_case` | [`mod@report`] |
//! | `run.json` of a run folder | `snake_case` | [`run`] |
//! | `manifest.json` of a run folder, and what `verify` prints as JSON | `snake_case` | [`manifest`] |
//! | the target proxy's HTTP bodies | `camelCase` | [`target_proxy`] |
//! | configuration files | both are read, `snake_case` is documented | not here: the runtime's loader |
//!
//! Key order in a file is the order of the struct. What is absent is left out, never `null`, unless the field says
//! otherwise. Readers ignore keys they do not know; writers pass users' data on (`details`, `metadata`, tool inputs)
//! without touching it. A diff in this crate is a change of the contract.

pub mod code_judge;
pub mod comparison;
pub mod env;
pub mod event;
pub mod exit;
pub mod file_changes;
pub mod id;
pub mod manifest;
pub mod message;
pub mod metrics;
pub mod number;
pub mod omitted;
pub mod outcome;
pub mod plan;
pub mod record_summary;
pub mod report;
pub mod result;
pub mod run;
pub mod sandbox;
pub mod spec;
pub mod target_proxy;
pub mod trace;
pub mod work;

pub use code_judge::{CodeJudgeOutput, CodeJudgePayload, Details};
pub use comparison::{Comparison, ComparisonVerdict, Comparisons};
pub use event::{LogLevel, RunEvent};
pub use exit::Exit;
pub use file_changes::{FileChange, FileChanges, FileStatus};
pub use id::{EvalId, EvaluatorName, SuiteId, TargetName};
pub use manifest::{Difference, FileSeal, JournalSeal, RunManifest, SignatureState, Verification};
pub use message::{ChatMessage, OutputMessage, ToolCall};
pub use metrics::{ExecutionMetrics, TokenUsage};
pub use omitted::Omitted;
pub use outcome::{JudgeErrorPolicy, Outcome};
pub use plan::ComparisonPlan;
pub use record_summary::{
    EvaluatorSummary, FailureCause, MetricsSummary, RecordSummary, Skipped, TraceCounts,
};
pub use report::{Report, ReportCase, ReportGrade, ReportSummary};
pub use result::{
    EvaluatorFailure, EvaluatorResult, FailureKind, ProviderRequest, ResultRecord, Status, Usage,
    VerdictWord, Vote,
};
pub use run::{
    CaseTrialTotals, Ending, EvaluatorTotals, FlakyCase, GitHead, OutcomeTotals, PassOfK, RunFile,
    RunFileKind, RunInfo, RunSpend, RunTarget, RunTotals, Spent, TrialTotals,
};
pub use sandbox::{FsAccess, NetworkAccess, SandboxLimits, SandboxPart, SandboxRecord};
pub use spec::{
    AnswerOrigin, Budget, CaseLimit, CaseSelection, ClusterSpec, DryRunDelay, OutputFormat,
    RunGates, RunSpec,
};
pub use trace::{TraceEvent, TraceEventType, TraceSummary};
pub use work::WorkId;

/// A JSON object of others: kept as it came, key order included.
pub type Object = serde_json::Map<String, serde_json::Value>;
