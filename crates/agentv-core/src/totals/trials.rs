//! Trials while they come in. Of a case only sums are kept, and only until its last trial is done.

use super::{CaseSums, Counted};
use crate::Trials;
use crate::trials::{CaseTrials, TrialFigures};
use agentv_wire::{RecordSummary, TrialTotals};
use std::collections::HashMap;

/// The trials of a run so far.
#[derive(Debug, Default)]
pub(super) struct OpenTrials {
    /// One for each suite on each target: few, so they are looked for one by one.
    groups: Vec<Group>,
}

/// The cases of one suite on one target.
#[derive(Debug)]
struct Group {
    dataset: String,
    target: String,
    /// Cases that lack trials, by their position among all cases. The workers take the trials of a case one after the
    /// other, so there are not more of these than workers.
    open: HashMap<usize, (String, CaseSums)>,
    figures: TrialFigures,
}

/// A case that has no more trials to come.
#[derive(Debug)]
pub(super) struct EndedCase {
    pub position: usize,
    pub eval_id: String,
    pub target: String,
    pub sums: CaseSums,
}

impl OpenTrials {
    /// Takes what a record says. Returns its case, if this was the last trial.
    pub(super) fn add<T>(
        &mut self,
        position: usize,
        trials: Trials,
        record: &RecordSummary<T>,
        counted: &Counted,
    ) -> Option<CaseSums> {
        let group = self.group(&record.dataset, &record.target);
        let (_, case) = group
            .open
            .entry(position)
            .or_insert_with(|| (record.eval_id.clone(), CaseSums::default()));
        case.add(counted);
        if case.trials.trials < trials.count() {
            return None;
        }
        let (eval_id, case) = group.open.remove(&position)?;
        group.figures.add(&eval_id, &case.trials);
        Some(case)
    }

    /// Takes a case that is known whole.
    pub(super) fn add_case(
        &mut self,
        dataset: &str,
        target: &str,
        eval_id: &str,
        case: &CaseTrials,
    ) {
        self.group(dataset, target).figures.add(eval_id, case);
    }

    /// Counts the cases that lack trials with those that they have, in the order of the files.
    pub(super) fn close(&mut self) -> Vec<EndedCase> {
        let mut ended = Vec::new();
        for group in &mut self.groups {
            let mut open: Vec<_> = group.open.drain().collect();
            open.sort_by_key(|(position, _)| *position);
            for (position, (eval_id, sums)) in open {
                group.figures.add(&eval_id, &sums.trials);
                ended.push(EndedCase { position, eval_id, target: group.target.clone(), sums });
            }
        }
        ended
    }

    fn group(&mut self, dataset: &str, target: &str) -> &mut Group {
        let is_it = |group: &Group| group.dataset == dataset && group.target == target;
        let at = self.groups.iter().position(is_it).unwrap_or(self.groups.len());
        if at == self.groups.len() {
            self.groups.push(Group {
                dataset: dataset.to_owned(),
                target: target.to_owned(),
                open: HashMap::new(),
                figures: TrialFigures::default(),
            });
        }
        &mut self.groups[at]
    }

    /// What the trials came to, by suite and target.
    pub(super) fn totals(&self) -> Vec<TrialTotals> {
        let mut totals: Vec<TrialTotals> = self
            .groups
            .iter()
            .filter_map(|group| group.figures.totals(&group.dataset, &group.target))
            .collect();
        totals.sort_by(|one, other| {
            (&one.dataset, &one.target).cmp(&(&other.dataset, &other.target))
        });
        totals
    }
}
