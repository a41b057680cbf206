//! The project's own tools: `cargo xtask gen | man | tidy | dist | bench | cluster | crash | fuzz | stats | trials | pictures | prices`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a developer's tool talks to its terminal and reads its own files"
)]

mod bench;
mod cluster;
mod crash;
mod dist;
mod fuzz;
mod generate;
mod man;
mod pictures;
mod prices;
mod repository;
mod stats;
mod tidy;
mod trials;

use anyhow::{Context as _, Result, bail};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <command>

  gen [--check]     write the generated files (schemas, reference pages), or say which are stale
  man [DIR]         write the pages for `man agentv` (target/man)
  tidy              check what the compiler does not: layers, sizes, names, words, paths, Markdown
      --names           list public type names that are declared more than once
  dist [--trained]  build the program as it is shipped (`cargo dist`); with `--trained`, arranged by a profile of the bench
  bench [options]   measure the `dist` build beside floors measured in the same run
      --quick           few rounds, and no run of a million cases
      --rounds N        how often each figure is taken (medians are shown)
      --no-build        measure what was built before
      --binary PATH     measure this program instead
      --only FIGURE     one figure, or a few that belong together
      --dir PATH        where its files are
      --write           also write docs/benchmarks.md
  cluster [options] run on workers while workers, servers and networks fail; and measure how quick that is
      --only PART       failures, rates or speed
      --write           also write docs/benchmarks.md
  crash [options]   kill runs with -9 at random moments, resume them, and check what they promise
      --rounds N        how many runs (50)
      --cases N         of how many cases each (500)
      --workers N       cases at a time (8)
      --seed N          the same moments as another time
      --no-build        use what was built before
      --write           also write docs/benchmarks.md
  fuzz [options]    fuzz all targets of `crates/agentv-fuzz`
      --minutes N       for so long, all targets together (10); by libFuzzer if a nightly and cargo-fuzz are installed
      --stable          not by libFuzzer
      --parsers N       up to this number of inputs for each parser, continued from the last time: 10M
      --structured N    the same for each structured target: 1M
      --fresh           do not continue
      --jobs N          as many processes, which share the targets (1)
      --only NAME       this target; can be given several times
      --write           also write docs/benchmarks.md
  stats [--write]   simulate comparisons whose truth is known; check what `compare` and `plan` say of them
  trials [--no-build]
                    run 100 000 cases three times each; check the figures and the memory
  pictures          draw docs/images/*.svg: what the program prints on a terminal, and charts of statistics
  prices            write the table of what models cost, from the newest litellm on PyPI";

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
        ["man"] => man::write(None),
        ["man", dir] => man::write(Some(dir)),
        ["tidy", options @ ..] => tidy::run(options),
        ["dist", options @ ..] => dist::run(options),
        ["bench", options @ ..] => bench::run(options),
        ["cluster", options @ ..] => cluster::run(options),
        ["crash", options @ ..] => crash::run(options),
        ["fuzz", options @ ..] => fuzz::run(options),
        ["pictures"] => pictures::write(),
        ["stats", options @ ..] => stats::run(options),
        ["trials", options @ ..] => trials::run(options),
        ["prices"] => prices::write(),
        // Not in the usage: the bench's inputs, for a look at them.
        ["generate", format, count] => {
            let count = count.parse().context("the number of cases")?;
            bench::generate(format, count)
        }
        _ => bail!("{USAGE}"),
    }
}
