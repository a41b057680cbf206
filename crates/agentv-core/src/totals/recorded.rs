//! The totals of records that are read back. They do not say which case they are of but by their names.

use super::{CaseSums, ClosedCase, Totals};
use crate::Trials;
use crate::trials::{CaseTrials, wire};
use agentv_wire::{CaseTrialTotals, RecordSummary};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Folds records of a results file.
///
/// Where no record says that it is a trial, each is a case of its own and none is remembered. Else the records of a name
/// are its trials, and all names are held. Records without a trial that come before the first one with a trial were
/// counted without their names; [`RecordedTotals::is_mixed`] says so, and then the file is to be read once more, into
/// [`RecordedTotals::by_case`].
#[derive(Debug, Default)]
pub struct RecordedTotals {
    totals: Totals,
    /// `None` as long as no record says that it is a trial.
    cases: Option<Cases>,
    is_mixed: bool,
}

/// Cases with their trials, in the order in which they are first met.
#[derive(Debug, Default)]
struct Cases {
    list: Vec<RecordedCase>,
    /// Where the cases of a name are. Those of one id cannot be told apart but by a trial that is there twice.
    places: HashMap<Name, Vec<usize>>,
    /// Suites on targets of which a record says that it is a trial.
    repeated: HashSet<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Name {
    dataset: String,
    target: String,
    eval_id: String,
}

#[derive(Debug)]
struct RecordedCase {
    name: Name,
    seen: BTreeSet<u32>,
    sums: CaseSums,
}

impl RecordedTotals {
    /// Remembers every case by its name.
    pub fn by_case() -> Self {
        Self { cases: Some(Cases::default()), ..Self::default() }
    }

    /// Takes the next record of the file.
    pub fn add<T: AsRef<str>>(&mut self, record: &RecordSummary<T>) {
        if self.cases.is_none() && record.trial.is_some() {
            self.is_mixed = self.totals.recorded() > 0;
            self.cases = Some(Cases::default());
        }
        let position = self.totals.recorded();
        match &mut self.cases {
            None => self.totals.add(position, Trials::ONE, record),
            Some(cases) => {
                let counted = self.totals.count(record);
                let outcome = counted.outcome;
                self.totals.highlights.add_failure(position, Trials::ONE, record, outcome);
                cases.case(record).add(&counted);
            }
        }
    }

    /// Whether records were counted as cases of their own that may be trials of others.
    pub fn is_mixed(&self) -> bool {
        self.is_mixed
    }

    /// The totals, and each case that has trials.
    pub fn finish(mut self) -> (Totals, Vec<CaseTrialTotals>) {
        let cases = self.cases.unwrap_or_default();
        let mut repeated = Vec::new();
        for (position, RecordedCase { name, sums, .. }) in cases.list.iter().enumerate() {
            let Name { dataset, target, eval_id } = name;
            self.totals.close_case(ClosedCase { position, eval_id, target, sums });
            if cases.repeated.contains(&(dataset.clone(), target.clone())) {
                self.totals.trials.add_case(dataset, target, eval_id, &sums.trials);
                repeated.push(case_totals(name, &sums.trials));
            }
        }
        (self.totals, repeated)
    }
}

impl Cases {
    /// The case that a record is of.
    fn case<T>(&mut self, record: &RecordSummary<T>) -> &mut CaseSums {
        let RecordSummary { dataset, target, eval_id, .. } = record;
        if record.trial.is_some() {
            self.repeated.insert((dataset.clone(), target.clone()));
        }
        let name =
            Name { dataset: dataset.clone(), target: target.clone(), eval_id: eval_id.clone() };
        // The record of a run that had no trials at first is the first of them.
        let trial = record.trial.unwrap_or(0);
        let places = self.places.entry(name.clone()).or_default();
        let open = places.iter().find(|place| !self.list[**place].seen.contains(&trial));
        let place = open.copied().unwrap_or_else(|| {
            let (seen, sums) = (BTreeSet::new(), CaseSums::default());
            self.list.push(RecordedCase { name, seen, sums });
            places.push(self.list.len() - 1);
            self.list.len() - 1
        });
        let case = &mut self.list[place];
        case.seen.insert(trial);
        &mut case.sums
    }
}

fn case_totals(name: &Name, trials: &CaseTrials) -> CaseTrialTotals {
    CaseTrialTotals {
        dataset: name.dataset.clone(),
        target: name.target.clone(),
        eval_id: name.eval_id.clone(),
        trials: trials.trials,
        passed: trials.passed,
        ungraded: trials.ungraded,
        errors: trials.errors,
        mean_score: trials.mean(),
        interval: trials.interval().map(wire),
        pass_interval: trials.pass_interval().map(wire),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentv_wire::Status;

    #[track_caller]
    fn check(records: &[(&str, Option<u32>, f64)], expected: &[(&str, u32, u32)]) {
        let read = |mut totals: RecordedTotals| {
            for (id, trial, score) in records {
                totals.add(&RecordSummary::<String> {
                    eval_id: (*id).to_owned(),
                    trial: *trial,
                    score: *score,
                    status: Some(if *score >= 1.0 { Status::Pass } else { Status::Fail }),
                    ..RecordSummary::default()
                });
            }
            totals
        };
        let first = read(RecordedTotals::default());
        let whole = if first.is_mixed() { read(RecordedTotals::by_case()) } else { first };
        let (totals, cases) = whole.finish();
        let found: Vec<(&str, u32, u32)> =
            cases.iter().map(|case| (&*case.eval_id, case.trials, case.passed)).collect();
        assert_eq!(found, expected);
        assert_eq!(totals.trials().len(), usize::from(!expected.is_empty()));
        assert_eq!(totals.recorded(), records.len());
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
