//! Where an agent works, from the first copy to what stays of it.

use super::case::CaseContext;
use crate::workspace::{Workspace, WorkspaceError};
use agentv_core::workspace::Keep;
use agentv_core::{CallContext, EvalCase, ProviderError, WorkspaceSpec};
use agentv_wire::{FileChanges, ResultRecord, Status};

/// An attempt that could not begin, and what there is of its workspace.
pub(super) struct Unready {
    pub error: ProviderError,
    pub workspace: Option<Workspace>,
}

/// Whether a case has a workspace on this target.
pub(super) fn is_wanted(case: &EvalCase, on_target: Option<&WorkspaceSpec>) -> bool {
    case.workspace.is_some() || on_target.is_some()
}

/// Makes the workspace of one attempt, if there is to be one.
pub(super) async fn make(cx: &CaseContext<'_>) -> Result<Option<Workspace>, Box<Unready>> {
    let (case, target) = (&cx.work.case, &cx.work.on.target);
    let spec = WorkspaceSpec::merged(case.workspace.as_deref(), target.workspace.as_ref());
    let (Some(spec), Some(shop)) = (spec, &target.workshop) else { return Ok(None) };
    let call = call(cx);
    let unready = |error: WorkspaceError, workspace| {
        Box::new(Unready { error: ProviderError::failed(error.to_string()), workspace })
    };
    let copied = shop.copy(&spec, case.id.as_str(), &call).await;
    let mut workspace = copied.map_err(|error| unready(error, None))?;
    let prepared = shop.prepare(&mut workspace, &spec, cx.settings.agent_timeout, &call).await;
    match prepared {
        Ok(()) => Ok(Some(workspace)),
        Err(error) => Err(unready(error, Some(workspace))),
    }
}

/// What the agent changed. An answer whose changes cannot be seen cannot be graded, so that is an error.
pub(super) async fn changes(
    workspace: Option<&Workspace>,
    cx: &CaseContext<'_>,
) -> Result<Option<FileChanges>, ProviderError> {
    let shop = cx.work.on.target.workshop.as_ref();
    let (Some(workspace), Some(shop)) = (workspace, shop) else { return Ok(None) };
    let found = shop.changes(workspace, &call(cx)).await;
    found.map_err(|error| ProviderError::failed(error.to_string()))
}

/// Keeps the workspace, and says so in the record, or removes it.
pub(super) async fn settle(workspace: Workspace, record: &mut ResultRecord) {
    let stays = match workspace.keeps() {
        Keep::Always => true,
        Keep::Never => false,
        Keep::OnFailure => record.error.is_some() || record.status != Status::Pass,
    };
    if stays && workspace.dir().is_some() {
        record.workspace = Some(workspace.keep().to_string_lossy().into_owned());
    } else {
        record.workspace = None;
        workspace.remove().await;
    }
}

fn call(cx: &CaseContext<'_>) -> CallContext {
    cx.call(cx.cancel.clone())
}
