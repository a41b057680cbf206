//! How numbers are shown.

/// With its sign; what rounds to zero is `+0`, never `-0`.
pub(super) fn signed(value: f64, decimals: usize) -> String {
    let text = format!("{value:+.decimals$}");
    let is_zero = text.bytes().all(|byte| !byte.is_ascii_digit() || byte == b'0');
    if is_zero { text.replacen('-', "+", 1) } else { text }
}

/// Small p-values are not told exactly, since nobody can mean it.
pub(super) fn p_value(value: f64) -> String {
    if value < 0.001 { "<0.001".to_owned() } else { format!("{value:.3}") }
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// `1 win`, `2 wins`.
pub(super) fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_has_one_sign() {
        assert_eq!(signed(-0.000_1, 3), "+0.000");
        assert_eq!(signed(0.0, 2), "+0.00");
        assert_eq!(signed(-0.05, 2), "-0.05");
        assert_eq!(signed(0.126, 2), "+0.13");
    }

    #[test]
    fn tiny_p_values_are_not_told_exactly() {
        assert_eq!(p_value(0.000_999), "<0.001");
        assert_eq!(p_value(0.039_062_5), "0.039");
        assert_eq!(p_value(1.0), "1.000");
    }
}
