//! One case, from prompt to record.

use super::answer::{Answer, AnswerSource};
use super::executor::EventSink;
use super::suite_on_target::SuiteOnTarget;
use super::{RunSettings, grade, redact, workspace};
use crate::clock;
use agentv_core::call::{CaseCalls, Purpose};
use agentv_core::record::Asked;
use agentv_core::{CallContext, EvalCase, Log, Request, Trial, WorkId, prompt};
use agentv_wire::ResultRecord;
use std::sync::Arc;
use std::time::SystemTime;
use tokio_util::sync::CancellationToken;

/// One trial of a case on a target, ready to be run.
#[derive(Debug)]
pub struct Work {
    pub id: Arc<WorkId>,
    pub case: Arc<EvalCase>,
    /// The suite and the target that it belongs to.
    pub on: Arc<SuiteOnTarget>,
    pub trial: Trial,
}

/// What one piece of work needs besides itself.
#[derive(Debug)]
pub struct CaseContext<'a> {
    pub work: &'a Work,
    pub settings: RunSettings,
    pub cancel: &'a CancellationToken,
    pub log: &'a Arc<dyn Log>,
    pub sink: &'a dyn EventSink,
    /// What its calls share.
    pub calls: Arc<CaseCalls>,
}

impl CaseContext<'_> {
    /// The surroundings of a call for this work.
    pub(super) fn call(&self, cancel: CancellationToken) -> CallContext {
        CallContext {
            cancel,
            time_limit: self.settings.agent_timeout,
            log: Arc::clone(self.log),
            queue_time: Arc::default(),
            purpose: Purpose { work: Some(Arc::clone(&self.work.id)), ..Purpose::default() },
            on_accepted: None,
            case: Arc::clone(&self.calls),
        }
    }

    /// Whether the run was stopped meanwhile, or may spend no more.
    fn is_stopped(&self) -> bool {
        self.cancel.is_cancelled() || self.calls.was_refused()
    }
}

/// Gets an answer, then grades it. Whatever fails ends up in the record, so there is no `Err`. `None` only if the run was
/// stopped: half a case is not a result. The answer is in the journal then, and is only graded when the run is resumed.
pub(super) async fn run_case(
    source: Box<dyn AnswerSource>,
    cx: &CaseContext<'_>,
) -> Option<Box<ResultRecord>> {
    let Work { case, on, .. } = cx.work;
    let mut request = prompt::build(case, on.target.provider.info().prompt_mode);
    let Answer { answered, workspace } = source.answer(&mut request, cx).await;
    let answered = redact::answered(answered, on.target.judges.book.redactor());
    cx.sink.answered(cx.work, &request, &answered).await;
    if grade::only_asks_models(cx.work, &answered) {
        cx.sink.free_worker().await;
    }
    let mut record = redact::record(grade::grade(request, answered, cx).await, cx.work);
    if cx.is_stopped() {
        return None;
    }
    if let Some(workspace) = workspace {
        workspace::settle(workspace, &mut record).await;
    }
    Some(record)
}

/// What a record says of the question.
pub(super) fn asked(request: Request, work: &Work) -> Asked<'_> {
    let target = &work.on.target;
    Asked {
        request,
        provider: target.provider.info(),
        target: target.name.as_str(),
        trial: work.trial,
        simulated: target.provider.info().is_simulated,
    }
}

/// Now.
pub(super) fn timestamp() -> String {
    timestamp_of(SystemTime::now())
}

/// ISO 8601 in UTC with milliseconds.
pub(super) fn timestamp_of(time: SystemTime) -> String {
    format!("{:.3}", clock::timestamp(time))
}
