//! Rules that gates share.

use crate::stats::float;
use agentv_wire::CaseLimit;

/// Whether this many of all cases are within the limit. Rounding must not miss a gate.
pub fn is_within(limit: CaseLimit, count: usize, all: usize) -> bool {
    match limit {
        CaseLimit::Cases(most) => count <= most,
        CaseLimit::Percent(most) => float(count) * 100.0 <= most * float(all) + 1e-9,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_number_or_a_share() {
        assert!(is_within(CaseLimit::Cases(2), 2, 3) && !is_within(CaseLimit::Cases(2), 3, 300));
        assert!(is_within(CaseLimit::Percent(5.0), 1, 20));
        assert!(!is_within(CaseLimit::Percent(5.0), 2, 20));
        assert!(is_within(CaseLimit::Percent(100.0 / 3.0), 1, 3));
    }
}
