//! What a tree of processes uses, as `/proc` tells it.
#![expect(clippy::disallowed_methods, reason = "the files of `/proc` are the system's")]

pub(super) use crate::process::procfs::Pid;

use std::fs;

/// What some processes use together, at one look.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(super) struct TreeUse {
    pub processes: u64,
    pub resident_bytes: u64,
    pub cpu_seconds: f64,
}

/// A process by its pid and its start, which name it for good.
pub(super) type ProcessId = (Pid, u64);

/// These processes with all that they started, and what they use. It ends early once there are more than `most`.
pub(super) fn survey(roots: impl IntoIterator<Item = Pid>, most: u64) -> (Vec<ProcessId>, TreeUse) {
    let (mut roots, mut waiting) = (roots.into_iter(), Vec::new());
    let (mut tree, mut used) = (Vec::new(), TreeUse::default());
    while let Some(pid) = waiting.pop().or_else(|| roots.next()) {
        if used.processes > most {
            break;
        }
        let stat = fs::read(format!("/proc/{pid}/stat")).ok();
        let Some((start, one)) = stat.and_then(|stat| of_stat(&stat)) else { continue };
        tree.push((pid, start));
        used.processes += one.processes;
        used.resident_bytes += one.resident_bytes;
        used.cpu_seconds += one.cpu_seconds;
        waiting.extend(children(pid));
    }
    (tree, used)
}

/// The children of all threads of a process.
fn children(pid: Pid) -> Vec<Pid> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let mut children = Vec::new();
    for thread in threads.flatten() {
        let list = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        children.extend(list.split_ascii_whitespace().filter_map(|pid| pid.parse::<Pid>().ok()));
    }
    children
}

/// The start and the use of one process, by its line in `/proc/<pid>/stat`. Its time is that of ended children, too.
fn of_stat(stat: &[u8]) -> Option<(u64, TreeUse)> {
    let close = stat.iter().rposition(|byte| *byte == b')')?;
    let fields: Vec<&str> =
        std::str::from_utf8(stat.get(close + 1..)?).ok()?.split_ascii_whitespace().collect();
    // The first of these is field 3 of the line: fields 14 to 17 are times, 22 is the start, 24 resident pages.
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    let ticks = (14..=17).map(number).sum::<Option<u64>>()?;
    #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52 ticks")]
    let cpu_seconds = ticks as f64 / rustix::param::clock_ticks_per_second().max(1) as f64;
    let page = u64::try_from(rustix::param::page_size()).ok()?;
    let is_zombie = matches!(fields.first(), Some(&("Z" | "X")));
    let used = TreeUse {
        processes: u64::from(!is_zombie),
        resident_bytes: number(24)?.saturating_mul(page),
        cpu_seconds,
    };
    Some((number(22)?, used))
}

/// The memory of these processes, in which a page that several of them use counts once. Of a process that the kernel does
/// not tell this of, nothing counts: it has ended, or is another user's.
pub(super) fn proportional_bytes(tree: &[ProcessId]) -> u64 {
    tree.iter().filter_map(|(pid, _)| share(*pid)).sum()
}

/// The memory of a process with its share of what others use too.
fn share(pid: Pid) -> Option<u64> {
    let told = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = told.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::procfs::own_pid;

    #[test]
    fn a_line_of_stat_tells_what_is_used() {
        let line = b"42 (a) b) S 7 8 9 0 -1 4194304 96 0 0 0 100 50 25 25 20 0 1 0 155951 2990080 10 1844674";
        let ticks = rustix::param::clock_ticks_per_second();
        let expected = TreeUse {
            processes: 1,
            resident_bytes: 10 * u64::try_from(rustix::param::page_size()).unwrap(),
            #[expect(clippy::cast_precision_loss, reason = "a small number")]
            cpu_seconds: 200.0 / ticks as f64,
        };
        assert_eq!(of_stat(line), Some((155_951, expected)));
        assert_eq!(of_stat(b"42 (cut) S 7"), None);
    }

    #[test]
    fn a_child_belongs_to_the_tree() {
        let own = own_pid();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let (tree, used) = survey([own], u64::MAX);
        let (_, cut) = survey([own], 1);
        let memory = proportional_bytes(&tree);
        child.kill().unwrap();
        child.wait().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        assert!(tree.iter().any(|(one, _)| *one == pid), "{tree:?}");
        assert!(
            used.processes >= 2 && cut.processes == 2 && memory > 0,
            "{used:?} {cut:?} {memory}"
        );
    }
}
