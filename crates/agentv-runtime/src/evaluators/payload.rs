//! What a script that grades, or writes a prompt, reads on stdin.

use agentv_core::EvalContext;
use agentv_core::suite::Attachment;
use agentv_wire::{CodeJudgePayload, Object};

/// One JSON object, over several lines so that a person can read it too.
pub(super) fn text(cx: &EvalContext<'_>, config: Option<&Object>) -> serde_json::Result<String> {
    agentv_wire::number::to_string_pretty(&payload(cx, config))
}

fn payload(cx: &EvalContext<'_>, config: Option<&Object>) -> CodeJudgePayload {
    let EvalContext { case, candidate, .. } = cx;
    CodeJudgePayload {
        question: case.question(),
        expected_outcome: case.expected_outcome.clone(),
        expected_messages: case.expected_messages.clone(),
        reference_answer: case.reference_answer(),
        candidate_answer: candidate.answer.clone(),
        output_messages: candidate.messages.clone(),
        guideline_files: paths(case.guidelines()),
        input_files: paths(case.files()),
        input_messages: case.input_messages(),
        trace_summary: Some(candidate.summary.clone()),
        candidate_trace: candidate.trace.clone(),
        candidate_trace_summary: candidate.trace_summary().cloned(),
        execution_metrics: candidate.metrics.clone(),
        provider_metadata: candidate.metadata.clone(),
        file_changes: candidate.file_changes.as_ref().map(|changes| changes.diff.clone()),
        file_changes_truncated: (candidate.file_changes.as_ref())
            .is_some_and(|changes| changes.diff_truncated),
        changed_files: candidate.file_changes.as_ref().map(|changes| changes.files.clone()),
        workspace_path: candidate.workspace.as_ref().map(|path| path.to_string_lossy().into()),
        config: config.cloned(),
    }
}

fn paths<'a>(files: impl Iterator<Item = &'a Attachment>) -> Vec<String> {
    files.map(|file| file.path.to_string_lossy().into_owned()).collect()
}
