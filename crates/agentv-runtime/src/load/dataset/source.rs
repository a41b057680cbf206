//! Where a run takes its cases from: held in memory, or streamed from a file that was checked before.

use super::ordinals::Ordinals;
use super::stream::{StreamSource, StreamedCases, StreamedRow};
use crate::load::select::selection::Selection;
use agentv_core::{EvalCase, TargetName};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// The cases of one eval file. It can be opened as often as needed.
#[derive(Debug)]
pub struct CaseSource {
    pub(in crate::load) kind: SourceKind,
    /// How many cases insist on each target; `None` for those that do not mind.
    pub(in crate::load) by_target: BTreeMap<Option<TargetName>, usize>,
    /// Those of them with a case that is graded by the target that judges.
    pub(in crate::load) judged: BTreeSet<Option<TargetName>>,
    /// How many cases the file has, wanted or not.
    pub(in crate::load) total: usize,
    /// The hash of the whole file, if it was taken on the way.
    pub(in crate::load) sha256: Option<[u8; 32]>,
}

#[derive(Debug)]
pub(in crate::load) enum SourceKind {
    Held(Arc<[Arc<EvalCase>]>),
    Streamed {
        source: Arc<StreamSource>,
        /// The lots of the wanted cases, if any are to be drawn.
        picks: Vec<(Pick, Option<TargetName>)>,
        /// Which of the wanted cases were drawn; `None` for all.
        only: Option<Ordinals>,
    },
}

/// The lots of one case.
#[derive(Debug, Clone, Copy)]
pub(in crate::load) struct Pick {
    pub ordinal: usize,
    /// Whose is low is drawn first.
    pub sample: u64,
    /// Which shard it is in.
    pub shard: u64,
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

    /// How many cases the file has, wanted or not.
    pub fn total(&self) -> usize {
        self.total
    }

    /// The lots of all wanted cases.
    pub(in crate::load) fn picks(&self, selection: &Selection) -> Vec<Pick> {
        match &self.kind {
            SourceKind::Held(cases) => {
                cases.iter().map(|case| selection.pick(case.id.as_str(), case.ordinal)).collect()
            }
            SourceKind::Streamed { picks, .. } => picks.iter().map(|(pick, _)| *pick).collect(),
        }
    }

    /// The hash of the whole file as it was checked, if it was taken then.
    pub fn sha256(&self) -> Option<[u8; 32]> {
        self.sha256
    }

    /// Leaves out all cases but these.
    pub(in crate::load) fn keep_only(&mut self, wanted: Ordinals) {
        let mut by_target = BTreeMap::new();
        let mut count = |target: &Option<TargetName>| {
            *by_target.entry(target.clone()).or_default() += 1;
        };
        match &mut self.kind {
            SourceKind::Held(cases) => {
                let kept = cases.iter().filter(|case| wanted.contains(case.ordinal));
                *cases = kept.inspect(|case| count(&case.target)).cloned().collect();
            }
            SourceKind::Streamed { picks, only, .. } => {
                let kept = picks.iter().filter(|(pick, _)| wanted.contains(pick.ordinal));
                kept.for_each(|(_, target)| count(target));
                *only = Some(wanted);
            }
        }
        self.by_target = by_target;
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many cases insist on each target.
    pub fn by_target(&self) -> &BTreeMap<Option<TargetName>, usize> {
        &self.by_target
    }

    /// What cases insist on that are graded by the target that judges; `None` for those that do not mind. A sample may have
    /// fewer of them.
    pub fn judged(&self) -> &BTreeSet<Option<TargetName>> {
        &self.judged
    }

    /// Starts from the first case.
    pub fn open(&self) -> Result<Cases, SourceError> {
        Ok(match &self.kind {
            SourceKind::Held(cases) => Cases::Held { cases: Arc::clone(cases), next: 0 },
            SourceKind::Streamed { source, only, .. } => {
                let rows = Box::new(StreamSource::open(source)?);
                Cases::Streamed { rows, only: only.clone() }
            }
        })
    }
}

/// Case after case, in the file's order.
#[derive(Debug)]
pub enum Cases {
    Held { cases: Arc<[Arc<EvalCase>]>, next: usize },
    Streamed { rows: Box<StreamedCases>, only: Option<Ordinals> },
}

/// The next case, which may still have to be read. Several can be read at once.
#[derive(Debug)]
pub enum Pulled {
    Held(Arc<EvalCase>),
    Row(StreamedRow),
}

impl Cases {
    pub fn pull(&mut self) -> Result<Option<Pulled>, SourceError> {
        match self {
            Self::Held { cases, next } => {
                let case = cases.get(*next).map(Arc::clone);
                *next += 1;
                Ok(case.map(Pulled::Held))
            }
            Self::Streamed { rows, only } => loop {
                let Some(row) = rows.pull()? else { return Ok(None) };
                if only.as_ref().is_none_or(|only| only.contains(row.ordinal)) {
                    return Ok(Some(Pulled::Row(row)));
                }
            },
        }
    }
}

impl Pulled {
    /// Its place in the file, other cases that are not wanted counted.
    pub fn ordinal(&self) -> usize {
        match self {
            Self::Held(case) => case.ordinal,
            Self::Row(row) => row.ordinal,
        }
    }

    /// `None` if it is not wanted.
    pub fn case(&self) -> Option<Arc<EvalCase>> {
        match self {
            Self::Held(case) => Some(Arc::clone(case)),
            Self::Row(row) => row.case().map(Arc::new),
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
