//! Who grades: the [`Evaluator`] trait, what it may look at and what it says.

use crate::{
    CallContext, Candidate, EvalCase, EvaluatorName, Provider, Score, SecretAccess, TargetName,
    Weight,
};
use agentv_wire::{
    EvaluatorResult, FailureKind, JudgeErrorPolicy, SandboxRecord, Usage, VerdictWord, Vote,
};
use async_trait::async_trait;
use serde_json::Value;
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// Grades one answer. A bad answer is a low [`Verdict`]; `Err` means that the grading itself went wrong.
#[async_trait]
pub trait Evaluator: Any + fmt::Debug + Send + Sync {
    async fn evaluate(&self, cx: &EvalContext<'_>) -> Result<Verdict, EvaluatorError>;

    /// What it needs besides the answer.
    fn needs(&self) -> Needs<'_> {
        Needs::default()
    }

    /// The programs that it starts, with the secrets that they get; for `agentv doctor --env`.
    fn children(&self) -> Vec<JudgeChild<'_>> {
        Vec::new()
    }
}

/// A program that an evaluator starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgeChild<'e> {
    /// What it is to the evaluator: `script`, `aggregator`. That of a composite's member is `member/script`.
    pub name: String,
    pub access: SecretAccess,
    /// The secrets that it is passed by name.
    pub passed: &'e [String],
}

/// What an evaluator needs besides the answer, as far as it is known before it grades.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs<'e> {
    /// Whether it has the target that judges grade the answer.
    pub judge: bool,
    /// Whether a program of the user may ask the target that judges, for anything.
    pub proxy: bool,
    /// Whom it asks by name.
    pub targets: Vec<&'e str>,
    /// The programs that it runs, by name or path, as far as that is known.
    pub programs: Vec<&'e str>,
    /// Whether it runs a program, known or not.
    pub runs_program: bool,
    pub detail: AnswerDetail,
}

impl Needs<'_> {
    /// Whether it grades without asking or running anything.
    pub fn is_in_place(&self) -> bool {
        !self.judge && !self.proxy && !self.runs_program && self.targets.is_empty()
    }
}

/// How closely an evaluator looks at what the candidate did.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum AnswerDetail {
    /// At the answer and what it cost.
    #[default]
    Answer,
    /// At the messages that led to it, too.
    Messages,
    /// At the tools that were called. That none is known of is not the same as that there was none.
    Trace,
}

impl Needs<'_> {
    /// Whether it may call the target that judges.
    pub fn calls_judge(&self) -> bool {
        self.judge || self.proxy
    }

    /// Of an evaluator that calls the target that judges.
    pub fn of_judge() -> Self {
        Self { judge: true, ..Self::default() }
    }

    /// Whether the same answer always gets the same score: no model is asked, and no program is run.
    pub fn is_deterministic(&self) -> bool {
        !self.judge && self.targets.is_empty() && !self.runs_program
    }

    /// What both need.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.judge |= other.judge;
        self.proxy |= other.proxy;
        self.targets.extend(other.targets);
        self.programs.extend(other.programs);
        self.runs_program |= other.runs_program;
        self.detail = self.detail.max(other.detail);
        self
    }
}

/// All that an evaluator may look at. What is not in here, none can use.
#[derive(Debug, Clone, Copy)]
pub struct EvalContext<'a> {
    pub case: &'a EvalCase,
    pub candidate: &'a Candidate,
    /// The question exactly as it was sent, role markers included.
    pub question: &'a str,
    pub targets: &'a dyn Targets,
    pub call: &'a CallContext,
}

/// The models a grader may ask. Built on first use, so that an unused judge needs no key.
pub trait Targets: fmt::Debug + Send + Sync {
    /// The target that judges: `judge_target`, else the candidate's own.
    fn judge(&self) -> Result<NamedProvider, EvaluatorError>;
    fn named(&self, name: &str) -> Result<NamedProvider, EvaluatorError>;
    fn names(&self) -> Vec<&str>;

    /// The environment variables that hold these targets' keys.
    fn secret_variables(&self) -> Vec<&str> {
        Vec::new()
    }
}

/// A target that can be asked.
#[derive(Debug, Clone)]
pub struct NamedProvider {
    pub name: TargetName,
    pub provider: Arc<dyn Provider>,
}

/// An evaluator in its place in a case.
#[derive(Debug, Clone)]
pub struct EvaluatorEntry {
    pub name: EvaluatorName,
    /// The `type` it has in files and records.
    pub kind: &'static str,
    pub weight: Weight,
    pub required: Required,
    pub on_error: OnError,
    pub evaluator: Arc<dyn Evaluator>,
}

/// Whether a case can pass without this evaluator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Required {
    No,
    /// It must reach the suite's pass score.
    ToPass,
    /// It must reach this score.
    AtLeast(Score),
}

impl Required {
    /// The score that it must reach for the case to pass, if any.
    pub fn needed(self, pass_score: Score) -> Option<Score> {
        match self {
            Self::No => None,
            Self::ToPass => Some(pass_score),
            Self::AtLeast(needed) => Some(needed),
        }
    }
}

/// What a failed grading does to the score and the outcome of its case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnError {
    /// Nothing is written: it counts as 0 in the score, as in 2.x, and the case is ungraded.
    #[default]
    Unspecified,
    /// It counts as 0, and the case is graded by that.
    Zero,
    /// It does not count.
    Exclude,
    /// The case is ungraded, and its record has an error.
    Fail,
}

impl OnError {
    /// Each that can be written, with its name in files.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::Zero, "zero"), (Self::Exclude, "exclude"), (Self::Fail, "fail")];

    /// The policy of this name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(policy, _)| *policy)
    }

    /// As records have it.
    pub fn written(self) -> Option<JudgeErrorPolicy> {
        match self {
            Self::Unspecified => None,
            Self::Zero => Some(JudgeErrorPolicy::Zero),
            Self::Exclude => Some(JudgeErrorPolicy::Exclude),
            Self::Fail => Some(JudgeErrorPolicy::Fail),
        }
    }
}

/// What an evaluator found.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    pub score: Score,
    /// What a model wrote, where that is outside of the range.
    pub raw_score: Option<f64>,
    pub hits: Vec<String>,
    pub misses: Vec<String>,
    pub reasoning: Option<String>,
    /// A word that says something else than the score would.
    pub word: Option<VerdictWord>,
    pub details: Option<Value>,
    /// What was asked or run, for the record.
    pub request: Option<Value>,
    /// The members of a composite.
    pub members: Option<Vec<EvaluatorResult>>,
    pub usage: Option<Usage>,
    /// What each judge of a panel said.
    pub votes: Option<Vec<Vote>>,
    /// The sandbox that its program ran in.
    pub sandbox: Option<Box<SandboxRecord>>,
}

impl Verdict {
    /// A bare score.
    pub fn of(score: Score) -> Self {
        Self {
            score,
            raw_score: None,
            hits: Vec::new(),
            misses: Vec::new(),
            reasoning: None,
            word: None,
            details: None,
            request: None,
            members: None,
            usage: None,
            votes: None,
            sandbox: None,
        }
    }

    /// The score that a model wrote. Spec: "clamps `score` to `[0, 1]`"; what it wrote is kept.
    pub fn of_model(raw: f64) -> Self {
        let raw_score = Some(raw).filter(|raw| Score::checked(*raw).is_none() && raw.is_finite());
        Self { raw_score, ..Self::of(Score::clamped(raw)) }
    }

    /// Full marks, for this reason.
    pub fn hit(text: impl Into<String>) -> Self {
        Self { hits: vec![text.into()], ..Self::of(Score::ONE) }
    }

    /// No marks, for this reason.
    pub fn miss(text: impl Into<String>) -> Self {
        Self { misses: vec![text.into()], ..Self::of(Score::ZERO) }
    }

    #[must_use]
    pub fn because(mut self, reasoning: impl Into<String>) -> Self {
        self.reasoning = Some(reasoning.into());
        self
    }
}

/// Why there is no verdict. The record shows score 0 and this text; see [`crate::record`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct EvaluatorError {
    pub kind: FailureKind,
    pub message: String,
    /// The misses, where they are not the usual `Evaluator '<name>' failed: <message>`.
    pub misses: Option<Vec<String>>,
    /// What was asked or run, for the record.
    pub request: Option<Box<Value>>,
    /// The members of a composite, which may have graded all the same.
    pub members: Option<Vec<EvaluatorResult>>,
    /// What it cost all the same.
    pub usage: Option<Box<Usage>>,
    /// What each judge of a panel said.
    pub votes: Option<Box<[Vote]>>,
    /// The sandbox that its program ran in.
    pub sandbox: Option<Box<SandboxRecord>>,
}

impl EvaluatorError {
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            misses: None,
            request: None,
            members: None,
            usage: None,
            votes: None,
            sandbox: None,
        }
    }

    /// A program gave a score that is out of range. Clamped, a score out of 100 would always pass.
    pub fn score_range(raw: f64) -> Self {
        let message = format!("scores are between 0 and 1; got {raw}");
        Self::new(FailureKind::ScoreRange, message)
    }

    #[must_use]
    pub fn with_request(mut self, request: Value) -> Self {
        self.request = Some(Box::new(request));
        self
    }
}
