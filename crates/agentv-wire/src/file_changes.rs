//! What an agent changed in its workspace.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The difference between a workspace as the agent found it and as the agent left it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct FileChanges {
    /// In the order of their paths.
    pub files: Vec<FileChange>,
    /// How many more files were changed than are listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub files_omitted: u64,
    /// A unified diff, as `git diff` writes it.
    pub diff: String,
    /// The diff was too long and ends early, after a whole line.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub diff_truncated: bool,
}

/// One file that is not what it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct FileChange {
    /// From the workspace, with `/` between its parts.
    pub path: String,
    pub status: FileStatus,
    /// Where a renamed file was before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    /// Its contents are no text, so the diff only names it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub binary: bool,
    /// Lines.
    pub additions: u64,
    /// Lines.
    pub deletions: u64,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileStatus {
    Added,
    Modified,
    Deleted,
    Renamed,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
