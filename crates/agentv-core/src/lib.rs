//! AgentV's vocabulary and rules, in the order in which the data passes through them: a suite has cases; a case becomes a
//! prompt; a provider answers it; the answer is a candidate with a trace and metrics; evaluators grade it; the verdicts
//! become a score and a record.
//!
//! Nothing here opens a file, a socket or a process, reads the environment or looks at a clock. Plug-ins from outside
//! need only this crate: [`Provider`] and [`Evaluator`].

pub mod id;
pub mod suite;
pub mod trials;
pub mod workspace;

pub mod prompt;

pub mod call;
pub mod layer;
pub mod provider;
pub mod redact;
pub mod retry;
pub mod secret;

pub mod amount;
pub mod answered;
pub mod candidate;
pub mod metrics;
pub mod trace;

pub mod evaluator;
pub mod score;

pub mod cause;
pub mod event;
pub mod gate;
pub mod outcome;
pub mod record;
pub mod totals;

pub mod compare;
pub mod plan;
pub mod stats;

pub use agentv_wire::{LogLevel, RunEvent, WorkId};
pub use answered::Answered;
pub use call::{CallContext, Log};
pub use candidate::Candidate;
pub use evaluator::{
    EvalContext, Evaluator, EvaluatorEntry, EvaluatorError, NamedProvider, Targets, Verdict,
};
pub use id::{EvalId, EvaluatorName, SuiteId, TargetName};
pub use layer::Layer;
pub use provider::{
    BatchProvider, PromptMode, Provider, ProviderError, ProviderInfo, Request, Response,
};
pub use redact::{RedactedStream, Redactor};
pub use retry::RetryPolicy;
pub use score::{Score, Weight};
pub use secret::{Secret, SecretAccess};
pub use suite::{EvalCase, Suite, WrittenCase};
pub use trials::{Trial, Trials};
pub use workspace::WorkspaceSpec;
