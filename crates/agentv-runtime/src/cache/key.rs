//! What an answer is found by.

use crate::hash::{sha256, sha256_of_file};
use agentv_core::call::Role;
use agentv_core::{CallContext, Request};
use agentv_wire::ChatMessage;
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};

/// A change of what is hashed, or how, is a change of this number.
const VERSION: u32 = 1;

/// Everything that shapes an answer, as 32 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AnswerKey([u8; 32]);

impl AnswerKey {
    /// The key that is written like this.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = hex::decode(text).ok()?;
        bytes.try_into().ok().map(Self)
    }
}

impl fmt::Display for AnswerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

/// What of a target shapes its answers, whatever it is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetFingerprint {
    /// The kind of provider.
    pub kind: &'static str,
    /// The target's settings without secrets.
    pub settings: [u8; 32],
    /// Where it works, for one that can tell: a command or an agent, but no model.
    pub place: Option<PathBuf>,
}

impl AnswerKey {
    pub fn of(settled: &TargetFingerprint, request: &Request, cx: &CallContext) -> Self {
        let asked = RequestDigest::of(request, None);
        // A command may have the id of its case in its template.
        let eval_id = settled.place.is_some().then_some(request.eval_id.as_str());
        let purpose = &cx.purpose;
        let ask = if purpose.role == Role::Candidate { 1 } else { purpose.repetition };
        let place = settled.place.as_deref();
        Self(digest(&(
            (VERSION, settled.kind, settled.settings, place),
            (asked.0, eval_id, purpose.later_trial(), ask),
        )))
    }
}

/// What was asked, as 32 bytes: the words, and the contents of the files. Not for which case, and not where the files are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestDigest([u8; 32]);

impl fmt::Display for RequestDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

#[derive(Serialize)]
struct Words<'a> {
    question: String,
    guidelines: String,
    chat: Option<Vec<(&'a str, String)>>,
    system_prompt: Option<String>,
    guideline_files: Vec<Option<[u8; 32]>>,
    files: Vec<Option<[u8; 32]>>,
}

impl RequestDigest {
    /// With a root: words that name files below it are the same wherever that root is.
    pub fn of(request: &Request, root: Option<&Path>) -> Self {
        let root = root.map(|root| root.display().to_string()).filter(|root| root.len() > 1);
        let words = |text: &str| match &root {
            Some(root) => text.replace(root.as_str(), "[root]"),
            None => text.to_owned(),
        };
        let turn = |turn: &'_ ChatMessage| words(&turn.content);
        Self(digest(&Words {
            question: words(&request.question),
            guidelines: words(&request.guidelines),
            chat: request
                .chat
                .as_ref()
                .map(|chat| chat.iter().map(|one| (one.role.as_str(), turn(one))).collect()),
            system_prompt: request.system_prompt.as_deref().map(words),
            guideline_files: request.guideline_paths.iter().map(|path| contents(path)).collect(),
            files: request.file_paths.iter().map(|path| contents(path)).collect(),
        }))
    }
}

/// A file that cannot be read differs from all that can.
fn contents(path: &Path) -> Option<[u8; 32]> {
    sha256_of_file(path).ok()
}

/// JSON of one shape is the same text each time: fields have an order, and there are no maps in it.
fn digest(value: &impl Serialize) -> [u8; 32] {
    // Text, numbers and lists can always be written.
    sha256(serde_json::to_vec(value).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentv_core::EvalId;
    use agentv_core::WorkId;

    fn model() -> TargetFingerprint {
        TargetFingerprint { kind: "openai", settings: [7; 32], place: None }
    }

    fn request(question: &str) -> Request {
        Request::plain(&EvalId::from("one"), question.to_owned())
    }

    fn key(settled: &TargetFingerprint, request: &Request) -> AnswerKey {
        AnswerKey::of(settled, request, &CallContext::quiet())
    }

    #[test]
    fn the_case_and_the_attempt_do_not_count_for_a_model() {
        let asked = request("What?");
        let again = Request { eval_id: "two".to_owned(), attempt: 3, ..asked.clone() };
        assert_eq!(key(&model(), &asked), key(&model(), &again));
    }

    #[test]
    fn the_case_and_the_place_count_for_a_command() {
        let asked = request("What?");
        let other = Request { eval_id: "two".to_owned(), ..asked.clone() };
        let here = TargetFingerprint { kind: "cli", place: Some("/here".into()), ..model() };
        let there = TargetFingerprint { place: Some("/there".into()), ..here.clone() };
        assert_ne!(key(&here, &asked), key(&here, &other));
        assert_ne!(key(&here, &asked), key(&there, &asked));
    }

    #[test]
    fn everything_else_counts() {
        let asked = request("What?");
        let first = key(&model(), &asked);
        let system = Request { system_prompt: Some("Be brief".to_owned()), ..asked.clone() };
        let files = Request { file_paths: vec!["/nowhere".into()], ..asked.clone() };
        for other in [request("What"), system, files] {
            assert_ne!(first, key(&model(), &other));
        }
        assert_ne!(first, key(&TargetFingerprint { kind: "azure", ..model() }, &asked));
        assert_ne!(first, key(&TargetFingerprint { settings: [8; 32], ..model() }, &asked));
        let in_trial = |trial| {
            let work =
                WorkId { suite: "s".into(), eval_id: "one".into(), target: "t".into(), trial };
            CallContext::quiet().for_work(work.into())
        };
        assert_ne!(first, AnswerKey::of(&model(), &asked, &in_trial(2)));
        // The first of several trials is what a case is that is asked once.
        assert_eq!(first, AnswerKey::of(&model(), &asked, &in_trial(0)));
        let mut cx = CallContext::quiet();
        (cx.purpose.role, cx.purpose.repetition) = (Role::Judge, 2);
        assert_ne!(first, AnswerKey::of(&model(), &asked, &cx));
    }

    #[test]
    fn a_root_may_be_anywhere() {
        let digest = |root: &str| {
            let asked = request(&format!("Read file://{root}/notes.md"));
            RequestDigest::of(&asked, Some(Path::new(root)))
        };
        assert_eq!(digest("/somewhere/shop"), digest("/builds/17"));
    }
}
