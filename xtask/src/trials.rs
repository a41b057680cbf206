//! `trials`: 100 000 cases, three times each. Memory must not grow with them, and the figures must be those that can be
//! worked out by hand.

use crate::repository::{self, metadata};
use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::Path;
use std::process::Stdio;
use wait4::Wait4 as _;

const CASES: usize = 100_000;
const TRIALS: usize = 3;
/// The most that the run may hold, in MiB, also in a debug build. All records would be 300.
const LIMIT_MIB: u64 = 48;

/// What the mock says in each trial, and what the cases look for in turn: they pass 3, 1, 1 and 0 times of 3.
const ANSWERS: [&str; TRIALS] = ["a b", "a c", "a"];
const WANTED: [&str; 4] = ["a", "b", "c", "z"];

pub(crate) fn run(words: &[&str]) -> Result<()> {
    match words {
        [] => repository::build()?,
        ["--no-build"] => {}
        other => bail!("trials has no option `{}`", other.join(" ")),
    }
    let target = metadata()?.target_directory;
    // Not in `/tmp`, which may be memory.
    let dir = tempfile::Builder::new().prefix("trials-").tempdir_in(&target)?;
    write_inputs(dir.path())?;
    let peak = evaluate(&target.join("debug/agentv"), dir.path())?;
    let records = count_lines(&dir.path().join("out.jsonl"))?;
    ensure!(records == CASES * TRIALS, "there are {records} records");
    check_figures(dir.path())?;
    let mib = peak >> 20;
    ensure!(mib <= LIMIT_MIB, "the run held {mib} MiB, more than {LIMIT_MIB}");
    println!("{CASES} cases, {TRIALS} times each: {mib} MiB of {LIMIT_MIB}, and the figures agree");
    Ok(())
}

fn write_inputs(dir: &Path) -> Result<()> {
    let answers = json!(ANSWERS);
    let target = format!("{{name: default, provider: mock, responses: {answers}}}");
    fs::write(dir.join("targets.yaml"), format!("targets:\n  - {target}\n"))?;
    fs::create_dir(dir.join(".git"))?;
    let mut data = BufWriter::new(File::create(dir.join("data.jsonl"))?);
    for number in 0..CASES {
        let wanted = WANTED[number % WANTED.len()];
        let evaluators = json!([{ "name": "e", "type": "contains", "value": wanted }]);
        let case = json!({
            "id": format!("case-{number}"),
            "expected_outcome": "o",
            "input": "q",
            "evaluators": evaluators,
        });
        writeln!(data, "{case}")?;
    }
    Ok(data.flush()?)
}

/// Runs it; returns the most bytes that it held at a time.
fn evaluate(binary: &Path, dir: &Path) -> Result<u64> {
    let mut command = repository::command(binary);
    command.args(["eval", "data.jsonl", "--trials", &TRIALS.to_string(), "--workers", "8"]);
    command.args(["--out", "out.jsonl"]).current_dir(dir);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
    let used = child.wait4()?;
    ensure!(used.status.success(), "the run failed: {}", used.status);
    Ok(used.rusage.maxrss)
}

fn count_lines(path: &Path) -> Result<usize> {
    let lines = BufReader::new(File::open(path)?).split(b'\n');
    lines.map(|line| line.map(|_| 1)).sum::<std::io::Result<usize>>().context("the results")
}

/// Of four cases one passes always, two once in three trials, and one never.
fn check_figures(dir: &Path) -> Result<()> {
    let mut runs = fs::read_dir(dir.join(".agentv/runs"))?;
    let run = runs.next().context("there is no run folder")??.path();
    let info: Value = serde_json::from_str(&fs::read_to_string(run.join("run.json"))?)?;
    let found = &info["totals"]["trials"][0];
    let expected = [
        ("cases", 100_000.0),
        ("recorded", 300_000.0),
        ("passed", 125_000.0),
        ("flaky", 50_000.0),
        ("mean_score", 5.0 / 12.0),
        // The case means have a variance of 19/144, so the records are as good as 35/144 / (19/144) · 100 000 independent
        // ones; two more cases, of ones and of zeros, make it 184 205.4. `wilson_ends` in `xtask/reference` gives their
        // interval.
        ("interval/low", 0.414_417_043),
        ("interval/high", 0.418_919_766),
        // Of a case that passed once in three: pass@2 = 1 − C(2,2)/C(3,2), pass^2 = 0.
        ("pass/0/pass_at_k", (1.0 + 1.0 / 3.0 + 1.0 / 3.0) / 4.0),
        ("pass/1/pass_at_k", (1.0 + 2.0 / 3.0 + 2.0 / 3.0) / 4.0),
        ("pass/2/pass_at_k", 3.0 / 4.0),
        ("pass/1/pass_hat_k", 1.0 / 4.0),
        ("pass/2/pass_hat_k", 1.0 / 4.0),
    ];
    for (key, expected) in expected {
        let number = found.pointer(&format!("/{key}")).and_then(Value::as_f64);
        let number = number.with_context(|| format!("there is no `{key}` in {found}"))?;
        ensure!((number - expected).abs() < 1e-7, "`{key}` is {number} and not {expected}");
    }
    Ok(())
}
