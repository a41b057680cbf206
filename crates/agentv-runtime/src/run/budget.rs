//! Whether the calls of a plan can be counted in its budget, found out before the first of them.

use super::plan::Plan;
use super::suite_on_target::SuiteOnTarget;
use crate::load::SourceError;
use crate::targets::{Judge, Overrun};
use agentv_core::{EvaluatorEntry, TargetName};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A target that the run would call, though the use of its calls is not known.
#[derive(Debug, Clone, PartialEq)]
pub struct Unmetered {
    pub target: TargetName,
    /// The kind of its provider.
    pub kind: &'static str,
    /// Whether it is the cost that is unknown, or the tokens.
    pub overrun: Overrun,
}

/// The targets and judges of a plan whose calls cannot be counted in the budget, each once. Whom a script asks by name is
/// seen only when it does, and then stops the run.
pub fn unmetered(plan: &Plan) -> Result<Vec<Unmetered>, SourceError> {
    let mut found: Vec<Unmetered> = Vec::new();
    for lane in plan.pools.iter().flat_map(|pool| &pool.lanes) {
        let book = &lane.target.judges.book;
        if book.spending().budget().is_unlimited() {
            continue;
        }
        for target in called(lane)? {
            let Some(overrun) = book.unknowable(&target) else { continue };
            let kind = book.file.find(target.as_str()).and_then(|spec| spec.kind);
            let kind = kind.map_or("unknown", |kind| kind.info.kind);
            let one = Unmetered { target, kind, overrun };
            if !found.contains(&one) {
                found.push(one);
            }
        }
    }
    Ok(found)
}

/// Whom a lane calls: its target, and whoever grades.
fn called(lane: &SuiteOnTarget) -> Result<BTreeSet<TargetName>, SourceError> {
    let mut called = BTreeSet::new();
    let judge = match &lane.target.judges.judge {
        Judge::Named(name) => name,
        Judge::Own(own) => &own.name,
        // Nothing is called.
        Judge::StandIn(_) => return Ok(called),
    };
    let mut known: Option<Arc<[EvaluatorEntry]>> = None;
    for case in lane.suite.cases.open()? {
        let case = case?;
        let is_done = |trial| lane.past.is_done(case.ordinal, trial);
        if !lane.takes.takes(&case) || lane.trials.each().all(is_done) {
            continue;
        }
        if !lane.trials.each().all(|trial| lane.past.covers(case.ordinal, trial)) {
            called.insert(lane.target.name.clone());
        }
        // Most cases of a suite share their evaluators.
        if known.as_ref().is_some_and(|known| Arc::ptr_eq(known, &case.evaluators)) {
            continue;
        }
        for entry in &*case.evaluators {
            let needs = entry.evaluator.needs();
            called.extend(needs.calls_judge().then(|| judge.clone()));
            called.extend(needs.targets.into_iter().map(TargetName::from));
        }
        known = Some(Arc::clone(&case.evaluators));
    }
    Ok(called)
}
