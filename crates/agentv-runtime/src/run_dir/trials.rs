//! The trials of a run, read back from its records.

use agentv_core::stats::Interval;
use agentv_core::trials::{CaseTrials, TrialFigures};
use agentv_wire::comparison::MeanInterval;
use agentv_wire::{CaseTrialTotals, TrialTotals};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Cases with their trials, in the order in which they are first met.
#[derive(Debug, Default)]
pub struct RecordedTrials {
    cases: Vec<RecordedCase>,
    /// Where the cases of a name are. Those of one id cannot be told apart but by a trial that is there twice.
    places: HashMap<Name, Vec<usize>>,
    /// Suites on targets, and whether any record of them says that it is a trial.
    groups: BTreeMap<(String, String), bool>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Name {
    pub dataset: String,
    pub target: String,
    pub eval_id: String,
}

#[derive(Debug)]
struct RecordedCase {
    name: Name,
    seen: BTreeSet<u32>,
    trials: CaseTrials,
}

/// What a record says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    pub trial: Option<u32>,
    pub score: f64,
    pub is_pass: bool,
    pub is_error: bool,
}

impl RecordedTrials {
    pub(super) fn add(&mut self, name: Name, seen: Seen) {
        let group = (name.dataset.clone(), name.target.clone());
        *self.groups.entry(group).or_default() |= seen.trial.is_some();
        // The record of a run that had no trials at first is the first of them.
        let trial = seen.trial.unwrap_or(0);
        let places = self.places.entry(name.clone()).or_default();
        let open = places.iter().find(|place| !self.cases[**place].seen.contains(&trial));
        let place = open.copied().unwrap_or_else(|| {
            let (seen, trials) = (BTreeSet::new(), CaseTrials::default());
            self.cases.push(RecordedCase { name, seen, trials });
            places.push(self.cases.len() - 1);
            self.cases.len() - 1
        });
        let case = &mut self.cases[place];
        case.seen.insert(trial);
        case.trials.add(seen.score, seen.is_pass, seen.is_error);
    }

    /// The cases of suites and targets that have trials.
    fn cases(&self) -> impl Iterator<Item = &RecordedCase> {
        let has_trials = |case: &&RecordedCase| {
            let group = (case.name.dataset.clone(), case.name.target.clone());
            self.groups.get(&group) == Some(&true)
        };
        self.cases.iter().filter(has_trials)
    }

    /// What they come to, by suite and target. None where no case has several trials.
    pub fn totals(&self) -> Vec<TrialTotals> {
        let mut figures: BTreeMap<(&str, &str), TrialFigures> = BTreeMap::new();
        for RecordedCase { name, trials, .. } in self.cases() {
            figures.entry((&name.dataset, &name.target)).or_default().add(&name.eval_id, trials);
        }
        let totals = figures.iter();
        totals.filter_map(|((dataset, target), figures)| figures.totals(dataset, target)).collect()
    }

    /// Each case on each target.
    pub fn case_totals(&self) -> Vec<CaseTrialTotals> {
        let wire = |Interval { low, high }: Interval| MeanInterval { low, high };
        self.cases()
            .map(|RecordedCase { name, trials, .. }| CaseTrialTotals {
                dataset: name.dataset.clone(),
                target: name.target.clone(),
                eval_id: name.eval_id.clone(),
                trials: trials.trials,
                passed: trials.passed,
                errors: trials.errors,
                mean_score: trials.mean(),
                interval: trials.interval().map(wire),
                pass_interval: trials.pass_interval().map(wire),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(records: &[(&str, Option<u32>, f64)], expected: &[(&str, u32, u32)]) {
        let mut trials = RecordedTrials::default();
        for (id, trial, score) in records {
            let (dataset, target) = ("suite".to_owned(), "target".to_owned());
            let name = Name { dataset, target, eval_id: (*id).to_owned() };
            let (score, is_pass) = (*score, *score >= 1.0);
            trials.add(name, Seen { trial: *trial, score, is_pass, is_error: false });
        }
        let found = trials.case_totals();
        let found: Vec<(&str, u32, u32)> =
            found.iter().map(|case| (&*case.eval_id, case.trials, case.passed)).collect();
        assert_eq!(found, expected);
        assert_eq!(trials.totals().len(), usize::from(!expected.is_empty()));
    }

    #[test]
    fn trials_of_a_case_are_found_together() {
        let records =
            [("a", Some(0), 1.0), ("b", Some(0), 0.0), ("a", Some(1), 0.0), ("b", Some(1), 0.0)];
        check(&records, &[("a", 2, 1), ("b", 2, 0)]);
    }

    #[test]
    fn a_run_without_trials_has_none() {
        check(&[("a", None, 1.0), ("b", None, 0.0)], &[]);
    }

    #[test]
    fn a_record_from_before_there_were_trials_is_the_first() {
        check(&[("a", None, 1.0), ("a", Some(1), 0.0)], &[("a", 2, 1)]);
    }

    #[test]
    fn twins_are_two_cases() {
        let twice = [("a", Some(0), 1.0), ("a", Some(0), 0.0), ("a", Some(1), 1.0)];
        check(&twice, &[("a", 2, 2), ("a", 1, 0)]);
    }
}
