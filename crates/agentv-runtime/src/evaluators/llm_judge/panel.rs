//! Several judges on one answer.

use super::{LlmJudge, VoteRule};
use crate::evaluators::ask::Total;
use agentv_core::{EvalContext, EvaluatorError, Score, Verdict};
use agentv_wire::{EvaluatorFailure, FailureKind, VerdictWord};

/// Asks each judge and puts the votes that came together. Without any vote it is a judge error.
pub(super) async fn ask(
    judge: &LlmJudge,
    names: &[String],
    vote: VoteRule,
    user: &str,
    cx: &EvalContext<'_>,
) -> Result<Verdict, EvaluatorError> {
    let mut votes = Vec::with_capacity(names.len());
    let mut verdicts = Vec::new();
    let mut total = Total::default();
    let mut last_error = None;
    for name in names {
        let outcome = match cx.targets.named(name) {
            Ok(target) => judge.grade(&target, user, cx).await,
            Err(error) => Err(error),
        };
        let usage = match &outcome {
            Ok(verdict) => verdict.usage,
            Err(error) => error.usage.as_deref().copied(),
        };
        if let Some(usage) = usage {
            total.add_usage(&usage);
        }
        votes.push(cast(name, &outcome));
        match outcome {
            Ok(verdict) => verdicts.push((name, verdict)),
            Err(error) => last_error = Some(error),
        }
    }
    if verdicts.is_empty() {
        let error = last_error.unwrap_or_else(|| {
            EvaluatorError::new(FailureKind::Provider, "the panel has no judges")
        });
        let message = format!("no judge of the panel could vote; the last one: {}", error.message);
        let votes = Some(votes.into());
        return Err(EvaluatorError { message, votes, usage: total.boxed(), ..error });
    }
    Ok(Verdict { votes: Some(votes), usage: total.usage(), ..together(verdicts, vote) })
}

fn cast(name: &str, outcome: &Result<Verdict, EvaluatorError>) -> agentv_wire::Vote {
    let verdict = outcome.as_ref().ok();
    agentv_wire::Vote {
        target: name.to_owned(),
        score: verdict.map(|verdict| verdict.score.value()),
        raw_score: verdict.and_then(|verdict| verdict.raw_score),
        verdict: verdict.map(|verdict| verdict.word.unwrap_or_else(|| verdict.score.verdict())),
        reasoning: verdict.and_then(|verdict| verdict.reasoning.clone()),
        error: outcome.as_ref().err().map(|error| EvaluatorFailure {
            kind: error.kind,
            message: error.message.clone(),
            on_judge_error: None,
        }),
    }
}

/// One verdict of many: the score by the votes, hits and misses by whoever said them.
fn together(verdicts: Vec<(&String, Verdict)>, vote: VoteRule) -> Verdict {
    let scores: Vec<f64> = verdicts.iter().map(|(_, verdict)| verdict.score.value()).collect();
    let score = match vote {
        VoteRule::Mean => mean(&scores),
        VoteRule::Median => median(scores),
        VoteRule::Majority => {
            let passes = verdicts.iter().filter(|(_, verdict)| passes(verdict)).count();
            if passes * 2 > verdicts.len() { 1.0 } else { 0.0 }
        }
    };
    let mut whole = Verdict::of(Score::clamped(score));
    // What a rubric requires holds if more than half of the judges say so, whatever the scores come to.
    let failed =
        verdicts.iter().filter(|(_, verdict)| verdict.word == Some(VerdictWord::Fail)).count();
    whole.word = (failed * 2 >= verdicts.len()).then_some(VerdictWord::Fail);
    let mut reasons = Vec::new();
    for (name, verdict) in verdicts {
        whole.hits.extend(verdict.hits.into_iter().map(|hit| format!("[{name}] {hit}")));
        whole.misses.extend(verdict.misses.into_iter().map(|miss| format!("[{name}] {miss}")));
        reasons.extend(verdict.reasoning.map(|reasoning| format!("{name}: {reasoning}")));
        whole.request = whole.request.or(verdict.request);
    }
    whole.reasoning = (!reasons.is_empty()).then(|| reasons.join("; "));
    whole
}

fn passes(verdict: &Verdict) -> bool {
    verdict.word.unwrap_or_else(|| verdict.score.verdict()) == VerdictWord::Pass
}

#[expect(clippy::cast_precision_loss, reason = "a panel has a handful of judges")]
fn mean(scores: &[f64]) -> f64 {
    scores.iter().sum::<f64>() / scores.len() as f64
}

fn median(mut scores: Vec<f64>) -> f64 {
    scores.sort_by(f64::total_cmp);
    let middle = scores.len() / 2;
    if scores.len().is_multiple_of(2) {
        f64::midpoint(scores[middle - 1], scores[middle])
    } else {
        scores[middle]
    }
}
