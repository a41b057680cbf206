//! Which record belongs to which.

use super::{Scored, UngradedRecords};
use crate::stats::mean;
use agentv_wire::comparison::CaseName;
use std::collections::{HashMap, HashSet};

/// What a case is known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key<'r> {
    pub eval_id: &'r str,
    /// Only where several suites of a run use the id.
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
    /// How many more trials each run has that are in error or ungraded.
    pub left_out: (usize, usize),
    /// Pairs with the same number are not independent: one case on several targets, or cases that belong together.
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
    /// Cases of both runs without a graded record in one of them.
    pub ungraded: Vec<Key<'r>>,
}

/// What a pair belongs to.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Cluster<'r> {
    /// A case, on all of its targets.
    Case(Key<'r>),
    /// What the user says belongs together.
    Named(&'r str),
}

impl<'r> Matching<'r> {
    pub(super) fn new(
        baseline: &'r [Scored],
        candidate: &'r [Scored],
        ungraded: UngradedRecords,
    ) -> Self {
        let keys = Keys::of([baseline, candidate]);
        let (baseline, mut candidate) = (keys.cases(baseline), keys.cases(candidate));
        let mut matching = Self {
            pairs: Vec::new(),
            only_baseline: Vec::new(),
            only_candidate: Vec::new(),
            ungraded: Vec::new(),
        };
        let mut clusters: HashMap<Cluster<'r>, usize> = HashMap::new();
        for (key, trials1) in baseline.in_order() {
            let Some(trials2) = candidate.take(&key) else {
                matching.only_baseline.push(key);
                continue;
            };
            let all = (trials1.len(), trials2.len());
            let (trials1, trials2) = (usable(trials1, ungraded), usable(trials2, ungraded));
            let (Some(score1), Some(score2)) = (score(&trials1), score(&trials2)) else {
                matching.ungraded.push(key);
                continue;
            };
            let next = clusters.len();
            let name = trials1.iter().chain(&trials2).find_map(|record| record.cluster.as_deref());
            let cluster = name.map_or(Cluster::Case(Key { target: None, ..key }), Cluster::Named);
            let cluster = *clusters.entry(cluster).or_insert(next);
            let left_out = (all.0 - trials1.len(), all.1 - trials2.len());
            matching.pairs.push(Pair {
                key,
                baseline: trials1,
                candidate: trials2,
                score1,
                score2,
                left_out,
                cluster,
            });
        }
        matching.only_candidate = candidate.in_order().map(|(key, _)| key).collect();
        matching
    }
}

fn usable(trials: Vec<&Scored>, ungraded: UngradedRecords) -> Vec<&Scored> {
    let counts =
        |record: &&Scored| ungraded == UngradedRecords::AsRecorded || record.outcome.is_graded();
    trials.into_iter().filter(counts).collect()
}

fn score(trials: &[&Scored]) -> Option<f64> {
    mean(trials.iter().map(|record| record.score))
}

/// What cases of these two runs must be known by.
struct Keys<'r> {
    /// Ids that several suites of one run use.
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
