//! Which cases of the files are wanted.

use super::glob::{BadGlob, Glob};
use crate::config::{Kind, Node};
use crate::evaluators::ChangedFiles;
use crate::hash::ContentHasher;
use crate::load::dataset::source::Pick;
use crate::load::suite::case;
use crate::load::{LoadedSuite, Ordinals};
use agentv_core::{EvalId, SuiteId};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

/// The ids of cases in each suite.
pub type CasesBySuite = BTreeMap<SuiteId, BTreeSet<EvalId>>;

/// All that narrows a run down. A case must be wanted by each of these.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Matches the whole id.
    pub eval_id: Option<Glob>,
    /// One of these is enough.
    pub filters: Vec<IdFilter>,
    pub tags: TagFilter,
    /// Only these cases of these suites.
    pub only: Option<Arc<CasesBySuite>>,
    /// Only cases that depend on one of these files.
    pub changed: Option<Arc<ChangedFiles>>,
    /// This many of those that are left.
    pub sample: Option<Sample>,
    /// A share of those that are left.
    pub shard: Option<Shard>,
}

/// A part of an id, or a pattern of the whole.
#[derive(Debug, Clone)]
pub enum IdFilter {
    Part(String),
    Whole(Glob),
}

/// A choice by lot. Who is drawn depends on the ids and the seed, and not on the order of the cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    pub count: usize,
    pub seed: u64,
}

/// One of several shares of the same cases: each case is in exactly one of them, by its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// From 1.
    index: u32,
    count: NonZeroU32,
}

impl IdFilter {
    /// A pattern, if there is a wildcard in it.
    pub fn new(text: &str) -> Result<Self, BadGlob> {
        if text.contains(['*', '?', '[', '{']) {
            return Glob::new(text).map(Self::Whole);
        }
        Ok(Self::Part(text.to_owned()))
    }

    fn wants(&self, id: &str) -> bool {
        match self {
            Self::Part(part) => id.contains(part.as_str()),
            Self::Whole(glob) => glob.matches(id),
        }
    }
}

/// A text that is no shard.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a shard")]
pub struct BadShard(String);

impl FromStr for Shard {
    type Err = BadShard;

    fn from_str(text: &str) -> Result<Self, BadShard> {
        let read = || {
            let (index, count) = text.split_once('/')?;
            let (index, count): (u32, NonZeroU32) = (index.parse().ok()?, count.parse().ok()?);
            (1..=count.get()).contains(&index).then_some(Self { index, count })
        };
        read().ok_or_else(|| BadShard(text.to_owned()))
    }
}

impl Shard {
    /// Whether a case with this lot is in it. Shares are as equal as chance makes them.
    fn takes(self, lot: u64) -> bool {
        let share = (u128::from(lot) * u128::from(self.count.get())) >> 64;
        share + 1 == u128::from(self.index)
    }
}

impl Selection {
    /// Whether nothing is left out.
    pub fn is_all(&self) -> bool {
        let Self { eval_id, filters, tags, only, changed, sample, shard } = self;
        eval_id.is_none()
            && filters.is_empty()
            && tags.is_empty()
            && only.is_none()
            && changed.is_none()
            && sample.is_none()
            && shard.is_none()
    }

    /// Whether a case is worth a look, by what is written of it.
    pub(in crate::load) fn wants(&self, node: &Node<'_>) -> bool {
        if self.eval_id.is_none() && self.filters.is_empty() && self.tags.is_empty() {
            return true;
        }
        // Tags first: those of all cases are noted.
        let has_tag = self.tags.wants(node);
        let id = || case::id(node).unwrap_or_default();
        has_tag
            && self.eval_id.as_ref().is_none_or(|glob| glob.matches(id()))
            && (self.filters.is_empty() || self.filters.iter().any(|filter| filter.wants(id())))
    }

    /// Whether lots are to be drawn for the cases.
    pub(in crate::load) fn draws(&self) -> bool {
        self.sample.is_some() || self.shard.is_some()
    }

    /// The lots of a case.
    pub(in crate::load) fn pick(&self, id: &str, ordinal: usize) -> Pick {
        let seed = self.sample.map_or(0, |sample| sample.seed);
        Pick {
            ordinal,
            sample: lot(&[b"sample", &seed.to_le_bytes(), id.as_bytes()]),
            shard: lot(&[b"shard", id.as_bytes()]),
        }
    }

    /// Takes the sample of all files together, and of that the shard.
    pub fn narrow(&self, suites: &mut [LoadedSuite]) {
        if !self.draws() {
            return;
        }
        let mut picks: Vec<(usize, Pick)> = Vec::new();
        for (file, suite) in suites.iter().enumerate() {
            picks.extend(suite.cases.picks(self).into_iter().map(|pick| (file, pick)));
        }
        if let Some(Sample { count, .. }) = self.sample {
            picks.sort_unstable_by_key(|(file, pick)| (pick.sample, *file, pick.ordinal));
            picks.truncate(count);
        }
        let mut wanted = vec![Ordinals::default(); suites.len()];
        let mine = |pick: &Pick| self.shard.is_none_or(|shard| shard.takes(pick.shard));
        for (file, pick) in picks.iter().filter(|(_, pick)| mine(pick)) {
            wanted[*file].insert(pick.ordinal);
        }
        for (suite, wanted) in suites.iter_mut().zip(wanted) {
            suite.cases.keep_only(wanted);
        }
    }
}

/// Cases with one of these tags. Notes which tags there are, to name them when a wanted one is not among them.
#[derive(Debug, Clone, Default)]
pub struct TagFilter {
    wanted: Vec<String>,
    known: Arc<Mutex<BTreeSet<String>>>,
}

impl TagFilter {
    pub fn new(wanted: Vec<String>) -> Self {
        Self { wanted, known: Arc::default() }
    }

    fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }

    /// The wanted tags that no case has, and the tags that there are, once all files are read.
    pub fn unknown(&self) -> (Vec<&str>, Vec<String>) {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let unknown = self.wanted.iter().filter(|tag| !known.contains(*tag));
        (unknown.map(String::as_str).collect(), known.iter().cloned().collect())
    }

    fn wants(&self, node: &Node<'_>) -> bool {
        if self.is_empty() {
            return true;
        }
        let tags = match node.get("tags") {
            None => return false,
            Some(Node { kind: Kind::List(tags), .. }) => tags.as_slice(),
            Some(tag) => std::slice::from_ref(tag),
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut is_wanted = false;
        for tag in tags.iter().filter_map(Node::as_text) {
            is_wanted |= self.wanted.iter().any(|wanted| wanted == tag);
            if !known.contains(tag) {
                known.insert(tag.to_owned());
            }
        }
        is_wanted
    }
}

/// A number that is the same on every machine and in every version.
fn lot(parts: &[&[u8]]) -> u64 {
    let mut hash = ContentHasher::default();
    for part in parts {
        hash.update(part);
    }
    let digest = hash.finish();
    u64::from_be_bytes(std::array::from_fn(|index| digest[index]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_is_in_one_shard() {
        let selection = Selection::default();
        for count in 1..=7 {
            let shards: Vec<Shard> =
                (1..=count).map(|index| format!("{index}/{count}").parse().unwrap()).collect();
            for id in 0..500 {
                let lot = selection.pick(&format!("case-{id}"), 0).shard;
                assert_eq!(shards.iter().filter(|shard| shard.takes(lot)).count(), 1);
            }
        }
    }

    #[test]
    fn lots_never_change() {
        let selection =
            Selection { sample: Some(Sample { count: 1, seed: 7 }), ..Selection::default() };
        let pick = selection.pick("case", 0);
        assert_eq!(pick.shard, 0x6e32_8b4b_818e_f96c);
        assert_eq!(pick.sample, 0x874a_e4d8_912f_f1e0);
    }

    #[test]
    fn shards_are_counted_from_one() {
        for good in ["1/1", "1/3", "3/3"] {
            assert!(good.parse::<Shard>().is_ok(), "{good}");
        }
        for bad in ["", "1", "0/3", "4/3", "1/0", "a/b", "-1/3", "1/3/3"] {
            assert!(bad.parse::<Shard>().is_err(), "{bad}");
        }
    }

    #[track_caller]
    fn check(filter: &str, id: &str, expected: bool) {
        assert_eq!(IdFilter::new(filter).unwrap().wants(id), expected, "{filter} on {id}");
    }

    #[test]
    fn a_filter_is_a_part_or_a_pattern() {
        check("fund", "refund-1", true);
        check("Fund", "refund-1", false);
        check("re*1", "refund-1", true);
        check("re*", "no-refund", false);
        check("{refund,return}-?", "return-2", true);
    }
}
