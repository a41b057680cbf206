//! The reference pages: the doc comments of settings as tables, the environment, the exit codes.

use super::Generated;
use super::keys::{EvaluatorKeys, TargetKeys};
use super::schemas::{PlugInSchema, evaluators, generator, providers};
use agentv_wire::{Exit, env};
use schemars::JsonSchema;
use serde_json::{Map, Value};
use std::fmt::Write as _;

/// The first line of every page.
pub(super) const NOTICE: &str = "<!-- Made by `cargo xtask gen`; edit the code instead. -->\n";
/// How wide Markdown may be, as `tidy` checks.
const WIDTH: usize = 120;

pub(super) fn all() -> Vec<Generated> {
    vec![
        Generated::new("docs/reference/providers.md", providers_page()),
        Generated::new("docs/reference/evaluators.md", evaluators_page()),
        Generated::new("docs/reference/env.md", env_page()),
        Generated::new("docs/reference/exit-codes.md", exit_codes_page()),
    ]
}

fn providers_page() -> String {
    let mut generator = generator();
    let mut page = Page::new(
        "Providers",
        "A target in `targets.yaml` is a provider with a name and settings. Write keys in `snake_case` or `camelCase`; \
         if both are present, `snake_case` wins.",
    );
    page.section(2, "Keys of every target");
    let common = TargetKeys::json_schema(&mut generator).to_value();
    let kinds = providers(&mut generator);
    let definitions = generator.take_definitions(true);
    page.keys(&common);
    page.shapes(&common, &definitions);
    page.kinds("provider", &kinds, &definitions);
    page.text
}

fn evaluators_page() -> String {
    let mut generator = generator();
    let mut page = Page::new(
        "Evaluators",
        "An entry of `evaluators` in an eval file scores the answer of a case. The score of the case is the weighted \
         mean of its evaluators.",
    );
    page.section(2, "Keys of every evaluator");
    page.keys(&EvaluatorKeys::json_schema(&mut generator).to_value());
    let kinds = evaluators(&mut generator);
    page.kinds("type", &kinds, &generator.take_definitions(true));
    page.text
}

fn env_page() -> String {
    let mut page = Page::new(
        "Environment variables",
        "AgentV also reads every variable that a file names with `${{ NAME }}`. Variables in `.env` files work as if they \
         were set, but never override those that are.",
    );
    page.table(&["variable", "meaning"]);
    for (name, meaning) in env::DOCUMENTED {
        page.row(&[code(name), (*meaning).to_owned()]);
    }
    page.text
}

fn exit_codes_page() -> String {
    let mut page = Page::new(
        "Exit codes",
        "The same for every command. 130 wins over 3, and 3 over 1. Wrong files and flags (2) are found before \
         anything is called.",
    );
    page.table(&["code", "meaning"]);
    for (exit, meaning) in Exit::ALL {
        page.row(&[(exit as u8).to_string(), meaning.to_owned()]);
    }
    page.text
}

/// A page while it is written.
struct Page {
    text: String,
}

impl Page {
    fn new(title: &str, introduction: &str) -> Self {
        let mut page = Self { text: format!("{NOTICE}\n# {title}\n") };
        page.paragraph(introduction);
        page
    }

    fn section(&mut self, level: usize, title: &str) {
        self.text += &["\n", &"#".repeat(level), " ", title, "\n"].concat();
    }

    fn paragraph(&mut self, text: &str) {
        self.text += "\n";
        self.text += &wrap(text, WIDTH);
    }

    fn table(&mut self, heads: &[&str]) {
        let rule = vec!["---"; heads.len()].join(" | ");
        self.text += &["\n| ", &heads.join(" | "), " |\n| ", &rule, " |\n"].concat();
    }

    fn row(&mut self, cells: &[String]) {
        let cells: Vec<String> = cells.iter().map(|cell| in_cell(cell)).collect();
        self.text += &["| ", &cells.join(" | "), " |\n"].concat();
    }

    /// One section for each kind, with the shapes that its keys use.
    fn kinds(&mut self, key: &str, kinds: &[PlugInSchema], definitions: &Map<String, Value>) {
        for kind in kinds {
            let [name, others @ ..] = kind.names else { continue };
            let schema = kind.schema.as_value();
            self.section(2, &code(name));
            // A description that only repeats the line of the file says nothing under this heading.
            let said = format!("`{key}: {name}`");
            if let Some(text) = description(schema).filter(|text| *text != said) {
                self.paragraph(text);
            }
            if !others.is_empty() {
                let others: Vec<String> = others.iter().map(|name| code(name)).collect();
                self.paragraph(&format!("Other names: {}.", others.join(", ")));
            }
            self.keys(schema);
            self.shapes(schema, definitions);
        }
    }

    /// One section for each shape that a schema uses.
    fn shapes(&mut self, schema: &Value, definitions: &Map<String, Value>) {
        for (name, definition) in used(schema, definitions) {
            self.section(3, &code(name));
            if let Some(text) = description(definition) {
                self.paragraph(text);
            }
            self.keys(definition);
        }
    }

    /// The keys of a mapping; the values of an enumeration; nothing for other shapes.
    fn keys(&mut self, schema: &Value) {
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if let Some(properties) = schema["properties"].as_object() {
            self.table(&["key", "type", "default", "meaning"]);
            for (key, property) in properties {
                let default = match property.get("default") {
                    _ if required.contains(&key.as_str()) => "required".to_owned(),
                    None | Some(Value::Null) => "–".to_owned(),
                    Some(value) => code(&value.to_string()),
                };
                let meaning = description(property).unwrap_or_default().to_owned();
                self.row(&[code(key), type_of(property), default, meaning]);
            }
        }
        if schema.get("enum").is_some() {
            self.paragraph(&format!("One of {}.", type_of(schema)));
        }
        for (number, variant) in variants(schema).enumerate() {
            self.variant(number + 1, variant);
        }
    }

    fn variant(&mut self, number: usize, schema: &Value) {
        let text = description(schema).unwrap_or_default();
        if schema.get("properties").is_some() {
            self.paragraph(&format!("Form {number}. {text}"));
            self.keys(schema);
        } else {
            self.text += if number == 1 { "\n* " } else { "* " };
            self.text += &[&type_of(schema), ": ", text, "\n"].concat();
        }
    }
}

fn variants(schema: &Value) -> impl Iterator<Item = &Value> {
    ["oneOf", "anyOf"].into_iter().filter_map(|key| schema[key].as_array()).flatten()
}

fn description(schema: &Value) -> Option<&str> {
    schema["description"].as_str()
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

/// A cell is one line, and a bar would end it.
pub(super) fn in_cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

/// A type in words, as a table shows it.
fn type_of(schema: &Value) -> String {
    if let Some(name) = reference(schema) {
        return code(name);
    }
    if let Some(value) = schema.get("const") {
        return value_text(value);
    }
    if let Some(values) = schema["enum"].as_array() {
        return either(values.iter().filter(|value| !value.is_null()).map(value_text));
    }
    let parts: Vec<&Value> = variants(schema).filter(|part| part["type"] != "null").collect();
    if !parts.is_empty() {
        return either(parts.into_iter().map(type_of));
    }
    let named: Vec<&str> = match &schema["type"] {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => return "any".to_owned(),
    };
    either(named.into_iter().filter(|name| *name != "null").map(|name| match name {
        "array" => format!("list of {}", type_of(&schema["items"])),
        "object" => "mapping".to_owned(),
        "string" => "text".to_owned(),
        "integer" => "whole number".to_owned(),
        "boolean" => "`true` or `false`".to_owned(),
        other => other.to_owned(),
    }))
}

/// A value as it is written in YAML.
fn value_text(value: &Value) -> String {
    value.as_str().map_or_else(|| code(&value.to_string()), code)
}

fn either(parts: impl Iterator<Item = String>) -> String {
    let mut parts: Vec<String> = parts.collect();
    parts.dedup();
    parts.join(" or ")
}

fn reference(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.rsplit('/').next()
}

/// The shapes that a schema refers to, and those that they refer to, in that order.
fn used<'d>(schema: &Value, definitions: &'d Map<String, Value>) -> Vec<(&'d String, &'d Value)> {
    let mut found: Vec<(&'d String, &'d Value)> = Vec::new();
    let mut open = names_in(schema);
    while !open.is_empty() {
        let name = open.remove(0);
        if found.iter().any(|(known, _)| **known == name) {
            continue;
        }
        if let Some((name, definition)) = definitions.get_key_value(&name) {
            open.extend(names_in(definition));
            found.push((name, definition));
        }
    }
    found
}

fn names_in(schema: &Value) -> Vec<String> {
    let inside: Vec<&Value> = match schema {
        Value::Object(map) => map.values().collect(),
        Value::Array(list) => list.iter().collect(),
        _ => return Vec::new(),
    };
    let own = reference(schema).map(ToOwned::to_owned);
    own.into_iter().chain(inside.into_iter().flat_map(names_in)).collect()
}

/// Each paragraph of a text in lines of at most this many characters.
fn wrap(text: &str, width: usize) -> String {
    let mut wrapped = String::new();
    for (index, paragraph) in text.split("\n\n").enumerate() {
        if index > 0 {
            wrapped.push('\n');
        }
        let mut column = 0;
        for word in paragraph.split_whitespace() {
            let length = word.chars().count();
            let gap = match column {
                0 => "",
                _ if column + 1 + length > width => "\n",
                _ => " ",
            };
            column = if gap == " " { column + 1 + length } else { length };
            // Writing to a `String` cannot fail.
            write!(wrapped, "{gap}{word}").ok();
        }
        wrapped.push('\n');
    }
    wrapped
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(schema: &Value, expected: &str) {
        assert_eq!(type_of(schema), expected);
    }

    #[test]
    fn types_are_told_in_words() {
        check(&json!({ "type": ["string", "null"] }), "text");
        check(&json!({ "type": "array", "items": { "type": "integer" } }), "list of whole number");
        check(&json!({ "anyOf": [{ "$ref": "#/$defs/Probe" }, { "type": "null" }] }), "`Probe`");
        check(&json!({ "enum": ["a", "b"] }), "`a` or `b`");
        check(&json!(true), "any");
    }

    #[test]
    fn text_is_wrapped_between_words() {
        assert_eq!(wrap("aa bb cc\n\ndd", 5), "aa bb\ncc\n\ndd\n");
    }

    #[test]
    fn shapes_are_followed_to_the_end() {
        let definitions = json!({ "A": { "x": { "$ref": "#/$defs/B" } }, "B": {}, "C": {} });
        let definitions = definitions.as_object().unwrap();
        let found = used(&json!({ "items": { "$ref": "#/$defs/A" } }), definitions);
        assert_eq!(found.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["A", "B"]);
    }
}
