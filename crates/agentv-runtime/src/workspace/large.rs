//! Files that Git does not get to see: to say that a new file is not text, it takes all of it into memory. In their place
//! it gets a stand-in that differs when they do.

use super::WorkspaceError;
use super::git::Deadline;
use crate::hash::ContentHasher;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// From this size on a file is compared by its hash, and listed as one that is not text.
const LARGE: u64 = 16 << 20;
/// What is read at once.
const PIECE: usize = 1 << 20;

/// The large files of a workspace, by path.
pub(super) type LargeFiles = HashMap<Vec<u8>, LargeFile>;

/// What is known of a large file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LargeFile {
    /// Which file it is, and when it was last changed. The last of these times cannot be set by a program.
    stamp: [i64; 6],
    size: u64,
    is_executable: bool,
    /// `None` where the size alone tells it from every other file.
    hash: Option<[u8; 32]>,
}

impl LargeFile {
    /// As Git writes it.
    pub(super) fn mode(&self) -> &'static str {
        if self.is_executable { "100755" } else { "100644" }
    }

    /// What Git gets instead. The zero makes it a file that is not text.
    pub(super) fn stand_in(&self) -> String {
        format!("{} bytes, {}\0\n", self.size, self.hash.map(hex::encode).unwrap_or_default())
    }
}

/// Finds the large files among those that Git has listed. `before` are those of the baseline; without it, this is the
/// baseline.
pub(super) fn find(
    workspace: &Path,
    listed: &[u8],
    before: Option<&LargeFiles>,
    deadline: &Deadline,
) -> Result<LargeFiles, WorkspaceError> {
    let mut found = LargeFiles::new();
    for name in listed.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        deadline.check("ls-files")?;
        let path = workspace.join(OsStr::from_bytes(name));
        // Not there any more, a link, or nothing that could be large.
        let Ok(metadata) = path.symlink_metadata() else { continue };
        if !metadata.is_file() || metadata.len() < LARGE || found.contains_key(name) {
            continue;
        }
        if let Some(file) = look(name, &path, &metadata, before, deadline)? {
            found.insert(name.to_vec(), file);
        }
    }
    Ok(found)
}

/// `None` for a file that cannot be read: Git says so itself.
fn look(
    name: &[u8],
    path: &Path,
    metadata: &Metadata,
    before: Option<&LargeFiles>,
    deadline: &Deadline,
) -> Result<Option<LargeFile>, WorkspaceError> {
    let file = LargeFile {
        stamp: stamp(metadata),
        size: metadata.len(),
        is_executable: metadata.mode() & 0o100 != 0,
        hash: None,
    };
    let is_same = |known: &&LargeFile| known.stamp == file.stamp && known.size == file.size;
    if let Some(known) = before.and_then(|before| before.get(name)).filter(is_same) {
        return Ok(Some(LargeFile { hash: known.hash, ..file }));
    }
    let is_like_another =
        |before: &LargeFiles| before.values().any(|known| known.size == file.size);
    if before.is_some_and(|before| !is_like_another(before)) {
        return Ok(Some(file));
    }
    let hash = hash(path, deadline)?;
    Ok(hash.ok().map(|hash| LargeFile { hash: Some(hash), ..file }))
}

fn stamp(metadata: &Metadata) -> [i64; 6] {
    [
        metadata.dev().cast_signed(),
        metadata.ino().cast_signed(),
        metadata.mtime(),
        metadata.mtime_nsec(),
        metadata.ctime(),
        metadata.ctime_nsec(),
    ]
}

/// The hash of a file, which may take a while. Outside: the time is over; inside: the file cannot be read.
fn hash(path: &Path, deadline: &Deadline) -> Result<io::Result<[u8; 32]>, WorkspaceError> {
    let mut file = match crate::file_input::open(path) {
        Ok(file) => file,
        Err(error) => return Ok(Err(error)),
    };
    let (mut hasher, mut buffer) = (ContentHasher::default(), vec![0; PIECE]);
    loop {
        deadline.check("hash-object")?;
        match file.read(&mut buffer) {
            Ok(0) => return Ok(Ok(hasher.finish())),
            Ok(count) => hasher.update(&buffer[..count]),
            Err(error) => return Ok(Err(error)),
        }
    }
}
