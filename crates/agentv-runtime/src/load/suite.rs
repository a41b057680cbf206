//! An eval file → a suite and its cases.

use super::files::Files;
use super::guidelines::Guidelines;
use super::scope::{CASES, Head, Scope};
use super::source::{CaseSource, SourceKind};
use super::{Loader, Report, case, dotenv, jsonl, moved, split, yaml};
use crate::config::{Env, FileSearch, Node, Note, Notes, Span};
use crate::evaluators::{FileDigests, default_judge};
use agentv_core::{EvalCase, Suite, TargetName};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An eval file, ready to be run.
#[derive(Debug)]
pub struct LoadedSuite {
    pub suite: Arc<Suite>,
    /// The target that the file asks for.
    pub target: Option<TargetName>,
    pub cases: CaseSource,
    /// Whether the file says that it was written for AgentV 2.x.
    pub is_of_2: bool,
    /// The environment of this file: the process's over its `.env` files.
    pub env: Env,
    /// The `.env` files that were read.
    pub env_files: Vec<PathBuf>,
}

impl LoadedSuite {
    /// What a file of 2.x is told if nobody says how many of its cases run at a time.
    pub fn note_on_workers(&self) -> Vec<Note> {
        if self.is_of_2 { moved::workers(&self.suite.file) } else { Vec::new() }
    }
}

impl Loader {
    /// Loads an eval file. There is no suite when the file as a whole cannot be used; there may be one, and errors, when
    /// only some of its cases cannot.
    pub fn suite(&self, path: &Path) -> (Option<LoadedSuite>, Report) {
        let mut report = Report::default();
        let mut notes = Notes::new(path);
        let dir = path.parent().unwrap_or(Path::new("/"));
        let (guidelines, guideline_notes) = Guidelines::load(dir, &self.repo_root);
        let dirs = dotenv::directories(dir, &self.repo_root, &self.working_dir);
        let (env, env_files) = dotenv::overlay(&self.env, &dirs);
        let files =
            Files::new(FileSearch::new(dir, &self.repo_root, &self.working_dir), guidelines);

        let desk = Desk { loader: self, path, files: Arc::new(files), env: env.clone() };
        let loaded = if is_jsonl(path) { desk.jsonl(&mut notes) } else { desk.yaml(&mut notes) };
        report.notes.extend(guideline_notes);
        report.add(notes);
        let loaded = loaded.map(|Parsed { suite, target, cases, is_of_2 }| LoadedSuite {
            suite,
            target: target.map(TargetName::from),
            cases,
            is_of_2,
            env,
            env_files,
        });
        (loaded, report)
    }
}

pub(super) fn is_jsonl(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("jsonl"))
}

struct Parsed {
    suite: Arc<Suite>,
    target: Option<String>,
    cases: CaseSource,
    is_of_2: bool,
}

/// What it takes to read one file.
struct Desk<'a> {
    loader: &'a Loader,
    path: &'a Path,
    files: Arc<Files>,
    env: Env,
}

impl Desk<'_> {
    /// Whether the file, or what stands beside a dataset, was changed.
    fn is_touched(&self) -> bool {
        let changed = self.loader.selection.changed.as_ref();
        changed.is_some_and(|changed| {
            changed.touch(self.path)
                || (is_jsonl(self.path) && changed.touch(&self.path.with_extension("yaml")))
        })
    }

    fn scope(&self, head: Head) -> (Scope, Option<String>) {
        let on_error = head.on_error;
        let (suite, target) = head.into_suite(self.path);
        let scope = Scope {
            suite: Arc::new(suite),
            files: Arc::clone(&self.files),
            env: self.env.clone(),
            processes: Arc::clone(&self.loader.processes),
            evaluators: None,
            workspace: None,
            default_judge: default_judge(&self.loader.processes, on_error),
            on_error,
            digests: FileDigests::default(),
            is_touched: self.is_touched(),
            selection: self.loader.selection.clone(),
        };
        (scope, target)
    }

    fn yaml(&self, notes: &mut Notes) -> Option<Parsed> {
        let text = read_text(self.path, notes)?;
        let parsed = self.yaml_text(&text, notes);
        notes.locate(&text, 1);
        parsed
    }

    /// In pieces if that is possible, else whole.
    fn yaml_text(&self, text: &str, notes: &mut Notes) -> Option<Parsed> {
        if let Some(pieces) = split::split(text) {
            let mark = notes.mark();
            let read = |_: &Node<'_>, scope: &Scope, notes: &mut Notes| {
                let cases = split::read(&pieces, self.path, scope, notes)?;
                Some(Listed { cases, total: pieces.items() })
            };
            if let Some(parsed) = self.read(pieces.head, read, notes) {
                return Some(parsed);
            }
            notes.rewind(mark);
        }
        self.read(text, listed_cases, notes)
    }

    /// Reads the suite's own keys from `text` and its cases by `cases`.
    fn read(
        &self,
        text: &str,
        cases: impl FnOnce(&Node<'_>, &Scope, &mut Notes) -> Option<Listed>,
        notes: &mut Notes,
    ) -> Option<Parsed> {
        let root = yaml::parse(text, notes)?;
        let read = Head::read(&root, &CASES, notes, &self.env)?;
        let (mut scope, target) = self.scope(read.head);
        scope.share_workspace(read.workspace, &root, notes);
        scope.share_evaluators(read.evaluators, notes);
        let Listed { cases, total } = cases(&root, &scope, notes)?;
        note_default_guidelines(&cases, &scope, notes);
        let is_of_2 = moved::is_of_2(&root);
        if is_of_2 {
            moved::look_at_suite(&root, notes);
        }
        let mut by_target = BTreeMap::new();
        for case in &cases {
            *by_target.entry(case.target.clone()).or_default() += 1;
        }
        let cases = CaseSource { kind: SourceKind::Held(cases.into()), by_target, total };
        Some(Parsed { suite: scope.suite, target, cases, is_of_2 })
    }

    fn jsonl(&self, notes: &mut Notes) -> Option<Parsed> {
        let path = self.path.to_owned();
        let data = match jsonl::Data::new(&path) {
            Ok(data) => data,
            Err(error) => {
                notes.error("file::unreadable", None, format!("the file cannot be read: {error}"));
                return None;
            }
        };
        let (scope, target) = self.beside(notes);
        let suite = Arc::clone(&scope.suite);
        match jsonl::check(data, scope, notes) {
            Ok(cases) => Some(Parsed { suite, target, cases, is_of_2: false }),
            Err(error) => {
                notes.error("file::unreadable", None, format!("the file cannot be read: {error}"));
                None
            }
        }
    }

    /// What the YAML file of the same name says about a dataset: its name, target and evaluators.
    fn beside(&self, notes: &mut Notes) -> (Scope, Option<String>) {
        let path = self.path.with_extension("yaml");
        let Some(text) = path.is_file().then(|| read_text(&path, notes)).flatten() else {
            return self.scope(Head::default());
        };
        let mut own = Notes::new(path.as_path());
        let root = yaml::parse(&text, &mut own);
        let read = root
            .as_ref()
            .filter(|root| !root.is_null())
            .and_then(|root| Head::read(root, &CASES, &mut own, &self.env));
        let (head, list, workspace) = read.map_or_else(
            || (Head::default(), None, None),
            |read| (read.head, read.evaluators, read.workspace),
        );
        let (mut scope, target) = self.scope(head);
        if let Some(root) = &root {
            scope.share_workspace(workspace, root, &mut own);
        }
        scope.share_evaluators(list, &mut own);
        own.locate(&text, 1);
        notes.absorb(own);
        (scope, target)
    }
}

/// The wanted ones of the cases in a file, and how many there are.
struct Listed {
    cases: Vec<Arc<EvalCase>>,
    total: usize,
}

/// The cases of a file that was read whole.
fn listed_cases(root: &Node<'_>, scope: &Scope, notes: &mut Notes) -> Option<Listed> {
    let list = CASES.iter().find_map(|key| root.get(key));
    let Some(items) = list.and_then(Node::as_list) else {
        let message = match list {
            None => "the file has no `evalcases`".to_owned(),
            Some(list) => format!("`evalcases` must be a list of cases, not {}", list.describe()),
        };
        let span = list.map_or(Span { start: 0, end: 1 }, |list| list.span);
        notes
            .error("suite::cases", Some(span), message)
            .help("add `evalcases:` with a list of cases");
        return None;
    };
    warn_of_twins(items, scope, notes);
    Some(Listed { cases: split::check_all(items, 0, scope, notes), total: items.len() })
}

/// The text of a file, which must be UTF-8.
pub(super) fn read_text(path: &Path, notes: &mut Notes) -> Option<String> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => {
            notes.error("file::unreadable", None, format!("the file cannot be read: {error}"));
            return None;
        }
    };
    match String::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) => {
            let message = format!(
                "the file is not UTF-8 text (byte {})",
                error.utf8_error().valid_up_to() + 1
            );
            notes.error("file::utf8", None, message).help("save the file as UTF-8");
            None
        }
    }
}

/// Two cases of the same id run both, but cannot be told apart in results.
fn warn_of_twins(items: &[Node<'_>], scope: &Scope, notes: &mut Notes) {
    let mut first: HashMap<&str, usize> = HashMap::with_capacity(items.len());
    for (ordinal, item) in items.iter().enumerate() {
        let Some(id) = case::id(item) else { continue };
        if !scope.selection.wants(item) {
            continue;
        }
        if let Some(earlier) = first.insert(id, ordinal) {
            warn_of_twin(id, earlier + 1, item.get("id").map(|id| id.span), notes);
        }
    }
}

pub(super) fn warn_of_twin(id: &str, earlier: usize, span: Option<Span>, notes: &mut Notes) {
    let message = format!("the id `{id}` stands twice: case number {earlier} has it, too");
    notes.warning("case::twin", span, message).help("give each case an id of its own");
}

/// Nobody wrote the default patterns down, so somebody may wonder why a file is missing from the question.
fn note_default_guidelines(cases: &[Arc<EvalCase>], scope: &Scope, notes: &mut Notes) {
    if !scope.files.guidelines().are_defaults {
        return;
    }
    if let Some(file) = cases.iter().find_map(|case| case.guidelines().next()) {
        let message =
            format!("`{}` is taken for a guideline by the default patterns", file.display);
        notes
            .warning("guidelines::default", None, message)
            .help("set `guideline_patterns` in `.agentv.yaml` beside the eval file to choose; an empty list means none");
    }
}
