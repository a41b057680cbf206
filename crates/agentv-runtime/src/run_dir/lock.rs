//! One process at a time works on a run. The system lets go of the lock when the process ends, however it ends.

use crate::file_input;
use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::time::Duration;

/// Between two looks at a lock that should be free.
const PAUSE: Duration = Duration::from_millis(10);

/// A run that is ours. Let go on drop.
#[derive(Debug)]
pub(super) struct Lock {
    /// Kept open: closing it lets go.
    file: File,
}

impl Drop for Lock {
    /// It is free now.
    fn drop(&mut self) {
        let _ = self.file.set_len(0);
    }
}

/// Whether there is nothing in the file but the process that has the lock, or that was killed with it.
pub(super) fn is_clean_lock(path: &Path) -> bool {
    let text = crate::file_input::read(path).unwrap_or_default();
    text.is_empty()
        || (text.ends_with(b"\n") && text[..text.len() - 1].iter().all(u8::is_ascii_digit))
}

/// What came of asking for a lock.
#[derive(Debug)]
pub(super) enum LockAttempt {
    Ours(Lock),
    /// Another process has it; its id, if that can be read.
    Theirs(String),
}

impl Lock {
    /// Takes the lock, if it is free. The file says which process has it.
    pub(super) fn take(path: &Path) -> io::Result<LockAttempt> {
        let mut asked = Self::ask(path)?;
        // A child that a killed run was about to start holds the lock until it has become another program.
        for _ in 0..100 {
            match &asked {
                LockAttempt::Theirs(holder) if !is_alive(holder) => std::thread::sleep(PAUSE),
                _ => break,
            }
            asked = Self::ask(path)?;
        }
        Ok(asked)
    }

    fn ask(path: &Path) -> io::Result<LockAttempt> {
        let mut file =
            File::options().read(true).write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => {
                file.set_len(0)?;
                writeln!(file, "{}", std::process::id())?;
                Ok(LockAttempt::Ours(Self { file }))
            }
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                file.read_to_string(&mut holder)?;
                Ok(LockAttempt::Theirs(holder.trim().to_owned()))
            }
            // Some file systems have no locks; a run is worth more than one.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                Ok(LockAttempt::Ours(Self { file }))
            }
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Whether it is taken now.
    pub(super) fn is_held(path: &Path) -> bool {
        let Ok(file) = file_input::open(path) else { return false };
        matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
    }
}

fn is_alive(pid: &str) -> bool {
    let pid = pid.parse().ok().and_then(rustix::process::Pid::from_raw);
    pid.is_none_or(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}
