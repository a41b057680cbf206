//! An answer and the evaluators of its case → a record.

use super::case::{CaseContext, Work, asked, timestamp};
use crate::evaluators::{WaitsFor, evaluate_all, waits_for};
use agentv_core::candidate::MissingAnswer;
use agentv_core::evaluator::{AnswerDetail, OnError};
use agentv_core::record;
use agentv_core::{
    Answered, Candidate, EvalCase, EvalContext, Evaluator, EvaluatorEntry, EvaluatorError, Request,
    Verdict,
};
use agentv_wire::{FailureKind, ResultRecord};
use async_trait::async_trait;
use std::borrow::Cow;
use std::sync::Arc;

/// Whether all that is left to do for an answer is to ask models. Then the target's worker is free for the next case. A
/// program that grades, and a target that works in a directory which other cases share, keep the worker: the files of this
/// case must not change before it is graded. Without a model there is nothing to wait for.
pub(super) fn only_asks_models(work: &Work, answered: &Answered) -> bool {
    if answered.outcome.is_err() {
        return false;
    }
    let target = &work.on.target;
    if target.provider.shares_directory() && answered.file_changes.is_none() {
        return false;
    }
    let mut waits = work.case.evaluators.iter().map(|entry| waits_for(entry, &target.judges));
    let mut asks_models = false;
    let no_program = waits.all(|wait| {
        asks_models |= wait == WaitsFor::Models;
        wait != WaitsFor::Programs
    });
    no_program && asks_models
}

/// Grades an answer, and makes the record of it, or of the error that there is instead.
pub(super) async fn grade(
    request: Request,
    answered: Answered,
    cx: &CaseContext<'_>,
) -> Box<ResultRecord> {
    let case = &*cx.work.case;
    let (detail, dir) = (answered.detail, answered.workspace.clone());
    let mut record = match Candidate::observe(answered, &case.suite.exploration_tools) {
        Ok(candidate) => grade_candidate(request, candidate, detail, cx).await,
        Err(missing) => {
            let MissingAnswer { error, file_changes } = *missing;
            let mut record = record::failed(case, asked(request, cx.work), &error, timestamp());
            record.file_changes = file_changes.map(record::excerpt);
            record
        }
    };
    // The workspace of another run stays where it is; one of this run is settled once its fate is known.
    record.workspace = dir.map(|dir| dir.to_string_lossy().into_owned());
    record
}

async fn grade_candidate(
    request: Request,
    candidate: Candidate,
    detail: AnswerDetail,
    cx: &CaseContext<'_>,
) -> Box<ResultRecord> {
    let case = &*cx.work.case;
    let call = cx.call(cx.cancel.clone());
    let context = EvalContext {
        case,
        candidate: &candidate,
        question: &request.question,
        targets: &cx.work.on.target.judges,
        call: &call,
    };
    let evaluators = with_blind(case, detail);
    cx.sink.grading(cx.work).await;
    let graded = evaluate_all(&evaluators, &context).await;
    record::graded(case, asked(request, cx.work), candidate, graded, timestamp())
}

/// The evaluators of a case. Those that need to look closer than the answer allows are there, but do not count.
pub(super) fn with_blind(case: &EvalCase, detail: AnswerDetail) -> Cow<'_, [EvaluatorEntry]> {
    let can = |entry: &EvaluatorEntry| entry.evaluator.needs().detail <= detail;
    if detail == AnswerDetail::Trace || case.evaluators.iter().all(can) {
        return Cow::Borrowed(&case.evaluators);
    }
    let replaced = case.evaluators.iter().map(|entry| {
        if can(entry) {
            return entry.clone();
        }
        EvaluatorEntry { on_error: OnError::Exclude, evaluator: Arc::new(Blind), ..entry.clone() }
    });
    Cow::Owned(replaced.collect())
}

/// Replaces an evaluator that needs messages which were not recorded: a score of 0 would be wrong.
#[derive(Debug)]
struct Blind;

#[async_trait]
impl Evaluator for Blind {
    async fn evaluate(&self, _cx: &EvalContext<'_>) -> Result<Verdict, EvaluatorError> {
        let message = "the messages that it needs are not in the recorded results";
        Err(EvaluatorError::new(FailureKind::Provider, message))
    }
}
