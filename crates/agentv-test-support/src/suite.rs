//! The text of an eval file with one case.

use std::fmt::Display;

/// An eval file with one case, `one`, that asks `Do it` and is graded by these evaluators: a YAML list, in either style.
pub fn suite(evaluators: impl Display) -> String {
    format!(
        "evalcases:\n  \
         - id: one\n    \
         expected_outcome: It is done\n    \
         input: Do it\n    \
         evaluators:\n{}",
        indented(&evaluators.to_string(), 6)
    )
}

fn indented(text: &str, columns: usize) -> String {
    let margin = " ".repeat(columns);
    text.lines().flat_map(|line| [&margin, line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(evaluators: impl Display, expected: &str) {
        assert_eq!(suite(evaluators).split_once("evaluators:\n").unwrap().1, expected);
    }

    #[test]
    fn a_list_is_written_in_either_style() {
        check("- type: cost\n  budget: 1\n", "      - type: cost\n        budget: 1\n");
        check(json!([{ "type": "cost" }]), "      [{\"type\":\"cost\"}]\n");
    }
}
