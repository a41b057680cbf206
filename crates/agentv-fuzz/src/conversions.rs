//! Cases in one format → the same cases in another.

use crate::choices::Choices;
use crate::scratch;
use agentv_runtime::convert::{self, Conversion, YamlShape};
use serde_json::{Value, json};
use std::fs;

/// Converts cases to another format and back.
pub(crate) fn convert(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let cases =
        Value::Array((0..=choices.below(3)).map(|number| case(&mut choices, number)).collect());
    let ending = *choices.one(&["csv", "tsv", "yaml", "jsonl"]);
    scratch::with(|scratch| {
        let first = scratch.file("first.json", cases.to_string().as_bytes());
        let (second, third) =
            (scratch.dir().join(format!("second.{ending}")), scratch.dir().join("third.json"));
        for (input, out) in [(first, second.clone()), (second, third.clone())] {
            let conversion = Conversion { input, out, yaml: YamlShape::Suite, force: true };
            convert::convert(&conversion).expect("cases that every format can hold");
        }
        let text = fs::read_to_string(third).expect("a file that was just written");
        let back: Value = serde_json::from_str(&text).expect("a file that was just written");
        // A list of cases in YAML is a suite, and stays one.
        let back = if back.is_object() { &back["evalcases"] } else { &back };
        assert_eq!(back, &cases, "{ending} says something else");
    });
}

/// A case with all that a table has a column for.
fn case(choices: &mut Choices<'_>, number: usize) -> Value {
    let mut case = json!({
        "id": format!("{}{number}", choices.name()),
        "input": choices.text(),
        "expected_outcome": "x",
        "expected_output": choices.json(2),
    });
    choices.sometimes(
        &mut case,
        &[
            ("tags", |choices| json!(choices.list(3, Choices::text))),
            ("vars", |choices| {
                let entries = choices.list(3, |choices| (choices.text(), choices.json(1)));
                Value::Object(entries.into_iter().collect())
            }),
            ("criteria", |choices| json!(choices.text())),
        ],
    );
    case
}
