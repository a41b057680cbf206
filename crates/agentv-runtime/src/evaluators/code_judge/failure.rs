//! Why a script gave no verdict, and what its author can do about it.

use crate::process::sandbox::ExceededLimit;
use crate::process::{Output, ProgramExit, RunError};
use agentv_core::EvaluatorError;
use agentv_wire::FailureKind;
use std::io;
use std::time::Duration;

/// How much of what a script said goes into a message.
const SAID_CHARS: usize = 2000;
/// How much of a wrong output is shown.
const SHOWN_CHARS: usize = 200;

/// A grading that went wrong.
#[derive(Debug, thiserror::Error)]
pub(in crate::evaluators) enum ScriptFailure {
    #[error("the input for the script cannot be written as JSON: {0}")]
    Payload(serde_json::Error),
    #[error("cannot run `{program}`: {source}{}", hint(source))]
    Spawn { program: String, source: io::Error },
    #[error("Process timed out after {}ms", after.as_millis())]
    TimedOut { after: Duration },
    #[error("the run was stopped before the script ended")]
    Cancelled,
    #[error("the script was not run: {0}")]
    NotConfined(String),
    #[error("the script was ended by its sandbox: {limit}")]
    OverLimit { limit: ExceededLimit },
    #[error("{failure}; {hint}")]
    InSandbox { failure: Box<ScriptFailure>, hint: String },
    #[error("Code evaluator {how}{}", after_colon(stderr))]
    Exited { how: String, stderr: String },
    #[error(
        "the script printed {bytes} bytes too many; print only the result, and let `details` be small"
    )]
    TooLong { bytes: u64 },
    #[error("the script made more than {max} calls; raise `max_calls`, or make fewer")]
    TooManyCalls { max: u64 },
    #[error(
        "{failure}; the script does not see the secrets {}: name what it needs in `pass_env`",
        names.join(", ")
    )]
    Withheld { failure: Box<ScriptFailure>, names: Vec<String> },
    #[error("the script printed nothing; {PRINT}")]
    Silent,
    #[error("the script's stdout is not JSON ({reason}); {PRINT}; it printed: {}", shown(printed))]
    NotJson { reason: String, printed: String },
    #[error("the script's result is not a JSON object; {PRINT}; it printed: {}", shown(printed))]
    NotObject { printed: String },
    #[error(
        "the script's result has no `score` that is a number; {PRINT}; it printed: {}",
        shown(printed)
    )]
    NoScore { printed: String },
    #[error("{}", EvaluatorError::score_range(*.score))]
    ScoreRange { score: f64 },
    #[error(
        "`details` in the script's result must be a JSON object or array, not {found}; wrap it, as in `\"details\": {{\"value\": …}}`"
    )]
    Details { found: &'static str },
}

const PRINT: &str =
    r#"print one JSON object such as `{"score": 0.5}` to stdout, and everything else to stderr"#;

impl ScriptFailure {
    /// The script ended by itself, but not well.
    pub(super) fn exited(output: &Output) -> Self {
        let how = match output.ended {
            ProgramExit::Code(code) => format!("exited with code {code}"),
            ProgramExit::Signal(signal) => format!("was killed by signal {signal}"),
        };
        Self::Exited { how, stderr: output.stderr.tail(SAID_CHARS) }
    }

    /// The same of a script in a sandbox: that may be why it failed.
    pub(super) fn in_sandbox(self, hint: Option<String>) -> Self {
        match hint {
            Some(hint) => Self::InSandbox { failure: Box::new(self), hint },
            None => self,
        }
    }

    pub(super) fn into_error(self) -> EvaluatorError {
        let kind = match self {
            Self::TimedOut { .. } | Self::OverLimit { limit: ExceededLimit::Seconds(_) } => {
                FailureKind::Timeout
            }
            Self::Payload(_)
            | Self::Spawn { .. }
            | Self::Cancelled
            | Self::NotConfined(_)
            | Self::OverLimit { .. }
            | Self::InSandbox { .. }
            | Self::Exited { .. }
            | Self::TooManyCalls { .. }
            | Self::Withheld { .. } => FailureKind::Provider,
            Self::ScoreRange { .. } => FailureKind::ScoreRange,
            Self::TooLong { .. }
            | Self::Silent
            | Self::NotJson { .. }
            | Self::NotObject { .. }
            | Self::NoScore { .. }
            | Self::Details { .. } => FailureKind::Parse,
        };
        let misses = Some(vec![format!("Code evaluator failed: {self}")]);
        EvaluatorError { misses, ..EvaluatorError::new(kind, self.to_string()) }
    }
}

impl From<RunError> for ScriptFailure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Spawn { program, source } => Self::Spawn { program, source },
            RunError::TimedOut { after, .. } => Self::TimedOut { after },
            RunError::Cancelled => Self::Cancelled,
            RunError::OverLimit { limit, .. } => Self::OverLimit { limit },
            error @ RunError::Sandbox(_) => Self::NotConfined(error.to_string()),
        }
    }
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        // What the system says itself; a missing directory has a text of its own.
        io::ErrorKind::NotFound if error.raw_os_error().is_some() => {
            "; install it, or correct `script`, which is run from `cwd`"
        }
        io::ErrorKind::PermissionDenied => {
            "; make it executable, or name its interpreter first, as in `[python3, judge.py]`"
        }
        _ => "",
    }
}

fn after_colon(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

fn shown(printed: &str) -> String {
    match printed.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &printed[..end]),
        None => printed.to_owned(),
    }
}
