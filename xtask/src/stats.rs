//! `stats`: what `agentv compare` and `agentv plan` claim, checked on simulated runs whose truth is known.

use crate::bench::{STATISTICS, with_section};
use crate::repository;
use anyhow::{Context as _, Result, bail};
use std::fs;
use std::process::Stdio;

/// Runs the simulations of the core crate, optimised: in a debug build they would take an hour.
pub(crate) fn run(words: &[&str]) -> Result<()> {
    let is_written = match words {
        [] => false,
        ["--write"] => true,
        _ => bail!("usage: cargo xtask stats [--write]"),
    };
    let args = ["run", "--release", "--package", "agentv-core", "--example", "simulate"];
    let mut cargo = repository::command("cargo");
    let output = cargo.args(args).stderr(Stdio::inherit()).output().context("cannot run cargo")?;
    let printed = String::from_utf8(output.stdout)?;
    println!("{printed}");
    if is_written {
        write_section(&printed)?;
    }
    if !output.status.success() {
        bail!("a claim does not hold");
    }
    Ok(())
}

fn write_section(printed: &str) -> Result<()> {
    let path = repository::root().join("docs/benchmarks.md");
    let section = format!(
        "Made by `cargo xtask stats --write`, with fixed seeds: pairs of simulated runs whose truth is known, compared as\n\
         `agentv compare` does it, at the level 0.05. Each row is the worst of eight cells: 1 and 1, 5 and 5, 1 and 3, or\n\
         1 and 10 trials, on one and on three targets, with 600 comparisons each (500, or 2500 of rare changes, of 1000 cases).\n\n\
         * **False alarms**: verdicts `regression` or `improvement` of equal runs; at most 5 % and three standard errors.\n\
         * **Coverage**: intervals that hold the true difference; at least 93 %. No interval contradicts its verdict.\n\
         * **Power** at the minimum detectable effect that is printed: between 75 % and 90 %, with no allowance for the error of\n  \
         the simulation. 1600 comparisons each: a standard error of 1 %. The effect is the median of what 201 comparisons of\n  \
         equal runs print (61 with 60 cases or more). With 1000 cases only one trial on one target is measured. No figure\n  \
         where most comparisons print no effect: the cases are too few.\n\
         * The last table: the power that `agentv plan` forecasts for the number of cases that it names, and the simulated\n  \
         one; within three standard errors.\n\n{printed}"
    );
    let page = fs::read_to_string(&path).unwrap_or_default();
    fs::write(&path, with_section(&page, STATISTICS, &section))?;
    eprintln!("wrote docs/benchmarks.md");
    Ok(())
}
