//! A piece of work as a message: all that another process needs to do it.

use super::answer::Batch;
use super::case::Work;
use super::suite_on_target::SuiteOnTarget;
use crate::targets::Judge;
use agentv_core::{Answered, EvalCase, WorkId};
use agentv_wire::{Object, SuiteId, TargetName};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

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
    /// All files that the case depends on, by their paths from the repository's root.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, JobFile>,
    /// The target and all that may judge, with fingerprints of their settings without secrets. A process whose target of
    /// that name is another one refuses the job.
    pub targets: BTreeMap<TargetName, String>,
    /// The answer, where it only has to be graded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<Answered>,
}

/// Many pieces of work that are answered by one call: one trial of each of these cases.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BatchJob {
    pub suite_id: SuiteId,
    pub target: TargetName,
    pub trial: u32,
    pub trials: u32,
    pub suite: Object,
    pub cases: Vec<Object>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, JobFile>,
    pub targets: BTreeMap<TargetName, String>,
}

/// Something in the file system that a job needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum JobFile {
    Content {
        sha256: String,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        executable: bool,
    },
    /// Leads to something in the same directory or below.
    Link {
        link: String,
    },
    Directory {
        directory: bool,
    },
}

impl Job {
    /// `suite` and `case` are what is written of the suite and of the case.
    pub fn new(
        work: &Work,
        suite: Object,
        case: Object,
        files: BTreeMap<String, JobFile>,
        answered: Option<Answered>,
    ) -> Self {
        Self {
            work: (*work.id).clone(),
            trials: work.trial.of().count(),
            suite,
            case,
            files,
            targets: fingerprints(&work.on, [&*work.case]),
            answered,
        }
    }
}

impl BatchJob {
    /// `suite` and `cases` are what is written of the suite and of the cases.
    pub fn new(
        batch: Batch<'_>,
        suite: Object,
        cases: Vec<Object>,
        files: BTreeMap<String, JobFile>,
    ) -> Self {
        Self {
            suite_id: batch.lane.suite.suite.id.clone(),
            target: batch.lane.target.name.clone(),
            trial: batch.trial.number(),
            trials: batch.trial.of().count(),
            suite,
            cases,
            files,
            targets: fingerprints(batch.lane, batch.cases.iter().map(|case| &**case)),
        }
    }
}

/// The fingerprints of the target and of all whom the evaluators of its cases may ask.
pub(crate) fn fingerprints<'c>(
    on: &SuiteOnTarget,
    cases: impl IntoIterator<Item = &'c EvalCase>,
) -> BTreeMap<TargetName, String> {
    let target = &on.target;
    let mut names = BTreeSet::from([target.name.clone()]);
    if let Judge::Named(judge) = &target.judges.judge {
        names.insert(judge.clone());
    }
    for entry in cases.into_iter().flat_map(|case| &*case.evaluators) {
        names.extend(entry.evaluator.needs().targets.into_iter().map(TargetName::from));
    }
    let book = &target.judges.book.file;
    let fingerprint = |name: TargetName| {
        let spec = book.find(name.as_str())?;
        let kind = spec.kind.map_or("", |kind| kind.info.kind);
        Some((name, format!("{kind}:{}", hex::encode(spec.settings))))
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
            "files": {
                "evals/judge.sh": { "sha256": "9f86d081", "executable": true },
                "evals/policy.md": { "sha256": "9f86d081" },
                "evals/template": { "directory": true },
                "evals/template/link": { "link": "file" },
            },
            "targets": { "gpt": "00ff", "judge": "ff00" },
            "answered": {
                "response": { "text": "30 days", "reported": {} },
                "wall_ms": 12.0,
                "attempt": 0,
                "detail": "trace",
            },
        });
        let content = |name: &str, executable| {
            let sha256 = "9f86d081".to_owned();
            (name.to_owned(), JobFile::Content { sha256, executable })
        };
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
            files: [
                content("evals/judge.sh", true),
                content("evals/policy.md", false),
                ("evals/template".to_owned(), JobFile::Directory { directory: true }),
                ("evals/template/link".to_owned(), JobFile::Link { link: "file".to_owned() }),
            ]
            .into(),
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
