//! One call for all cases of a lane, where the target asks for it and the provider can.

use super::RunSettings;
use super::lane::Lane;
use super::workspace;
use crate::deadline;
use crate::load::SourceError;
use agentv_core::{CallContext, Log, Response, prompt};
use std::collections::HashMap;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Answers by the ordinal of their case.
pub(super) type Answers = HashMap<usize, Response>;

/// Asks for all cases at once. Without a batch door, or if the call fails, there are no answers and the cases are asked one
/// by one. This holds all cases of the lane in memory, which nothing else does.
pub(super) async fn ask(
    lane: &Lane,
    settings: RunSettings,
    cancel: &CancellationToken,
    log: &Arc<dyn Log>,
) -> Result<Answers, SourceError> {
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
    let (mut ordinals, mut requests) = (Vec::new(), Vec::new());
    let mut left_out = 0_usize;
    for case in lane.suite.cases.open()? {
        let case = case?;
        if !lane.takes.takes(&case) {
            continue;
        }
        // One command cannot run in many directories.
        if workspace::is_wanted(&case, target.workspace.as_ref()) {
            left_out += 1;
            continue;
        }
        ordinals.push(case.ordinal);
        requests.push(prompt::build(&case, target.provider.info().prompt_mode));
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
    let cases = u32::try_from(requests.len()).unwrap_or(u32::MAX).max(1);
    let limit = settings.agent_timeout.map(|limit| limit.saturating_mul(cases));
    let outcome = deadline::within(limit, asking, &call, "the batch").await;
    match outcome {
        Ok(responses) if responses.len() == ordinals.len() => {
            Ok(ordinals.into_iter().zip(responses).collect())
        }
        Ok(responses) => {
            let (got, asked) = (responses.len(), ordinals.len());
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
