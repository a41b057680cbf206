//! The workspace as the agent found it, in a Git directory of its own, and what is different now.

use super::diff::{self, FILES_CAP};
use super::git::{ATTRIBUTES, CONFIG, Git, GitCommand, well};
use super::large::{self, LargeFiles};
use super::scratch::Scratch;
use super::{WorkspaceError, blocking};
use agentv_core::record::whole_lines;
use agentv_wire::FileChanges;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// How much of a diff judges get.
pub(super) const DIFF_CAP: usize = 1 << 20;
/// For lists of files. Their paths are short, so this is more than any disk of files has.
const LIST_CAP: usize = 64 << 20;
/// Repositories inside of repositories, this deep. More is no project, and each level costs a walk.
const NESTED: usize = 16;
/// The empty file, as Git names it.
const EMPTY_BLOB: &str = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
/// A file that is not there, see [`Baseline::stage`].
const NO_FILE: &str = ".agentv-was-never-here";
/// Rename detection, and nothing that a configuration or a program could change.
const DIFF: [&str; 6] =
    ["diff", "--cached", "--find-renames", "--no-color", "--no-ext-diff", "--no-textconv"];

/// What a workspace held.
#[derive(Debug)]
pub(super) struct Baseline {
    dir: Scratch,
    /// The name that Git gave to the whole of it.
    tree: String,
    /// The files that Git did not get to see.
    large: LargeFiles,
}

impl Baseline {
    /// Writes down what the workspace holds.
    pub(super) async fn take(
        dir: Scratch,
        git: &Git<'_>,
        workspace: &Path,
    ) -> Result<Self, WorkspaceError> {
        let mut baseline = Self { dir, tree: String::new(), large: LargeFiles::new() };
        let init = ["init", "--quiet", "--template="];
        git.ask(GitCommand { work_tree: None, ..baseline.order(&init, workspace) }).await?;
        let (git_dir, empty) = (baseline.git_dir(), baseline.empty());
        blocking(move || configure(&git_dir, &empty).map_err(WorkspaceError::Place)).await?;
        baseline.large = baseline.stage(git, workspace, None).await?;
        let tree = git.ask(baseline.order(&["write-tree"], workspace)).await?;
        String::from_utf8_lossy(&tree).trim().clone_into(&mut baseline.tree);
        Ok(baseline)
    }

    /// What is different in the workspace now. Without one, all that was in it is gone.
    pub(super) async fn changes(
        &self,
        git: &Git<'_>,
        workspace: Option<&Path>,
    ) -> Result<FileChanges, WorkspaceError> {
        let empty = self.empty();
        let workspace = workspace.unwrap_or(&empty);
        self.stage(git, workspace, Some(&self.large)).await?;

        let list = [&DIFF[..], &["--raw", "--numstat", "-z", &self.tree]].concat();
        let list = git.ask(self.order(&list, workspace)).await?;
        let mut files = diff::files(&list);
        let files_omitted = files.len().saturating_sub(FILES_CAP);
        files.truncate(FILES_CAP);

        let patch =
            [&DIFF[..], &["--patch", "--src-prefix=a/", "--dst-prefix=b/", &self.tree]].concat();
        // Half of what is kept is the beginning.
        let patch_order =
            GitCommand { output_cap: 2 * DIFF_CAP + 2, ..self.order(&patch, workspace) };
        let patch = well(&patch, git.run(patch_order).await?)?.stdout;
        let start = patch.start(DIFF_CAP + 1);
        let diff = &start[..whole_lines(start, DIFF_CAP)];
        Ok(FileChanges {
            files,
            files_omitted: files_omitted as u64,
            diff: String::from_utf8_lossy(diff).into_owned(),
            diff_truncated: diff.len() < start.len(),
        })
    }

    /// Takes all files of the workspace into the index, but for those that a `.gitignore` names and that were not there
    /// before.
    ///
    /// Git takes a repository inside of the workspace for one thing that it does not look into. It does look where it
    /// already knows a file, so it is made to know one, which it then finds missing.
    ///
    /// Gives the large files, which are there as stand-ins. `before` are those of the baseline.
    async fn stage(
        &self,
        git: &Git<'_>,
        workspace: &Path,
        before: Option<&LargeFiles>,
    ) -> Result<LargeFiles, WorkspaceError> {
        let mut listed = Vec::new();
        for _ in 0..NESTED {
            let list = ["ls-files", "--cached", "--others", "--exclude-standard", "-z"];
            listed = git.ask(self.order(&list, workspace)).await?;
            let known = diff::repositories(&listed).fold(Vec::new(), |mut known, dir| {
                known.extend_from_slice(format!("100644 {EMPTY_BLOB}\t").as_bytes());
                known.extend_from_slice(dir);
                known.extend_from_slice(NO_FILE.as_bytes());
                known.push(0);
                known
            });
            if known.is_empty() {
                break;
            }
            let info = ["update-index", "-z", "--index-info"];
            git.ask(GitCommand { stdin: known, ..self.order(&info, workspace) }).await?;
        }
        let large = self.stage_large(git, workspace, listed, before).await?;
        let add = ["add", "--all", "--ignore-errors"];
        let output = git.run(self.order(&add, workspace)).await?;
        if output.ended.code() == Some(1) {
            // Single files could not be read. What they hold is unknown, the rest is not.
            git.call
                .log
                .warn(format!("not all files could be compared: {}", output.stderr.tail(500)));
            return Ok(large);
        }
        well(&add, output).map(|_| large)
    }

    /// Takes stand-ins of all large files into the index, and has Git leave these paths alone.
    async fn stage_large(
        &self,
        git: &Git<'_>,
        workspace: &Path,
        listed: Vec<u8>,
        before: Option<&LargeFiles>,
    ) -> Result<LargeFiles, WorkspaceError> {
        let (root, known, deadline) = (workspace.to_owned(), before.cloned(), git.deadline.clone());
        let found =
            blocking(move || large::find(&root, &listed, known.as_ref(), &deadline)).await?;
        let paths = |files: &LargeFiles| {
            files.keys().flat_map(|path| [path.as_slice(), b"\0"]).flatten().copied().collect()
        };
        if let Some(before) = before.filter(|before| !before.is_empty()) {
            let free = ["update-index", "-z", "--no-skip-worktree", "--stdin"];
            git.ask(GitCommand { stdin: paths(before), ..self.order(&free, workspace) }).await?;
        }
        if found.is_empty() {
            return Ok(found);
        }
        let mut entries = Vec::new();
        for (path, file) in &found {
            let write = ["hash-object", "-w", "--stdin"];
            let stdin = file.stand_in().into_bytes();
            let id = git.ask(GitCommand { stdin, ..self.order(&write, workspace) }).await?;
            entries.extend_from_slice(file.mode().as_bytes());
            entries.push(b' ');
            entries.extend_from_slice(id.trim_ascii());
            entries.push(b'\t');
            entries.extend_from_slice(path);
            entries.push(0);
        }
        let info = ["update-index", "-z", "--index-info"];
        git.ask(GitCommand { stdin: entries, ..self.order(&info, workspace) }).await?;
        let skip = ["update-index", "-z", "--skip-worktree", "--stdin"];
        git.ask(GitCommand { stdin: paths(&found), ..self.order(&skip, workspace) }).await?;
        Ok(found)
    }

    fn order<'a>(&'a self, args: &'a [&'a str], work_tree: &'a Path) -> GitCommand<'a> {
        GitCommand {
            git_dir: self.dir.path(),
            work_tree: Some(work_tree),
            args,
            stdin: Vec::new(),
            output_cap: LIST_CAP,
        }
    }

    fn git_dir(&self) -> PathBuf {
        self.dir.path().to_owned()
    }

    /// A directory with nothing in it.
    fn empty(&self) -> PathBuf {
        self.dir.path().join("empty")
    }
}

fn configure(git_dir: &Path, empty: &Path) -> io::Result<()> {
    fs::create_dir(empty)?;
    fs::create_dir_all(git_dir.join("info"))?;
    fs::write(git_dir.join("info/attributes"), ATTRIBUTES)?;
    fs::write(git_dir.join("config"), CONFIG)
}
