//! Which cases of a file are graded by the target that judges.

use agentv_core::{EvalCase, EvaluatorEntry, TargetName};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The targets that such cases insist on; `None` for cases that do not mind.
#[derive(Debug, Default)]
pub(in crate::load) struct JudgedCases {
    targets: BTreeSet<Option<TargetName>>,
    /// The evaluators of the case before, and whether they ask. Most cases of a file share them, and there may be millions.
    last: Option<(Arc<[EvaluatorEntry]>, bool)>,
}

impl JudgedCases {
    pub(in crate::load) fn look_at(&mut self, case: &EvalCase) {
        let known = self.last.as_ref().filter(|(last, _)| Arc::ptr_eq(last, &case.evaluators));
        let asks = known.map_or_else(|| asks_judge(&case.evaluators), |(_, asks)| *asks);
        if known.is_none() {
            self.last = Some((Arc::clone(&case.evaluators), asks));
        }
        if asks && !self.targets.contains(&case.target) {
            self.targets.insert(case.target.clone());
        }
    }

    /// Counts in what was seen of other cases of the file.
    pub(in crate::load) fn add(&mut self, other: Self) {
        self.targets.extend(other.targets);
    }

    pub(in crate::load) fn into_targets(self) -> BTreeSet<Option<TargetName>> {
        self.targets
    }
}

fn asks_judge(evaluators: &[EvaluatorEntry]) -> bool {
    evaluators.iter().any(|entry| entry.evaluator.needs().judge)
}
