//! One call for all cases of a lane, where the target asks for it and the provider can.

use super::case::stop_if_lost;
use super::lane::{Earlier, Lane};
use super::pool::Shared;
use super::workspace;
use crate::deadline;
use crate::folder::KeptAnswer;
use crate::load::SourceError;
use agentv_core::{CallContext, EvalCase, Request, Response, prompt};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Answers by the ordinal of their case.
pub(super) type Answers = HashMap<usize, Earlier>;

/// Asks for all cases at once. Without a batch door, or if the call fails, there are no answers and the cases are asked one
/// by one. This holds all cases of the lane in memory, which nothing else does.
pub(super) async fn ask(lane: &Lane, shared: &Shared) -> Result<Answers, SourceError> {
    let Shared { settings, cancel, log, .. } = shared;
    let target = &lane.target;
    if !target.batching {
        return Ok(Answers::new());
    }
    let Some(door) = target.provider.batch() else {
        log.verbose(|| {
            format!("{}: provider_batching is set, but this provider has no batch call; asking case by case", target.label)
        });
        return Ok(Answers::new());
    };
    let (mut cases, mut requests) = (Vec::new(), Vec::new());
    let mut left_out = 0_usize;
    for case in lane.suite.cases.open()? {
        let case = case?;
        if !lane.takes.takes(&case) || lane.past.covers(case.ordinal) {
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
    if left_out > 0 {
        log.warn(format!(
            "{}: `provider_batching` is set, but {left_out} case(s) with a workspace are asked one by one",
            target.label
        ));
    }
    if requests.is_empty() {
        return Ok(Answers::new());
    }
    let call = CallContext::new(cancel.child_token(), settings.agent_timeout, Arc::clone(log));
    let asking = async {
        target.provider.prepare(&call).await?;
        door.invoke_batch(&requests, &call).await
    };
    // The limit is per case; a batch may take as long as its cases one after the other.
    let count = u32::try_from(requests.len()).unwrap_or(u32::MAX).max(1);
    let limit = settings.agent_timeout.map(|limit| limit.saturating_mul(count));
    let outcome = deadline::within(limit, asking, &call, "the batch").await;
    match outcome {
        Ok(responses) if responses.len() == cases.len() => {
            Ok(kept(&cases, &requests, responses, (lane, shared)))
        }
        Ok(responses) => {
            let (got, asked) = (responses.len(), cases.len());
            log.verbose(|| {
                format!(
                    "{}: the batch gave {got} answers for {asked} cases; asking case by case",
                    target.label
                )
            });
            Ok(Answers::new())
        }
        Err(error) => {
            log.verbose(|| {
                format!("{}: the batch failed ({error}); asking case by case", target.label)
            });
            Ok(Answers::new())
        }
    }
}

/// Answers in the journal, and by the ordinals of their cases.
fn kept(
    cases: &[Arc<EvalCase>],
    requests: &[Request],
    responses: Vec<Response>,
    (lane, shared): (&Lane, &Shared),
) -> Answers {
    let mut answers = Answers::new();
    for ((case, request), response) in cases.iter().zip(requests).zip(responses) {
        let name = &lane.target.name;
        let kept = shared
            .journal
            .as_ref()
            .map(|journal| journal.answered((case, name), request, (&response, Duration::ZERO)));
        stop_if_lost(kept.as_ref(), &shared.cancel);
        let answer = KeptAnswer { response, wall: Duration::ZERO, attempt: request.attempt };
        answers.insert(case.ordinal, Earlier::Kept(Box::new(answer)));
    }
    answers
}
