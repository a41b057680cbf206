//! The project's own tools: `cargo xtask gen | tidy`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's tool talks to its terminal"
)]

mod generate;
mod repository;
mod tidy;

use anyhow::{Result, bail};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <command>

  gen [--check]     write the generated files (schemas, reference pages), or say which are stale
  tidy              check what the compiler does not: layers, sizes, names, paths, Markdown";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[&str]) -> Result<()> {
    match words {
        ["gen"] => generate::write(),
        ["gen", "--check"] => generate::check(),
        ["tidy"] => tidy::run(),
        _ => bail!("{USAGE}"),
    }
}
