//! `bench`: the shipped build from outside, each figure beside a floor measured in the same run.
//!
//! Machines differ and drift; a figure means something only beside what the machine itself costs. So each figure has a
//! floor (an empty process, a bare loop), runs of both take turns, and medians are compared. Nothing here fails on a
//! slow day: the table says `over`, and people decide.

mod figures;
mod inputs;
mod measure;
mod report;

pub(crate) use report::{CLUSTER, CRASH, FUZZING, STATISTICS, with_section};

use crate::dist;
use crate::repository::{command, metadata, root, succeed};
use anyhow::{Context as _, Result, bail};
use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

/// What was asked for.
#[derive(Debug)]
struct Options {
    /// How often each figure is taken.
    rounds: usize,
    /// Whether a million cases are run.
    million: bool,
    build: bool,
    binary: Option<PathBuf>,
    /// Where the files are that are read and written.
    dir: Option<PathBuf>,
    /// The figures of this name, and no others.
    only: Option<String>,
    write: bool,
}

impl Options {
    fn read(words: &[&str]) -> Result<Self> {
        let mut options = Self {
            rounds: 15,
            million: true,
            build: true,
            binary: None,
            dir: None,
            only: None,
            write: false,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--quick" => (options.rounds, options.million) = (5, false),
                "--rounds" => {
                    let rounds = words.next().context("`--rounds` needs a number")?;
                    options.rounds = rounds.parse().context("the number of rounds")?;
                }
                "--no-build" => options.build = false,
                "--binary" => {
                    let path = words.next().context("`--binary` needs a path")?;
                    options.binary = Some(std::path::absolute(path)?);
                }
                "--dir" => {
                    let path = words.next().context("`--dir` needs a path")?;
                    options.dir = Some(std::path::absolute(path)?);
                }
                "--only" => {
                    let name = words.next().context("`--only` needs the name of a figure")?;
                    options.only = Some((*name).to_owned());
                }
                "--write" => options.write = true,
                other => bail!("bench has no option `{other}`"),
            }
        }
        if options.write && options.only.is_some() {
            bail!("`--write` makes the whole page, so it needs all figures");
        }
        options.rounds = options.rounds.max(1);
        Ok(options)
    }
}

pub(crate) fn run(words: &[&str]) -> Result<()> {
    let options = Options::read(words)?;
    let target = metadata()?.target_directory;
    if options.build {
        if options.binary.is_none() {
            dist::run(&[])?;
        }
        build_floor()?;
    }
    let built = target.join("dist");
    let dir = options.dir.clone().unwrap_or_else(|| inputs::place(&target));
    let bench = figures::Bench {
        agentv: options.binary.clone().unwrap_or_else(|| built.join("agentv")),
        floor: built.join("floor"),
        inputs: inputs::Inputs::create(&dir, options.million)?,
        rounds: options.rounds,
    };
    let machine = report::Machine::look(&dir)?;
    let rows = figures::measure(&bench, options.only.as_deref())?;
    let table = report::table(&rows);
    println!("{table}");
    if options.write {
        let path = root().join("docs/benchmarks.md");
        let old = fs::read_to_string(&path).unwrap_or_default();
        let page = report::page(&table, &machine, options.rounds) + report::added_sections(&old);
        fs::write(&path, page)?;
        eprintln!("wrote docs/benchmarks.md");
    }
    Ok(())
}

/// Has a program do what the bench measures, though not a million times.
pub(crate) fn exercise(agentv: PathBuf) -> Result<()> {
    build_floor()?;
    let target = metadata()?.target_directory;
    let inputs = inputs::Inputs::create(&inputs::place(&target), false)?;
    let bench = figures::Bench { agentv, floor: target.join("dist/floor"), inputs, rounds: 3 };
    figures::measure(&bench, None)?;
    Ok(())
}

fn build_floor() -> Result<()> {
    let args = ["build", "--profile", "dist", "--package", "xtask", "--bin", "floor"];
    succeed(command("cargo").args(args))
}

/// Prints an input, for a look at it.
pub(crate) fn generate(format: &str, count: usize) -> Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    match format {
        "yaml" => inputs::yaml(&mut out, count)?,
        "jsonl" => inputs::jsonl(&mut out, count)?,
        other => bail!("cases are `yaml` or `jsonl`, not `{other}`"),
    }
    Ok(out.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_in_any_order() {
        let options = Options::read(&["--rounds", "3", "--no-build", "--write"]).unwrap();
        assert_eq!((options.rounds, options.million, options.build), (3, true, false));
        assert!(options.write);
        let options =
            Options::read(&["--quick", "--binary", "/bin/true", "--dir", "/var"]).unwrap();
        assert_eq!((options.rounds, options.million), (5, false));
        assert_eq!(options.dir, Some("/var".into()));
        assert!(Options::read(&["--fast"]).is_err());
    }
}
