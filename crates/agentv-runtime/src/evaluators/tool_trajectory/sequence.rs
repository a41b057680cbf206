//! Modes `in_order` and `exact`: the expected calls, one after the other. Spec: a sequence holds as a whole or it scores
//! nothing; only then do durations count.

use super::ExpectedCall;
use super::calls::CandidateCall;
use super::findings::Findings;
use crate::evaluators::shown;

/// How many surplus calls a miss names.
const NAMED: usize = 5;

impl ExpectedCall {
    pub(super) fn fits(&self, call: &CandidateCall<'_>) -> bool {
        self.tool == call.tool && self.args.accept(call.input)
    }
}

/// The expected calls occur in this order; others may come between. Taking the first call that fits is enough: a later one
/// would only leave less for what follows.
pub(super) fn in_order(expected: &[ExpectedCall], calls: &[CandidateCall<'_>]) -> Findings {
    let mut findings = Findings::default();
    // Where each expected call was found so far, in order.
    let mut found: Vec<usize> = Vec::new();
    for (index, wanted) in expected.iter().enumerate() {
        let next = found.last().map_or(0, |last| last + 1);
        match calls[next..].iter().position(|call| wanted.fits(call)) {
            Some(ahead) => {
                found.push(next + ahead);
                findings.hits.push(format!("Found {} at call {}", wanted.tool, next + ahead + 1));
            }
            // The search goes on from where it was, so that each miss is told by its own cause.
            None => findings.misses.push(why_not_found(wanted, index, &found, calls)),
        }
    }
    let matched = found.iter().map(|at| &calls[*at]);
    conclude(findings, expected, matched)
}

fn why_not_found(
    wanted: &ExpectedCall,
    index: usize,
    found: &[usize],
    calls: &[CandidateCall<'_>],
) -> String {
    let tool = &wanted.tool;
    let step = format!("Step {}: expected {tool}", index + 1);
    let next = found.last().map_or(0, |last| last + 1);
    let passed_over = |at: &usize| !found.contains(at) && wanted.fits(&calls[*at]);
    if let (Some(early), Some(last)) = ((0..next).find(passed_over), found.last()) {
        let after = shown::clipped(calls[*last].tool);
        let early = early + 1;
        return format!("{step} after {after}, but it came before (call {early}): wrong order");
    }
    let other = (next..calls.len()).find(|at| calls[*at].tool == *tool);
    if let Some((at, why)) = other.and_then(|at| Some((at, wanted.args.explain(calls[at].input)?)))
    {
        return format!("{step}, but call {} has other arguments: {why}", at + 1);
    }
    if calls.iter().any(|call| call.tool == *tool) {
        return format!("{step}, but it was not called again");
    }
    format!("{step}, but it was never called")
}

/// The calls are the expected ones and no others.
pub(super) fn exact(expected: &[ExpectedCall], calls: &[CandidateCall<'_>]) -> Findings {
    let mut findings = Findings::default();
    if expected.len() != calls.len() {
        let (wanted, got) = (expected.len(), calls.len());
        findings.misses.push(format!("Expected {wanted} tool calls, got {got}"));
    }
    for (index, wanted) in expected.iter().enumerate() {
        let tool = &wanted.tool;
        let place = format!("Call {}", index + 1);
        match calls.get(index) {
            None => findings.misses.push(format!("{place}: expected {tool}, got nothing")),
            Some(call) if call.tool != *tool => {
                let got = shown::clipped(call.tool);
                findings.misses.push(format!("{place}: expected {tool}, got {got}"));
            }
            Some(call) => match wanted.args.explain(call.input) {
                None => findings.hits.push(format!("{place}: {tool}")),
                Some(why) => {
                    findings.misses.push(format!("{place}: {tool} has other arguments: {why}"));
                }
            },
        }
    }
    findings.misses.extend(surplus(calls.get(expected.len()..).unwrap_or_default()));
    conclude(findings, expected, calls)
}

fn surplus(calls: &[CandidateCall<'_>]) -> Option<String> {
    let names: Vec<_> = calls.iter().take(NAMED).map(|call| shown::clipped(call.tool)).collect();
    let names = names.join(", ");
    match calls.len() {
        0 => None,
        1 => Some(format!("Extra tool call: {names}")),
        count if count <= NAMED => Some(format!("Extra tool calls: {names}")),
        count => Some(format!("Extra tool calls: {names} and {} more", count - NAMED)),
    }
}

/// Nothing for a sequence that does not hold, else a check per call, and one per limit.
fn conclude<'a>(
    mut findings: Findings,
    expected: &[ExpectedCall],
    matched: impl IntoIterator<Item = &'a CandidateCall<'a>>,
) -> Findings {
    findings.checked = expected.len().max(1);
    if !findings.misses.is_empty() {
        return findings;
    }
    findings.held = findings.checked;
    if expected.is_empty() {
        findings.hits.push("No tool sequence specified".to_owned());
    }
    for (wanted, call) in expected.iter().zip(matched) {
        if let Some(max) = wanted.max_duration_ms {
            findings.check_duration(&wanted.tool, [call], max);
        }
    }
    findings
}
