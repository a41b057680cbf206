//! How much of something: a number from 0 up.

use crate::config::{FromNode, Node, Wrong};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;

/// A finite number that is not negative, as limits, tolerances and weights are.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Amount(f64);

impl Amount {
    pub const ZERO: Self = Self(0.0);

    pub fn value(self) -> f64 {
        self.0
    }
}

impl FromNode for Amount {
    fn from_node(node: &Node<'_>) -> Result<Self, Wrong> {
        f64::from_node(node)
            .ok()
            .filter(|number| *number >= 0.0)
            .map(Self)
            .ok_or(Wrong { expected: "a number from 0 up" })
    }
}

impl JsonSchema for Amount {
    fn schema_name() -> Cow<'static, str> {
        "Amount".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": 0 })
    }
}
