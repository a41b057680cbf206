//! Runs targets on a stable toolchain, counts their inputs, and prints a table of what was run. `cargo xtask fuzz` calls it.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's tool talks to its terminal"
)]
#![expect(clippy::disallowed_methods, reason = "files that fuzzing reads are its own and small")]
#![expect(clippy::cast_precision_loss, reason = "counts of inputs and bytes are far below 2^52")]

use agentv_fuzz::engine::{self, FuzzFinding, FuzzOrder, FuzzRun};
use agentv_fuzz::{FuzzKind, FuzzTarget, TARGETS};
use anyhow::{Context as _, Result, bail};
use peak_alloc::PeakAlloc;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

/// Counts what an input takes.
#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const USAGE: &str = "\
usage: agentv-fuzz [options]

  --parsers N       run each parser up to this number of inputs
  --structured N    the same for structured targets
  --minutes N       stop after N minutes, shared by all targets
  --only NAME       this target; can be given several times
  --counts DIR      continue the counts in this folder
  --table           only print the table of these counts
  --artifacts DIR   where inputs go that show something
  --trace           write each input before it is run: for one that ends the process
  --replay FILE     run this input on the targets of `--only`
  --write-seeds DIR write the first inputs of the targets of `--only`
  --list            the names of all targets";

/// What was asked for.
#[derive(Debug)]
struct Options {
    parsers: u64,
    structured: u64,
    minutes: Option<f64>,
    only: Vec<&'static FuzzTarget>,
    counts: PathBuf,
    artifacts: PathBuf,
    trace: bool,
    is_table: bool,
    replay: Option<PathBuf>,
    write_seeds: Option<PathBuf>,
}

/// What is known of a target, over several runs of this program.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Count {
    inputs: u64,
    bytes: u64,
    seconds: f64,
    slowest_ms: f64,
    memory: usize,
    findings: usize,
    /// Seconds since 1970, of the last run.
    time: u64,
}

/// So often the counts are written.
const STEP: Duration = Duration::from_secs(20);

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match Options::read(&args).and_then(|options| options.map_or(Ok(0), |options| run(&options))) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(findings) => {
            eprintln!("{findings} findings");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

impl Options {
    /// `None` if all was said already.
    fn read(args: &[String]) -> Result<Option<Self>> {
        let mut options = Self {
            parsers: u64::MAX,
            structured: u64::MAX,
            minutes: None,
            only: Vec::new(),
            counts: PathBuf::from("target/fuzz-counts"),
            artifacts: PathBuf::from("fuzz/artifacts"),
            trace: false,
            is_table: false,
            replay: None,
            write_seeds: None,
        };
        let mut words = args.iter();
        while let Some(word) = words.next() {
            let mut value =
                || words.next().with_context(|| format!("`{word}` needs a value\n\n{USAGE}"));
            match word.as_str() {
                "--parsers" => options.parsers = number(value()?)?,
                "--structured" => options.structured = number(value()?)?,
                "--minutes" => options.minutes = Some(value()?.parse()?),
                "--only" => {
                    let name = value()?;
                    options.only.push(
                        FuzzTarget::find(name)
                            .with_context(|| format!("unknown target `{name}`"))?,
                    );
                }
                "--counts" => options.counts = value()?.into(),
                "--artifacts" => options.artifacts = value()?.into(),
                "--trace" => options.trace = true,
                "--table" => options.is_table = true,
                "--replay" => options.replay = Some(value()?.into()),
                "--write-seeds" => options.write_seeds = Some(value()?.into()),
                "--list" => {
                    for target in TARGETS {
                        println!("{}", target.name);
                    }
                    return Ok(None);
                }
                _ => bail!("{USAGE}"),
            }
        }
        if options.only.is_empty() {
            options.only = TARGETS.iter().collect();
        }
        let is_run = options.replay.is_none() && options.write_seeds.is_none() && !options.is_table;
        let is_endless = |target: &&FuzzTarget| options.goal(target.kind) == u64::MAX;
        if is_run && options.minutes.is_none() && options.only.iter().any(is_endless) {
            bail!("say how many inputs of each kind, or how many minutes\n\n{USAGE}");
        }
        Ok(Some(options))
    }

    fn goal(&self, kind: FuzzKind) -> u64 {
        match kind {
            FuzzKind::Parser => self.parsers,
            FuzzKind::Structured => self.structured,
        }
    }
}

/// `1500`, `20k` or `10M`.
fn number(text: &str) -> Result<u64> {
    let (digits, factor) = match text.strip_suffix('k') {
        Some(digits) => (digits, 1000),
        None => text.strip_suffix('M').map_or((text, 1), |digits| (digits, 1_000_000)),
    };
    let number: u64 =
        digits.parse().with_context(|| format!("`{text}` is not a number of inputs"))?;
    Ok(number * factor)
}

/// Runs what is wanted; the number of findings comes back.
fn run(options: &Options) -> Result<usize> {
    if let Some(path) = &options.replay {
        return replay(options, path);
    }
    if let Some(dir) = &options.write_seeds {
        return write_seeds(options, dir).map(|()| 0);
    }
    let started = Instant::now();
    let targets = if options.is_table { &[] } else { options.only.as_slice() };
    for (index, target) in targets.iter().enumerate() {
        let share = options.minutes.map(|minutes| {
            let left = Duration::from_secs_f64(minutes * 60.0).saturating_sub(started.elapsed());
            left.div_f64((targets.len() - index) as f64)
        });
        run_target(target, options, share)?;
    }
    print_table(options)
}

fn run_target(
    target: &'static FuzzTarget,
    options: &Options,
    share: Option<Duration>,
) -> Result<()> {
    let deadline = share.map(|share| Instant::now() + share);
    let mut count = Count::read(options, target)?;
    let goal = options.goal(target.kind);
    while count.inputs < goal && deadline.is_none_or(|deadline| Instant::now() < deadline) {
        let step = Instant::now() + STEP;
        let order = FuzzOrder {
            target,
            from: count.inputs,
            to: goal,
            deadline: Some(deadline.map_or(step, |deadline| deadline.min(step))),
            trace: options.trace.then(|| options.artifacts.join("last-input")),
        };
        let (name, artifacts) = (target.name, options.artifacts.clone());
        let ran = engine::run(&order, move |finding| give_up(name, &artifacts, &finding));
        for finding in &ran.findings {
            tell(target.name, &options.artifacts, finding)?;
        }
        count.add(&ran);
        eprintln!(
            "{:<14} {:>9} inputs, {:.0} per second",
            target.name,
            count.inputs,
            count.speed()
        );
        count.write(options, target)?;
    }
    Ok(())
}

/// An input that never ends cannot be stopped, so the process ends with it.
#[expect(clippy::exit, reason = "the worker is stuck")]
fn give_up(name: &str, artifacts: &Path, finding: &FuzzFinding) {
    if let Err(error) = tell(name, artifacts, finding) {
        eprintln!("error: {error:#}");
    }
    std::process::exit(1);
}

fn tell(name: &str, artifacts: &Path, finding: &FuzzFinding) -> Result<()> {
    let dir = artifacts.join(name);
    fs::create_dir_all(&dir).with_context(|| format!("cannot make `{}`", dir.display()))?;
    let hash =
        finding.input.iter().fold(0_u32, |hash, byte| hash.wrapping_mul(31) ^ u32::from(*byte));
    let path = dir.join(format!("{hash:08x}"));
    fs::write(&path, &finding.input)?;
    eprintln!("FOUND {name}: {} ({})\n      {}", finding.what, finding.place, path.display());
    Ok(())
}

/// For libFuzzer, which has its inputs in files.
fn write_seeds(options: &Options, dir: &Path) -> Result<()> {
    for target in &options.only {
        for (number, seed) in target.seeds.load().iter().enumerate() {
            fs::write(dir.join(format!("seed-{number:03}")), seed)?;
        }
    }
    Ok(())
}

fn replay(options: &Options, path: &Path) -> Result<usize> {
    let input = fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let mut found = 0;
    for target in &options.only {
        let started = Instant::now();
        engine::listen_to_panics();
        match engine::attempt(target, &input) {
            None => {
                println!("{}: nothing in {:.1} ms", target.name, milliseconds(started.elapsed()));
            }
            Some((what, place)) => {
                println!("{}: {what} ({place})", target.name);
                found += 1;
            }
        }
    }
    Ok(found)
}

impl Count {
    /// One file for each target, so that several processes can run at a time.
    fn path(options: &Options, target: &FuzzTarget) -> PathBuf {
        options.counts.join(format!("{}.json", target.name))
    }

    fn read(options: &Options, target: &FuzzTarget) -> Result<Self> {
        let path = Self::path(options, target);
        if !path.exists() {
            return Ok(Self::default());
        }
        let bytes = fs::read(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
        serde_json::from_slice(&bytes)
            .with_context(|| format!("`{}` has no counts", path.display()))
    }

    fn write(&self, options: &Options, target: &FuzzTarget) -> Result<()> {
        let path = Self::path(options, target);
        fs::create_dir_all(&options.counts)?;
        fs::write(&path, serde_json::to_vec(self)?)
            .with_context(|| format!("cannot write `{}`", path.display()))
    }

    fn add(&mut self, ran: &FuzzRun) {
        self.inputs += ran.inputs;
        self.bytes += ran.bytes;
        self.seconds += ran.elapsed.as_secs_f64();
        self.slowest_ms = self.slowest_ms.max(milliseconds(ran.slowest));
        self.memory = self.memory.max(ran.memory);
        self.findings += ran.findings.len();
        self.time = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |elapsed| elapsed.as_secs());
    }

    fn speed(&self) -> f64 {
        self.inputs as f64 / self.seconds.max(1e-9)
    }
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// As Markdown; the number of findings comes back.
fn print_table(options: &Options) -> Result<usize> {
    println!(
        "| target | kind | inputs | seconds | inputs per second | mean size | slowest input | most memory |"
    );
    println!("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    let mut all = Count::default();
    for target in TARGETS {
        let count = Count::read(options, target)?;
        if count.inputs > 0 {
            println!("{}", row(target.name, target.kind.name(), &count));
        }
        all.inputs += count.inputs;
        all.bytes += count.bytes;
        all.seconds += count.seconds;
        all.slowest_ms = all.slowest_ms.max(count.slowest_ms);
        all.memory = all.memory.max(count.memory);
        all.findings += count.findings;
    }
    println!("{}", row("all", "", &all));
    Ok(all.findings)
}

fn row(name: &str, kind: &str, count: &Count) -> String {
    format!(
        "| {name} | {kind} | {} | {:.0} | {:.0} | {} B | {:.1} ms | {:.1} MiB |",
        count.inputs,
        count.seconds,
        count.speed(),
        count.bytes / count.inputs.max(1),
        count.slowest_ms,
        count.memory as f64 / f64::from(1 << 20),
    )
}
