//! Formats in which records are kept. One file each and one line in [`WRITERS`].

mod jsonl;
mod yaml;

use crate::hash::ContentHasher;
use crate::written_file::WrittenFile;
use agentv_wire::{FileSeal, ResultRecord};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The registry.
pub const WRITERS: &[WriterKind] = &[
    WriterKind {
        name: "jsonl",
        extension: "jsonl",
        render: jsonl::render,
        copy: jsonl::copy,
        between: b"",
    },
    WriterKind {
        name: "yaml",
        extension: "yaml",
        render: yaml::render,
        copy: yaml::copy,
        between: b"\n",
    },
];

/// How one format is named and written. Records are rendered where they are made, many at a time; the file only takes them.
#[derive(Debug)]
pub struct WriterKind {
    pub name: &'static str,
    pub extension: &'static str,
    /// Adds a record as it is in the file, with its end.
    pub render: Render,
    /// The same for a record that is JSON already; keys that AgentV does not know are kept.
    pub copy: fn(&str) -> io::Result<Vec<u8>>,
    /// What keeps two records apart.
    between: &'static [u8],
}

/// See [`WriterKind::render`].
pub type Render = fn(&ResultRecord, &mut Vec<u8>) -> io::Result<()>;

impl WriterKind {
    pub fn find(name: &str) -> Option<&'static Self> {
        WRITERS.iter().find(|kind| kind.name == name)
    }

    /// The format of a file by its name: YAML if it says so, else JSONL.
    pub fn of_path(path: &Path) -> &'static Self {
        let extension = path.extension().map(OsStr::to_ascii_lowercase);
        let is_yaml = extension.is_some_and(|extension| extension == "yaml" || extension == "yml");
        let name = if is_yaml { "yaml" } else { "jsonl" };
        Self::find(name).unwrap_or(&WRITERS[0])
    }
}

/// Keeps records. If it fails, the run fails: results would be lost.
#[derive(Debug)]
pub struct ResultFile {
    kind: &'static WriterKind,
    path: PathBuf,
    file: Arc<File>,
    /// Whole records that are not in the file yet.
    waiting: Vec<u8>,
    is_empty: bool,
    /// How many bytes of whole records we have found or written.
    length: u64,
    is_synced: bool,
    /// The hash of all that is in it, and how many records that is; only in a run folder.
    sealed: Option<(ContentHasher, u64)>,
    /// Something could not be written. Nothing more is: half a record may be there that cannot be taken back.
    is_broken: bool,
}

impl ResultFile {
    /// Writes to a file that was opened, empty, at this path.
    pub fn new(kind: &'static WriterKind, file: File, path: &Path) -> Self {
        Self {
            kind,
            path: path.to_owned(),
            file: Arc::new(file),
            waiting: Vec::with_capacity(64 * 1024),
            is_empty: true,
            length: 0,
            is_synced: true,
            sealed: None,
            is_broken: false,
        }
    }

    /// Goes on after the whole records of a file that was opened for reading and appending, and hashes all that is in it.
    pub fn after(kind: &'static WriterKind, file: File, path: &Path) -> io::Result<Self> {
        let length = file.metadata()?.len();
        let (mut hasher, mut records, mut line) = (ContentHasher::default(), 0, Vec::new());
        let mut reader = BufReader::with_capacity(64 * 1024, &file);
        while reader.read_until(b'\n', &mut line)? > 0 {
            hasher.update(&line);
            records += 1;
            line.clear();
        }
        let sealed = Some((hasher, records));
        Ok(Self { is_empty: length == 0, length, sealed, ..Self::new(kind, file, path) })
    }

    pub fn kind(&self) -> &'static WriterKind {
        self.kind
    }

    /// What was written, for the manifest of its run folder.
    pub(crate) fn seal(&self) -> Option<FileSeal> {
        let (hasher, records) = self.sealed.clone()?;
        let sha256 = hex::encode(hasher.finish());
        Some(FileSeal { bytes: self.length, lines: Some(records), sha256 })
    }

    /// The file as it should be.
    pub(crate) fn written(&self) -> WrittenFile {
        WrittenFile { path: self.path.clone(), file: Arc::clone(&self.file), length: self.length }
    }

    /// Takes a record; it waits in memory until [`ResultFile::commit`].
    pub fn add(&mut self, rendered: &[u8]) {
        if !self.is_empty {
            self.waiting.extend_from_slice(self.kind.between);
        }
        self.is_empty = false;
        self.waiting.extend_from_slice(rendered);
        if let Some((_, records)) = &mut self.sealed {
            *records += 1;
        }
    }

    /// Hands everything taken so far to the system, in whole records. After a failure there is nothing more to be had.
    pub fn commit(&mut self) -> io::Result<()> {
        if self.waiting.is_empty() || self.is_broken {
            self.waiting.clear();
            return Ok(());
        }
        let written = (&*self.file).write_all(&self.waiting);
        if written.is_ok() {
            self.length += self.waiting.len() as u64;
            if let Some((hasher, _)) = &mut self.sealed {
                hasher.update(&self.waiting);
            }
        } else {
            self.is_broken = true;
            // So that every line is whole. Not to be had of pipes, which have readers and no length.
            let _ = self.file.set_len(self.length);
        }
        self.is_synced = false;
        self.waiting.clear();
        written
    }

    /// Makes it last through a power cut, where there is a disk: a pipe or a terminal has nothing to sync.
    pub fn sync(&mut self) -> io::Result<()> {
        if self.is_synced {
            return Ok(());
        }
        self.is_synced = true;
        match self.file.sync_data() {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            other => other,
        }
    }
}
