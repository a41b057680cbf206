//! How amounts of money, of tokens and of things are written.

/// `1 win`, `2 wins`.
pub fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// American dollars: cents from a dollar up, and below it as many digits as say something.
pub fn dollars(amount: f64) -> String {
    if amount == 0.0 || amount.abs() >= 1.0 {
        format!("${amount:.2}")
    } else if amount.abs() >= 0.000_1 {
        format!("${amount:.4}")
    } else {
        format!("${amount:.6}")
    }
}

/// `950`, `12.3k`, `1.2M`
#[expect(clippy::cast_precision_loss, reason = "one digit behind the point is shown")]
pub fn tokens(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..999_950 => format!("{:.1}k", number as f64 / 1e3),
        999_950..999_950_000 => format!("{:.1}M", number as f64 / 1e6),
        _ => format!("{:.1}G", number as f64 / 1e9),
    }
}
