//! What is kept of a case has no secrets.

use super::case::Work;
use super::executor::broken;
use agentv_core::{Answered, ProviderError, Redactor};
use agentv_wire::ResultRecord;

/// An answer without secrets. That of a live target is masked already, and gigabytes of them are not looked at twice. What
/// an agent wrote into files, and answers of a cache, a cassette or an earlier run may have some.
pub(super) fn answered(answered: Answered, redactor: &Redactor) -> Answered {
    let masked = if answered.outcome.as_ref().is_ok_and(|response| response.is_masked) {
        let changes = redactor.masked(&answered.file_changes);
        changes
            .map(|masked| masked.map(|file_changes| Answered { file_changes, ..answered.clone() }))
    } else {
        redactor.masked(&answered)
    };
    match masked {
        Ok(None) => answered,
        // A path must lead to the same place.
        Ok(Some(masked)) => Answered { workspace: answered.workspace, ..masked },
        Err(error) => Answered::failed(ProviderError::failed(cannot_mask(&error))),
    }
}

/// A record without secrets, whatever graders wrote. The names in it stay: a record of another name would be another case's.
/// Its answer, the longest text of it, was masked when it arrived.
pub(super) fn record(mut record: Box<ResultRecord>, work: &Work) -> Box<ResultRecord> {
    let redactor = work.on.target.judges.book.redactor();
    if redactor.is_off() {
        record.redacted = Some(false);
        return record;
    }
    let answer = std::mem::take(&mut record.candidate_answer);
    let masked = match redactor.masked(&*record) {
        Ok(None) => {
            record.candidate_answer = answer;
            return record;
        }
        Ok(Some(masked)) => masked,
        Err(error) => *broken(work, cannot_mask(&error)),
    };
    let case = &work.case;
    Box::new(ResultRecord {
        candidate_answer: answer,
        eval_id: case.id.as_str().to_owned(),
        dataset: case.suite.dataset.clone(),
        suite: Some(case.suite.id.clone()),
        conversation_id: case.conversation_id.clone(),
        target: work.id.target.as_str().to_owned(),
        tags: case.tags.clone(),
        metadata: case.metadata.as_deref().cloned().unwrap_or_default(),
        workspace: record.workspace,
        ..masked
    })
}

fn cannot_mask(error: &serde_json::Error) -> String {
    format!("the secrets in it cannot be masked: {error}")
}
