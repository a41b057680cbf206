//! One JSON object per line.

use agentv_wire::{ResultRecord, number};
use std::io;

pub(super) fn render(record: &ResultRecord, bytes: &mut Vec<u8>) -> io::Result<()> {
    number::to_writer(&mut *bytes, record)?;
    bytes.push(b'\n');
    Ok(())
}

#[expect(clippy::unnecessary_wraps, reason = "other formats can fail")]
pub(super) fn copy(json: &str) -> io::Result<Vec<u8>> {
    Ok(format!("{json}\n").into_bytes())
}
