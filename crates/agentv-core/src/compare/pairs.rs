//! Which record belongs to which.

use super::{Errors, Scored};
use crate::stats::mean;
use agentv_wire::comparison::CaseName;
use std::collections::{HashMap, HashSet};

/// What a case is known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key<'r> {
    pub eval_id: &'r str,
    /// Only where the id stands in several datasets of a run.
    pub dataset: Option<&'r str>,
    /// Only where a run has several targets.
    pub target: Option<&'r str>,
}

impl Key<'_> {
    pub(super) fn name(&self) -> CaseName {
        CaseName {
            eval_id: self.eval_id.to_owned(),
            dataset: self.dataset.map(str::to_owned),
            target: self.target.map(str::to_owned),
        }
    }
}

/// A case with its trials in both runs; neither is empty.
#[derive(Debug)]
pub(super) struct Pair<'r> {
    pub key: Key<'r>,
    pub baseline: Vec<&'r Scored>,
    pub candidate: Vec<&'r Scored>,
    pub score1: f64,
    pub score2: f64,
    /// Pairs with the same number are of one case, on several targets.
    pub cluster: usize,
}

impl Pair<'_> {
    pub(super) fn delta(&self) -> f64 {
        self.score2 - self.score1
    }
}

/// Two runs, put together.
#[derive(Debug)]
pub(super) struct Matching<'r> {
    /// In the order of the baseline.
    pub pairs: Vec<Pair<'r>>,
    pub only_baseline: Vec<Key<'r>>,
    pub only_candidate: Vec<Key<'r>>,
    /// Cases of both runs that have only errors in one of them, where errors are left out.
    pub excluded: usize,
}

impl<'r> Matching<'r> {
    pub(super) fn new(baseline: &'r [Scored], candidate: &'r [Scored], errors: Errors) -> Self {
        let keys = Keys::of([baseline, candidate]);
        let (baseline, mut candidate) = (keys.cases(baseline), keys.cases(candidate));
        let mut matching = Self {
            pairs: Vec::new(),
            only_baseline: Vec::new(),
            only_candidate: Vec::new(),
            excluded: 0,
        };
        let mut clusters: HashMap<Key<'r>, usize> = HashMap::new();
        for (key, trials1) in baseline.in_order() {
            let Some(trials2) = candidate.take(&key) else {
                matching.only_baseline.push(key);
                continue;
            };
            let (trials1, trials2) = (usable(trials1, errors), usable(trials2, errors));
            let (Some(score1), Some(score2)) = (score(&trials1), score(&trials2)) else {
                matching.excluded += 1;
                continue;
            };
            let next = clusters.len();
            let cluster = *clusters.entry(Key { target: None, ..key }).or_insert(next);
            matching.pairs.push(Pair {
                key,
                baseline: trials1,
                candidate: trials2,
                score1,
                score2,
                cluster,
            });
        }
        matching.only_candidate = candidate.in_order().map(|(key, _)| key).collect();
        matching
    }
}

fn usable(trials: Vec<&Scored>, errors: Errors) -> Vec<&Scored> {
    let counts = |record: &&Scored| errors == Errors::CountAsZero || !record.failed;
    trials.into_iter().filter(counts).collect()
}

fn score(trials: &[&Scored]) -> Option<f64> {
    mean(trials.iter().map(|record| record.score))
}

/// What cases of these two runs must be known by.
struct Keys<'r> {
    /// Ids that stand in several datasets of one run.
    ambiguous: HashSet<&'r str>,
    by_target: bool,
}

impl<'r> Keys<'r> {
    fn of(runs: [&'r [Scored]; 2]) -> Self {
        let mut ambiguous = HashSet::new();
        for run in runs {
            let mut datasets: HashMap<&str, &str> = HashMap::new();
            for record in run {
                let dataset = datasets.entry(&record.eval_id).or_insert(&record.dataset);
                if **dataset != *record.dataset {
                    ambiguous.insert(&*record.eval_id);
                }
            }
        }
        let several_targets = |run: &[Scored]| {
            run.first().is_some_and(|first| run.iter().any(|record| record.target != first.target))
        };
        Self { ambiguous, by_target: runs.into_iter().any(several_targets) }
    }

    fn key(&self, record: &'r Scored) -> Key<'r> {
        Key {
            eval_id: &record.eval_id,
            dataset: self.ambiguous.contains(&*record.eval_id).then_some(&*record.dataset),
            target: self.by_target.then_some(&*record.target),
        }
    }

    fn cases(&self, run: &'r [Scored]) -> Cases<'r> {
        let mut cases = Cases { list: Vec::new(), places: HashMap::with_capacity(run.len()) };
        for record in run.iter().filter(|record| record.score.is_finite()) {
            let key = self.key(record);
            let place = *cases.places.entry(key).or_insert(cases.list.len());
            if place == cases.list.len() {
                cases.list.push((key, Some(Vec::with_capacity(1))));
            }
            let (_, Some(trials)) = &mut cases.list[place] else { continue };
            // A trial that was run again replaces what it was.
            match trials
                .iter_mut()
                .find(|known| known.trial.is_some() && known.trial == record.trial)
            {
                Some(known) => *known = record,
                None => trials.push(record),
            }
        }
        cases
    }
}

/// The cases of one run, in its order.
struct Cases<'r> {
    /// `None` once the trials were taken.
    list: Vec<(Key<'r>, Option<Vec<&'r Scored>>)>,
    places: HashMap<Key<'r>, usize>,
}

impl<'r> Cases<'r> {
    fn take(&mut self, key: &Key<'r>) -> Option<Vec<&'r Scored>> {
        let place = *self.places.get(key)?;
        self.list[place].1.take()
    }

    /// All that was not taken.
    fn in_order(self) -> impl Iterator<Item = (Key<'r>, Vec<&'r Scored>)> {
        self.list.into_iter().filter_map(|(key, trials)| Some((key, trials?)))
    }
}
