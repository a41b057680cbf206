//! What the tables over recorded output are checked with.

use super::{Reader, Reading, read_all};
use agentv_wire::{OutputMessage, TokenUsage};
use serde_json::Value;
use std::path::Path;

/// What a recording comes to, in short: `answer`, tools in order, tokens (in/out/cached), or `! failure`.
pub(in crate::providers) fn read_recording<R: Reader>(client: &str, name: &str) -> Reading {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("src/providers/agent_cli/fixtures")
        .join(client)
        .join(name);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    read_all::<R>(&bytes)
}

/// Every recording of standard output of this client, by name.
pub(in crate::providers) fn recordings(client: &str) -> Vec<String> {
    let dir =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("src/providers/agent_cli/fixtures").join(client);
    let names = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.retain(|name| !name.ends_with(".meta.json") && !name.ends_with(".stderr.txt"));
    names.sort();
    names
}

/// The calls as `tool` or `tool=result`, the result shortened.
pub(in crate::providers) fn calls(messages: &[OutputMessage]) -> Vec<String> {
    let calls = messages.iter().flat_map(|message| message.tool_calls.iter().flatten());
    calls
        .map(|call| match &call.output {
            Some(Value::String(output)) => {
                format!("{}={}", call.tool, output.chars().take(40).collect::<String>())
            }
            Some(output) => format!("{}={output}", call.tool),
            None => call.tool.clone(),
        })
        .collect()
}

/// `in/out/cached`
pub(in crate::providers) fn tokens(usage: Option<TokenUsage>) -> String {
    usage.map_or_else(String::new, |usage| {
        format!("{}/{}/{}", usage.input, usage.output, usage.cached.unwrap_or_default())
    })
}
