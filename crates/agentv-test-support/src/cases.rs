//! The text of an eval file with many plain cases.

use serde_json::json;
use std::fmt::Write as _;

/// The evaluator of [`cases`]: a good answer has `ok` in it.
pub const GRADER: &str = "{name: says-ok, type: contains, value: ok}";

/// An eval file with a case for each id, which asks `Question <id>`. All are graded by [`GRADER`].
pub fn cases(ids: &[&str]) -> String {
    let mut text = format!("execution:\n  evaluators:\n    - {GRADER}\nevalcases:\n");
    for id in ids {
        let (input, id) = (json!(format!("Question {id}")), json!(id));
        write!(text, "  - id: {id}\n    input: {input}\n    expected_outcome: Says ok\n").unwrap();
    }
    text
}
