//! Reading files that others name or write; `clippy.toml` bans the ways around it.
//!
//! A path in a file, or one that a program has written to, may lead to a FIFO without a writer, to `/dev/zero`, or to
//! gigabytes of nothing. So only regular files are read, and only up to a cap. What a file is, its open handle says: whoever
//! looks first and opens then can be handed another file in between.
//!
//! What the user names on the command line may be a pipe, too: `--targets <(make-targets)`.

use rustix::fs::OFlags;
use std::fs::{File, FileType, Metadata};
use std::io::{self, BufRead, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use tokio_util::sync::CancellationToken;

/// How large a file may be that is held in memory, or a line of one that is not.
pub const CAP: u64 = 64 << 20;
/// How long a line may be that AgentV itself has written. A record holds an answer of up to [`CAP`], in JSON, and more.
pub const RECORD_CAP: u64 = 8 * CAP;

/// Why a file that is there is not read.
#[derive(Debug, thiserror::Error)]
pub enum FileRefusal {
    #[error("it is {0}, not a regular file")]
    Kind(&'static str),
    #[error("it is larger than {}", mebibytes(*.0))]
    TooLarge(u64),
    #[error("a line of it is longer than {}", mebibytes(*.0))]
    LongLine(u64),
    #[error("it is outside of {0}")]
    Outside(String),
}

impl From<FileRefusal> for io::Error {
    fn from(refusal: FileRefusal) -> Self {
        let kind = match refusal {
            FileRefusal::Kind(_) | FileRefusal::Outside(_) => ErrorKind::InvalidInput,
            FileRefusal::TooLarge(_) | FileRefusal::LongLine(_) => ErrorKind::FileTooLarge,
        };
        Self::new(kind, refusal)
    }
}

/// `64 MiB`
fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}

/// Opens a regular file. Never waits for anybody.
pub fn open(path: &Path) -> io::Result<File> {
    opened(path).map(|(file, _)| file)
}

/// Opens what the user has named on the command line: a regular file, or a pipe. Opening a FIFO waits for its writer.
pub fn open_argument(path: &Path) -> io::Result<File> {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that opens files of others"
    )]
    File::open(path)
}

/// Opens a regular file that lies in one of these directories, wherever links lead.
pub fn open_inside(path: &Path, dirs: &[&Path]) -> io::Result<File> {
    let (file, found) = opened(path)?;
    let real = path.canonicalize()?;
    let is_inside =
        dirs.iter().any(|dir| dir.canonicalize().is_ok_and(|dir| real.starts_with(dir)));
    // The path without links must lead to what was opened, else a link was changed in between.
    if is_inside && real.symlink_metadata().is_ok_and(|there| id(&there) == id(&found)) {
        return Ok(file);
    }
    let dirs: Vec<String> = dirs.iter().map(|dir| format!("`{}`", dir.display())).collect();
    Err(FileRefusal::Outside(dirs.join(" and ")).into())
}

/// The bytes of a regular file of at most [`CAP`].
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_capped(open(path)?, CAP)
}

/// The same as text.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    text(read(path)?)
}

/// The bytes of what the user has named on the command line, if there are no more than `cap`.
pub fn read_argument(path: &Path, cap: u64) -> io::Result<Vec<u8>> {
    read_capped(open_argument(path)?, cap)
}

/// The same as text.
pub fn read_argument_to_string(path: &Path, cap: u64) -> io::Result<String> {
    text(read_argument(path, cap)?)
}

/// All of an open file, if that is no more than `cap`.
pub fn read_capped(file: File, cap: u64) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    if length > cap {
        return Err(FileRefusal::TooLarge(cap).into());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    // A pipe has no length, and a file may grow.
    file.take(cap + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > cap {
        return Err(FileRefusal::TooLarge(cap).into());
    }
    Ok(bytes)
}

/// Adds the next line with its end, which may be missing from the last one. 0 at the end of the input.
pub fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>, cap: u64) -> io::Result<usize> {
    let count = input.take(cap + 1).read_until(b'\n', line)?;
    if count as u64 > cap { Err(FileRefusal::LongLine(cap).into()) } else { Ok(count) }
}

/// Reads beside the threads that calls run on. A call that is cancelled does not wait for the end, which is
/// [`ErrorKind::Interrupted`] then.
pub async fn off_thread<T: Send + 'static>(
    read: impl FnOnce() -> io::Result<T> + Send + 'static,
    cancel: &CancellationToken,
) -> io::Result<T> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(ErrorKind::Interrupted.into()),
        done = tokio::task::spawn_blocking(read) => {
            done.unwrap_or_else(|error| Err(io::Error::other(error)))
        }
    }
}

/// The bytes of a small file, without the way to another thread and back, which takes longer than to read it. `None` for
/// all else: what is large, or not a regular file, or a link, which may lead to a disk that does not answer. Only for a file
/// in a folder of ours.
pub fn read_small(path: &Path) -> Option<Vec<u8>> {
    const SMALL: u64 = 64 << 10;
    path.symlink_metadata().ok().filter(|found| found.is_file() && found.len() <= SMALL)?;
    let (file, _) = open_at_once(path, OFlags::NOFOLLOW).ok()?;
    read_capped(file, SMALL).ok()
}

/// A file's name that no link changes: its device and its number there.
pub fn id(found: &Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

fn opened(path: &Path) -> io::Result<(File, Metadata)> {
    // To open a FIFO would wake its writer, and devices do what they like then. So they are left alone.
    check_kind(&path.metadata()?)?;
    open_at_once(path, OFlags::empty())
}

/// Should it be a FIFO by now, its writer is not waited for. Regular files are read the same way with and without this.
fn open_at_once(path: &Path, more: OFlags) -> io::Result<(File, Metadata)> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | more;
    let file = File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    let found = file.metadata()?;
    check_kind(&found)?;
    Ok((file, found))
}

fn check_kind(found: &Metadata) -> io::Result<()> {
    kind(found.file_type()).map_or(Ok(()), |kind| Err(FileRefusal::Kind(kind).into()))
}

/// What it is instead of a regular file.
fn kind(found: FileType) -> Option<&'static str> {
    if found.is_file() {
        return None;
    }
    Some(if found.is_fifo() {
        "a FIFO"
    } else if found.is_dir() {
        "a directory"
    } else if found.is_char_device() || found.is_block_device() {
        "a device"
    } else {
        "a socket"
    })
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_small_regular_files_are_read_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::write(path("small"), "text").unwrap();
        fs::write(path("large"), vec![b'x'; (64 << 10) + 1]).unwrap();
        symlink(path("small"), path("link")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, path("fifo"), 0o600.into()).unwrap();
        assert_eq!(read_small(&path("small")), Some(b"text".to_vec()));
        for name in ["large", "link", "fifo", ".", "missing"] {
            assert_eq!(read_small(&path(name)), None, "{name}");
        }
    }
}
