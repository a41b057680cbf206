//! The keys, and the rule that they make.

use super::ExpectedArgs;
use crate::config::{Entry, Fields, FromNode, Leftovers, Node, Wrong};
use crate::evaluators::amount::Amount;
use schemars::JsonSchema;
use std::collections::BTreeMap;

/// `type: tool_trajectory`: checks the tools that the candidate used.
///
/// Calls are taken from the output messages, in order; if those have none, from the `tool_call` events of the trace. An
/// answer that came with neither scores 0. Calls are counted from 1 in hits and misses.
#[derive(Debug, JsonSchema)]
pub struct ToolTrajectoryConfig {
    /// How the calls are compared with what is wanted.
    pub mode: Mode,
    /// With `any_order`, which needs it: how often each tool must be called at least.
    #[serde(default)]
    pub minimums: BTreeMap<String, u64>,
    /// With `in_order` and `exact`, which need it: the calls that must be made, in this order. With `any_order` its entries
    /// only limit durations: no call of the `tool` (with these `args`, if given) may exceed `max_duration_ms`.
    #[serde(default)]
    pub expected: Vec<ExpectedCall>,
}

/// How calls are compared with what is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Each tool is called often enough. The score is the share of `minimums` that are met.
    AnyOrder,
    /// The expected calls are made one after the other; others may come between. A call of the right tool with other
    /// arguments is just another call. The score is 1, or 0 if one is missing.
    InOrder,
    /// The expected calls are made and no others. The score is 1 or 0; an empty list allows no call at all.
    Exact,
}

/// One call that is wanted.
#[derive(Debug, JsonSchema)]
pub struct ExpectedCall {
    /// The tool's name, as the agent spells it.
    pub tool: String,
    /// `any` (the default), or a mapping: each of its keys must be in the call's input with an equal value. The input may
    /// have other keys as well.
    #[serde(default)]
    pub args: ExpectedArgs,
    /// The call may take this many milliseconds. Once the calls are as wanted, the score is
    /// `(calls + limits kept) / (calls + limits checked)`; a call that reports no duration is not checked.
    #[serde(default)]
    pub max_duration_ms: Option<Amount>,
}

/// A tool and how often it must be called.
#[derive(Debug)]
pub(super) struct Minimum {
    pub(super) tool: String,
    pub(super) calls: u64,
}

/// What is asked of the calls.
#[derive(Debug)]
pub(super) enum Rule {
    AnyOrder {
        minimums: Vec<Minimum>,
        /// Each has a `max_duration_ms`.
        limits: Vec<ExpectedCall>,
    },
    InOrder(Vec<ExpectedCall>),
    Exact(Vec<ExpectedCall>),
}

impl FromNode for Mode {
    fn from_node(node: &Node<'_>) -> Result<Self, Wrong> {
        match node.as_text() {
            Some("any_order") => Ok(Self::AnyOrder),
            Some("in_order") => Ok(Self::InOrder),
            Some("exact") => Ok(Self::Exact),
            _ => Err(Wrong { expected: "`any_order`, `in_order` or `exact`" }),
        }
    }
}

/// Reads all keys before it gives up, so that all that is wrong is said at once.
pub(super) fn read(fields: &mut Fields<'_, '_>) -> Option<Rule> {
    let mode = fields.need("mode");
    let minimums = read_minimums(fields);
    let expected = read_expected(fields);
    match mode? {
        Mode::AnyOrder => {
            note_expected_without_effect(fields, expected.as_deref().unwrap_or_default());
            let minimums = present(fields, minimums, "minimums", "any_order")?;
            let limits = expected.unwrap_or_default();
            let limits = limits.into_iter().filter(|call| call.max_duration_ms.is_some()).collect();
            Some(Rule::AnyOrder { minimums, limits })
        }
        Mode::InOrder => {
            note_minimums_without_effect(fields, minimums.is_some());
            Some(Rule::InOrder(present(fields, expected, "expected", "in_order")?))
        }
        Mode::Exact => {
            note_minimums_without_effect(fields, minimums.is_some());
            Some(Rule::Exact(present(fields, expected, "expected", "exact")?))
        }
    }
}

/// `None` if they are not there. What is wrong is an error of the whole, so leaving it out loses nothing.
fn read_minimums(fields: &mut Fields<'_, '_>) -> Option<Vec<Minimum>> {
    let node = fields.node("minimums")?;
    let Some(map) = node.as_map() else {
        let message = format!(
            "`minimums` of {} must be a mapping of tools to numbers of calls, not {}",
            fields.owner(),
            node.describe()
        );
        fields.error_at("config::type", node.span, message);
        return Some(Vec::new());
    };
    let minimum = |entry: &Entry<'_>| match u64::from_node(&entry.value) {
        Ok(calls) => Some(Minimum { tool: entry.key.clone().into_owned(), calls }),
        Err(Wrong { expected }) => {
            let message =
                format!("the minimum of `{}` in {} must be {expected}", entry.key, fields.owner());
            fields.error_at("config::type", entry.value.span, message);
            None
        }
    };
    Some(map.iter().filter_map(minimum).collect())
}

/// `None` if there is no list.
fn read_expected(fields: &mut Fields<'_, '_>) -> Option<Vec<ExpectedCall>> {
    let node = fields.node("expected")?;
    let Some(list) = node.as_list() else {
        let message = format!(
            "`expected` of {} must be a list of calls, not {}",
            fields.owner(),
            node.describe()
        );
        fields
            .error_at("config::type", node.span, message)
            .help("write one `- tool: <name>` per expected call");
        return Some(Vec::new());
    };
    let calls = list.iter().enumerate().filter_map(|(index, node)| {
        let owner = format!("entry {} of `expected` of {}", index + 1, fields.owner());
        read_call(fields.inside(node, owner)?)
    });
    Some(calls.collect())
}

fn read_call(mut fields: Fields<'_, '_>) -> Option<ExpectedCall> {
    let tool: Option<String> = fields.need("tool");
    let args = fields.take("args").unwrap_or_default();
    let max_duration_ms = fields.take("max_duration_ms");
    fields.finish(Leftovers::Warn);
    let tool = tool?;
    if tool.trim().is_empty() {
        let message = format!("`tool` of {} must not be empty", fields.owner());
        fields.error("config::type", "tool", message);
        return None;
    }
    Some(ExpectedCall { tool, args, max_duration_ms })
}

/// What this mode cannot do without.
fn present<T>(
    fields: &mut Fields<'_, '_>,
    value: Option<T>,
    key: &'static str,
    mode: &str,
) -> Option<T> {
    if value.is_none() {
        let message = format!("{} needs `{key}` with `mode: {mode}`", fields.owner());
        fields.error("config::missing", key, message);
    }
    value
}

fn note_minimums_without_effect(fields: &mut Fields<'_, '_>, given: bool) {
    if given {
        let message = format!("`minimums` of {} only counts with `any_order`", fields.owner());
        let span = fields.span_of("minimums");
        fields.warning_at("tool_trajectory::ignored", span, message).help("remove `minimums`");
    }
}

fn note_expected_without_effect(fields: &mut Fields<'_, '_>, expected: &[ExpectedCall]) {
    if expected.iter().any(|call| call.max_duration_ms.is_none()) {
        let message = format!(
            "with `any_order`, entries in `expected` of {} count only by their `max_duration_ms`",
            fields.owner()
        );
        let span = fields.span_of("expected");
        fields
            .warning_at("tool_trajectory::ignored", span, message)
            .help("use `minimums` to ask for calls, or `mode: in_order`");
    }
}
