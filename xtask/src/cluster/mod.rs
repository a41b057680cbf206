//! `cluster`: runs on workers with the real NATS server, while workers, servers and networks fail; and how quick it is. The
//! short tests of the same promises are in `crates/agentv-cli/tests/cluster`.

mod failures;
mod members;
mod rates;
mod speed;

use crate::bench::{CLUSTER, with_section};
use crate::repository::{self, metadata, root, succeed};
use anyhow::{Result, bail, ensure};
use jiff::Zoned;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

/// What was seen, a line each.
type Seen = Vec<String>;

pub(crate) fn run(words: &[&str]) -> Result<()> {
    let (mut write, mut only) = (false, None);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--write" => write = true,
            "--only" => only = words.next().copied(),
            other => bail!("cluster has no option `{other}`"),
        }
    }
    let target = metadata()?.target_directory;
    let wants = |name: &str| only.is_none_or(|only| only == name);
    let (mut seen, mut all_hold) = (Seen::new(), true);
    if wants("failures") {
        repository::build()?;
        let binary = target.join("debug/agentv");
        for test in [failures::killed_workers, failures::network_cut, failures::three_servers] {
            tell(test(&binary)?, &mut seen);
        }
    }
    if wants("rates") {
        repository::build()?;
        tell(rates::run(&target.join("debug/agentv"))?, &mut seen);
    }
    if wants("speed") {
        let mut build = repository::command("cargo");
        let packages = ["--package", "agentv-cluster", "--example", "bare_loop"];
        succeed(build.args(["build", "--quiet", "--release"]).args(packages))?;
        let mut build = repository::command("cargo");
        succeed(build.args(["build", "--quiet", "--release", "--package", "agentv-cli"]))?;
        let (lines, is_quick) = speed::run(&target.join("release"))?;
        tell(lines, &mut seen);
        all_hold &= is_quick;
    }
    if write {
        write_section(&seen)?;
    }
    ensure!(all_hold, "a run on workers is less than half as quick as a bare loop");
    Ok(())
}

fn tell(lines: Seen, seen: &mut Seen) {
    for line in lines {
        println!("{line}");
        seen.push(line);
    }
}

fn write_section(seen: &Seen) -> Result<()> {
    let path: PathBuf = root().join("docs/benchmarks.md");
    let date = Zoned::now().date();
    let mut section = format!(
        "\nMade by `cargo xtask cluster --write` on {date}: coordinator, workers and Debian's `nats-server` share two cores.\n\n"
    );
    for line in seen {
        writeln!(section, "- {line}")?;
    }
    let page = fs::read_to_string(&path)?;
    fs::write(&path, with_section(&page, CLUSTER, &section))?;
    eprintln!("wrote docs/benchmarks.md");
    Ok(())
}
