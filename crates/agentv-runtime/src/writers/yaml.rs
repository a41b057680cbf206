//! One YAML document per record.

use super::ResultWriter;
use super::jsonl::sync;
use agentv_wire::{ResultRecord, number};
use serde_json::Value;
use std::fs::File;
use std::io::{self, Write};

#[derive(Debug)]
pub(super) struct Yaml {
    file: File,
    /// Whole documents that are not in the file yet.
    waiting: String,
    first: bool,
}

impl Yaml {
    pub(super) fn new(file: File) -> Self {
        Self { file, waiting: String::new(), first: true }
    }
}

impl ResultWriter for Yaml {
    fn write(&mut self, record: &ResultRecord) -> io::Result<()> {
        // By way of JSON, so that numbers look the same in both formats.
        let value: Value = serde_json::from_str(&number::to_string(record)?)?;
        let text = serde_saphyr::to_string(&value).map_err(io::Error::other)?;
        self.waiting.push_str(if self.first { "---\n" } else { "\n---\n" });
        self.first = false;
        self.waiting.push_str(text.trim_start_matches("---\n").trim_end());
        self.waiting.push('\n');
        Ok(())
    }

    fn commit(&mut self) -> io::Result<()> {
        let written = self.file.write_all(self.waiting.as_bytes());
        self.waiting.clear();
        written
    }

    fn sync(&mut self) -> io::Result<()> {
        sync(&self.file)
    }
}
