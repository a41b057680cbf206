//! What the tables over recorded output are made with.

use super::{EventReader, Reading, read_all};
use agentv_wire::ToolCall;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// How much of a text is shown in a table.
const SHOWN: usize = 60;

/// Every recording of a client, and what it comes to: a line each, `name | outcome | calls | tokens in/out/cached | cost`. The
/// outcome is an answer, or `! ` and the failure, or `…` and the last trouble where the client never came to its end.
pub(in crate::providers) fn table<R: EventReader>(client: &str) -> String {
    let lines = recordings(client).into_iter().map(|path| {
        let reading = read_all::<R>(&std::fs::read(&path).unwrap());
        let name = path.file_name().unwrap().to_string_lossy();
        let columns = [
            outcome(&reading),
            calls(&reading).join(", "),
            tokens(&reading),
            reading.reported.cost_usd.map(|cost| format!("{cost:.6}")).unwrap_or_default(),
        ];
        format!("{name} | {}", columns.join(" | ")).trim_end_matches([' ', '|']).to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The standard outputs that were recorded of this client, by name.
pub(in crate::providers) fn recordings(client: &str) -> Vec<PathBuf> {
    let dir =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("src/providers/agent_cli/fixtures").join(client);
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| {
        let name = path.to_string_lossy();
        !name.ends_with(".meta.json") && !name.ends_with(".stderr.txt")
    });
    paths.sort();
    assert!(!paths.is_empty());
    paths
}

/// No recording, cut anywhere, may pass for a success with another answer than the whole one has.
pub(in crate::providers) fn no_cut_is_a_success<R: EventReader>(client: &str) {
    for path in recordings(client) {
        let bytes = std::fs::read(&path).unwrap();
        let whole = read_all::<R>(&bytes);
        for end in (0..bytes.len()).step_by(bytes.len() / 200 + 1) {
            let cut = read_all::<R>(&bytes[..end]);
            let is_failure = cut.is_cut || cut.failure.is_some() || has_said_nothing(&cut);
            assert!(
                is_failure || cut.answer == whole.answer,
                "{} cut at {end}: {cut:?}",
                path.display()
            );
        }
    }
}

fn has_said_nothing(reading: &Reading) -> bool {
    reading.clone().into_response().is_none()
}

fn outcome(reading: &Reading) -> String {
    match (&reading.failure, reading.is_cut) {
        (Some(failure), _) => format!("! {}", short(failure)),
        (None, true) => format!("… {}", reading.trouble.clone().unwrap_or_default()).trim().into(),
        (None, false) => reading.answer.as_deref().map(short).unwrap_or_default(),
    }
}

/// `tool=result`, or `tool` where there is none.
fn calls(reading: &Reading) -> Vec<String> {
    let calls = reading.messages.iter().flat_map(|message| message.tool_calls.iter().flatten());
    let show = |call: &ToolCall| match &call.output {
        Some(Value::String(output)) => format!("{}={}", call.tool, short(output)),
        Some(output) => format!("{}={output}", call.tool),
        None => call.tool.clone(),
    };
    calls.map(show).collect()
}

fn tokens(reading: &Reading) -> String {
    let usage = reading.reported.token_usage;
    usage.map_or_else(String::new, |usage| {
        format!("{}/{}/{}", usage.input, usage.output, usage.cached.unwrap_or_default())
    })
}

fn short(text: &str) -> String {
    text.replace(['\n', '\t', '\u{2028}'], "⏎").chars().take(SHOWN).collect()
}
