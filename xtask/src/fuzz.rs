//! `fuzz`: every target of `crates/agentv-fuzz`, by libFuzzer where a nightly toolchain and cargo-fuzz are installed, else by
//! the engine of that crate. Inputs are counted by the latter only, as the same number always makes the same input.

use crate::bench::{FUZZING, with_section};
use crate::repository::{self, metadata, root, succeed};
use anyhow::{Context as _, Result, bail, ensure};
use jiff::Zoned;
use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What was asked for.
#[derive(Debug)]
struct Options {
    minutes: Option<f64>,
    /// Handed to the engine: how many inputs, and of which targets.
    counted: Vec<String>,
    only: Vec<String>,
    /// How many processes share the targets.
    jobs: usize,
    /// Do not look for a nightly toolchain.
    stable: bool,
    fresh: bool,
    write: bool,
}

impl Options {
    fn read(words: &[&str]) -> Result<Self> {
        let mut options = Self {
            minutes: None,
            counted: Vec::new(),
            only: Vec::new(),
            jobs: 1,
            stable: false,
            fresh: false,
            write: false,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("`{word}` needs a value"));
            match *word {
                "--minutes" => options.minutes = Some(value()?.parse().context("the minutes")?),
                "--parsers" | "--structured" => {
                    options.counted.extend([(*word).to_owned(), (*value()?).to_owned()]);
                }
                "--only" => options.only.push((*value()?).to_owned()),
                "--jobs" => {
                    let jobs: NonZeroUsize = value()?.parse().context("the number of jobs")?;
                    options.jobs = jobs.get();
                }
                "--stable" => options.stable = true,
                "--fresh" => options.fresh = true,
                "--write" => options.write = true,
                _ => bail!("`{word}` is not an option of `fuzz`"),
            }
        }
        if options.counted.is_empty() && options.minutes.is_none() {
            options.minutes = Some(10.0);
        }
        Ok(options)
    }

    /// The targets that are wanted.
    fn names(&self) -> Result<Vec<String>> {
        if !self.only.is_empty() {
            return Ok(self.only.clone());
        }
        let output = engine().arg("--list").stderr(Stdio::inherit()).output();
        let list = String::from_utf8(output.context("cannot run cargo")?.stdout)?;
        ensure!(!list.is_empty(), "the list of targets is empty");
        Ok(list.lines().map(str::to_owned).collect())
    }

    fn is_for_libfuzzer(&self) -> bool {
        self.counted.is_empty() && !self.stable && !self.write && has_nightly()
    }
}

pub(crate) fn run(words: &[&str]) -> Result<()> {
    let options = Options::read(words)?;
    if options.is_for_libfuzzer() {
        return run_libfuzzer(&options);
    }
    let counts = metadata()?.target_directory.join("fuzz-counts");
    if options.fresh && counts.exists() {
        fs::remove_dir_all(&counts).context("cannot forget the counts")?;
    }
    let names = options.names()?;
    let mut running = Vec::new();
    for job in 0..options.jobs {
        let mut engine = engine();
        engine.arg("--counts").arg(&counts).args(&options.counted).stdout(Stdio::null());
        if let Some(minutes) = options.minutes {
            engine.args(["--minutes", &minutes.to_string()]);
        }
        let own = names.iter().skip(job).step_by(options.jobs);
        engine.args(own.flat_map(|name| ["--only", name]));
        running.push(engine.spawn().context("cannot run cargo")?);
    }
    let ended: Vec<bool> =
        running.iter_mut().map(|job| job.wait().is_ok_and(|status| status.success())).collect();
    let output = engine().arg("--table").arg("--counts").arg(&counts).output();
    let table = String::from_utf8(output.context("cannot run cargo")?.stdout)?;
    println!("{table}");
    ensure!(
        !ended.contains(&false),
        "something was found, or an input ended the process: see above"
    );
    if options.write { write_section(&table) } else { Ok(()) }
}

fn engine() -> Command {
    let mut command = repository::command("cargo");
    command.args(["run", "--quiet", "--profile", "fuzz", "--package", "agentv-fuzz", "--"]);
    command
}

fn has_nightly() -> bool {
    let runs = |args: &[&str]| {
        let mut command = repository::command("cargo");
        command.args(args).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    runs(&["+nightly", "--version"]) && runs(&["fuzz", "--version"])
}

/// All targets share the time.
fn run_libfuzzer(options: &Options) -> Result<()> {
    let names = options.names()?;
    #[expect(clippy::cast_precision_loss, reason = "there are a few dozen targets")]
    let seconds = options.minutes.unwrap_or(10.0) * 60.0 / names.len() as f64;
    let mut failed = Vec::new();
    for name in &names {
        let (corpus, artifacts) = (folder("corpus", name)?, folder("artifacts", name)?);
        succeed(engine().args(["--only", name, "--write-seeds"]).arg(&corpus))?;
        let mut cargo = repository::command("cargo");
        cargo
            .args(["+nightly", "fuzz", "run", "--sanitizer", "none", "any"])
            .arg(&corpus)
            .arg("--");
        cargo
            .arg(format!("-max_total_time={seconds:.0}"))
            .arg(format!("-artifact_prefix={}/", artifacts.display()));
        cargo.args([
            "-timeout=2",
            "-rss_limit_mb=2048",
            "-max_len=65536",
            "-print_final_stats=1",
            "-verbosity=0",
        ]);
        println!("== {name} ==");
        if succeed(cargo.env("AGENTV_FUZZ_TARGET", name)).is_err() {
            failed.push(name.as_str());
        }
    }
    ensure!(failed.is_empty(), "found something in {}: see fuzz/artifacts", failed.join(", "));
    Ok(())
}

fn folder(kind: &str, name: &str) -> Result<PathBuf> {
    let path = root().join("fuzz").join(kind).join(name);
    fs::create_dir_all(&path).with_context(|| format!("cannot make `{}`", path.display()))?;
    Ok(path)
}

fn write_section(table: &str) -> Result<()> {
    let path = root().join("docs/benchmarks.md");
    let section = format!(
        "\nMade by `cargo xtask fuzz --parsers 10M --structured 1M --write` on {}, on one core. A parser gets files and\n\
         answers that are made of our examples by moving, replacing and repeating their lines, words, numbers and bytes; a\n\
         structured target makes valid suites, answers, records and runs, and follows them to records, reports and verdicts.\n\
         Inputs have up to 64 KiB. No input panicked, took 2 s, or took 64 MiB of memory; arithmetic that overflows panics in\n\
         this build.\n\n{table}",
        Zoned::now().date()
    );
    let page = fs::read_to_string(&path).unwrap_or_default();
    fs::write(&path, with_section(&page, FUZZING, &section))?;
    eprintln!("wrote docs/benchmarks.md");
    Ok(())
}
