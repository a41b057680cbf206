//! Files that are replaced in one step: a reader sees all of the old contents or all of the new, also if AgentV is killed
//! half-way.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// What the names of unfinished files start with. One is left behind only if AgentV is killed while it writes.
pub const UNFINISHED_PREFIX: &str = ".writing-";

/// Replaces a file, or creates it. It survives a crash of AgentV, not a power cut: for that, see
/// [`AtomicFile::commit_synced`].
pub fn write_atomically(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(bytes.as_ref())?;
    file.commit()
}

/// A file that is written beside its destination and moved there by a commit. A drop before that removes it.
#[derive(Debug)]
pub struct AtomicFile {
    destination: PathBuf,
    file: NamedTempFile,
}

impl AtomicFile {
    /// Opens a file for everybody whom the system's mask lets read it, or with the permissions of the file that it
    /// replaces. The directory must exist. A symbolic link stays one: what it leads to is replaced.
    pub fn create(path: &Path) -> io::Result<Self> {
        let destination = followed(path);
        let replaced = match fs::metadata(&destination) {
            Ok(found) if !found.is_file() => {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "it is not a regular file",
                ));
            }
            Ok(found) => Some(found.permissions()),
            Err(_) => None,
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(UNFINISHED_PREFIX).permissions(Permissions::from_mode(0o666));
        let file = builder.tempfile_in(directory_of(&destination))?;
        if let Some(permissions) = replaced {
            file.as_file().set_permissions(permissions)?;
        }
        Ok(Self { destination, file })
    }

    /// The same, and makes the directory if there is none.
    pub fn create_with_directory(path: &Path) -> io::Result<Self> {
        fs::create_dir_all(directory_of(&followed(path)))?;
        Self::create(path)
    }

    /// Opens a file that only its owner may read, whatever it replaces.
    pub fn create_private(path: &Path) -> io::Result<Self> {
        let dir = directory_of(path);
        let file = tempfile::Builder::new().prefix(UNFINISHED_PREFIX).tempfile_in(dir)?;
        Ok(Self { destination: path.to_owned(), file })
    }

    /// Where it is before it is committed.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// A second handle, for a writer that owns its file.
    pub fn reopen(&self) -> io::Result<File> {
        self.file.reopen()
    }

    /// Puts the file in its place.
    pub fn commit(self) -> io::Result<()> {
        self.file.persist(self.destination).map(drop).map_err(|error| error.error)
    }

    /// Puts the file in its place once its contents are on the disk, so that a power cut leaves the old or the new ones.
    pub fn commit_synced(self) -> io::Result<()> {
        self.file.as_file().sync_data()?;
        self.commit()
    }

    /// The same, unless there is a file by now: then the error is [`io::ErrorKind::AlreadyExists`].
    pub fn commit_new_synced(self) -> io::Result<()> {
        self.file.as_file().sync_data()?;
        self.file.persist_noclobber(self.destination).map(drop).map_err(|error| error.error)
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn followed(path: &Path) -> PathBuf {
    path.canonicalize().ok().filter(|_| path.is_symlink()).unwrap_or_else(|| path.to_owned())
}

/// `.` for a bare name.
fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn nothing_is_seen_before_the_commit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        write_atomically(&path, "old").unwrap();
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        drop(file);
        assert_eq!(names(dir.path()), ["a"]);
        write_atomically(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(names(dir.path()), ["a"]);
    }

    #[test]
    fn links_and_permissions_stay() {
        let dir = tempfile::tempdir().unwrap();
        let [path, link] = ["a", "link"].map(|name| dir.path().join(name));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        write_atomically(&link, "new").unwrap();
        assert!(link.is_symlink());
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), mode(&path)), ("new", 0o640));
    }

    #[test]
    fn a_private_file_is_for_its_owner() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        AtomicFile::create_private(&path).unwrap().commit().unwrap();
        assert_eq!(mode(&path), 0o600);
    }

    #[test]
    fn only_regular_files_are_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let refused = AtomicFile::create(dir.path()).unwrap_err();
        assert_eq!(refused.to_string(), "it is not a regular file");
        let path = dir.path().join("made/here/a");
        let [first, second] = [(); 2].map(|()| AtomicFile::create_with_directory(&path).unwrap());
        first.commit_new_synced().unwrap();
        let refused = second.commit_new_synced().unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
    }
}
