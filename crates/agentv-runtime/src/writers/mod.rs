//! Formats in which records are kept. One file each and one line in [`WRITERS`].

mod jsonl;
mod yaml;

use agentv_wire::ResultRecord;
use std::fmt;
use std::fs::File;
use std::io;

/// Keeps records. If it fails, the run fails: results would be lost.
pub trait ResultWriter: fmt::Debug + Send {
    /// Takes a record; it may wait in memory until [`ResultWriter::commit`].
    fn write(&mut self, record: &ResultRecord) -> io::Result<()>;

    /// Hands everything taken so far to the system, in whole records.
    fn commit(&mut self) -> io::Result<()>;

    /// Makes it last through a power cut.
    fn sync(&mut self) -> io::Result<()>;
}

/// The registry.
pub const WRITERS: &[WriterKind] = &[
    WriterKind {
        name: "jsonl",
        extension: "jsonl",
        open: |file| Box::new(jsonl::Jsonl::new(file)),
    },
    WriterKind { name: "yaml", extension: "yaml", open: |file| Box::new(yaml::Yaml::new(file)) },
];

/// How one format is named and opened.
#[derive(Debug)]
pub struct WriterKind {
    pub name: &'static str,
    pub extension: &'static str,
    pub open: fn(File) -> Box<dyn ResultWriter>,
}

impl WriterKind {
    pub fn find(name: &str) -> Option<&'static Self> {
        WRITERS.iter().find(|kind| kind.name == name)
    }
}
