//! One JSON object per line.

use super::ResultWriter;
use agentv_wire::{ResultRecord, number};
use std::fs::File;
use std::io::{self, Write};

#[derive(Debug)]
pub(super) struct Jsonl {
    file: File,
    /// Whole lines that are not in the file yet.
    waiting: Vec<u8>,
}

impl Jsonl {
    pub(super) fn new(file: File) -> Self {
        Self { file, waiting: Vec::with_capacity(64 * 1024) }
    }
}

impl ResultWriter for Jsonl {
    fn write(&mut self, record: &ResultRecord) -> io::Result<()> {
        number::to_writer(&mut self.waiting, record)?;
        self.waiting.push(b'\n');
        Ok(())
    }

    fn commit(&mut self) -> io::Result<()> {
        let written = self.file.write_all(&self.waiting);
        self.waiting.clear();
        written
    }

    fn sync(&mut self) -> io::Result<()> {
        sync(&self.file)
    }
}

/// To the disk, where there is one: a pipe or a terminal has nothing to sync.
pub(super) fn sync(file: &File) -> io::Result<()> {
    match file.sync_data() {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        other => other,
    }
}
