//! Verdicts → record. The only place where a failed grading becomes a zero and a failed call becomes a record.

use crate::evaluator::OnError;
use crate::outcome::outcome_of_result;
use crate::provider::{ProviderInfo, RecordedAs};
use crate::score::aggregate;
use crate::{
    Candidate, EvalCase, EvaluatorEntry, EvaluatorError, ProviderError, Request, Score, Trial,
    Verdict,
};
use agentv_wire::{
    EvaluatorFailure, EvaluatorResult, ExecutionMetrics, FileChanges, Object, Outcome,
    ProviderRequest, ResultRecord, Status, Usage, VerdictWord, Vote,
};

/// Who was asked what.
#[derive(Debug)]
pub struct Asked<'a> {
    pub request: Request,
    pub provider: ProviderInfo,
    /// The target's name, as the record shows it.
    pub target: &'a str,
    pub trial: Trial,
    /// Whether answers of this target are made up.
    pub simulated: bool,
}

/// One evaluator of the case and what it found.
#[derive(Debug)]
pub struct Graded<'a> {
    pub entry: &'a EvaluatorEntry,
    pub outcome: Result<Verdict, EvaluatorError>,
}

/// The record of a case that was answered. Boxed, as a record is large and goes through many hands.
pub fn graded(
    case: &EvalCase,
    asked: Asked<'_>,
    candidate: Candidate,
    graded: Vec<Graded<'_>>,
    now: String,
) -> Box<ResultRecord> {
    let failed_required = failed_required(case, &graded);
    let ungraded = ungraded(&graded);
    let mut results: Vec<EvaluatorResult> = graded.into_iter().map(evaluator_result).collect();
    let score = aggregate(results.iter().map(|result| {
        let weight = crate::Weight::new(result.weight).unwrap_or(crate::Weight::ONE);
        (Score::clamped(result.score), weight)
    }));
    let (default_request, default_usage) = take_default_judge(case, &mut results);
    // An error that the target reports outweighs whatever the graders made of its answer.
    let outcome = candidate.error.as_ref().map(|_| Outcome::Error);
    let error = candidate.error.or(ungraded);
    let passes = score.reaches(case.suite.pass_score) && failed_required.is_empty();
    let mut record = Box::new(ResultRecord {
        score: score.value(),
        status: if passes { Status::Pass } else { Status::Fail },
        outcome,
        hits: results.iter().flat_map(|result| result.hits.iter().cloned()).collect(),
        misses: results.iter().flat_map(|result| result.misses.iter().cloned()).collect(),
        candidate_answer: candidate.answer,
        reasoning: reasoning(case, &results),
        evaluator_provider_request: default_request,
        evaluator_usage: default_usage,
        // The default judge has no entry of its own, unless there is more to say than the record can: that it failed, or
        // which score it wrote.
        evaluator_results: (case.evaluators_given
            || results.iter().any(|result| result.error.is_some() || result.raw_score.is_some()))
        .then_some(results),
        trace_summary: Some(candidate.summary),
        execution_metrics: candidate.metrics,
        provider_metadata: candidate.metadata,
        file_changes: candidate.file_changes.map(excerpt),
        failed_required,
        error,
        ..blank(case, asked, None, now)
    });
    settle(&mut record);
    record
}

/// Writes down what became of the case. `status` is `pass` exactly when that is `pass`.
fn settle(record: &mut ResultRecord) {
    let outcome = outcome_of_result(record);
    record.outcome = Some(outcome);
    record.status = if outcome == Outcome::Pass { Status::Pass } else { Status::Fail };
}

/// Spec: without a list of evaluators, what the default judge was asked is in the record itself; so does what it cost.
fn take_default_judge(
    case: &EvalCase,
    results: &mut [EvaluatorResult],
) -> (Option<serde_json::Value>, Option<Usage>) {
    match results.first_mut() {
        Some(judge) if !case.evaluators_given => {
            (judge.evaluator_provider_request.take(), judge.usage.take())
        }
        _ => (None, None),
    }
}

/// Why the case counts as not graded, if `on_judge_error` says so.
fn ungraded(graded: &[Graded<'_>]) -> Option<String> {
    let mut failed =
        graded.iter().filter_map(|graded| Some((graded.entry, graded.outcome.as_ref().err()?)));
    if let Some((entry, error)) = failed.clone().find(|(entry, _)| entry.on_error == OnError::Fail)
    {
        return Some(format!("evaluator '{}' failed: {error}", entry.name));
    }
    let excluded = failed.clone().filter(|(entry, _)| entry.on_error == OnError::Exclude).count();
    let first = failed.next().filter(|_| excluded == graded.len())?;
    Some(format!("no evaluator could grade; '{}' failed: {}", first.0.name, first.1))
}

/// The record of a case without an answer.
pub fn failed(
    case: &EvalCase,
    asked: Asked<'_>,
    error: &ProviderError,
    now: String,
) -> Box<ResultRecord> {
    let message = &error.message;
    Box::new(ResultRecord {
        misses: vec![format!("Error: {message}")],
        candidate_answer: format!("Error occurred: {message}"),
        provider_metadata: error.metadata.clone(),
        error: Some(message.clone()),
        outcome: Some(Outcome::Error),
        ..blank(case, asked, Some(message), now)
    })
}

/// How much of a diff a record holds. With a thousand cases the whole of it would be more than anybody reads.
const DIFF_CAP: usize = 64 << 10;

/// Changes as a record shows them: all files, and the beginning of the diff.
pub fn excerpt(mut changes: FileChanges) -> FileChanges {
    if changes.diff.len() > DIFF_CAP {
        let cut = whole_lines(changes.diff.as_bytes(), DIFF_CAP);
        changes.diff.truncate(cut);
        changes.diff_truncated = true;
    }
    changes
}

/// Up to where there are only whole lines, and no more bytes than this.
pub fn whole_lines(text: &[u8], cap: usize) -> usize {
    if text.len() <= cap {
        return text.len();
    }
    text[..cap].iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1)
}

fn blank(case: &EvalCase, asked: Asked<'_>, error: Option<&str>, now: String) -> ResultRecord {
    let recorded_as = asked.provider.recorded_as;
    let request = Some(Box::new(request(asked.request, recorded_as, error)));
    let (lm_provider_request, agent_provider_request) = match recorded_as {
        RecordedAs::Model => (request, None),
        RecordedAs::Agent => (None, request),
    };
    ResultRecord {
        timestamp: now,
        eval_id: case.id.as_str().to_owned(),
        dataset: case.suite.dataset.clone(),
        suite: Some(case.suite.id.clone()),
        conversation_id: case.conversation_id.clone(),
        score: 0.0,
        status: Status::Fail,
        outcome: None,
        simulated: asked.simulated,
        hits: Vec::new(),
        misses: Vec::new(),
        candidate_answer: String::new(),
        target: asked.target.to_owned(),
        trial: asked.trial.index_if_repeated(),
        tags: case.tags.clone(),
        metadata: case.metadata.as_deref().cloned().unwrap_or_default(),
        reasoning: None,
        agent_provider_request,
        lm_provider_request,
        evaluator_provider_request: None,
        evaluator_usage: None,
        evaluator_results: None,
        trace_summary: None,
        execution_metrics: ExecutionMetrics::default(),
        provider_metadata: Object::new(),
        file_changes: None,
        workspace: None,
        redacted: None,
        failed_required: Vec::new(),
        error: None,
    }
}

/// What was asked, as a record has it.
pub fn recorded_request(asked: Request, recorded_as: RecordedAs) -> ProviderRequest {
    request(asked, recorded_as, None)
}

fn request(request: Request, recorded_as: RecordedAs, error: Option<&str>) -> ProviderRequest {
    let Request { question, guidelines, chat, guideline_paths, .. } = request;
    let paths = guideline_paths.iter().map(|path| path.display().to_string()).collect();
    let asked = match (recorded_as, chat) {
        (RecordedAs::Agent, _) => {
            ProviderRequest { question: Some(question), ..ProviderRequest::default() }
        }
        (RecordedAs::Model, Some(chat)) => {
            ProviderRequest { chat_prompt: Some(chat), ..ProviderRequest::default() }
        }
        (RecordedAs::Model, None) => ProviderRequest {
            question: Some(question),
            guidelines: Some(guidelines),
            ..ProviderRequest::default()
        },
    };
    let with_paths = recorded_as == RecordedAs::Agent || error.is_some();
    ProviderRequest {
        guideline_paths: with_paths.then_some(paths),
        error: error.map(str::to_owned),
        ..asked
    }
}

fn failed_required(case: &EvalCase, graded: &[Graded<'_>]) -> Vec<String> {
    let unmet = graded.iter().filter(|Graded { entry, outcome }| {
        let Some(needed) = entry.required.needed(case.suite.pass_score) else { return false };
        // Without a score not even a threshold of 0 is met.
        !outcome.as_ref().is_ok_and(|verdict| verdict.score.reaches(needed))
    });
    unmet.map(|graded| graded.entry.name.to_string()).collect()
}

/// A verdict, or a failed grading, as the record shows it.
pub fn evaluator_result(Graded { entry, outcome }: Graded<'_>) -> EvaluatorResult {
    let name = entry.name.to_string();
    let mut weight = entry.weight.value();
    let (verdict, error) = match outcome {
        Ok(verdict) => (verdict, None),
        Err(error) => {
            if entry.on_error == OnError::Exclude {
                weight = 0.0;
            }
            let usual = || vec![format!("Evaluator '{name}' failed: {}", error.message)];
            let verdict = Verdict {
                word: Some(VerdictWord::Fail),
                misses: error.misses.clone().unwrap_or_else(usual),
                request: error.request.map(|request| *request),
                members: error.members,
                usage: error.usage.map(|usage| *usage),
                votes: error.votes.map(Vec::from),
                sandbox: error.sandbox,
                ..Verdict::of(Score::ZERO).because(error.message.clone())
            };
            let failure = EvaluatorFailure {
                kind: error.kind,
                message: error.message,
                on_judge_error: entry.on_error.written(),
            };
            (verdict, Some(failure))
        }
    };
    EvaluatorResult {
        name,
        kind: entry.kind.to_owned(),
        score: verdict.score.value(),
        raw_score: verdict.raw_score,
        weight,
        verdict: verdict.word.unwrap_or_else(|| verdict.score.verdict()),
        hits: verdict.hits,
        misses: verdict.misses,
        reasoning: verdict.reasoning,
        evaluator_provider_request: verdict.request,
        evaluator_results: verdict.members,
        details: verdict.details,
        error,
        usage: verdict.usage,
        spread: verdict.votes.as_deref().and_then(spread),
        votes: verdict.votes,
        sandbox: verdict.sandbox,
    }
}

/// How far the votes lie apart.
fn spread(votes: &[Vote]) -> Option<f64> {
    let scores = || votes.iter().filter_map(|vote| vote.score);
    let highest = scores().reduce(f64::max)?;
    Some(highest - scores().reduce(f64::min)?)
}

fn reasoning(case: &EvalCase, results: &[EvaluatorResult]) -> Option<String> {
    let said = results.iter().filter_map(|result| Some((&result.name, result.reasoning.as_ref()?)));
    let parts: Vec<String> =
        said.map(|(name, reasoning)| {
            if case.evaluators_given { format!("{name}: {reasoning}") } else { reasoning.clone() }
        })
        .collect();
    (!parts.is_empty()).then(|| parts.join(" | "))
}
