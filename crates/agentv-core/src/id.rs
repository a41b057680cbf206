//! Names that must not be mixed up, and names of files.

pub use agentv_wire::id::{EvalId, EvaluatorName, SuiteId, TargetName};

/// A name as a part of a file name: no separators, no surprises, not too long.
pub fn file_name(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    name.chars().take(64).map(safe).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_the_directory() {
        assert_eq!(file_name("../../etc/passwd"), ".._.._etc_passwd");
        assert_eq!(file_name("é a"), "__a");
        assert_eq!(file_name(&"x".repeat(900)).len(), 64);
    }
}
