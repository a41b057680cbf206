//! Files of lines: shown one after the other, or one of them read again alone.

use crate::file_input;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::Path;

/// Where in a file a line is: what is kept in memory of those that may be wanted later.
#[derive(Debug, Clone, Copy)]
pub struct LinePlace {
    pub at: u64,
    pub bytes: usize,
}

impl LinePlace {
    /// Reads the line from its file.
    pub fn read(self, path: &Path) -> io::Result<Vec<u8>> {
        let mut file = file_input::open(path)?;
        file.seek(SeekFrom::Start(self.at))?;
        let mut line = vec![0; self.bytes];
        file.read_exact(&mut line)?;
        Ok(line)
    }
}

/// Shows every whole line, with its end. Returns whether something was left that is no line. A file that is not there has
/// none.
pub(super) fn lines(
    path: &Path,
    mut each: impl FnMut(&[u8], LinePlace) -> io::Result<()>,
) -> io::Result<bool> {
    let file = match file_input::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let mut reader = BufReader::with_capacity(64 * 1024, file);
    let mut line = Vec::new();
    let mut at = 0;
    loop {
        line.clear();
        let bytes = reader.read_until(b'\n', &mut line)?;
        if bytes == 0 {
            return Ok(false);
        }
        if !line.ends_with(b"\n") {
            return Ok(true);
        }
        each(&line, LinePlace { at, bytes })?;
        at += bytes as u64;
    }
}
