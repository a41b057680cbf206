//! What the eval files say of the cases that records are of.

use super::record::Record;
use super::source::Knowledge;
use agentv_core::EvalCase;
use agentv_runtime::load::{Loader, case_lines};
use agentv_runtime::run_dir::Known;
use serde::Serialize;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Cases by their files and places, and by their names.
#[derive(Debug, Default)]
pub(super) struct CaseBook {
    working_dir: PathBuf,
    files: Vec<CaseFile>,
    /// Where a record does not say which case it is of: by id. `None` if several cases have it.
    by_id: HashMap<String, Option<(usize, usize)>>,
}

#[derive(Debug)]
struct CaseFile {
    path: PathBuf,
    /// By ordinal.
    lines: Vec<usize>,
    /// By ordinal.
    expected: HashMap<usize, Expected>,
}

/// Where a case starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub file: PathBuf,
    pub line: Option<usize>,
}

/// What a good answer was said to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Expected {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub outcome: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub answer: String,
}

impl CaseBook {
    /// Knows where cases are that are told by their places in files. Files are named from `working_dir`.
    pub(super) fn with_places(evals: &[PathBuf], working_dir: &Path) -> Self {
        let file = |path: &PathBuf| CaseFile {
            path: path.clone(),
            lines: case_lines(path),
            expected: HashMap::new(),
        };
        let files = evals.iter().map(file).collect();
        Self { working_dir: working_dir.to_owned(), files, by_id: HashMap::new() }
    }

    /// Reads the cases themselves, too: their ids, and with `All` what was expected. A file that cannot be read any more
    /// has nothing to say.
    pub(super) fn read_cases(&mut self, knowledge: Knowledge, loader: &Loader) {
        for (place, file) in self.files.iter_mut().enumerate() {
            let suite = loader.suite(&file.path).0;
            let cases = suite.iter().filter_map(|suite| suite.cases.open().ok()).flatten();
            for case in cases.flatten() {
                let same = self.by_id.entry(case.id.as_str().to_owned());
                same.and_modify(|known| *known = None).or_insert(Some((place, case.ordinal)));
                if knowledge == Knowledge::All {
                    file.expected.insert(case.ordinal, Expected::of(&case));
                }
            }
        }
    }

    pub(super) fn place(&self, record: &Record, known: Option<&Known>) -> Option<Place> {
        if let Some((file, ordinal)) = self.find(record, known) {
            let file = &self.files[file];
            return Some(Place { file: file.path.clone(), line: file.lines.get(ordinal).copied() });
        }
        // The file was edited since: its name is still right.
        let file = self.working_dir.join(&known?.slot.file);
        Some(Place { file, line: None })
    }

    pub(super) fn expected(&self, record: &Record, known: Option<&Known>) -> Option<&Expected> {
        let (file, ordinal) = self.find(record, known)?;
        self.files[file].expected.get(&ordinal)
    }

    fn find(&self, record: &Record, known: Option<&Known>) -> Option<(usize, usize)> {
        let Some(known) = known else { return *self.by_id.get(&record.eval_id)? };
        let path = self.working_dir.join(&known.slot.file);
        let file = self.files.iter().position(|file| file.path == path)?;
        Some((file, known.version.ordinal))
    }
}

impl Expected {
    fn of(case: &EvalCase) -> Self {
        Self { outcome: case.expected_outcome.clone(), answer: case.reference_answer() }
    }
}
