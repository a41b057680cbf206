//! Where a run takes its cases from: held in memory, or streamed from a file that was checked before.

use super::jsonl::{JsonlCases, JsonlSource};
use agentv_core::{EvalCase, TargetName};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// The cases of one eval file. It can be opened as often as needed.
#[derive(Debug)]
pub struct CaseSource {
    pub(super) kind: SourceKind,
    /// How many cases insist on each target; `None` for those that do not mind.
    pub(super) by_target: BTreeMap<Option<TargetName>, usize>,
}

#[derive(Debug)]
pub(super) enum SourceKind {
    Held(Arc<[Arc<EvalCase>]>),
    Streamed(Arc<JsonlSource>),
}

/// Why cases cannot be had any more.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    #[error("`{}` cannot be read: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("`{}` changed while it was being run", path.display())]
    Changed { path: PathBuf },
}

impl CaseSource {
    pub fn len(&self) -> usize {
        self.by_target.values().sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many cases insist on each target.
    pub fn by_target(&self) -> &BTreeMap<Option<TargetName>, usize> {
        &self.by_target
    }

    /// Starts from the first case.
    pub fn open(&self) -> Result<Cases, SourceError> {
        Ok(match &self.kind {
            SourceKind::Held(cases) => Cases::Held { cases: Arc::clone(cases), next: 0 },
            SourceKind::Streamed(source) => Cases::Streamed(Box::new(JsonlSource::open(source)?)),
        })
    }
}

/// Case after case, in the file's order.
#[derive(Debug)]
pub enum Cases {
    Held { cases: Arc<[Arc<EvalCase>]>, next: usize },
    Streamed(Box<JsonlCases>),
}

impl Iterator for Cases {
    type Item = Result<Arc<EvalCase>, SourceError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Held { cases, next } => {
                let case = cases.get(*next)?;
                *next += 1;
                Some(Ok(Arc::clone(case)))
            }
            Self::Streamed(cases) => cases.next(),
        }
    }
}
