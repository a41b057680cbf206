//! SHA-256, the one hash that is stored in files and compared across machines. What is fed to it, and in which order, is
//! part of a file format: a change makes old runs and caches unknown.

use crate::file_input;
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// A hash under construction.
#[derive(Debug, Clone, Default)]
pub struct ContentHasher(Sha256);

impl ContentHasher {
    /// Adds bytes without a boundary: two calls are the same as one with all of it.
    pub fn update(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.update(bytes);
    }

    /// Adds a part with its length in front, so that no byte can move from one part to the next unnoticed.
    pub fn update_part(&mut self, part: impl AsRef<[u8]>) {
        let part = part.as_ref();
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    /// Adds what is left of a file as a part, without holding all of it. A file that grows or shrinks meanwhile gets a hash
    /// of its own.
    pub fn update_file(&mut self, file: &mut File) -> io::Result<()> {
        self.0.update(file.metadata()?.len().to_le_bytes());
        self.update_contents(file)
    }

    fn update_contents(&mut self, file: &mut File) -> io::Result<()> {
        let mut buffer = [0; 8 * 1024];
        loop {
            let count = file.read(&mut buffer)?;
            if count == 0 {
                return Ok(());
            }
            self.0.update(&buffer[..count]);
        }
    }

    pub fn finish(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

/// A hash in digits. `hex::encode` adds them one by one, which takes five times as long.
pub fn digits(hash: &[u8]) -> String {
    let mut digits = vec![0; hash.len() * 2];
    // The room is that of all digits, and they are ASCII.
    let _ = hex::encode_to_slice(hash, &mut digits);
    String::from_utf8(digits).unwrap_or_default()
}

/// The hash of some bytes.
pub fn sha256(bytes: impl AsRef<[u8]>) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// The hash of several parts, each with its length in front.
pub fn sha256_of_parts<P: AsRef<[u8]>>(parts: impl IntoIterator<Item = P>) -> [u8; 32] {
    let mut hasher = ContentHasher::default();
    for part in parts {
        hasher.update_part(part);
    }
    hasher.finish()
}

/// The hash of a regular file, which is never in memory as a whole.
pub fn sha256_of_file(path: &Path) -> io::Result<[u8; 32]> {
    let mut hasher = ContentHasher::default();
    hasher.update_contents(&mut file_input::open(path)?)?;
    Ok(hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_sha256sum() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hex::encode(sha256("abc")), expected);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, "abc").unwrap();
        assert_eq!(hex::encode(sha256_of_file(file.path()).unwrap()), expected);
        let mut hasher = ContentHasher::default();
        hasher.update("a");
        hasher.update("bc");
        assert_eq!(hex::encode(hasher.finish()), expected);
    }

    #[test]
    fn parts_have_boundaries() {
        assert_ne!(sha256_of_parts(["a", "bc"]), sha256_of_parts(["ab", "c"]));
        assert_eq!(sha256_of_parts(["ab"]), sha256(b"\x02\0\0\0\0\0\0\0ab"));
    }
}
