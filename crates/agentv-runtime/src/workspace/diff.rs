//! What Git prints → which files have changed.

use agentv_wire::{FileChange, FileStatus};
use std::collections::HashMap;

/// How many changed files are listed.
pub(super) const FILES_CAP: usize = 1000;

/// Reads `git diff --raw --numstat -z`: first what became of each file, then its lines.
///
/// ```text
/// :100644 100644 <id> <id> M NUL path NUL        3 TAB 1 TAB path NUL
/// :100644 100644 <id> <id> R087 NUL old NUL new NUL    - TAB - TAB NUL old NUL new NUL     (`-`: not text)
/// ```
pub(super) fn files(printed: &[u8]) -> Vec<FileChange> {
    let mut words = printed.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let mut files: Vec<FileChange> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    while let Some(word) = words.next() {
        if let Some(facts) = word.strip_prefix(':') {
            let letter = facts.rsplit(' ').next().unwrap_or_default().chars().next();
            let status = status(letter);
            let first = words.next().unwrap_or_default().into_owned();
            let (old_path, path) = match status {
                FileStatus::Renamed => (Some(first), words.next().unwrap_or_default().into_owned()),
                _ => (None, first),
            };
            places.insert(path.clone(), files.len());
            files.push(FileChange {
                path,
                status,
                old_path,
                binary: false,
                additions: 0,
                deletions: 0,
            });
            continue;
        }
        let mut columns = word.splitn(3, '\t');
        let (Some(added), Some(deleted), Some(path)) =
            (columns.next(), columns.next(), columns.next())
        else {
            continue;
        };
        let path = if path.is_empty() { words.nth(1).unwrap_or_default() } else { path.into() };
        let Some(file) = places.get(&*path).and_then(|at| files.get_mut(*at)) else { continue };
        file.binary = added == "-";
        file.additions = added.parse().unwrap_or(0);
        file.deletions = deleted.parse().unwrap_or(0);
    }
    files
}

fn status(letter: Option<char>) -> FileStatus {
    match letter {
        Some('A') => FileStatus::Added,
        Some('D') => FileStatus::Deleted,
        Some('R') => FileStatus::Renamed,
        // Also `T`: a file that became a link.
        _ => FileStatus::Modified,
    }
}

/// The directories in `git ls-files --others -z`. Only those are listed as such that are repositories of their own.
pub(super) fn repositories(printed: &[u8]) -> impl Iterator<Item = &[u8]> {
    printed.split(|byte| *byte == 0).filter(|path| path.ends_with(b"/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(printed: &str) -> Vec<String> {
        let files = files(printed.replace('|', "\0").as_bytes());
        let line = |file: &FileChange| {
            let FileChange { path, status, old_path, binary, additions, deletions } = file;
            format!("{status:?} {old_path:?} {path} {binary} +{additions} -{deletions}")
        };
        files.iter().map(line).collect()
    }

    #[test]
    fn files_and_their_lines_find_each_other() {
        let printed = ":100644 100644 a b M|a b.txt|:100644 100644 a b R087|old|new|:000000 120000 0 b A|link|\
                       :100644 000000 a 0 D|gone|:100644 120000 a b T|turned|\
                       3\t1\ta b.txt|-\t-\t|old|new|1\t0\tlink|0\t9\tgone|1\t1\tturned|";
        assert_eq!(
            shown(printed),
            [
                "Modified None a b.txt false +3 -1",
                "Renamed Some(\"old\") new true +0 -0",
                "Added None link false +1 -0",
                "Deleted None gone false +0 -9",
                "Modified None turned false +1 -1",
            ]
        );
        assert!(shown("").is_empty());
    }

    #[test]
    fn repositories_are_the_directories() {
        let found: Vec<&[u8]> = repositories(b"a\0nested/\0b/c\0deep/er/\0").collect();
        assert_eq!(found, [b"nested/", &b"deep/er/"[..]]);
    }

    proptest! {
        #[test]
        fn nothing_that_is_printed_is_too_odd(text in "[:|\tA-R0-9 /-]{0,60}") {
            let _ = shown(&text);
        }
    }
}
