//! What `/proc` says of processes. A process may end between two looks, so nothing here fails: it is merely absent.

use rustix::process::{PidfdFlags, Signal, WaitOptions};
use rustix::process::{kill_process, pidfd_open, pidfd_send_signal, waitpid};
use std::fs;
use std::path::Path;

/// The number of a process, as `/proc` and the system calls use it.
pub(super) type Pid = i32;

/// A process as it was when looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: Pid,
    pub(super) parent: Pid,
    pub(super) group: Pid,
    pub(super) session: Pid,
    /// It has ended, and nobody has asked how.
    pub(super) is_zombie: bool,
    /// In clock ticks since boot. With the pid it names a process for good, though pids are used again.
    pub(super) start: u64,
}

impl Process {
    pub(super) fn of(pid: Pid) -> Option<Self> {
        parse_stat(&fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Whether it was started with this `NAME=value` in its environment. Not to be seen of zombies and of other users'
    /// processes.
    pub(super) fn has_in_environment(&self, entry: &[u8]) -> bool {
        self.environment().is_some_and(|all| all.split(|byte| *byte == 0).any(|one| one == entry))
    }

    /// Whether its environment names this variable with another value than `entry` does.
    pub(super) fn has_another(&self, name: &str, entry: &[u8]) -> bool {
        let is_other = |one: &[u8]| {
            one != entry && one.strip_prefix(name.as_bytes()).is_some_and(|v| v.starts_with(b"="))
        };
        self.environment().is_some_and(|all| all.split(|byte| *byte == 0).any(is_other))
    }

    fn environment(&self) -> Option<Vec<u8>> {
        fs::read(format!("/proc/{}/environ", self.pid)).ok()
    }

    /// Kills this very process, and not another one that got its pid since.
    pub(super) fn kill(&self) {
        let Some(pid) = rustix::process::Pid::from_raw(self.pid) else { return };
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) if self.is_still_there() => {
                let _ = pidfd_send_signal(handle, Signal::KILL);
            }
            Ok(_) | Err(rustix::io::Errno::SRCH) => {}
            // A kernel without process handles, or no file descriptor left.
            Err(_) if self.is_still_there() => {
                let _ = kill_process(pid, Signal::KILL);
            }
            Err(_) => {}
        }
    }

    fn is_still_there(&self) -> bool {
        Self::of(self.pid).is_some_and(|now| now.start == self.start)
    }

    /// Takes the exit status of a zombie that is our child; `true` if it is gone now. By its pid: a wait for any child
    /// would take tokio's.
    pub(super) fn reap(&self) -> bool {
        let pid = rustix::process::Pid::from_raw(self.pid);
        !matches!(pid.map(|pid| waitpid(Some(pid), WaitOptions::NOHANG)), Some(Ok(None)))
    }
}

/// Our own pid.
pub(super) fn own_pid() -> Pid {
    rustix::process::getpid().as_raw_nonzero().get()
}

/// Every process that can be seen. Empty where `/proc` shows the pids of another namespace: a pid from there would be
/// somebody else's here.
pub(super) fn all() -> Vec<Process> {
    let shown = fs::read_link("/proc/self");
    if !shown.is_ok_and(|shown| shown == Path::new(&own_pid().to_string())) {
        return Vec::new();
    }
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(Process::of)
        .collect()
}

/// The children of our main thread. Orphans that come to a subreaper come to its main thread while that is alive, and
/// tokio's workers keep their own children, so this list is short and reading it costs microseconds.
pub(super) fn adopted() -> Vec<Process> {
    let own = own_pid();
    match fs::read_to_string(format!("/proc/self/task/{own}/children")) {
        Ok(children) => children
            .split_ascii_whitespace()
            .filter_map(|pid| Process::of(pid.parse().ok()?))
            .collect(),
        // The kernel was built without this file.
        Err(_) => all().into_iter().filter(|process| process.parent == own).collect(),
    }
}

/// The fields of `/proc/<pid>/stat`. The name, in brackets, may hold spaces and brackets itself.
fn parse_stat(stat: &[u8]) -> Option<Process> {
    let open = stat.iter().position(|byte| *byte == b'(')?;
    let close = stat.iter().rposition(|byte| *byte == b')')?;
    let pid = std::str::from_utf8(&stat[..open]).ok()?.trim().parse().ok()?;
    let mut fields = std::str::from_utf8(stat.get(close + 1..)?).ok()?.split_ascii_whitespace();
    let state = fields.next()?;
    let mut number = || fields.next()?.parse::<Pid>().ok();
    let (parent, group, session) = (number()?, number()?, number()?);
    // The start is field 22 of the line, and six are behind us.
    let start = fields.nth(15)?.parse().ok()?;
    Some(Process { pid, parent, group, session, is_zombie: matches!(state, "Z" | "X"), start })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let line =
            b"42 (a) Z (b) c) S 7 8 9 0 -1 4194304 96 0 0 0 0 0 0 0 20 0 1 0 155951 2990080 417\n";
        let expected =
            Process { pid: 42, parent: 7, group: 8, session: 9, is_zombie: false, start: 155_951 };
        assert_eq!(parse_stat(line), Some(expected));
        assert_eq!(parse_stat(b"42 (cut"), None);
        assert_eq!(parse_stat(b"42 (cut) S 7"), None);
    }

    #[test]
    fn we_see_ourselves() {
        let own = Process::of(own_pid()).unwrap();
        assert!(all().contains(&own));
        assert!(!own.is_zombie);
        assert!(own.has_in_environment(b"PATH=".as_slice()) || own.has_another("PATH", b""));
    }
}
