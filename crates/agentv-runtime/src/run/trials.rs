//! Trials while they come in. Of a case only sums are kept, and only until its last trial is done.

use super::tally::Placed;
use agentv_core::event::Finished;
use agentv_core::trials::{CaseTrials, TrialFigures};
use agentv_wire::{Status, TrialTotals};
use std::collections::HashMap;

/// The trials of a run so far.
#[derive(Debug, Default)]
pub struct TrialTally {
    /// One for each suite on each target: few, so they are looked for one by one.
    groups: Vec<Group>,
}

/// The cases of one suite on one target.
#[derive(Debug)]
struct Group {
    dataset: String,
    target: String,
    /// Cases that lack trials, by their place among all cases. The workers take the trials of a case one after the other,
    /// so there are not more of these than workers.
    open: HashMap<usize, Open>,
    figures: TrialFigures,
}

#[derive(Debug)]
struct Open {
    eval_id: String,
    case: CaseTrials,
}

impl TrialTally {
    /// Takes what a record says. Returns its case, if this was the last trial.
    pub(super) fn add(&mut self, finished: &Finished) -> Option<Placed> {
        let Finished { position, eval_id, score, status, error, .. } = finished;
        let group = self.group(&finished.dataset, &finished.target);
        let open = group
            .open
            .entry(*position)
            .or_insert_with(|| Open { eval_id: eval_id.clone(), case: CaseTrials::default() });
        open.case.add(*score, *status == Status::Pass, error.is_some());
        if open.case.trials < finished.trials.count() {
            return None;
        }
        group.open.remove(position).map(|open| group.take(*position, open))
    }

    /// Counts the cases that lack trials with those that they have, in the order of the files.
    pub(super) fn close(&mut self) -> Vec<Placed> {
        let mut placed = Vec::new();
        for group in &mut self.groups {
            let mut open: Vec<(usize, Open)> = group.open.drain().collect();
            open.sort_by_key(|(position, _)| *position);
            placed.extend(open.into_iter().map(|(position, open)| group.take(position, open)));
        }
        placed
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
    pub fn totals(&self) -> Vec<TrialTotals> {
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

impl Group {
    fn take(&mut self, position: usize, Open { eval_id, case }: Open) -> Placed {
        self.figures.add(&eval_id, &case);
        Placed { score: case.mean(), position, eval_id }
    }
}
