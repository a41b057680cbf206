//! Where a run takes its cases from: held in memory, or streamed from a file that was checked before.

use super::jsonl::{JsonlCases, JsonlLine, JsonlSource};
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

/// The next case, which may still have to be read. Several can be read at once.
#[derive(Debug)]
pub enum Pulled {
    Held(Arc<EvalCase>),
    Line(JsonlLine),
}

impl Cases {
    pub fn pull(&mut self) -> Result<Option<Pulled>, SourceError> {
        match self {
            Self::Held { cases, next } => {
                let case = cases.get(*next).map(Arc::clone);
                *next += 1;
                Ok(case.map(Pulled::Held))
            }
            Self::Streamed(cases) => Ok(cases.pull()?.map(Pulled::Line)),
        }
    }
}

impl Pulled {
    /// Its place in the file, other cases that are not wanted counted.
    pub fn ordinal(&self) -> usize {
        match self {
            Self::Held(case) => case.ordinal,
            Self::Line(line) => line.ordinal,
        }
    }

    /// `None` if it is not wanted.
    pub fn case(&self) -> Option<Arc<EvalCase>> {
        match self {
            Self::Held(case) => Some(Arc::clone(case)),
            Self::Line(line) => line.case().map(Arc::new),
        }
    }
}

impl Iterator for Cases {
    type Item = Result<Arc<EvalCase>, SourceError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.pull() {
                Ok(Some(pulled)) => {
                    if let Some(case) = pulled.case() {
                        return Some(Ok(case));
                    }
                }
                Ok(None) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
