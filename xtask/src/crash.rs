//! `crash`: runs that are killed at random moments and taken up again. Every case must have exactly one record in the end,
//! every line must be whole, and no more calls may be wasted than were under way.

use crate::bench::{CRASH, with_section};
use crate::repository::{self, metadata};
use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

/// What was asked for.
#[derive(Debug)]
struct Options {
    rounds: usize,
    cases: usize,
    workers: usize,
    seed: u64,
    build: bool,
    /// Whether what came out goes to docs/benchmarks.md.
    write: bool,
}

impl Options {
    fn read(words: &[&str]) -> Result<Self> {
        let clock = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |elapsed| elapsed.as_secs());
        let mut options =
            Self { rounds: 50, cases: 500, workers: 8, seed: clock, build: true, write: false };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--no-build" => options.build = false,
                "--write" => options.write = true,
                _ => {}
            }
            if ["--no-build", "--write"].contains(word) {
                continue;
            }
            let number = words.next().with_context(|| format!("`{word}` needs a number"))?;
            let number: u64 = number.parse().with_context(|| format!("the number of `{word}`"))?;
            let small = usize::try_from(number)?.max(1);
            match *word {
                "--rounds" => options.rounds = small,
                "--cases" => options.cases = small,
                "--workers" => options.workers = small,
                "--seed" => options.seed = number,
                other => bail!("crash has no option `{other}`"),
            }
        }
        Ok(options)
    }
}

/// What became of one run.
#[derive(Debug)]
struct Round {
    killed_after: Duration,
    /// Records that were there when it was killed.
    recorded: usize,
    /// Whether the last line was torn.
    torn: bool,
    calls: usize,
}

pub(crate) fn run(words: &[&str]) -> Result<()> {
    let options = Options::read(words)?;
    if options.build {
        repository::build()?;
    }
    let binary = metadata()?.target_directory.join("debug/agentv");
    let whole = whole_run(&binary, &options)?;
    println!(
        "{} runs of {} cases with {} workers, seed {}; one run takes {} ms\n",
        options.rounds,
        options.cases,
        options.workers,
        options.seed,
        whole.as_millis()
    );
    println!("| run | killed after | records then | torn line | calls | wasted |");
    println!("| ---: | ---: | ---: | --- | ---: | ---: |");
    let mut random = Random(options.seed);
    let (mut wasted, mut torn) = (0, 0);
    for number in 1..=options.rounds {
        let killed_after = whole.mul_f64(random.fraction());
        let round = one(&binary, &options, killed_after)
            .with_context(|| format!("run {number}, killed after {killed_after:.1?}"))?;
        let waste = round.calls - options.cases;
        println!(
            "| {number} | {} ms | {} | {} | {} | {waste} |",
            round.killed_after.as_millis(),
            round.recorded,
            if round.torn { "yes" } else { "no" },
            round.calls,
        );
        wasted += waste;
        torn += usize::from(round.torn);
    }
    let told = format!(
        "All {} runs have one record for each case, every line whole. Torn lines: {torn}. Wasted calls: {wasted}, {:.1} a \
         run, never more than {}.",
        options.rounds,
        f64::from(u32::try_from(wasted)?) / f64::from(u32::try_from(options.rounds)?),
        options.workers,
    );
    println!("\n{told}");
    if options.write {
        write_section(&options, whole, &told)?;
    }
    Ok(())
}

/// Tells the benchmarks page.
fn write_section(options: &Options, whole: Duration, told: &str) -> Result<()> {
    let path = repository::root().join("docs/benchmarks.md");
    let Options { rounds, cases, workers, seed, .. } = options;
    let section = format!(
        "Made by `cargo xtask crash --rounds {rounds} --seed {seed} --write`: {rounds} runs of {cases} cases with {workers} \
         workers,\neach killed with -9 at a random moment of the {} ms that a debug build takes, and resumed. A command \
         counts the calls.\n\n{}\n",
        whole.as_millis(),
        told.replace(". ", ".\n"),
    );
    let page = fs::read_to_string(&path).unwrap_or_default();
    fs::write(&path, with_section(&page, CRASH, &section))?;
    eprintln!("wrote docs/benchmarks.md");
    Ok(())
}

/// How long a run takes that nobody disturbs.
fn whole_run(binary: &Path, options: &Options) -> Result<Duration> {
    let place = Place::create(options)?;
    let start = Instant::now();
    ensure!(place.eval(binary, options).status()?.success(), "the first run failed");
    let took = start.elapsed();
    place.check(options)?;
    Ok(took)
}

/// Kills a run, resumes it, and checks what is there.
fn one(binary: &Path, options: &Options, killed_after: Duration) -> Result<Round> {
    let place = Place::create(options)?;
    let mut running = place.eval(binary, options).spawn()?;
    std::thread::sleep(killed_after);
    // It may have ended by itself.
    let _ = running.kill();
    running.wait()?;
    let text = place.results().unwrap_or_default();
    let torn = !text.is_empty() && !text.ends_with('\n');
    let recorded = text.matches('\n').count();
    // One that was killed before it had a folder has done nothing, and is started anew.
    let mut again = place.eval(binary, options);
    if place.has_run() {
        again = place.command(binary);
        again.args(["eval", "--resume"]);
    }
    let output = again.output()?;
    if !output.status.success() {
        bail!("the resume failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    let calls = place.check(options)?;
    Ok(Round { killed_after, recorded, torn, calls })
}

/// A directory with a suite, and a target that counts its calls.
struct Place(tempfile::TempDir);

#[derive(Deserialize)]
struct Record {
    eval_id: String,
    score: f64,
}

impl Place {
    fn create(options: &Options) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let mut suite =
            "execution: {evaluators: [{name: e, type: contains, value: ok}]}\nevalcases:\n"
                .to_owned();
        for number in 0..options.cases {
            writeln!(suite, "  - {{id: case-{number}, input: q, expected_outcome: o}}")?;
        }
        fs::write(dir.path().join("suite.yaml"), suite)?;
        let command = "echo {EVAL_ID} >> calls; echo ok";
        let target = format!("{{name: default, provider: cli, command_template: '{command}'}}");
        fs::write(dir.path().join("targets.yaml"), format!("targets:\n  - {target}\n"))?;
        Ok(Self(dir))
    }

    fn command(&self, binary: &Path) -> Command {
        let mut command = repository::command(binary);
        command.current_dir(self.0.path()).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::inherit());
        command
    }

    fn eval(&self, binary: &Path, options: &Options) -> Command {
        let mut command = self.command(binary);
        let workers = options.workers.to_string();
        command.args(["eval", "suite.yaml", "--out", "out.jsonl", "--workers", &workers]);
        command
    }

    fn has_run(&self) -> bool {
        let runs = fs::read_dir(self.0.path().join(".agentv/runs"));
        let mut folders = runs.into_iter().flatten().flatten().map(|entry| entry.path());
        folders.any(|folder: PathBuf| folder.join("run.json").exists())
    }

    fn results(&self) -> Option<String> {
        fs::read_to_string(self.0.path().join("out.jsonl")).ok()
    }

    /// Every promise; returns how many calls there were.
    fn check(&self, options: &Options) -> Result<usize> {
        let text = self.results().context("there are no results")?;
        ensure!(text.ends_with('\n'), "the results end in the middle of a line");
        let mut records: BTreeMap<String, usize> = BTreeMap::new();
        for line in text.lines() {
            let record: Record =
                serde_json::from_str(line).with_context(|| format!("no record: {line}"))?;
            ensure!((record.score - 1.0).abs() < 1e-9, "{} was not answered", record.eval_id);
            *records.entry(record.eval_id).or_default() += 1;
        }
        ensure!(records.len() == options.cases, "{} cases have a record", records.len());
        ensure!(records.values().all(|count| *count == 1), "a case has two records");
        let calls = fs::read_to_string(self.0.path().join("calls"))?.lines().count();
        let most = options.cases + options.workers;
        ensure!(calls <= most, "{calls} calls were made, more than {most}");
        Ok(calls)
    }
}

/// Good enough for moments, and the same for the same seed.
struct Random(u64);

impl Random {
    /// From 0 to 1.
    fn fraction(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f64::from(u32::try_from(self.0 >> 32).unwrap_or(0)) / f64::from(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_in_any_order() {
        let options = Options::read(&["--cases", "60", "--no-build", "--rounds", "5"]).unwrap();
        assert_eq!((options.rounds, options.cases, options.workers), (5, 60, 8));
        assert!(!options.build);
        assert!(Options::read(&["--rounds"]).is_err());
        assert!(Options::read(&["--fast", "1"]).is_err());
    }

    #[test]
    fn the_same_seed_gives_the_same_moments() {
        let draw = |seed| {
            let mut random = Random(seed);
            [(); 3].map(|()| Duration::from_secs(1).mul_f64(random.fraction()))
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        assert!(draw(7).iter().all(|moment| *moment <= Duration::from_secs(1)));
    }
}
