//! The lines of a file that may be of any size and hold anything.

use crate::file_input;
use serde_json::Value;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// The longest line that is read. Clients print answers of a few million characters, and keep them in a session.
const MAX_LINE: u64 = 64 << 20;
/// The same for people.
pub(super) const LIMIT: &str = "64 MiB";

#[derive(Debug)]
pub(super) struct SessionLines {
    reader: BufReader<File>,
    buffer: Vec<u8>,
}

/// One line that is not blank.
#[derive(Debug)]
pub(super) enum SessionLine {
    /// An object, or a list of them.
    Events(Vec<Value>),
    /// No JSON. `is_cut`: it is the last and has no end, as when its writer was killed.
    Noise { is_cut: bool },
    /// Too long to be read.
    Huge,
}

impl SessionLines {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let reader = BufReader::with_capacity(64 * 1024, file_input::open_argument(path)?);
        Ok(Self { reader, buffer: Vec::new() })
    }

    pub(super) fn next(&mut self) -> io::Result<Option<SessionLine>> {
        loop {
            self.buffer.clear();
            let read = (&mut self.reader).take(MAX_LINE).read_until(b'\n', &mut self.buffer)?;
            if read == 0 {
                return Ok(None);
            }
            let is_ended = self.buffer.ends_with(b"\n");
            if !is_ended && self.buffer.len() as u64 == MAX_LINE {
                self.reader.skip_until(b'\n')?;
                return Ok(Some(SessionLine::Huge));
            }
            let line = self.buffer.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&self.buffer);
            if line.trim_ascii().is_empty() {
                continue;
            }
            return Ok(Some(match serde_json::from_slice(line) {
                Ok(Value::Array(events)) => SessionLine::Events(events),
                Ok(event @ Value::Object(_)) => SessionLine::Events(vec![event]),
                Ok(_) => SessionLine::Noise { is_cut: false },
                Err(error) => SessionLine::Noise { is_cut: !is_ended && error.is_eof() },
            }));
        }
    }
}
