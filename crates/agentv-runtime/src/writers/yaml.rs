//! One YAML document per record.

use agentv_wire::{ResultRecord, number};
use serde_json::Value;
use std::io;

pub(super) fn render(record: &ResultRecord, bytes: &mut Vec<u8>) -> io::Result<()> {
    // By way of JSON, so that numbers look the same in both formats.
    bytes.extend(copy(&number::to_string(record)?)?);
    Ok(())
}

pub(super) fn copy(json: &str) -> io::Result<Vec<u8>> {
    let value: Value = serde_json::from_str(json)?;
    let text = serde_saphyr::to_string(&value).map_err(io::Error::other)?;
    let text = text.trim_start_matches("---\n").trim_end();
    Ok(format!("---\n{text}\n").into_bytes())
}
