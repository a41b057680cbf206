//! Whatever the loaders accept, another format says the same; and no bytes break them.

use super::*;
use crate::config::Env;
use crate::load::{Loader, Selection};
use crate::process::Processes;
use proptest::prelude::*;
use serde_json::json;
use std::fs;

/// Converts a list of cases through files of these endings, and back to JSON.
fn around(cases: &Value, endings: &[&str]) -> Value {
    let dir = tempfile::tempdir().unwrap();
    let path = |step: usize, ending: &str| dir.path().join(format!("step-{step}.{ending}"));
    let mut input = path(0, "json");
    fs::write(&input, cases.to_string()).unwrap();
    for (ending, step) in endings.iter().chain(&["json"]).zip(1..) {
        let out = path(step, ending);
        convert(&Conversion { input, out: out.clone(), yaml: YamlShape::Suite, force: false })
            .unwrap();
        input = out;
    }
    let back: Value = serde_json::from_str(&fs::read_to_string(input).unwrap()).unwrap();
    // A list of cases in YAML is a suite, and stays one.
    if back.is_object() { back["evalcases"].clone() } else { back }
}

#[test]
fn nothing_is_lost_on_the_way() {
    let cases = json!([
        {"id": "a", "input": "q, \"r\"\nline\r\n  two", "expected_outcome": "- x: #y", "tags": ["a", "b c"], "vars": {"city": "Rome", "mixed": "1"}},
        {"id": "0123", "input_messages": [{"role": "user", "content": "no"}], "criteria": " ", "expected_output": {"a": [1, 2.5, null]}, "tags": ["x;y"], "vars": {"city": "", "mixed": 1}},
        {"id": " é ", "input": "null", "expected_outcome": "yes", "expected_output": "", "evaluators": [{"type": "equals", "value": "1e3"}], "vars": {"city": "sep=;", "id": "x", "question": "?", "__x": "y", "a:json": "z"}},
    ]);
    for endings in
        [&["csv"][..], &["tsv"], &["yaml"], &["jsonl"], &["yaml", "csv", "jsonl", "yml", "tsv"]]
    {
        assert_eq!(around(&cases, endings), cases, "{endings:?}");
    }
}

fn loader(dir: &Path) -> Loader {
    Loader {
        judge_sandbox: None,
        is_portable: false,
        working_dir: dir.to_owned(),
        repo_root: dir.to_owned(),
        project_root: dir.to_owned(),
        env: Env::default(),
        processes: Processes::new(String::new()),
        selection: Selection::default(),
    }
}

/// Any JSON that is not too deep.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e6..1e6).prop_map(Value::from),
        any_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(any_text(), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Texts that formats trip over.
fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,12}",
        "[a\"',;:#|>\\-\\[\\]{}\n\r\t é\u{1f980}0-9~!&*%@`]{0,10}",
        "(null|true|no|1_000|0x1F|~|\\.inf|2024-01-01|<<|=|---|\\.\\.\\.)"
    ]
}

fn any_case() -> impl Strategy<Value = Value> {
    let vars = prop::collection::btree_map(
        "[a-c ]{0,2}|[a-z_:;,\"]{1,6}|id|tags",
        prop_oneof![any_text().prop_map(Value::from), any_json()],
        0..3,
    );
    ("[!-~]{1,8}", any_text(), any_json(), prop::option::of(any_json()), prop::option::of(vars)).prop_map(
        |(id, input, expected, tags, vars)| {
            let mut case = json!({"id": id, "input": input, "expected_outcome": "x", "expected_output": expected});
            if let Some(tags) = tags {
                case["tags"] = tags;
            }
            if let Some(vars) = vars {
                case["vars"] = Value::Object(vars.into_iter().collect());
            }
            case
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_format_says_the_same(cases in prop::collection::vec(any_case(), 1..4)) {
        let cases = Value::from(cases);
        for ending in ["csv", "tsv", "yaml", "jsonl"] {
            prop_assert_eq!(&around(&cases, &[ending]), &cases, "{}", ending);
        }
    }

    #[test]
    fn no_bytes_break_a_loader(bytes in prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        "(id|input|criteria|[,;\t\"\n\r a:json\\[\\]{}])*".prop_map(String::into_bytes),
    ]) {
        let dir = tempfile::tempdir().unwrap();
        for ending in ["csv", "tsv", "json", "jsonl", "yaml"] {
            let path = dir.path().join(format!("x.{ending}"));
            fs::write(&path, &bytes).unwrap();
            written(&path);
            loader(dir.path()).suite(&path);
            crate::load::is_eval_file(&path);
            fs::remove_file(path).unwrap();
        }
    }
}
