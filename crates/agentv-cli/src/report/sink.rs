//! Where a report goes. A file is written beside its place and moved there when it is whole.

use super::{FORMATS, FormatKind};
use crate::terminal::StdoutData;
use agentv_runtime::atomic_file::AtomicFile;
use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A report that was asked for.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub kind: &'static FormatKind,
    pub destination: Destination,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Destination {
    Stdout,
    File(PathBuf),
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdout => f.write_str("-"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

impl Wanted {
    /// `-` is stdout; paths are taken from the working directory.
    pub(crate) fn new(kind: &'static FormatKind, path: &Path, working_dir: &Path) -> Self {
        let destination = if path == Path::new("-") {
            Destination::Stdout
        } else {
            Destination::File(working_dir.join(path))
        };
        Self { kind, destination }
    }

    /// Reads `FORMAT=PATH`. What is wrong with it is told in words, with help.
    pub(crate) fn parse(text: &str, working_dir: &Path) -> Result<Self, (String, String)> {
        let names: Vec<&str> = FORMATS.iter().map(|kind| kind.name).collect();
        let help = format!("write `--report FORMAT=PATH`; formats: {}", names.join(", "));
        let Some((name, path)) = text.split_once('=').filter(|(_, path)| !path.is_empty()) else {
            return Err((format!("`--report {text}` names no file"), help));
        };
        let Some(kind) = FORMATS.iter().find(|kind| kind.name == name) else {
            return Err((format!("`--report {text}`: there is no format `{name}`"), help));
        };
        Ok(Self::new(kind, Path::new(path), working_dir))
    }
}

/// Takes the text of a report.
#[derive(Debug)]
pub(super) enum Sink {
    Stdout(BufWriter<StdoutData>),
    File(BufWriter<AtomicFile>),
    /// A pipe or a device: there is nothing to be moved to.
    Direct(BufWriter<File>),
}

impl Sink {
    pub(super) fn open(destination: &Destination) -> io::Result<Self> {
        let path = match destination {
            Destination::Stdout => return Ok(Self::Stdout(BufWriter::new(StdoutData::new()))),
            Destination::File(path) => path,
        };
        if path.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if path.exists() && !path.is_file() {
            let file = File::options().write(true).open(path)?;
            return Ok(Self::Direct(BufWriter::new(file)));
        }
        let file = AtomicFile::create_with_directory(path)?;
        Ok(Self::File(BufWriter::with_capacity(64 * 1024, file)))
    }

    /// Now it is whole. Until here, a file that was there is as it was.
    pub(super) fn close(self) -> io::Result<()> {
        match self {
            Self::Stdout(mut out) => out.flush(),
            Self::Direct(mut out) => out.flush(),
            Self::File(out) => out.into_inner().map_err(io::IntoInnerError::into_error)?.commit(),
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(out) => out.write(bytes),
            Self::File(out) => out.write(bytes),
            Self::Direct(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(out) => out.flush(),
            Self::File(out) => out.flush(),
            Self::Direct(out) => out.flush(),
        }
    }
}
