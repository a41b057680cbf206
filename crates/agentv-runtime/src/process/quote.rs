//! Shell quoting for values that are put into command templates.

/// One word for a POSIX shell, whatever it holds.
pub fn quote(value: &str) -> String {
    format!("'{}'", value.replace('\'', r#"'"'"'"#))
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[track_caller]
    fn check(value: &str, expected: &str) {
        assert_eq!(quote(value), expected);
    }

    #[test]
    fn every_value_is_one_word() {
        check("", "''");
        check("plain", "'plain'");
        check("a b\n$HOME `x` \\ \"y\"", "'a b\n$HOME `x` \\ \"y\"'");
        check("it's", r#"'it'"'"'s'"#);
        check("'", r#"''"'"''"#);
    }
}
