//! JSON Schema for every shape that others write or read: results, judges, and the files that people write.
//!
//! The schemas of files describe the documented spelling. The loader takes more (camelCase, older names, `settings:`), so
//! they never forbid a key; `agentv validate` is what judges a file.

use super::Generated;
use super::keys::{CaseKeys, ConfigKeys, EvaluatorKeys, SuiteKeys, TargetKeys};
use agentv_runtime::evaluators::EVALUATORS;
use agentv_runtime::providers::PROVIDERS;
use agentv_wire::{
    CodeJudgeOutput, CodeJudgePayload, Comparison, ComparisonPlan, Report, ResultRecord, RunEvent,
    RunInfo,
};
use anyhow::Result;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

type Object = Map<String, Value>;

pub(super) fn all() -> Result<Vec<Generated>> {
    let written = || SchemaSettings::draft2020_12().for_serialize();
    let read = || SchemaSettings::draft2020_12().for_deserialize();
    Ok(vec![
        file("result", &wire::<ResultRecord>(written()))?,
        file("comparison", &wire::<Comparison>(written()))?,
        file("plan", &wire::<ComparisonPlan>(written()))?,
        file("event", &wire::<RunEvent>(written()))?,
        file("run", &wire::<RunInfo>(written()))?,
        file("report", &wire::<Report>(written()))?,
        file("code-judge-payload", &wire::<CodeJudgePayload>(written()))?,
        file("code-judge-output", &wire::<CodeJudgeOutput>(read()))?,
        file("targets", &targets())?,
        file("eval", &eval())?,
        file("config", &wire::<ConfigKeys>(read()))?,
    ])
}

fn file(name: &str, schema: &Value) -> Result<Generated> {
    let text = serde_json::to_string_pretty(schema)? + "\n";
    Ok(Generated::new(format!("schemas/{name}.schema.json"), text))
}

fn wire<T: JsonSchema>(settings: SchemaSettings) -> Value {
    head_first(settings.into_generator().into_root_schema_for::<T>().to_value())
}

/// A generator for files: what may be absent need not be written.
pub(super) fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().for_deserialize().into_generator()
}

/// One kind of plug-in, as far as files care.
pub(super) struct PlugInSchema {
    pub names: &'static [&'static str],
    pub schema: Schema,
}

impl PlugInSchema {
    /// Its first sentence, without the line of the file that it begins with.
    fn meaning(&self) -> &str {
        let text = self.schema.get("description").and_then(Value::as_str).unwrap_or_default();
        let text = text
            .split_once("`: ")
            .filter(|(line, _)| line.starts_with('`'))
            .map_or(text, |(_, rest)| rest);
        let end = text.find(". ").or_else(|| text.find(".\n")).unwrap_or(text.len());
        text[..end].trim_end_matches('.')
    }
}

pub(super) fn providers(generator: &mut SchemaGenerator) -> Vec<PlugInSchema> {
    let kinds = PROVIDERS.iter();
    kinds.map(|kind| PlugInSchema { names: kind.names, schema: kind.schema(generator) }).collect()
}

pub(super) fn evaluators(generator: &mut SchemaGenerator) -> Vec<PlugInSchema> {
    let kinds = EVALUATORS.iter();
    kinds.map(|kind| PlugInSchema { names: kind.names, schema: kind.schema(generator) }).collect()
}

fn targets() -> Value {
    let mut generator = generator();
    let common = TargetKeys::json_schema(&mut generator);
    let kinds = providers(&mut generator);
    let target = by_kind(common, "provider", kinds);
    let root = json!({
        "title": "Targets",
        "description": "Who can be asked: `targets.yaml`.",
        "type": "object",
        "properties": {
            "$schema": { "description": "For editors and for `agentv validate`.", "type": "string" },
            "description": { "description": "For people; AgentV does not look at it.", "type": "string" },
            "version": { "description": "For people; AgentV does not look at it." },
            "targets": {
                "description": "The targets, each with a name of its own.",
                "type": "array",
                "items": { "$ref": "#/$defs/Target" },
            },
        },
        "required": ["targets"],
    });
    document(root, generator, [("Target", target)])
}

fn eval() -> Value {
    let mut generator = generator();
    let mut root = SuiteKeys::json_schema(&mut generator).to_value();
    let case = CaseKeys::json_schema(&mut generator).to_value();
    let common = EvaluatorKeys::json_schema(&mut generator);
    let kinds = evaluators(&mut generator);
    let evaluator = by_kind(common, "type", kinds);

    let cases = json!({
        "description": "The cases: what is asked, and what a good answer has to do.",
        "type": "array",
        "items": { "$ref": "#/$defs/Case" },
    });
    let mut newer = cases.clone();
    root["title"] = json!("Eval suite");
    root["properties"]["evalcases"] = cases;
    newer["description"] = json!("Another name of `evalcases`.");
    root["properties"]["tests"] = newer;
    root["anyOf"] = any_required(&["evalcases", "tests"]);
    // Whether `criteria` are needed depends on the evaluators; the loader knows.
    root["allOf"] = json!([in_suite_or_case(&["input_messages", "input"])]);
    document(root, generator, [("Case", case), ("Evaluator", evaluator)])
}

/// One of these keys is needed in each case, unless the suite has one.
fn in_suite_or_case(keys: &[&str]) -> Value {
    let cases = json!({ "items": { "anyOf": any_required(keys) } });
    let every_case = json!({ "properties": { "evalcases": cases, "tests": cases } });
    let mut any = any_required(keys);
    if let Value::Array(any) = &mut any {
        any.push(every_case);
    }
    json!({ "anyOf": any })
}

fn any_required(keys: &[&str]) -> Value {
    keys.iter().map(|key| json!({ "required": [key] })).collect()
}

/// The common keys, and for each kind its own, where `key` names it.
fn by_kind(common: Schema, key: &str, kinds: Vec<PlugInSchema>) -> Value {
    let mut common = common.to_value();
    let names: Vec<&str> = kinds.iter().flat_map(|kind| kind.names).copied().collect();
    if names.is_empty() {
        return common;
    }
    let meanings: Vec<&str> =
        kinds.iter().flat_map(|kind| kind.names.iter().map(|_| kind.meaning())).collect();
    // Not of the standard; VS Code shows it beside each value.
    common["properties"][key]["markdownEnumDescriptions"] = json!(meanings);
    common["properties"][key]["enum"] = json!(names);
    common["allOf"] = kinds.into_iter().map(|kind| only_for(key, kind)).collect();
    common
}

fn only_for(key: &str, kind: PlugInSchema) -> Value {
    let mut properties = Object::new();
    properties.insert(key.to_owned(), json!({ "enum": kind.names }));
    let title = format!("{key}: {}", kind.names[0]);
    let mut then = with_other_spellings(kind.schema.to_value());
    then["title"] = json!(title);
    json!({ "if": { "properties": properties, "required": [key] }, "then": then })
}

/// Other names that the loader takes for a key.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("command_template", "command"),
    ("script", "command"),
    ("endpoint", "resource"),
    ("endpoint", "resource_name"),
    ("endpoint", "base_url"),
    ("deployment", "deployment_name"),
    ("deployment", "model"),
    ("model", "deployment"),
    ("model", "variant"),
    ("pattern", "value"),
    ("file", "recordings"),
];

/// The same schema, for which a key is also there when it is spelled another way or stands under `settings:`.
fn with_other_spellings(mut schema: Value) -> Value {
    let required = schema.as_object_mut().and_then(|schema| schema.remove("required"));
    let required: Vec<String> =
        required.and_then(|keys| serde_json::from_value(keys).ok()).unwrap_or_default();
    let mut needs = Vec::new();
    for key in &required {
        let mut spellings = vec![key.clone(), camel_case(key), "settings".to_owned()];
        for (_, other) in OTHER_NAMES.iter().filter(|(known, _)| known == key) {
            let mut property = schema["properties"][key].clone();
            property["description"] = json!(format!("Another name of `{key}`."));
            schema["properties"][other] = property;
            spellings.extend([(*other).to_owned(), camel_case(other)]);
        }
        spellings.dedup();
        let spellings: Vec<&str> = spellings.iter().map(String::as_str).collect();
        needs.push(json!({ "anyOf": any_required(&spellings) }));
    }
    if !needs.is_empty() {
        schema["allOf"] = Value::Array(needs);
    }
    schema
}

fn camel_case(key: &str) -> String {
    let mut words = key.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        camel.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        camel.push_str(letters.as_str());
    }
    camel
}

/// A root with the definitions it refers to; ours stand for those that the generator could only guess.
fn document<const N: usize>(
    mut root: Value,
    mut generator: SchemaGenerator,
    ours: [(&str, Value); N],
) -> Value {
    let mut definitions = generator.take_definitions(true);
    definitions.extend(ours.map(|(name, schema)| (name.to_owned(), schema)));
    definitions.sort_keys();
    for (name, definition) in &mut definitions {
        // Editors show the nearest title above what they explain; without one it would be that of the file.
        if let Value::Object(definition) = definition {
            definition.entry("title").or_insert_with(|| json!(name));
        }
    }
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["$defs"] = Value::Object(definitions);
    head_first(root)
}

/// A reader wants to know first what it is about.
fn head_first(schema: Value) -> Value {
    let Value::Object(mut rest) = schema else { return schema };
    let mut ordered = Object::new();
    for key in ["$schema", "title", "description"] {
        ordered.extend(rest.shift_remove_entry(key));
    }
    ordered.extend(rest);
    Value::Object(ordered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_adds_its_keys_only_where_it_is_named() {
        let common = schemars::json_schema!({ "properties": { "type": { "type": "string" } } });
        let schema = schemars::json_schema!({ "properties": { "limit": { "type": "number" } } });
        let merged = by_kind(common, "type", vec![PlugInSchema { names: &["latency"], schema }]);
        assert_eq!(merged["properties"]["type"]["enum"], json!(["latency"]));
        assert_eq!(merged["allOf"][0]["if"]["properties"]["type"]["enum"], json!(["latency"]));
        assert_eq!(merged["allOf"][0]["then"]["properties"]["limit"]["type"], "number");
    }

    #[test]
    fn a_needed_key_may_be_spelled_otherwise() {
        let schema = json!({
            "properties": { "command_template": { "type": "string" } },
            "required": ["command_template"],
        });
        let schema = with_other_spellings(schema);
        assert_eq!(schema["properties"]["command"]["type"], "string");
        let any = any_required(&["command_template", "commandTemplate", "settings", "command"]);
        assert_eq!(schema["allOf"], json!([{ "anyOf": any }]));
        assert_eq!(schema.get("required"), None);
    }

    #[test]
    fn every_key_of_a_file_is_explained() {
        let config = wire::<ConfigKeys>(SchemaSettings::draft2020_12().for_deserialize());
        for schema in [targets(), eval(), config] {
            let mut bare = Vec::new();
            unexplained(&schema, &mut bare);
            assert_eq!(bare, Vec::<String>::new(), "without a description");
        }
    }

    /// Keys without a description. A reference leads to one, and a constant or a condition (`if`) needs none.
    fn unexplained(schema: &Value, found: &mut Vec<String>) {
        match schema {
            Value::Object(object) => {
                for (key, property) in
                    object.get("properties").and_then(Value::as_object).into_iter().flatten()
                {
                    let is_plain = ["const", "description", "$ref"]
                        .iter()
                        .any(|key| property.get(key).is_some());
                    // What only asks something of the items is a condition, too.
                    let is_condition =
                        property.as_object().is_some_and(|keys| keys.keys().eq(["items"]));
                    if !is_plain && !is_condition {
                        found.push(key.clone());
                    }
                }
                object
                    .iter()
                    .filter(|(key, _)| *key != "if")
                    .for_each(|(_, inner)| unexplained(inner, found));
            }
            Value::Array(items) => items.iter().for_each(|item| unexplained(item, found)),
            _ => {}
        }
    }

    #[test]
    fn no_reference_is_left_open() {
        for schema in [targets(), eval()] {
            let text = schema.to_string();
            for part in text.split("\"#/$defs/").skip(1) {
                let name = part.split('"').next().unwrap_or_default();
                assert!(schema["$defs"].get(name).is_some(), "{name} is not defined");
            }
        }
    }
}
