//! The arguments that a call must have.

use super::super::equal::equal;
use super::super::shown;
use crate::config::{FromNode, Kind, Node, Wrong};
use agentv_wire::Object;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;
use std::borrow::Cow;

/// What is asked of a call's input.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum ExpectedArgs {
    /// Nothing.
    #[default]
    Any,
    /// Each key must be there, deeply equal; there may be others.
    With(Object),
}

impl ExpectedArgs {
    pub(super) fn accept(&self, input: Option<&Value>) -> bool {
        self.difference(input).is_none()
    }

    /// What is wrong with an input, if anything: `` `path` is "a", not "b" ``.
    pub(super) fn explain(&self, input: Option<&Value>) -> Option<String> {
        Some(match self.difference(input)? {
            Difference::NoInput => "it has none".to_owned(),
            Difference::Missing { key } => format!("`{}` is missing", shown::clipped(key)),
            Difference::Other { key, got, expected } => {
                let (got, expected) = (shown::json(got), shown::json(expected));
                format!("`{}` is {got}, not {expected}", shown::clipped(key))
            }
        })
    }

    fn difference<'a>(&'a self, input: Option<&'a Value>) -> Option<Difference<'a>> {
        let Self::With(args) = self else { return None };
        let Some(input) = input.and_then(Value::as_object) else {
            return Some(Difference::NoInput);
        };
        args.iter().find_map(|(key, expected)| match input.get(key) {
            None => Some(Difference::Missing { key }),
            Some(got) if equal(got, expected) => None,
            Some(got) => Some(Difference::Other { key, got, expected }),
        })
    }
}

/// The first thing that is not as wanted.
enum Difference<'a> {
    NoInput,
    Missing { key: &'a str },
    Other { key: &'a str, got: &'a Value, expected: &'a Value },
}

impl FromNode for ExpectedArgs {
    fn from_node(node: &Node<'_>) -> Result<Self, Wrong> {
        match (&node.kind, node.to_value()) {
            (Kind::Text(text), _) if text == "any" => Ok(Self::Any),
            (_, Value::Object(args)) => Ok(Self::With(args)),
            _ => Err(Wrong { expected: "`any` or a mapping of arguments to values" }),
        }
    }
}

impl JsonSchema for ExpectedArgs {
    fn schema_name() -> Cow<'static, str> {
        "Args".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "const": "any" }, { "type": "object" }] })
    }
}
