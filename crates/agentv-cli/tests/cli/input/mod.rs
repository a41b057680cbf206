//! Input that was made to harm, or is only unusual: files that are no files, folders without an end, bodies without an end.
//! None of it stops a run, fills the memory, or shows a key.

mod bodies;
mod files;
mod folders;
mod nested;
mod pipes;
mod shapes;
mod snippets;
mod traces;

use agentv_test_support::TestContext;
use std::path::PathBuf;

/// A FIFO without a writer.
#[track_caller]
fn fifo(cx: &TestContext, name: &str) -> PathBuf {
    let path = cx.path(name);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).unwrap();
    }
    #[expect(clippy::disallowed_methods, reason = "tests run programs from outside")]
    let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success(), "mkfifo failed");
    path
}
