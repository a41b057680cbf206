//! One case, prompt to record.

use super::attempt::{self, Answer};
use super::suite_on_target::{PlannedTarget, PriorAnswer};
use super::{RunSettings, regrade, workspace};
use crate::results_io::RecordedExtras;
use crate::run_dir::{Journal, Work};
use crate::workspace::Workspace;
use agentv_core::call::{CaseCalls, Purpose};
use agentv_core::record::{self, Asked, Graded};
use agentv_core::{
    CallContext, Candidate, EvalCase, EvalContext, Log, Request, Response, Trial, prompt,
};
use agentv_wire::ResultRecord;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio_util::sync::CancellationToken;

/// What one trial of a case needs besides the case.
#[derive(Debug)]
pub(super) struct CaseContext<'a> {
    pub target: &'a PlannedTarget,
    pub trial: Trial,
    pub settings: RunSettings,
    pub cancel: &'a CancellationToken,
    pub log: &'a Arc<dyn Log>,
    pub journal: Option<&'a Journal>,
    /// What its calls share.
    pub calls: Arc<CaseCalls>,
}

impl CaseContext<'_> {
    /// Keeps an answer, so that a crash in grading pays for nothing twice. Where answers cost nothing, that is no gain; but
    /// what was done on the way to the answer is in no record, and reports show it.
    pub(super) fn keep(&self, case: &EvalCase, request: &Request, answer: (&Response, Duration)) {
        if !self.target.provider.is_free() || answer.0.tells_steps() {
            let work = Work { case, target: &self.target.name, trial: self.trial };
            let kept = self.journal.map(|journal| journal.answered(work, request, answer));
            stop_if_lost(kept.as_ref(), self.cancel);
        }
    }

    /// The environment of a call for this trial.
    pub(super) fn call(&self, cancel: CancellationToken) -> CallContext {
        CallContext {
            cancel,
            time_limit: self.settings.agent_timeout,
            log: Arc::clone(self.log),
            queue_time: Arc::default(),
            purpose: Purpose { trial: self.trial.index_if_repeated(), ..Purpose::default() },
            on_accepted: None,
            case: Arc::clone(&self.calls),
        }
    }
}

/// What cannot be kept is worth no more calls. The journal knows why, and the dispatcher asks it.
pub(super) fn stop_if_lost(kept: Option<&io::Result<()>>, cancel: &CancellationToken) {
    if matches!(kept, Some(Err(_))) {
        cancel.cancel();
    }
}

/// Asks, looks at what was changed, then grades. Whatever goes wrong ends up in the record, so there is no `Err`. `None` only
/// if the run was stopped meanwhile, or may spend no more: half a case is no result. `answered` is what a batch call, or an earlier run, brought
/// for this case.
pub(super) async fn run_case(
    case: &EvalCase,
    answered: Option<PriorAnswer>,
    cx: &CaseContext<'_>,
) -> Option<Box<ResultRecord>> {
    let mut request = prompt::build(case, cx.target.provider.info().prompt_mode);
    let Answer { outcome, wall, workspace, left } =
        attempt::ask(case, &mut request, answered, cx).await;
    let (outcome, mut file_changes) = match workspace::changes(workspace.as_ref(), cx).await {
        Ok(changes) => (outcome, changes),
        Err(error) => (outcome.and(Err(error)), None),
    };
    let mut dir = workspace.as_ref().and_then(Workspace::dir).map(Path::to_owned);
    if let Some(left) = left.as_deref() {
        file_changes.clone_from(&left.file_changes);
        dir.clone_from(&left.workspace);
    }
    let mut record = match outcome {
        Ok(response) => {
            let candidate = Candidate::new(response, wall, &case.suite.exploration_tools);
            let candidate = Candidate { file_changes, workspace: dir.clone(), ..candidate };
            grade(case, request, (candidate, left), cx).await
        }
        Err(error) => {
            let asked = asked(request, cx.target, cx.trial);
            let mut record = record::failed(case, asked, &error, timestamp());
            record.file_changes = file_changes.map(record::excerpt);
            record
        }
    };
    // What was answered is in the journal: when the run is taken up again, it is only graded.
    if cx.cancel.is_cancelled() || cx.calls.was_refused() {
        return None;
    }
    match workspace {
        Some(workspace) => workspace::settle(workspace, &mut record).await,
        // One that another run has kept stays where it is.
        None => record.workspace = dir.map(|dir| dir.to_string_lossy().into_owned()),
    }
    Some(record)
}

async fn grade(
    case: &EvalCase,
    request: Request,
    (candidate, left): (Candidate, Option<Box<RecordedExtras>>),
    cx: &CaseContext<'_>,
) -> Box<ResultRecord> {
    let graders = regrade::graders(case, left.as_ref().map(|left| left.detail));
    let candidate = match left {
        Some(left) => left.complete(candidate),
        None => candidate,
    };
    let call = cx.call(cx.cancel.clone());
    let look = EvalContext {
        case,
        candidate: &candidate,
        question: &request.question,
        targets: &cx.target.judges,
        call: &call,
    };
    let mut graded = Vec::with_capacity(graders.len());
    for entry in &*graders {
        let call = call.graded_by(&case.id, &entry.name);
        let outcome = entry.evaluator.evaluate(&EvalContext { call: &call, ..look }).await;
        graded.push(Graded { entry, outcome });
    }
    record::graded(case, asked(request, cx.target, cx.trial), candidate, graded, timestamp())
}

/// What a record says of the question.
pub(super) fn asked(request: Request, target: &PlannedTarget, trial: Trial) -> Asked<'_> {
    Asked { request, provider: target.provider.info(), target: target.name.as_str(), trial }
}

/// Now, as ISO 8601 in UTC with milliseconds.
pub(super) fn timestamp() -> String {
    let now = jiff::Timestamp::try_from(SystemTime::now()).unwrap_or_default();
    format!("{now:.3}")
}
