//! `gen`: files that are made from code, so that they cannot tell another story than the code does.

mod commands;
mod coverage;
mod keys;
mod reference;
mod schemas;

use crate::repository::root;
use anyhow::{Context as _, Result, bail};
use std::fs;

/// A generated file.
#[derive(Debug)]
struct Generated {
    /// From the top of the tree.
    path: String,
    text: String,
}

impl Generated {
    fn new(path: impl Into<String>, text: String) -> Self {
        Self { path: path.into(), text }
    }
}

fn all() -> Result<Vec<Generated>> {
    let mut files = schemas::all()?;
    files.extend(reference::all());
    files.push(commands::page());
    files.push(coverage::page()?);
    Ok(files)
}

/// Writes what has changed.
pub(crate) fn write() -> Result<()> {
    for file in all()? {
        if on_disk(&file).as_deref() == Some(&file.text) {
            continue;
        }
        let path = root().join(&file.path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&path, &file.text).with_context(|| format!("cannot write {}", file.path))?;
        println!("wrote {}", file.path);
    }
    Ok(())
}

/// Fails if a file on disk is not what would be written.
pub(crate) fn check() -> Result<()> {
    let files = all()?;
    let mut stale: Vec<String> = files.iter().filter_map(difference).collect();
    stale.extend(orphans(&files)?);
    if stale.is_empty() {
        return Ok(());
    }
    bail!("generated files are stale; run `cargo xtask gen`\n{}", stale.join("\n"))
}

fn on_disk(file: &Generated) -> Option<String> {
    fs::read_to_string(root().join(&file.path)).ok()
}

/// The first line in which the file on disk differs.
fn difference(file: &Generated) -> Option<String> {
    let Some(found) = on_disk(file) else { return Some(format!("{}: missing", file.path)) };
    if found == file.text {
        return None;
    }
    let same = found.lines().zip(file.text.lines()).take_while(|(a, b)| a == b).count();
    Some(format!("{}:{}: differs", file.path, same + 1))
}

/// Schemas that nothing makes any more.
fn orphans(files: &[Generated]) -> Result<Vec<String>> {
    let mut orphans = Vec::new();
    for entry in fs::read_dir(root().join("schemas")).context("schemas/")? {
        let path = format!("schemas/{}", entry?.file_name().to_string_lossy());
        if !files.iter().any(|file| file.path == path) {
            orphans.push(format!("{path}: made by nothing; remove it"));
        }
    }
    Ok(orphans)
}
