//! What became of a case.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What became of a case, or of one trial of it. Every record has exactly one; a case without a record was not run.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Graded, from the suite's `pass_score` up, with every required evaluator met.
    Pass,
    /// Graded, and not passed.
    Fail,
    /// There is an answer, but an evaluator that counts could not grade it.
    Ungraded,
    /// There is no answer, or the target reported an error with it.
    Error,
}

impl Outcome {
    /// All of them, the best first.
    pub const ALL: [Self; 4] = [Self::Pass, Self::Fail, Self::Ungraded, Self::Error];

    /// The word in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Ungraded => "ungraded",
            Self::Error => "error",
        }
    }

    /// Whether the score says something about the answer.
    pub fn is_graded(self) -> bool {
        matches!(self, Self::Pass | Self::Fail)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a suite or an evaluator says of its own failures: `on_judge_error`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JudgeErrorPolicy {
    /// A grading error counts as a score of 0.
    Zero,
    /// The evaluator is left out of the score.
    Exclude,
    /// The case is ungraded.
    Fail,
}
