//! What Codex said and did: the `item` of its events.

use super::document::flat;
use crate::providers::agent_cli::text;
use agentv_wire::ToolCall;
use serde_json::{Value, json};

/// The kind of an item. The first versions with items spelled it `item_type`.
pub(super) fn kind(item: &Value) -> Option<&str> {
    text(item, "type").or_else(|| text(item, "item_type"))
}

/// What of an item is in the log: what a tool was given, what it returned, and remarks.
pub(super) const LOGGED: &[&str] = &[
    "command",
    "changes",
    "query",
    "items",
    "server",
    "tool",
    "prompt",
    "arguments",
    "aggregated_output",
    "exit_code",
    "result",
    "error",
    "agents_states",
    "message",
    "text",
];

/// The text of an item that is a message, a thought aside.
pub(super) fn said(item: &Value) -> Option<String> {
    let is_message =
        matches!(kind(item)?, "agent_message" | "assistant_message" | "response" | "output");
    let texts = ["text", "content", "output"];
    is_message.then(|| texts.iter().find_map(|key| flat(item.get(*key)?)))?
}

/// The item as a tool call, as far as it has come; `None` if it is none.
pub(super) fn call(item: &Value) -> Option<ToolCall> {
    let value = |key: &str| item.get(key).filter(|value| !value.is_null());
    let part = |key: &str| json!({ key: value(key) });
    let kind = kind(item)?;
    let (tool, input, output) = match kind {
        "command_execution" => (kind.to_owned(), part("command"), value("aggregated_output")),
        "file_change" => (kind.to_owned(), part("changes"), value("status")),
        "web_search" => (kind.to_owned(), part("query"), None),
        "todo_list" => (kind.to_owned(), part("items"), None),
        "collab_tool_call" => (
            kind.to_owned(),
            json!({ "tool": value("tool"), "prompt": value("prompt") }),
            value("agents_states"),
        ),
        "mcp_tool_call" => (
            mcp_name(text(item, "server"), text(item, "tool")),
            value("arguments").cloned().unwrap_or_default(),
            value("result").or_else(|| value("error")),
        ),
        _ => return None,
    };
    let is_running = text(item, "status") == Some("in_progress");
    Some(ToolCall {
        tool,
        input: Some(input),
        output: output.filter(|_| !is_running).cloned(),
        id: text(item, "id").map(str::to_owned),
        ..ToolCall::default()
    })
}

/// As other clients name the tools of MCP servers, so that a trajectory fits them all.
pub(super) fn mcp_name(server: Option<&str>, tool: Option<&str>) -> String {
    format!("mcp__{}__{}", server.unwrap_or_default(), tool.unwrap_or_default())
}
