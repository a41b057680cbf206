//! Files → suites and targets that are usable as they stand, or all that is wrong with them.
//!
//! ```text
//! bytes ─read─► text ─parse─► Node ─check─► core types
//!                             └ private ┘   the whole program
//! ```
//!
//! Nothing unchecked leaves this module. A check goes on after an error, so that one look shows everything; each note also
//! says what it costs: nothing, an evaluator, a case, or the command.

mod dataset;
mod discover;
mod labels;
mod select;
mod suite;
mod syntax;
mod targets;

pub use dataset::csv_header::reads_as_var;
pub use dataset::ordinals::Ordinals;
pub use dataset::source::{CaseSource, Cases, Pulled, SourceError};
pub use discover::format::{Format, has_cases, is_eval_file};
pub use discover::paths::{
    DiscoverError, eval_files, is_shared_file, project_root, repo_root, targets_in,
};
pub use discover::suites::{DEMO_MARK, FoundSuites, suites_below, suites_in};
pub use discover::validate::{FileKind, validatable, validate};
pub use labels::{Labels, is_label};
pub use select::changed::{ChangedError, changed_since};
pub use select::glob::{BadGlob, Glob};
pub use select::selection::{
    BadShard, CasesBySuite, IdFilter, Sample, Selection, Shard, TagFilter,
};
pub use suite::loader::{LoadedSuite, ProgramRules};
pub use suite::places::case_lines;
pub(crate) use suite::places::{TargetPlace, target_place};
pub use suite::raw_suite::{CSV_KEYS, CsvShape, Written, written, written_head};
pub use suite::rubrics::{NewRubric, Unrated, unrated, with_rubrics};
pub use targets::file::{MAX_WORKERS, TargetSpec, TargetsFile};

use crate::config::{Cost, Dropped, Env, MISSING_SECRET, Note, Notes, Secrets};
use crate::process::Processes;
use crate::process::sandbox::SandboxSettings;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use suite::guidelines::Guidelines;
use targets::dotenv;

/// Where things are looked for and what is wanted of them.
#[derive(Debug, Clone)]
pub struct Loader {
    pub working_dir: PathBuf,
    pub repo_root: PathBuf,
    /// Where the ids of suites start.
    pub project_root: PathBuf,
    /// The process's environment.
    pub env: Env,
    pub processes: Arc<Processes>,
    /// Which cases are wanted.
    pub selection: Selection,
    /// The sandbox of all judges, where one is asked for on the command line.
    pub judge_sandbox: Option<SandboxSettings>,
    /// Whether cases are sent to other machines, with all that they depend on.
    pub is_portable: bool,
}

/// What is masked for files in a directory: secrets of the environment and of `.env` files, and what `redact` matches.
pub(crate) fn secrets_of(dir: &Path, repo_root: &Path, env: &Env) -> Secrets {
    let (guidelines, _) = Guidelines::load(dir, repo_root);
    let dirs = dotenv::directories(dir, repo_root, dir);
    let (env, _, _) = dotenv::overlay(env, &dirs);
    Secrets::of(&env, &BTreeSet::new()).with_patterns(&guidelines.redact)
}

/// The environment of files in a directory: the process's variables over those of `.env` files.
pub fn overlaid_env(dir: &Path, repo_root: &Path, env: &Env) -> Env {
    dotenv::overlay(env, &dotenv::directories(dir, repo_root, dir)).0
}

/// All that was noticed while loading.
#[derive(Debug, Default)]
pub struct Report {
    pub notes: Vec<Note>,
    /// Notes beyond those that are kept.
    pub dropped: Dropped,
}

impl Report {
    fn add(&mut self, notes: Notes) {
        let (list, dropped) = notes.finish();
        self.notes.extend(list);
        self.dropped += dropped;
    }

    /// Puts another report's notes after this one's.
    pub fn extend(&mut self, other: Self) {
        self.notes.extend(other.notes);
        self.dropped += other.dropped;
    }

    /// Takes back that secrets are missing, for a run that makes no calls.
    pub fn forgive_missing_secrets(&mut self) {
        self.notes.retain(|note| note.code != MISSING_SECRET);
    }

    /// What the worst of all notes costs, kept or not.
    pub fn worst(&self) -> Option<Cost> {
        self.notes.iter().map(|note| note.cost).max().max(self.dropped.worst)
    }

    /// How many notes there are on what is odd, kept or not.
    pub fn noticed(&self) -> usize {
        let odd = self.notes.iter().filter(|note| note.cost > Cost::Info).count();
        odd + self.dropped.total()
    }

    pub fn errors(&self) -> impl Iterator<Item = &Note> {
        self.notes.iter().filter(|note| note.is_error())
    }

    pub fn warnings(&self) -> impl Iterator<Item = &Note> {
        self.notes.iter().filter(|note| note.is_warning())
    }
}

/// A YAML document as a bare value, for files that programs write. What is wrong is told in words, with its line.
pub fn yaml_value(text: &str) -> Result<Value, String> {
    let mut notes = Notes::new("");
    if let Some(node) = syntax::yaml::parse(text, &mut notes) {
        return Ok(node.to_value());
    }
    notes.locate(text, 1);
    let (list, _) = notes.finish();
    let told = list.first().map(|note| format!("{} (its line {})", note.message, note.place.line));
    Err(told.unwrap_or_default())
}
