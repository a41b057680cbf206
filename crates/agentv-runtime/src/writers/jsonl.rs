//! One JSON object per line.

use agentv_wire::{ResultRecord, number};
use std::io;

/// Most records of models are not longer than this.
const USUAL: usize = 1024;

pub(super) fn render(record: &ResultRecord) -> io::Result<Vec<u8>> {
    let mut line = Vec::with_capacity(USUAL);
    number::to_writer(&mut line, record)?;
    line.push(b'\n');
    Ok(line)
}

#[expect(clippy::unnecessary_wraps, reason = "other formats can fail")]
pub(super) fn copy(json: &str) -> io::Result<Vec<u8>> {
    Ok(format!("{json}\n").into_bytes())
}
