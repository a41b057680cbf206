//! `tidy`: what the compiler and clippy do not check.

mod code;
mod layers;
mod links;
mod names;
mod text;
mod words;

use crate::repository::{self, SourceFile};
use anyhow::{Result, bail};
use std::fmt;

/// Something to put right.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    path: String,
    line: usize,
    message: String,
}

impl Finding {
    fn new(file: &SourceFile, line: usize, message: impl Into<String>) -> Self {
        Self { path: file.path.clone(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

pub(crate) fn run(options: &[&str]) -> Result<()> {
    let files = repository::text_files()?;
    match options {
        [] => check(&files),
        ["--names"] => {
            println!("{}", names::list(&files));
            Ok(())
        }
        _ => bail!("unknown option for tidy; there is `--names`"),
    }
}

fn check(files: &[SourceFile]) -> Result<()> {
    let mut findings: Vec<Finding> = files.iter().flat_map(text::check).collect();
    findings.extend(layers::between_crates(&repository::metadata()?.packages));
    findings.extend(layers::inside_runtime(files));
    findings.extend(links::check(files, |path| repository::root().join(path).exists()));
    findings.extend(names::check(files));
    findings.extend(words::check(files));
    if findings.is_empty() {
        return Ok(());
    }
    for finding in &findings {
        eprintln!("{finding}");
    }
    bail!("{} things to put right", findings.len())
}
