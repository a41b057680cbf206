//! What the eval files say of the cases that records are of.

use super::source::Knowledge;
use agentv_core::{EvalCase, EvalId, SuiteId};
use agentv_runtime::load::{Loader, case_lines};
use agentv_wire::RecordSummary;
use serde::Serialize;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Cases by their suites and ids.
#[derive(Debug, Default)]
pub(super) struct CaseBook {
    /// Suites are named from here.
    root: PathBuf,
    suites: HashMap<SuiteId, SuiteCases>,
    /// Where a record does not say which suite it is of: by id. `None` if several suites have it.
    by_id: HashMap<EvalId, Option<SuiteId>>,
}

#[derive(Debug, Default)]
struct SuiteCases {
    path: PathBuf,
    /// By ordinal.
    lines: Vec<usize>,
    ordinals: HashMap<EvalId, usize>,
    expected: HashMap<EvalId, Expected>,
}

/// Where a case starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CasePlace {
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
    /// Reads the cases: where they are, and with `All` what was expected. A file that can no longer be read has none.
    pub(super) fn read(
        evals: &[PathBuf],
        root: &Path,
        knowledge: Knowledge,
        loader: &Loader,
    ) -> Self {
        let mut book = Self { root: root.to_owned(), ..Self::default() };
        for path in evals {
            let Some(suite) = loader.suite(path).0 else { continue };
            let id = &suite.suite.id;
            let mut cases =
                SuiteCases { path: path.clone(), lines: case_lines(path), ..SuiteCases::default() };
            for case in suite.cases.open().into_iter().flatten().flatten() {
                let same = book.by_id.entry(case.id.clone());
                same.and_modify(|known| *known = None).or_insert_with(|| Some(id.clone()));
                cases.ordinals.insert(case.id.clone(), case.ordinal);
                if knowledge == Knowledge::All {
                    cases.expected.insert(case.id.clone(), Expected::of(&case));
                }
            }
            book.suites.insert(id.clone(), cases);
        }
        book
    }

    /// Where a case is in its file. `suite` is what the record or the journal says.
    pub(super) fn place(
        &self,
        record: &RecordSummary,
        suite: Option<&SuiteId>,
    ) -> Option<CasePlace> {
        let id = EvalId::from(record.eval_id.as_str());
        let Some(cases) = self.suite(&id, suite) else {
            // The file was edited since the run: its name is still right.
            return Some(CasePlace { file: self.root.join(suite?.as_str()), line: None });
        };
        let line = cases.ordinals.get(&id).and_then(|ordinal| cases.lines.get(*ordinal));
        Some(CasePlace { file: cases.path.clone(), line: line.copied() })
    }

    pub(super) fn expected(
        &self,
        record: &RecordSummary,
        suite: Option<&SuiteId>,
    ) -> Option<&Expected> {
        let id = EvalId::from(record.eval_id.as_str());
        self.suite(&id, suite)?.expected.get(&id)
    }

    fn suite(&self, id: &EvalId, suite: Option<&SuiteId>) -> Option<&SuiteCases> {
        self.suites.get(suite.or_else(|| self.by_id.get(id)?.as_ref())?)
    }
}

impl Expected {
    fn of(case: &EvalCase) -> Self {
        Self { outcome: case.expected_outcome.clone(), answer: case.reference_answer() }
    }
}
