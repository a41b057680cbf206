//! A model that grades. It is asked for one JSON object with a score, hits, misses and a reason.
//!
//! ```yaml
//! - name: helpful
//!   type: llm_judge
//!   prompt: prompts/helpful.md      # a file, or the template itself; without it a default is used
//!   target: gpt                     # without it: the target's `judge_target`, else the target itself
//! ```
//!
//! Templates may use `{{ candidate_answer }}`, `{{ expected_outcome }}`, `{{ question }}`, `{{ reference_answer }}`,
//! `{{ input_messages }}`, `{{ expected_messages }}`, `{{ output_messages }}` and `{{ trace_summary }}`. With `rubrics` the
//! judge checks each item instead; `type: rubric` is the same evaluator. A reply that cannot be read is asked for again, and
//! then it is a judge error: score 0, with `error` in the evaluator's result, unless `on_judge_error` says otherwise.

mod config;
mod panel;
mod prompt;
mod rubric;

#[cfg(test)]
mod tests;

pub use config::{LlmJudgeConfig, VoteRule};

use super::ask::{Question, ask};
use super::confine::with_sandbox;
use super::{Build, FromConfig, reply};
use crate::config::Fields;
use crate::process::Processes;
use agentv_core::evaluator::{AnswerDetail, JudgeChild, Needs};
use agentv_core::{EvalContext, Evaluator, EvaluatorError, NamedProvider, Verdict};
use async_trait::async_trait;
use config::Judges;
use prompt::{Prompt, RenderedPrompt};
use rubric::Rubrics;
use serde_json::json;
use std::sync::Arc;

/// Asks a model, or several.
#[derive(Debug)]
pub struct LlmJudge {
    task: Task,
    judges: Judges,
    max_asks: u64,
    processes: Arc<Processes>,
}

/// What the judge is to do.
#[derive(Debug)]
enum Task {
    /// Say how good the answer is.
    Grade(Prompt),
    /// Say which items are met.
    Check(Rubrics),
}

impl FromConfig for LlmJudge {
    const NAMES: &'static [&'static str] = &["llm_judge", "rubric", "llm-judge"];
    const KEEPS_UNKNOWN_KEYS: bool = true;
    type Config = LlmJudgeConfig;

    fn read(fields: &mut Fields<'_, '_>, build: &mut Build<'_>) -> Option<Self> {
        config::read(fields, build)
    }
}

impl LlmJudge {
    /// The judge of cases that name none.
    pub(super) fn default_judge(processes: &Arc<Processes>) -> Self {
        Self {
            task: Task::Grade(Prompt::default()),
            judges: Judges::Default,
            max_asks: config::MAX_ASKS,
            processes: Arc::clone(processes),
        }
    }

    /// Asks one judge.
    async fn grade(
        &self,
        judge: &NamedProvider,
        user: &str,
        cx: &EvalContext<'_>,
    ) -> Result<Verdict, EvaluatorError> {
        let system = match &self.task {
            Task::Grade(_) => reply::CONTRACT,
            Task::Check(rubrics) => rubrics.contract(),
        };
        let read = |text: &str| match &self.task {
            Task::Grade(_) => reply::read(text),
            Task::Check(rubrics) => rubrics.read(text),
        };
        let request =
            json!({ "user_prompt": user, "system_prompt": system, "target": judge.name.as_str() });
        let question = Question { user, system, max_asks: self.max_asks };
        match ask(judge, question, read, cx).await {
            Ok(reply) => Ok(Verdict { request: Some(request), usage: reply.usage, ..reply.value }),
            Err(error) => Err(self.silent(error).with_request(request)),
        }
    }

    /// Spec: no valid JSON falls back to score 0 and empty hits and misses. The `error` beside them says that this is no bad
    /// answer.
    fn silent(&self, error: EvaluatorError) -> EvaluatorError {
        let is_contract =
            matches!(self.task, Task::Grade(_)) && error.kind == agentv_wire::FailureKind::Parse;
        EvaluatorError { misses: is_contract.then(Vec::new), ..error }
    }
}

#[async_trait]
impl Evaluator for LlmJudge {
    fn needs(&self) -> Needs<'_> {
        let mut needs = match &self.judges {
            Judges::Default => Needs::of_judge(),
            Judges::One(name) => Needs { targets: vec![name], ..Needs::default() },
            Judges::Panel { names, .. } => {
                Needs { targets: names.iter().map(String::as_str).collect(), ..Needs::default() }
            }
        };
        if let Task::Grade(prompt) = &self.task {
            needs.programs.extend(prompt.program());
            needs.runs_program = prompt.is_script();
            if prompt.shows_messages() {
                needs.detail = AnswerDetail::Messages;
            }
        }
        needs
    }

    fn children(&self) -> Vec<JudgeChild<'_>> {
        match &self.task {
            Task::Grade(prompt) => prompt.child().into_iter().collect(),
            Task::Check(_) => Vec::new(),
        }
    }

    async fn evaluate(&self, cx: &EvalContext<'_>) -> Result<Verdict, EvaluatorError> {
        let RenderedPrompt { text, sandbox } = match &self.task {
            Task::Grade(prompt) => prompt.render(cx, &self.processes).await?,
            Task::Check(rubrics) => RenderedPrompt { text: rubrics.prompt(cx), sandbox: None },
        };
        let outcome = match &self.judges {
            Judges::Default => self.grade(&cx.targets.judge()?, &text, cx).await,
            Judges::One(name) => self.grade(&cx.targets.named(name)?, &text, cx).await,
            Judges::Panel { names, vote } => panel::ask(self, names, *vote, &text, cx).await,
        };
        with_sandbox(outcome, sandbox)
    }
}
