//! What `run.json` says of the world that a run was started in.

use crate::file_input;
use agentv_wire::GitHead;
use std::path::{Path, PathBuf};

/// What this machine is called.
pub fn host() -> Option<String> {
    rustix::system::uname().nodename().to_str().ok().map(str::to_owned)
}

/// The commit and the branch that a working tree is at. Read from the files themselves: starting Git takes longer than many
/// a run.
pub fn git_head(repo_root: &Path) -> Option<GitHead> {
    let dir = git_dir(&repo_root.join(".git"))?;
    let head = file_input::read_to_string(&dir.join("HEAD")).ok()?;
    let head = head.trim();
    let Some(reference) = head.strip_prefix("ref: ") else {
        return is_commit(head).then(|| GitHead { commit: head.to_owned(), branch: None });
    };
    // The references of a worktree are those of the repository that it belongs to.
    let shared = file_input::read_to_string(&dir.join("commondir"))
        .map_or_else(|_| dir.clone(), |path| dir.join(path.trim()));
    let commit = [&dir, &shared]
        .into_iter()
        .find_map(|dir| file_input::read_to_string(&dir.join(reference)).ok())
        .map(|commit| commit.trim().to_owned())
        .or_else(|| packed(&shared, reference))
        .filter(|commit| is_commit(commit))?;
    let branch = reference.strip_prefix("refs/heads/").map(str::to_owned);
    Some(GitHead { commit, branch })
}

/// In a worktree, `.git` is a file that says where the directory is.
fn git_dir(path: &Path) -> Option<PathBuf> {
    if path.is_dir() {
        return Some(path.to_owned());
    }
    let text = file_input::read_to_string(path).ok()?;
    let dir = text.strip_prefix("gitdir: ")?.trim();
    Some(path.parent()?.join(dir))
}

fn packed(dir: &Path, reference: &str) -> Option<String> {
    let text = file_input::read_to_string(&dir.join("packed-refs")).ok()?;
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.filter(|(_, name)| *name == reference).map(|(commit, _)| commit.to_owned()).next()
}

fn is_commit(text: &str) -> bool {
    text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    #[track_caller]
    fn check(files: &[(&str, &str)], expected: Option<&str>) {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let found = git_head(dir.path());
        assert!(found.iter().all(|head| head.commit == COMMIT));
        let branch = found.map(|head| head.branch.unwrap_or_else(|| "detached".to_owned()));
        assert_eq!(branch.as_deref(), expected);
    }

    #[test]
    fn the_head_is_found_wherever_git_keeps_it() {
        let (line, packed) = (format!("{COMMIT}\n"), format!("# pack\n{COMMIT} refs/heads/a/b\n"));
        let head = (".git/HEAD", "ref: refs/heads/a/b\n");
        check(&[head, (".git/refs/heads/a/b", &line)], Some("a/b"));
        check(&[head, (".git/packed-refs", &packed)], Some("a/b"));
        check(&[(".git/HEAD", &line)], Some("detached"));
        check(
            &[
                (".git", "gitdir: main/worktrees/w\n"),
                ("main/worktrees/w/HEAD", head.1),
                ("main/worktrees/w/commondir", "../..\n"),
                ("main/packed-refs", &packed),
            ],
            Some("a/b"),
        );
        // A repository without a commit, and no repository.
        check(&[head], None);
        check(&[], None);
    }
}
