//! A file that is written to for a long time, while others may do with it what they like: is it still there, and whole?

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file as its writer knows it.
#[derive(Debug, Clone)]
pub(crate) struct WrittenFile {
    /// Where it was opened.
    pub path: PathBuf,
    pub file: Arc<File>,
    /// How long it has become.
    pub length: u64,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileState {
    /// It is where it was, and as long as it was made. A pipe or a device is, too: it has no length.
    Whole,
    /// Nothing is there any more.
    Removed,
    /// Something else is there.
    Replaced,
    /// It is there, with this many bytes.
    Resized(u64),
}

impl WrittenFile {
    pub(crate) fn state(&self) -> io::Result<FileState> {
        let open = self.file.metadata()?;
        if !open.is_file() {
            return Ok(FileState::Whole);
        }
        let there = match fs::metadata(&self.path) {
            Ok(there) => there,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(FileState::Removed),
            Err(error) => return Err(error),
        };
        Ok(match (there.dev(), there.ino()) == (open.dev(), open.ino()) {
            false => FileState::Replaced,
            true if open.len() != self.length => FileState::Resized(open.len()),
            true => FileState::Whole,
        })
    }

    /// Writes all that the open file still has to a new file, and says how much that is.
    pub(crate) fn copy_to_new(&self, path: &Path) -> io::Result<u64> {
        let mut copy = File::options().write(true).create_new(true).open(path)?;
        let (mut buffer, mut at) = (vec![0; 64 * 1024], 0);
        loop {
            let count = self.file.read_at(&mut buffer, at)?;
            if count == 0 {
                break;
            }
            copy.write_all(&buffer[..count])?;
            at += count as u64;
        }
        copy.sync_data()?;
        Ok(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_do_to_a_file_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let file = File::options().read(true).append(true).create(true).open(&path).unwrap();
        (&file).write_all(b"four").unwrap();
        let written = WrittenFile { path: path.clone(), file: Arc::new(file), length: 4 };
        let check = |expected| assert_eq!(written.state().unwrap(), expected);
        check(FileState::Whole);
        fs::rename(&path, dir.path().join("b")).unwrap();
        check(FileState::Removed);
        assert_eq!(written.copy_to_new(&path).unwrap(), 4);
        check(FileState::Replaced);
        fs::rename(dir.path().join("b"), &path).unwrap();
        File::options().write(true).open(&path).unwrap().set_len(1).unwrap();
        check(FileState::Resized(1));
        let null = File::options().write(true).open("/dev/null").unwrap();
        let null = WrittenFile { path: "/dev/none".into(), file: Arc::new(null), length: 4 };
        assert_eq!(null.state().unwrap(), FileState::Whole);
    }
}
