//! Members' verdicts → one verdict: by weights, by a script, or by a model.

use crate::evaluators::ask::{Question, ask};
use crate::evaluators::confine::{confine, given_to_judges, record_of, unconfined, with_sandbox};
use crate::evaluators::reply;
use crate::process::sandbox::{Confinement, SandboxSettings, Surroundings};
use crate::process::{Command, EnvironmentRule, Gentle, Processes, RunError, Stdin, first_program};
use agentv_core::evaluator::{JudgeChild, Needs, OnError};
use agentv_core::prompt::fill;
use agentv_core::{EvalContext, EvaluatorError, Score, Verdict, Weight, score};
use agentv_wire::{EvaluatorResult, FailureKind, Object, VerdictWord, number};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How members become one.
#[derive(Debug)]
pub(super) enum Aggregator {
    WeightedAverage { weights: BTreeMap<String, Weight> },
    Code(Box<Code>),
    Model { prompt: Option<String>, target: Option<String> },
}

/// A script that decides.
#[derive(Debug)]
pub(super) struct Code {
    pub script: String,
    pub cwd: PathBuf,
    pub time_limit: Option<Duration>,
    pub rule: EnvironmentRule,
    pub eval_dir: PathBuf,
    pub sandbox: Option<SandboxSettings>,
    pub processes: Arc<Processes>,
}

/// How much a script may print.
const OUTPUT_CAP: usize = 10 << 20;

/// The prompt of models that are given none.
const DEFAULT_PROMPT: &str = "\
Several evaluators graded the same answer. Weigh their results and decide on one score and a short reason.

[[ ## evaluator_results ## ]]
{{EVALUATOR_RESULTS_JSON}}";

impl Aggregator {
    pub(super) async fn aggregate(
        &self,
        members: &[&EvaluatorResult],
        cx: &EvalContext<'_>,
    ) -> Result<Verdict, EvaluatorError> {
        match self {
            Self::WeightedAverage { weights } => Ok(weighted(members, weights)),
            Self::Code(code) => code.aggregate(members, cx).await,
            Self::Model { prompt, target } => {
                by_model(prompt.as_deref(), target.as_deref(), members, cx).await
            }
        }
    }

    /// Whom it asks, and what it runs.
    pub(super) fn needs(&self) -> Needs<'_> {
        match self {
            Self::WeightedAverage { .. } => Needs::default(),
            Self::Code(code) => {
                let programs = first_program(&code.script).into_iter().collect();
                Needs { programs, runs_program: true, ..Needs::default() }
            }
            Self::Model { target: None, .. } => Needs::of_judge(),
            Self::Model { target: Some(name), .. } => {
                Needs { targets: vec![name], ..Needs::default() }
            }
        }
    }

    /// What it starts.
    pub(super) fn child(&self) -> Option<JudgeChild<'_>> {
        let Self::Code(code) = self else { return None };
        let rule = &code.rule;
        let (access, passed) = (rule.access(), rule.passed());
        Some(JudgeChild { name: "aggregator".to_owned(), access, passed })
    }

    /// The members as the record shows them: with the weights that counted. A script and a model look at every member,
    /// regardless of its own `weight`.
    pub(super) fn shown(&self, results: Vec<(EvaluatorResult, OnError)>) -> Vec<EvaluatorResult> {
        let weight = |member: &EvaluatorResult| match self {
            Self::WeightedAverage { weights } => weights.get(&member.name).copied(),
            Self::Code(_) | Self::Model { .. } => None,
        };
        let shown = results.into_iter().map(|(mut member, on_error)| {
            let excluded = member.error.is_some() && on_error == OnError::Exclude;
            let counted = weight(&member).unwrap_or(Weight::ONE).value();
            member.weight = if excluded { 0.0 } else { counted };
            member
        });
        shown.collect()
    }
}

impl Code {
    async fn aggregate(
        &self,
        members: &[&EvaluatorResult],
        cx: &EvalContext<'_>,
    ) -> Result<Verdict, EvaluatorError> {
        let mut request = json!({ "aggregator": "code_judge", "script": self.script });
        let sandbox = self.confine(cx)?;
        let record = record_of(sandbox.as_ref());
        let outcome = match self.run(members, sandbox, cx).await {
            Ok(verdict) => Ok(Verdict { request: Some(request), ..verdict }),
            Err(error) => {
                request["error"] = json!(error.message);
                let misses = Some(vec![format!("Code aggregator failed: {}", error.message)]);
                Err(EvaluatorError { misses, ..error.with_request(request) })
            }
        };
        with_sandbox(outcome, record)
    }

    fn confine(&self, cx: &EvalContext<'_>) -> Result<Option<Confinement>, EvaluatorError> {
        let argv = Command::shell(&self.script);
        let program = Surroundings {
            argv: &argv,
            cwd: &self.cwd,
            eval_dir: &self.eval_dir,
            env: self.rule.env(),
            child: &self.rule.environment(cx.targets.secret_variables()),
            processes: &self.processes,
            proxy_port: None,
        };
        let sandbox = confine(self.sandbox.as_ref(), &program, given_to_judges(cx));
        sandbox.map_err(|error| unconfined(&error))
    }

    async fn run(
        &self,
        members: &[&EvaluatorResult],
        sandbox: Option<Confinement>,
        cx: &EvalContext<'_>,
    ) -> Result<Verdict, EvaluatorError> {
        let failed = |reason: String| EvaluatorError::new(FailureKind::Provider, reason);
        let Self { script, cwd, time_limit, rule, processes, .. } = self;
        let hint = sandbox.as_ref().map(|sandbox| format!("; {}", sandbox.hint()));
        let stdin = number::to_string_pretty(&json!({ "results": results(members) }))
            .map_err(|error| failed(error.to_string()))?;
        let command = Command {
            argv: Command::shell(script),
            cwd: cwd.clone(),
            env: rule.environment(cx.targets.secret_variables()),
            stdin: Stdin::Bytes(stdin.into_bytes()),
            time_limit: time_limit.or(cx.call.time_limit),
            output_cap: OUTPUT_CAP,
            gentle: Gentle::Kill,
            sandbox,
        };
        let output = processes.run(command, cx.call).await.map_err(|error| match error {
            RunError::TimedOut { after, .. } => {
                let message = format!("timed out after {}ms", after.as_millis());
                EvaluatorError::new(FailureKind::Timeout, message)
            }
            RunError::Spawn { program, source } => {
                failed(format!("cannot run `{program}`: {source}"))
            }
            RunError::Cancelled => failed("the run was stopped".to_owned()),
            RunError::Sandbox(_) | RunError::OverLimit { .. } => failed(error.to_string()),
        })?;
        if !output.ended.is_success() {
            let (said, hint) = (output.stderr.tail(2000), hint.unwrap_or_default());
            return Err(failed(format!("the script failed: {said}{hint}")));
        }
        let text = output.stdout.text_lossy();
        let (score, verdict) = printed(text.trim()).ok_or_else(|| {
            let message = format!(
                "print one JSON object such as `{{\"score\": 0.5}}`; the script printed: {}",
                text.trim()
            );
            EvaluatorError::new(FailureKind::Parse, message)
        })?;
        let score = Score::checked(score).ok_or_else(|| EvaluatorError::score_range(score))?;
        Ok(Verdict { score, ..verdict })
    }
}

fn weighted(members: &[&EvaluatorResult], weights: &BTreeMap<String, Weight>) -> Verdict {
    let weight =
        |member: &EvaluatorResult| weights.get(&member.name).copied().unwrap_or(Weight::ONE);
    let parts = members.iter().map(|member| (Score::clamped(member.score), weight(member)));
    let mut verdict = Verdict::of(score::aggregate(parts));
    let mut reasons = Vec::new();
    for member in members {
        let named = |text: &String| format!("[{}] {text}", member.name);
        verdict.hits.extend(member.hits.iter().map(named));
        verdict.misses.extend(member.misses.iter().map(named));
        reasons.extend(
            member.reasoning.as_ref().map(|reasoning| format!("{}: {reasoning}", member.name)),
        );
    }
    verdict.reasoning = (!reasons.is_empty()).then(|| reasons.join("; "));
    let mut request = json!({ "aggregator": "weighted_average" });
    if !weights.is_empty() {
        let weights: BTreeMap<&String, f64> =
            weights.iter().map(|(name, weight)| (name, weight.value())).collect();
        request["weights"] = json!(weights);
    }
    verdict.request = Some(request);
    verdict
}

async fn by_model(
    prompt: Option<&str>,
    target: Option<&str>,
    members: &[&EvaluatorResult],
    cx: &EvalContext<'_>,
) -> Result<Verdict, EvaluatorError> {
    let judge = match target {
        Some(name) => cx.targets.named(name)?,
        None => cx.targets.judge()?,
    };
    let results = number::to_string_pretty(&results(members))
        .map_err(|error| EvaluatorError::new(FailureKind::Provider, error.to_string()))?;
    let user = fill(prompt.unwrap_or(DEFAULT_PROMPT), |name| {
        (name == "EVALUATOR_RESULTS_JSON").then(|| results.as_str().into())
    });
    let request = json!({
        "aggregator": "llm_judge", "user_prompt": user, "system_prompt": reply::CONTRACT, "target": judge.name.as_str(),
    });
    let question = Question { user: &user, system: reply::CONTRACT, max_asks: 3 };
    match ask(&judge, question, reply::read, cx).await {
        Ok(reply) => Ok(Verdict { request: Some(request), usage: reply.usage, ..reply.value }),
        Err(error) => Err(error.with_request(request)),
    }
}

/// The members as aggregators of 2.x read them: in camelCase, by name.
fn results(members: &[&EvaluatorResult]) -> Object {
    let one = |member: &EvaluatorResult| {
        let mut result = json!({
            "score": member.score,
            "verdict": member.verdict,
            "hits": member.hits,
            "misses": member.misses,
            "expectedAspectCount": (member.hits.len() + member.misses.len()).max(1),
        });
        for (key, value) in [
            ("reasoning", member.reasoning.as_ref().map(|text| json!(text))),
            ("evaluatorRawRequest", member.evaluator_provider_request.clone()),
            ("details", member.details.clone()),
            ("error", member.error.as_ref().map(|error| json!(error))),
        ] {
            if let Some(value) = value {
                result[key] = value;
            }
        }
        result
    };
    members.iter().map(|member| (member.name.clone(), one(member))).collect()
}

/// What a script printed: its score, not yet checked, and the rest. A verdict word of its own wins over the score's.
pub(in crate::evaluators) fn printed(text: &str) -> Option<(f64, Verdict)> {
    let result: Object = serde_json::from_str(text).ok()?;
    let score = result.get("score")?.as_f64()?;
    let texts = |key: &str| {
        let items =
            result.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        items
            .iter()
            .filter_map(Value::as_str)
            .filter(|text| !text.trim().is_empty())
            .map(str::to_owned)
            .collect()
    };
    let verdict = Verdict {
        hits: texts("hits"),
        misses: texts("misses"),
        reasoning: result.get("reasoning").and_then(Value::as_str).map(str::to_owned),
        word: result
            .get("verdict")
            .and_then(|word| serde_json::from_value::<VerdictWord>(word.clone()).ok()),
        ..Verdict::of(Score::ZERO)
    };
    Some((score, verdict))
}
