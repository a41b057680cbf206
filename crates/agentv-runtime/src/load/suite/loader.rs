//! An eval file → a suite and its cases.

use super::defaults::Defaults;
use super::evaluators::{EvaluatorBuilder, LastBuilt};
use super::files::Files;
use super::guidelines::Guidelines;
use super::head::{CASES, Head};
use super::scope::{CaseFilter, CaseScope, SuiteScope};
use super::{duplicates, split, v2_notes};
use crate::config::{Env, FileSearch, Kind, Node, Note, Notes, Scrub, Secrets, Span};
use crate::evaluators::{FileDigests, default_judge};
use crate::load::dataset::judged::JudgedCases;
use crate::load::dataset::source::{CaseSource, SourceKind};
use crate::load::dataset::stream::{Data, Layout};
use crate::load::dataset::{check, csv_header};
use crate::load::discover::format::{Format, is_about_dataset, is_sidecar, sidecar};
use crate::load::syntax::{json, read_text, yaml};
use crate::load::targets::dotenv;
use crate::load::{Loader, Report, TargetsFile};
use crate::process::sandbox::SandboxSettings;
use agentv_core::{EvalCase, Suite, TargetName};
use serde_json::Value;
use std::collections::BTreeMap;
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
    /// Patterns of texts that are masked besides secrets.
    pub redact: Vec<String>,
    /// Whose children get only the secrets that they are passed.
    pub scrub: Scrub,
    /// The configuration files that hold for it.
    pub config_files: Vec<PathBuf>,
}

/// What a configuration says of programs that judges and targets start.
#[derive(Debug, Clone)]
pub struct ProgramRules {
    pub scrub: Scrub,
    /// The sandbox of programs that grade.
    pub judge_sandbox: Option<SandboxSettings>,
}

impl LoadedSuite {
    /// What is masked in a run of this file with these targets.
    pub fn secrets(&self, targets: &TargetsFile) -> Secrets {
        targets.secrets(&self.env).with_patterns(&self.redact)
    }

    /// What is said of a file of 2.x that does not set how many of its cases run at a time.
    pub fn note_on_workers(&self) -> Vec<Note> {
        if self.is_of_2 { v2_notes::workers(&self.suite.file) } else { Vec::new() }
    }
}

impl Loader {
    /// Loads an eval file. There is no suite when the file as a whole cannot be used; there may be one, and errors, when
    /// only some of its cases cannot.
    pub fn suite(&self, path: &Path) -> (Option<LoadedSuite>, Report) {
        self.load(path, |loader, notes| match Format::of(path) {
            Some(Format::Jsonl | Format::Csv) => loader.dataset(notes),
            Some(Format::Json) => loader.json(notes),
            Some(Format::Yaml) | None => loader.yaml(notes),
        })
    }

    /// Loads a suite that came as JSON, as if it were the eval file at `path`, which need not be there.
    pub fn suite_of_document(
        &self,
        path: &Path,
        document: &Value,
    ) -> (Option<LoadedSuite>, Report) {
        self.load(path, |loader, notes| loader.json_text(&document.to_string(), notes))
    }

    /// What the configuration says of programs of an eval file in this directory.
    pub fn program_rules(&self, eval_dir: &Path) -> ProgramRules {
        let Guidelines { scrub, judge_sandbox, .. } = Guidelines::load(eval_dir, &self.repo_root).0;
        ProgramRules { scrub, judge_sandbox: judge_sandbox.or_else(|| self.judge_sandbox.clone()) }
    }

    fn load(
        &self,
        path: &Path,
        read: impl FnOnce(&SuiteLoader<'_>, &mut Notes) -> Option<Parsed>,
    ) -> (Option<LoadedSuite>, Report) {
        let mut report = Report::default();
        let mut notes = Notes::new(path);
        let dir = path.parent().unwrap_or(Path::new("/"));
        let (guidelines, guideline_notes) = Guidelines::load(dir, &self.repo_root);
        let redact = guidelines.redact.clone();
        let scrub = guidelines.scrub;
        let config_files = guidelines.sources.clone();
        let dirs = dotenv::directories(dir, &self.repo_root, &self.working_dir);
        let (env, env_files, env_notes) = dotenv::overlay(&self.env, &dirs);
        let files =
            Files::new(FileSearch::new(dir, &self.repo_root, &self.working_dir), guidelines);

        let loader = SuiteLoader { loader: self, path, files: Arc::new(files), env: env.clone() };
        let loaded = read(&loader, &mut notes);
        report.notes.extend(guideline_notes.into_iter().chain(env_notes));
        report.add(notes);
        let loaded = loaded.map(|Parsed { suite, target, cases, is_of_2 }| LoadedSuite {
            suite,
            target: target.map(TargetName::from),
            cases,
            is_of_2,
            env,
            env_files,
            redact,
            scrub,
            config_files,
        });
        (loaded, report)
    }
}

struct Parsed {
    suite: Arc<Suite>,
    target: Option<String>,
    cases: CaseSource,
    is_of_2: bool,
}

/// What it takes to read one file.
struct SuiteLoader<'a> {
    loader: &'a Loader,
    path: &'a Path,
    files: Arc<Files>,
    env: Env,
}

impl SuiteLoader<'_> {
    /// Whether the file, or the one beside a dataset, was changed.
    fn is_touched(&self) -> bool {
        let changed = self.loader.selection.changed.as_ref();
        changed.is_some_and(|changed| {
            changed.touch(self.path)
                || sidecar(self.path).is_some_and(|beside| changed.touch(&beside))
        })
    }

    fn scope(&self, head: Head, defaults: Defaults) -> (CaseScope, Option<String>) {
        let on_error = head.on_error;
        let (suite, target) = head.into_suite(self.path, &self.loader.project_root);
        let suite = Arc::new(suite);
        let processes = &self.loader.processes;
        let builder = EvaluatorBuilder {
            eval_dir: suite.dir.clone(),
            files: Arc::clone(&self.files),
            env: self.env.clone(),
            processes: Arc::clone(processes),
            on_error,
            digests: FileDigests::default(),
            // The files say how, the command line only that.
            judge_sandbox: (self.files.guidelines().judge_sandbox.clone())
                .or_else(|| self.loader.judge_sandbox.clone()),
            last_built: LastBuilt::default(),
        };
        let given = SuiteScope {
            suite,
            defaults,
            evaluators: None,
            default_judge: default_judge(processes, on_error),
            files: None,
            workspace: None,
        };
        let selection = self.loader.selection.clone();
        let only = selection.only.as_ref();
        let only = only.map(|only| only.get(&given.suite.id).cloned().unwrap_or_default());
        let portable_root = self.loader.is_portable.then(|| self.loader.repo_root.clone());
        let filter = CaseFilter { selection, only, is_touched: self.is_touched(), portable_root };
        let (files, env) = (Arc::clone(&self.files), self.env.clone());
        let scope = CaseScope { given, builder, files, env, filter };
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
            let read = |_: &Node<'_>, scope: &CaseScope, notes: &mut Notes| {
                let cases = split::read(&pieces, self.path, scope, notes)?;
                Some(Listed { cases, total: pieces.items() })
            };
            if let Some(parsed) = self.read(pieces.head, read, notes) {
                return Some(parsed);
            }
            notes.rewind(mark);
        }
        self.read(text, |root, scope, notes| listed_cases(root, text, scope, notes), notes)
    }

    /// Reads the suite's own keys from `text` and its cases by `cases`.
    fn read(
        &self,
        text: &str,
        cases: impl FnOnce(&Node<'_>, &CaseScope, &mut Notes) -> Option<Listed>,
        notes: &mut Notes,
    ) -> Option<Parsed> {
        let root = yaml::parse(text, notes)?;
        self.read_root(&root, cases, notes)
    }

    fn read_root(
        &self,
        root: &Node<'_>,
        cases: impl FnOnce(&Node<'_>, &CaseScope, &mut Notes) -> Option<Listed>,
        notes: &mut Notes,
    ) -> Option<Parsed> {
        let read = Head::read(root, &CASES, notes, &self.env)?;
        let (mut scope, target) = self.scope(read.head, Defaults::read(root, notes));
        scope.share_workspace(read.workspace, root, notes);
        scope.share_evaluators(read.evaluators, notes);
        scope.share_files(read.files, notes);
        let Listed { cases, total } = cases(root, &scope, notes)?;
        let is_of_2 = v2_notes::is_of_2(root);
        if is_of_2 {
            v2_notes::look_at_suite(root, notes);
        }
        Some(Parsed { is_of_2, ..hold(cases, total, scope, target, notes) })
    }

    /// A list of cases, or a suite with the keys of one in YAML.
    fn json(&self, notes: &mut Notes) -> Option<Parsed> {
        let text = read_text(self.path, notes)?;
        self.json_text(text.strip_prefix('\u{feff}').unwrap_or(&text), notes)
    }

    fn json_text(&self, text: &str, notes: &mut Notes) -> Option<Parsed> {
        let node = match json::parse(text) {
            Ok(node) => node,
            Err(error) => {
                json::note_syntax(text, &error, notes);
                notes.locate(text, 1);
                return None;
            }
        };
        let mark = notes.mark();
        let parsed = self.json_root(&node, text, notes);
        if notes.mark() == mark {
            return parsed;
        }
        // Something is to be said, so the file is read again in the way that knows places.
        notes.rewind(mark);
        let node = json::located(text).unwrap_or(node);
        let parsed = self.json_root(&node, text, notes);
        notes.locate(text, 1);
        parsed
    }

    fn json_root(&self, root: &Node<'_>, text: &str, notes: &mut Notes) -> Option<Parsed> {
        let Kind::List(items) = &root.kind else {
            if let Some(beside) = sidecar(self.path).filter(|beside| is_sidecar(beside)) {
                let name = beside.file_name().unwrap_or_default().to_string_lossy();
                let message = format!("`{name}` is not read: the settings are in this file");
                let note = notes.warning("dataset::beside", None, message);
                note.help("make the file a list of cases, or move the settings into it");
            }
            let read = |root: &Node<'_>, scope: &CaseScope, notes: &mut Notes| {
                listed_cases(root, text, scope, notes)
            };
            return self.read_root(root, read, notes);
        };
        let (scope, target) = self.beside(notes);
        if items.is_empty() {
            notes
                .error("suite::cases", Some(root.span), "the list of cases is empty")
                .help("add a case with an `id` and an `input`");
            return None;
        }
        let cases = split::check_all(items, 0, &scope, notes);
        let cases = duplicates::leave_out(cases, items, text, notes);
        Some(hold(cases, items.len(), scope, target, notes))
    }

    /// A dataset that is streamed.
    fn dataset(&self, notes: &mut Notes) -> Option<Parsed> {
        let parsed = Data::new(self.path).and_then(|data| {
            let (scope, target) = self.beside(notes);
            let layout = if Format::of(self.path) == Some(Format::Csv) {
                let given = (&scope.given.defaults, scope.given.criteria());
                let Some(table) = csv_header::read(&data, self.path, given, notes)? else {
                    return Ok(None);
                };
                Layout::Table(table)
            } else {
                Layout::Lines
            };
            let suite = Arc::clone(&scope.given.suite);
            let cases = check::check(data, layout, scope, notes)?;
            if cases.total() == 0 && notes.errors() == 0 {
                notes.error("suite::cases", None, "the file has no cases").help("add a row");
            }
            Ok(Some(Parsed { suite, target, cases, is_of_2: false }))
        });
        parsed.unwrap_or_else(|error| {
            notes.error("file::unreadable", None, format!("the file cannot be read: {error}"));
            None
        })
    }

    /// What the YAML file of the same name says about a dataset: its name, target and evaluators.
    fn beside(&self, notes: &mut Notes) -> (CaseScope, Option<String>) {
        let nothing = || self.scope(Head::default(), Defaults::default());
        let Some(path) = sidecar(self.path).filter(|path| path.is_file()) else { return nothing() };
        let Some(text) = read_text(&path, notes) else { return nothing() };
        let mut own = Notes::new(path.as_path());
        if !is_about_dataset(&text) {
            warn_of_suite_beside(&path, notes);
            return nothing();
        }
        let root = yaml::parse(&text, &mut own);
        let read = root
            .as_ref()
            .filter(|root| !root.is_null())
            .and_then(|root| Some((root, Head::read(root, &[], &mut own, &self.env)?)));
        let (scope, target) = match read {
            Some((root, read)) => {
                let defaults = Defaults::read(root, &mut own);
                let (mut scope, target) = self.scope(read.head, defaults);
                scope.share_workspace(read.workspace, root, &mut own);
                scope.share_evaluators(read.evaluators, &mut own);
                scope.share_files(read.files, &mut own);
                (scope, target)
            }
            None => nothing(),
        };
        own.locate(&text, 1);
        notes.absorb(own);
        (scope, target)
    }
}

fn warn_of_suite_beside(path: &Path, notes: &mut Notes) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let message =
        format!("`{name}` has cases or records of its own, so it is not read for this dataset");
    notes.warning("dataset::beside", None, message).help(
        "rename one of the two files; settings of a dataset are in a YAML file without cases",
    );
}

/// Cases that are held in memory.
fn hold(
    cases: Vec<Arc<EvalCase>>,
    total: usize,
    scope: CaseScope,
    target: Option<String>,
    notes: &mut Notes,
) -> Parsed {
    note_default_guidelines(&cases, &scope.files, notes);
    let (mut by_target, mut judged) = (BTreeMap::new(), JudgedCases::default());
    for case in &cases {
        *by_target.entry(case.target.clone()).or_default() += 1;
        judged.look_at(case);
    }
    let (kind, judged) = (SourceKind::Held(cases.into()), judged.into_targets());
    let cases = CaseSource { kind, by_target, judged, total, sha256: None };
    Parsed { suite: scope.given.suite, target, cases, is_of_2: false }
}

/// The wanted ones of the cases in a file, and how many there are.
struct Listed {
    cases: Vec<Arc<EvalCase>>,
    total: usize,
}

/// The cases of a file that was read whole.
fn listed_cases(
    root: &Node<'_>,
    text: &str,
    scope: &CaseScope,
    notes: &mut Notes,
) -> Option<Listed> {
    let list = CASES.iter().find_map(|key| Some((*key, root.get(key)?)));
    let Some(items) = list.and_then(|(_, list)| list.as_list()).filter(|items| !items.is_empty())
    else {
        refuse_list(list, scope, notes);
        return None;
    };
    let cases = split::check_all(items, 0, scope, notes);
    Some(Listed { cases: duplicates::leave_out(cases, items, text, notes), total: items.len() })
}

/// Says why there are no cases in a file that was read whole.
fn refuse_list(list: Option<(&str, &Node<'_>)>, scope: &CaseScope, notes: &mut Notes) {
    let is_beside_dataset = is_sidecar(&scope.given.suite.file);
    let (message, mut help) = match list {
        None => ("the file has no `evalcases`".to_owned(), "add `evalcases:` with a list of cases"),
        Some((key, list)) if list.as_list().is_some() => (
            format!("`{key}` is empty: there are no cases to run"),
            "add a case with an `id` and an `input`",
        ),
        Some((key, list)) => (
            format!("`{key}` must be a list of cases, not {}", list.describe()),
            "write each case as a list item: `- id: …`",
        ),
    };
    if is_beside_dataset {
        help = "name the dataset that this file belongs to";
    }
    let span = list.map_or(Span { start: 0, end: 1 }, |(_, list)| list.span);
    notes.error("suite::cases", Some(span), message).help(help);
}

/// The default patterns are not in the user's files, so it may surprise that a file is missing from the prompt.
fn note_default_guidelines(cases: &[Arc<EvalCase>], files: &Files, notes: &mut Notes) {
    if !files.guidelines().are_defaults() {
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
