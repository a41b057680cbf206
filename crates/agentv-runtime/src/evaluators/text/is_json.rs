//! Whether the answer is JSON, and of the right shape.

use crate::config::{Fields, Kind, Node};
use crate::evaluators::{Build, FromConfig, json, shown};
use crate::file_input;
use agentv_core::{EvalContext, Evaluator, EvaluatorError, Verdict};
use agentv_wire::{FailureKind, Object};
use async_trait::async_trait;
use jsonschema::{ValidationError, Validator};
use schemars::JsonSchema;
use serde_json::Value;
use std::sync::OnceLock;

/// How many problems are told.
const TOLD: usize = 4;

/// Parses the answer, and validates it if there is a schema.
#[derive(Debug)]
pub struct IsJson {
    schema: Option<Schema>,
}

/// `type: is_json`: the answer, as a whole, is JSON.
#[derive(Debug, JsonSchema)]
pub struct IsJsonConfig {
    /// A JSON Schema that the answer must fulfil: the schema itself, or the path of a file that has it, looked for from the
    /// eval file's directory upwards. A `$ref` can only point into the schema; nothing is fetched.
    #[serde(default)]
    pub schema: Option<SchemaConfig>,
}

/// A schema, or where it is.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum SchemaConfig {
    Inline(Object),
    Path(String),
}

impl FromConfig for IsJson {
    const NAMES: &'static [&'static str] = &["is_json", "is-json"];
    type Config = IsJsonConfig;

    fn read(fields: &mut Fields<'_, '_>, build: &mut Build<'_>) -> Option<Self> {
        let Some(node) = fields.node("schema") else { return Some(Self { schema: None }) };
        let written = read_schema(fields, build, node)?;
        Some(Self { schema: Some(Schema { written, validator: OnceLock::new() }) })
    }
}

fn read_schema(
    fields: &mut Fields<'_, '_>,
    build: &mut Build<'_>,
    node: &Node<'_>,
) -> Option<Value> {
    let (problem, help) = match &node.kind {
        Kind::Map(_) => return Some(node.to_value()),
        Kind::Text(reference) => match load(reference, build) {
            Ok(schema) => return Some(schema),
            Err(problem) => (
                format!("`schema` of {}: {problem}", fields.owner()),
                "give the path of a JSON file, from the eval file's directory or one above it",
            ),
        },
        _ => (
            format!(
                "`schema` of {} must be a JSON Schema or the path of one, not {}",
                fields.owner(),
                node.describe()
            ),
            "write the schema as a mapping, or name a file",
        ),
    };
    fields.error_at("is_json::schema", node.span, problem).help(help);
    None
}

fn load(reference: &str, build: &mut Build<'_>) -> Result<Value, String> {
    let found = build.search.find(reference).map_err(|_| format!("found no file `{reference}`"))?;
    build.depends_on(&found.path);
    let bytes = file_input::read(&found.path)
        .map_err(|error| format!("cannot read `{reference}`: {error}"))?;
    let schema: Value = serde_json::from_slice(&bytes)
        .map_err(|error| format!("`{reference}` is not JSON: {error}"))?;
    if schema.is_object() || schema.is_boolean() {
        return Ok(schema);
    }
    Err(format!("`{reference}` holds no JSON Schema, which is an object"))
}

#[async_trait]
impl Evaluator for IsJson {
    async fn evaluate(&self, cx: &EvalContext<'_>) -> Result<Verdict, EvaluatorError> {
        let answer = &cx.candidate.answer;
        let value = match serde_json::from_str::<Value>(answer) {
            Ok(value) => value,
            Err(error) => return Ok(Verdict::miss(not_json(answer, &error))),
        };
        let Some(schema) = &self.schema else { return Ok(Verdict::hit("The answer is JSON")) };
        let validator = schema.validator()?;
        let misses: Vec<String> =
            validator.iter_errors(&value).take(TOLD).map(|error| told(&error)).collect();
        if misses.is_empty() {
            return Ok(Verdict::hit("The answer is JSON and fulfils the schema"));
        }
        Ok(Verdict { misses, ..Verdict::of(agentv_core::Score::ZERO) })
    }
}

fn not_json(answer: &str, error: &serde_json::Error) -> String {
    if answer.trim().is_empty() {
        return "Not JSON: the answer is empty".to_owned();
    }
    if json::first_value(answer).is_some() {
        return "Not JSON as a whole: there is other text around the JSON".to_owned();
    }
    format!("Not JSON: {error}")
}

/// `/items/0/price: "12" is not of type "number"`
fn told(error: &ValidationError<'_>) -> String {
    let path = error.instance_path().as_str();
    let path = if path.is_empty() { "(root)" } else { path };
    let problem = error.to_string();
    // A message quotes the value, which may be long; then the value has no place in it.
    let problem = if problem.chars().count() > 160 {
        shown::clipped(&error.masked().to_string()).into_owned()
    } else {
        problem
    };
    format!("{}: {problem}", shown::clipped(path))
}

/// A schema that is compiled when it is first needed: that takes milliseconds, and `validate` or a filtered run do not need
/// it.
#[derive(Debug)]
struct Schema {
    written: Value,
    validator: OnceLock<Result<Validator, String>>,
}

impl Schema {
    fn validator(&self) -> Result<&Validator, EvaluatorError> {
        let compiled = self.validator.get_or_init(|| {
            let options = jsonschema::options().offline();
            options.build(&self.written).map_err(|error| shown::clipped(&error.to_string()).into())
        });
        compiled.as_ref().map_err(|problem| {
            EvaluatorError::new(
                FailureKind::Provider,
                format!("`schema` cannot be used: {problem}"),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::Bench;
    use serde_json::{Value, json};

    #[track_caller]
    fn check(config: &Value, answer: &str, score: f64, texts: &[&str]) {
        let verdict = Bench::new("is_json", config).answer(answer);
        assert_eq!([verdict.hits, verdict.misses].concat(), texts);
        assert_eq!(verdict.score, agentv_core::Score::clamped(score));
    }

    #[test]
    fn the_answer_as_a_whole_must_be_json() {
        check(&json!({}), " {\"a\": [1]}\n", 1.0, &["The answer is JSON"]);
        check(&json!({}), "null", 1.0, &["The answer is JSON"]);
        check(&json!({}), "", 0.0, &["Not JSON: the answer is empty"]);
        let miss = "Not JSON: expected ident at line 1 column 2";
        check(&json!({}), "no", 0.0, &[miss]);
        let miss = "Not JSON as a whole: there is other text around the JSON";
        check(&json!({}), "```json\n{\"a\": 1}\n```", 0.0, &[miss]);
    }

    fn schema() -> Value {
        json!({
            "type": "object",
            "required": ["name", "age"],
            "properties": { "age": { "$ref": "#/$defs/age" }, "tags": { "items": { "type": "string" } } },
            "$defs": { "age": { "type": "integer" } },
        })
    }

    #[test]
    fn a_schema_is_held_against_it() {
        let config = json!({ "schema": schema() });
        let good = "The answer is JSON and fulfils the schema";
        check(&config, r#"{"name": "x", "age": 1}"#, 1.0, &[good]);
        check(
            &config,
            r#"{"age": "1"}"#,
            0.0,
            &["(root): \"name\" is a required property", "/age: \"1\" is not of type \"integer\""],
        );
    }

    #[test]
    fn four_problems_are_enough_and_long_values_are_left_out() {
        let config = json!({ "schema": { "items": { "type": "string" } } });
        let verdict = Bench::new("is-json", &config).answer("[1, 2, 3, 4, 5, 6]");
        assert_eq!(verdict.misses.len(), 4);
        let long = json!([vec![0; 200]]).to_string();
        check(&config, &long, 0.0, &["/0: value is not of type \"string\""]);
    }

    #[test]
    fn a_schema_can_be_a_file_that_the_case_depends_on() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("evals");
        std::fs::create_dir(&inner).unwrap();
        let file = inner.join("person.json");
        std::fs::write(&file, schema().to_string()).unwrap();
        let bench = Bench::new("is_json", &json!({ "schema": "person.json" })).in_dir(&inner);
        assert_eq!(bench.answer("{}").misses.len(), 2);

        let before = bench.fingerprint();
        std::fs::write(&file, "{}").unwrap();
        assert_ne!(bench.fingerprint(), before);
    }

    #[test]
    fn a_schema_that_cannot_be_had_is_noted() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("bad.json"), "{").unwrap();
        std::fs::write(dir.path().join("list.json"), "[]").unwrap();
        let notes =
            |schema| Bench::new("is_json", &json!({ "schema": schema })).in_dir(dir.path()).notes();
        let owner = "schema: `schema` of evaluator `e`";
        assert_eq!(notes(json!("none.json")), [format!("{owner}: found no file `none.json`")]);
        assert_eq!(
            notes(json!("bad.json")),
            [format!(
                "{owner}: `bad.json` is not JSON: EOF while parsing an object at line 1 column 1"
            )]
        );
        assert_eq!(
            notes(json!("list.json")),
            [format!("{owner}: `list.json` holds no JSON Schema, which is an object")]
        );
        assert_eq!(
            notes(json!(true)),
            [format!("{owner} must be a JSON Schema or the path of one, not true or false")]
        );
    }

    #[track_caller]
    fn check_unusable(schema: &Value) {
        let bench = Bench::new("is_json", &json!({ "schema": schema }));
        let error = bench.grade_heard(&json!({ "text": "{}" })).0.unwrap_err();
        assert!(error.message.starts_with("`schema` cannot be used: "), "{error}");
    }

    #[test]
    fn nothing_is_fetched_and_a_wrong_schema_is_an_error() {
        check_unusable(&json!({ "$ref": "http://127.0.0.1:9/x.json" }));
        check_unusable(&json!({ "$ref": "file:///x.json" }));
        check_unusable(&json!({ "type": "thing" }));
    }
}
