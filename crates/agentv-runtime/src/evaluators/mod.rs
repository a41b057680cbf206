//! Who grades. An evaluator is one folder here and one line in [`EVALUATORS`].

pub mod code_judge;
pub mod composite;
pub mod field_accuracy;
pub mod limit;
pub mod llm_judge;
pub mod text;
pub mod tool_trajectory;

// Not registered: what several evaluators share.
pub mod amount;
mod ask;
mod confine;
mod digest;
pub mod entry;
mod equal;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
pub mod json;
mod payload;
mod reply;
mod schedule;
pub mod script;
mod shown;
mod template;
#[cfg(test)]
mod testing;

pub use digest::{CaseDigest, ChangedFiles, SharedDigest};
pub use schedule::{WaitsFor, evaluate_all, waits_for};

use crate::config::{Entry, Fields, FileSearch};
use crate::file_input;
use crate::hash::{ContentHasher, sha256_of_file};
use crate::process::Processes;
use crate::process::sandbox::{SandboxSettings, SandboxUser};
use agentv_core::evaluator::{OnError, Required};
use agentv_core::{Evaluator, EvaluatorEntry, EvaluatorName, Weight};
use schemars::JsonSchema;
#[cfg(any(feature = "schema", test))]
use schemars::{Schema, SchemaGenerator};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The registry. Order is the order of the reference documentation.
pub const EVALUATORS: &[EvaluatorKind] = &[
    EvaluatorKind::of::<llm_judge::LlmJudge>(),
    EvaluatorKind::of::<code_judge::CodeJudge>(),
    EvaluatorKind::of::<composite::Composite>(),
    EvaluatorKind::of::<tool_trajectory::ToolTrajectory>(),
    EvaluatorKind::of::<field_accuracy::FieldAccuracy>(),
    EvaluatorKind::of::<text::Contains>(),
    EvaluatorKind::of::<text::Equals>(),
    EvaluatorKind::of::<text::Pattern>(),
    EvaluatorKind::of::<text::IsJson>(),
    EvaluatorKind::of::<limit::LatencyLimit>(),
    EvaluatorKind::of::<limit::CostLimit>(),
    EvaluatorKind::of::<limit::TokenUsageLimit>(),
];

/// How one kind of evaluator is named, documented and built.
pub trait FromConfig: Evaluator + Sized + 'static {
    /// The `type` in files and records, then its aliases.
    const NAMES: &'static [&'static str];
    /// Whether unknown keys are the user's own and handed on as `config`, instead of being warned of.
    const KEEPS_UNKNOWN_KEYS: bool = false;
    /// Its keys. The doc comments become the reference page and the schema.
    type Config: JsonSchema;

    /// Takes its keys one by one; what is wrong becomes notes with places.
    fn read(fields: &mut Fields<'_, '_>, build: &mut Build<'_>) -> Option<Self>;
}

/// What an evaluator is given to build itself.
#[derive(Debug)]
pub struct Build<'a> {
    /// The directory of the eval file.
    pub eval_dir: &'a Path,
    pub search: &'a FileSearch,
    pub processes: &'a Arc<Processes>,
    /// What a failed grading does, unless the evaluator says otherwise.
    pub on_error: OnError,
    /// Whether scripts that grade are kept from the targets' keys.
    pub scrub_judges: bool,
    /// The sandbox of scripts that grade, where they have none of their own.
    pub sandbox: Option<&'a SandboxSettings>,
    /// What is known of files that cases depend on.
    pub digests: &'a FileDigests,
    /// The fingerprint of the case under construction.
    pub fingerprint: &'a mut CaseDigest,
}

impl Build<'_> {
    /// The case depends on this file's contents: when they change, it is another case.
    pub fn depends_on(&mut self, path: &Path) {
        let digest = self.digests.of(path);
        self.fingerprint.depends_on(path, digest);
    }

    /// The same for all that is in a directory.
    pub fn depends_on_tree(&mut self, dir: Option<&Path>) {
        if let Some(dir) = dir {
            let digest = self.digests.known(dir, tree_digest);
            self.fingerprint.depends_on(dir, digest);
        }
    }

    /// The sandbox that an evaluator's program runs in, if it does: its own, else that of all judges.
    pub fn sandbox(&self, fields: &mut Fields<'_, '_>) -> Option<SandboxSettings> {
        SandboxSettings::read(fields, SandboxUser::Judge).or_else(|| self.sandbox.cloned())
    }
}

/// The digests of files that many cases depend on, such as their judge's script and its interpreter.
#[derive(Debug, Default)]
pub struct FileDigests {
    /// A lock and not a message, as cases are read by the workers that run them. `None` for what cannot be read.
    known: Mutex<HashMap<PathBuf, Option<[u8; 32]>>>,
}

/// How many are kept; past that, memory would grow with the number of cases.
const DIGESTS_KEPT: usize = 1024;

impl FileDigests {
    fn of(&self, path: &Path) -> Option<[u8; 32]> {
        self.known(path, |path| sha256_of_file(path).ok())
    }

    fn known(
        &self,
        path: &Path,
        digest: impl FnOnce(&Path) -> Option<[u8; 32]>,
    ) -> Option<[u8; 32]> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(digest) = known.get(path) {
            return *digest;
        }
        let digest = digest(path);
        if known.len() >= DIGESTS_KEPT {
            known.clear();
        }
        known.insert(path.to_owned(), digest);
        digest
    }
}

/// Names and contents of all files in a directory. Links count by where they lead.
fn tree_digest(dir: &Path) -> Option<[u8; 32]> {
    let mut digest = ContentHasher::default();
    let mut waiting = vec![dir.to_owned()];
    while let Some(dir) = waiting.pop() {
        let mut entries: Vec<_> = std::fs::read_dir(dir).ok()?.flatten().collect();
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let (path, kind) = (entry.path(), entry.file_type().ok()?);
            let mut add_name = || digest.update_part(entry.file_name().as_encoded_bytes());
            if kind.is_dir() {
                add_name();
                digest.update_part([]);
                waiting.push(path);
            } else if kind.is_symlink() {
                add_name();
                digest.update_part(std::fs::read_link(path).ok()?.as_os_str().as_encoded_bytes());
            } else if kind.is_file() {
                add_name();
                digest.update_file(&mut file_input::open(&path).ok()?).ok()?;
            }
        }
    }
    Some(digest.finish())
}

/// One entry of the registry.
#[derive(Debug)]
pub struct EvaluatorKind {
    pub names: &'static [&'static str],
    pub keeps_unknown_keys: bool,
    read: fn(&mut Fields<'_, '_>, &mut Build<'_>) -> Option<Arc<dyn Evaluator>>,
    #[cfg(any(feature = "schema", test))]
    schema: fn(&mut SchemaGenerator) -> Schema,
}

impl EvaluatorKind {
    const fn of<E: FromConfig>() -> Self {
        Self {
            names: E::NAMES,
            keeps_unknown_keys: E::KEEPS_UNKNOWN_KEYS,
            read: |fields, build| Some(Arc::new(E::read(fields, build)?)),
            #[cfg(any(feature = "schema", test))]
            schema: E::Config::json_schema,
        }
    }

    pub fn find(name: &str) -> Option<&'static Self> {
        EVALUATORS.iter().find(|kind| kind.names.contains(&name))
    }

    /// Builds an evaluator; `None` if something is wrong, which is then noted.
    pub fn read(
        &self,
        fields: &mut Fields<'_, '_>,
        build: &mut Build<'_>,
    ) -> Option<Arc<dyn Evaluator>> {
        (self.read)(fields, build).filter(|_| !fields.failed())
    }

    /// For documentation only, so the shipped program does without.
    #[cfg(any(feature = "schema", test))]
    pub fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        (self.schema)(generator)
    }
}

/// What grades a case without evaluators: one judge with the default prompt.
pub fn default_judge(processes: &Arc<Processes>, on_error: OnError) -> Arc<[EvaluatorEntry]> {
    let entry = EvaluatorEntry {
        name: EvaluatorName::from("llm_judge"),
        kind: "llm_judge",
        weight: Weight::ONE,
        required: Required::No,
        on_error,
        evaluator: Arc::new(llm_judge::LlmJudge::default_judge(processes)),
    };
    Arc::from([entry])
}

/// Entries as a JSON object, for `config`.
pub fn as_object(entries: &[&Entry<'_>]) -> agentv_wire::Object {
    entries.iter().map(|entry| (entry.key.clone().into_owned(), entry.value.to_value())).collect()
}

#[cfg(test)]
mod tests {
    use super::testing::Bench;
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_name_is_taken_twice() {
        let mut names = BTreeSet::new();
        for name in EVALUATORS.iter().flat_map(|kind| kind.names) {
            assert!(names.insert(name), "{name}");
        }
    }

    #[test]
    fn the_schema_lists_keys_that_are_read() {
        for kind in EVALUATORS {
            let schema = kind.schema(&mut SchemaGenerator::default());
            let documented = schema.get("properties").unwrap().as_object().unwrap().keys();
            // Even an empty mapping is read to its end, so that no key of a wrong one counts as unknown.
            let known = Bench::new(kind.names[0], &serde_json::json!({})).known();
            for key in documented {
                assert!(known.contains(&key.as_str()), "{key} of {}", kind.names[0]);
            }
        }
    }
}
