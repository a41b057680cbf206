//! The evaluators of a case, or the members of a composite: which of them run at the same time.

use agentv_core::record::Graded;
use agentv_core::{
    EvalContext, EvaluatorEntry, EvaluatorError, EvaluatorName, NamedProvider, Targets,
};
use futures_util::future::join_all;

/// What an evaluator has to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitsFor {
    Nothing,
    Models,
    /// A program that it runs, or a judge that is one.
    Programs,
}

pub fn waits_for(entry: &EvaluatorEntry, judges: &dyn Targets) -> WaitsFor {
    let needs = entry.evaluator.needs();
    let asks = needs.calls_judge() || !needs.targets.is_empty();
    let is_program = |judge: Result<NamedProvider, EvaluatorError>| {
        judge.is_ok_and(|judge| judge.provider.shares_directory())
    };
    let asks_program = (needs.calls_judge() && is_program(judges.judge()))
        || needs.targets.iter().any(|name| is_program(judges.named(name)));
    match (needs.runs_program || asks_program, asks) {
        (true, _) => WaitsFor::Programs,
        (false, true) => WaitsFor::Models,
        (false, false) => WaitsFor::Nothing,
    }
}

/// What the calls of an evaluator are known by: its name, with its position among those of the same name (`quality#2`).
/// Otherwise the answers of two evaluators could be mixed up in a replay.
fn call_name(entries: &[EvaluatorEntry], at: usize) -> EvaluatorName {
    let name = &entries[at].name;
    match entries[..at].iter().filter(|earlier| earlier.name == *name).count() {
        0 => name.clone(),
        earlier => EvaluatorName::from(format!("{name}#{}", earlier + 1)),
    }
}

/// Asks all models at the same time; everything else runs in its listed order meanwhile, since programs may share files. The
/// results are in the order of the evaluators.
pub async fn evaluate_all<'e>(
    entries: &'e [EvaluatorEntry],
    context: &EvalContext<'_>,
) -> Vec<Graded<'e>> {
    let evaluate_one = async |(at, entry): (usize, &'e EvaluatorEntry)| {
        let call = context.call.graded_by(&call_name(entries, at));
        let outcome = entry.evaluator.evaluate(&EvalContext { call: &call, ..*context }).await;
        Graded { entry, outcome }
    };
    let asks = |entry: &&EvaluatorEntry| waits_for(entry, context.targets) == WaitsFor::Models;
    if !entries.iter().any(|entry| asks(&entry)) {
        let mut graded = Vec::with_capacity(entries.len());
        for numbered in entries.iter().enumerate() {
            graded.push(evaluate_one(numbered).await);
        }
        return graded;
    }
    let numbered = || entries.iter().enumerate();
    let asked = numbered().filter(|(_, entry)| asks(entry));
    let asked = join_all(asked.map(async |numbered| (numbered.0, evaluate_one(numbered).await)));
    let in_order = async {
        let mut graded = Vec::new();
        for numbered in numbered().filter(|(_, entry)| !asks(entry)) {
            graded.push((numbered.0, evaluate_one(numbered).await));
        }
        graded
    };
    let (asked, mut graded) = tokio::join!(asked, in_order);
    graded.extend(asked);
    graded.sort_by_key(|(at, _)| *at);
    graded.into_iter().map(|(_, graded)| graded).collect()
}
