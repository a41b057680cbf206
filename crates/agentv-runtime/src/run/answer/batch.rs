//! One call for all cases of a suite on a target, where the target asks for it and the provider can.

use crate::deadline;
use crate::load::SourceError;
use crate::run::pool::Shared;
use crate::run::suite_on_target::{Answers, SuiteOnTarget};
use crate::run::workspace;
use crate::run_dir::KeptAnswer;
use agentv_core::amount::count;
use agentv_core::{
    Answered, CallContext, EvalCase, EvalId, Log, ProviderError, Request, Response, Trial, WorkId,
    prompt,
};
use std::sync::Arc;
use std::time::Duration;

/// One call for many cases: one trial of each.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    pub lane: &'a SuiteOnTarget,
    pub trial: Trial,
    pub cases: &'a [Arc<EvalCase>],
    pub requests: &'a [Request],
}

impl Batch<'_> {
    /// Asks the target, in this process.
    pub async fn ask(self, cx: &CallContext) -> Result<Vec<Response>, ProviderError> {
        let provider = &self.lane.target.provider;
        let batch = provider.batch().ok_or_else(|| {
            ProviderError::failed(format!("target `{}` has no batch call", self.lane.target.name))
        })?;
        provider.prepare(cx).await?;
        batch.invoke_batch(self.requests, cx).await
    }
}

/// Asks for all cases at once, with a call for each trial. Without a batch call, or if one fails, there are no more
/// answers and the cases are asked one by one. This holds all cases of the suite in memory, which nothing else does.
pub(in crate::run) async fn ask(
    lane: &SuiteOnTarget,
    shared: &Shared,
) -> Result<Answers, SourceError> {
    let mut answers = Answers::new();
    let target = &lane.target;
    if !target.batching {
        return Ok(answers);
    }
    if target.provider.batch().is_none() {
        shared.log.verbose(|| {
            format!("{}: provider_batching is set, but this provider has no batch call; asking case by case", target.label)
        });
        return Ok(answers);
    }
    for trial in lane.trials.each() {
        let Some(more) = once(lane, trial, shared).await? else { break };
        answers.extend(more);
    }
    Ok(answers)
}

/// Asks for one trial of all cases. `None` if that failed.
async fn once(
    lane: &SuiteOnTarget,
    trial: Trial,
    shared: &Shared,
) -> Result<Option<Answers>, SourceError> {
    let Shared { settings, cancel, log, .. } = shared;
    let target = &lane.target;
    let (cases, requests) = open_cases(lane, trial, log)?;
    if requests.is_empty() {
        return Ok(Some(Answers::new()));
    }
    let call = CallContext::new(cancel.child_token(), settings.agent_timeout, Arc::clone(log));
    let call = call.for_work(Arc::new(WorkId {
        suite: lane.suite.suite.id.clone(),
        // Each request has the id of its case.
        eval_id: EvalId::from(""),
        target: target.name.clone(),
        trial: trial.number(),
    }));
    let batch = Batch { lane, trial, cases: &cases, requests: &requests };
    let asking = shared.executor.ask_batch(batch, &call);
    // The limit is per case; a batch may take as long as its cases one after the other.
    let calls = u32::try_from(requests.len()).unwrap_or(u32::MAX).max(1);
    let limit = settings.agent_timeout.map(|limit| limit.saturating_mul(calls));
    let problem = match deadline::within(limit, asking, &call, "the batch").await {
        Ok(responses) if responses.len() == cases.len() => {
            return Ok(Some(kept((&cases, trial), &requests, responses, (lane, shared))));
        }
        Ok(responses) => {
            format!(
                "the batch gave {} for {}",
                count(responses.len(), "answer", "answers"),
                count(cases.len(), "case", "cases")
            )
        }
        Err(error) => format!("the batch failed ({error})"),
    };
    log.verbose(|| format!("{}: {problem}; asking case by case", target.label));
    Ok(None)
}

/// The cases of a trial that need an answer, and what they ask.
fn open_cases(
    lane: &SuiteOnTarget,
    trial: Trial,
    log: &Arc<dyn Log>,
) -> Result<(Vec<Arc<EvalCase>>, Vec<Request>), SourceError> {
    let target = &lane.target;
    let (mut cases, mut requests) = (Vec::new(), Vec::new());
    let mut left_out = 0_usize;
    for case in lane.suite.cases.open()? {
        let case = case?;
        if !lane.takes.takes(&case) || lane.past.covers(case.ordinal, trial) {
            continue;
        }
        // One command cannot run in many directories.
        if workspace::is_wanted(&case, target.workspace.as_ref()) {
            left_out += 1;
            continue;
        }
        requests.push(prompt::build(&case, target.provider.info().prompt_mode));
        cases.push(case);
    }
    if left_out > 0 && trial.number() == 0 {
        log.warn(format!(
            "{}: `provider_batching` is set, but {} one by one",
            target.label,
            count(left_out, "case with a workspace runs", "cases with a workspace run")
        ));
    }
    Ok((cases, requests))
}

/// Answers in the journal, and by their cases.
fn kept(
    (cases, trial): (&[Arc<EvalCase>], Trial),
    requests: &[Request],
    responses: Vec<Response>,
    (lane, shared): (&SuiteOnTarget, &Shared),
) -> Answers {
    let mut answers = Answers::new();
    for ((case, request), response) in cases.iter().zip(requests).zip(responses) {
        let work = case.work_id(&lane.target.name, trial);
        let answered = Answered::whole(Ok(response), Duration::ZERO, request.attempt);
        shared.keep((&work, case), &answered, false);
        let Answered { outcome: Ok(response), wall, attempt, .. } = answered else { continue };
        let answer = KeptAnswer { response, wall, attempt };
        answers.insert((case.ordinal, trial.number()), Box::new(answer));
    }
    answers
}
