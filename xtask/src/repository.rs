//! The repository: where it is, what is in it, and how its tools are run.

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The top of the working tree.
pub(crate) fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// A program, to be run at the top of the tree.
pub(crate) fn command(program: impl AsRef<Path>) -> Command {
    #[expect(clippy::disallowed_methods, reason = "xtask runs cargo and git, not users' programs")]
    let mut command = Command::new(program.as_ref());
    command.current_dir(root());
    command
}

/// Runs a program and gives its stdout; stderr goes to the terminal.
pub(crate) fn output(program: &str, args: &[&str]) -> Result<String> {
    let output = command(program)
        .args(args)
        .stderr(std::process::Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run `{program}`"))?;
    if !output.status.success() {
        bail!("`{program} {}` failed: {}", args.join(" "), output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{program}` printed no UTF-8"))
}

/// Runs Cargo, or whatever else shows its own errors.
pub(crate) fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
    if !status.success() {
        bail!("{command:?} failed: {status}");
    }
    Ok(())
}

/// Builds the program as developers do.
pub(crate) fn build() -> Result<()> {
    succeed(command("cargo").args(["build", "--package", "agentv-cli"]))
}

/// A text file of the repository.
#[derive(Debug)]
pub(crate) struct SourceFile {
    /// From the top of the tree, with forward slashes.
    pub path: String,
    pub text: String,
}

/// Every text file that is tracked, or would be with the next `git add`.
pub(crate) fn text_files() -> Result<Vec<SourceFile>> {
    let listed = output("git", &["ls-files", "-z", "--cached", "--others", "--exclude-standard"])?;
    let mut files = Vec::new();
    for path in listed.split_terminator('\0') {
        // A file may be listed and gone. What is no UTF-8 is no text.
        let Ok(bytes) = std::fs::read(root().join(path)) else { continue };
        if let Ok(text) = String::from_utf8(bytes) {
            files.push(SourceFile { path: path.to_owned(), text });
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// What Cargo knows of the workspace.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    pub packages: Vec<Package>,
    pub target_directory: PathBuf,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub name: String,
    pub dependencies: Vec<Dependency>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    pub name: String,
    /// `null` for what is shipped, `dev` or `build`.
    pub kind: Option<String>,
    /// Only members of the workspace have one.
    pub path: Option<PathBuf>,
}

pub(crate) fn metadata() -> Result<Metadata> {
    let text = output("cargo", &["metadata", "--no-deps", "--format-version", "1"])?;
    serde_json::from_str(&text).context("cannot read what `cargo metadata` printed")
}
