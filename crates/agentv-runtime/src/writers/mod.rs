//! Formats in which records are kept. One file each and one line in [`WRITERS`].

mod jsonl;
mod yaml;

use crate::run::ResultWriter;
use std::fs::File;

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
