//! A piece of work as a message: all that another process needs to do it.

use super::case::Work;
use crate::hash::sha256;
use crate::targets::Judge;
use agentv_core::{Answered, EvalCase, WorkId};
use agentv_wire::{Object, TargetName};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// One piece of work, self-contained but for the files and the targets that it names: whoever does it has targets of the
/// same names, with secrets of its own.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    pub work: WorkId,
    /// How many trials its case has on its target.
    pub trials: u32,
    /// The suite's own keys, as written.
    pub suite: Object,
    /// The case, as written; what the suite gives to it is applied where it is run.
    pub case: Object,
    /// The files that the case shows to the target, by their paths, with the SHA-256 of their contents.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<PathBuf, String>,
    /// The target and all that may judge, with fingerprints of their settings without secrets. A process whose target of
    /// that name is another one refuses the job.
    pub targets: BTreeMap<TargetName, String>,
    /// The answer, where it only has to be graded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<Answered>,
}

impl Job {
    /// `suite` and `case` are what is written of the suite and of the case.
    pub fn new(work: &Work, suite: Object, case: Object, answered: Option<Answered>) -> Self {
        Self {
            work: (*work.id).clone(),
            trials: work.trial.of().count(),
            suite,
            case,
            files: files(&work.case),
            targets: fingerprints(work),
            answered,
        }
    }
}

fn files(case: &EvalCase) -> BTreeMap<PathBuf, String> {
    let files = case.guidelines().chain(case.files());
    files.map(|file| (file.path.clone(), hex::encode(sha256(file.text.as_bytes())))).collect()
}

/// The fingerprints of the target and of all whom its evaluators may ask.
pub(crate) fn fingerprints(work: &Work) -> BTreeMap<TargetName, String> {
    let target = &work.on.target;
    let mut names = BTreeSet::from([target.name.clone()]);
    if let Judge::Named(judge) = &target.judges.judge {
        names.insert(judge.clone());
    }
    for entry in &*work.case.evaluators {
        names.extend(entry.evaluator.needs().targets.into_iter().map(TargetName::from));
    }
    let book = &target.judges.book.file;
    let fingerprint = |name: TargetName| {
        let settings = book.find(name.as_str())?.settings;
        Some((name, hex::encode(settings)))
    };
    names.into_iter().filter_map(fingerprint).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentv_core::Response;
    use serde_json::{Value, json};
    use std::time::Duration;

    #[test]
    fn a_job_is_the_same_after_a_way_through_json() {
        let golden = json!({
            "work": { "suite": "evals/a.yaml", "eval_id": "refund", "target": "gpt", "trial": 1 },
            "trials": 3,
            "suite": { "description": "Support" },
            "case": { "id": "refund", "input": "How long?" },
            "files": { "/project/policy.md": "9f86d081" },
            "targets": { "gpt": "00ff", "judge": "ff00" },
            "answered": {
                "response": { "text": "30 days", "reported": {} },
                "wall_ms": 12.0,
                "attempt": 0,
                "detail": "trace",
            },
        });
        let object = |key: &str| match &golden[key] {
            Value::Object(object) => object.clone(),
            _ => Object::new(),
        };
        let job = Job {
            work: WorkId {
                suite: "evals/a.yaml".into(),
                eval_id: "refund".into(),
                target: "gpt".into(),
                trial: 1,
            },
            trials: 3,
            suite: object("suite"),
            case: object("case"),
            files: [("/project/policy.md".into(), "9f86d081".to_owned())].into(),
            targets: [("gpt".into(), "00ff".to_owned()), ("judge".into(), "ff00".to_owned())]
                .into(),
            answered: Some(Answered::whole(
                Ok(Response::text("30 days")),
                Duration::from_millis(12),
                0,
            )),
        };
        assert_eq!(serde_json::to_value(&job).unwrap(), golden);
        let read: Job = serde_json::from_value(golden.clone()).unwrap();
        assert_eq!(serde_json::to_value(read).unwrap(), golden);
    }
}
