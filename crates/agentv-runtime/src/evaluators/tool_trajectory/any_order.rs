//! Mode `any_order`: each tool is called often enough.

use super::ExpectedCall;
use super::calls::CandidateCall;
use super::config::Minimum;
use super::findings::Findings;
use std::collections::HashMap;

/// Each minimum is one check, and so is each limit on the duration of a tool's calls.
pub(super) fn grade(
    minimums: &[Minimum],
    limits: &[ExpectedCall],
    calls: &[CandidateCall<'_>],
) -> Findings {
    let mut findings = Findings::default();
    if minimums.is_empty() && limits.is_empty() {
        findings.hits.push("No tool requirements specified".to_owned());
    }
    let mut counts = HashMap::<&str, u64>::new();
    for call in calls {
        *counts.entry(call.tool).or_default() += 1;
    }
    for Minimum { tool, calls: minimum } in minimums {
        let called = counts.get(tool.as_str()).copied().unwrap_or(0);
        let times = if called == 1 { "time" } else { "times" };
        let text = format!("{tool} called {called} {times} (minimum: {minimum})");
        findings.check(called >= *minimum, text);
    }
    for limit in limits {
        let Some(max) = limit.max_duration_ms else { continue };
        let limited = calls.iter().filter(|call| limit.fits(call));
        findings.check_duration(&limit.tool, limited, max);
    }
    findings
}
