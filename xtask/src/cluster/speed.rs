//! How quick a cluster is beside what the server can do, and beside a run without one.
#![expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]

use super::Seen;
use super::members::{Member, Site, free_port, server};
use crate::repository;
use anyhow::{Context as _, Result, ensure};
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};
use wait4::Wait4 as _;

const CASES: usize = 20_000;
const MANY: usize = 200_000;
const SLOTS: usize = 16;
const ROUNDS: usize = 3;
/// About what a job of these cases has.
const JOB_BYTES: usize = 900;
const MOCK: &str = "{name: default, provider: mock, response: ok then}";

/// The figures, and whether all of them are as they should be.
pub(super) fn run(release: &Path) -> Result<(Seen, bool)> {
    let binary = release.join("agentv");
    let (mut ratios, mut rates, mut bare_rates, mut overheads) = (vec![], vec![], vec![], vec![]);
    for _ in 0..ROUNDS {
        let bare = bare_loop(&release.join("examples/bare_loop"))?;
        let (elsewhere, _) = on_cluster(&binary, CASES)?;
        let here = local(&binary, CASES)?;
        let rate = per_second(CASES, elsewhere);
        ratios.push(rate / bare);
        rates.push(rate);
        bare_rates.push(bare);
        overheads.push((elsewhere.as_secs_f64() - here.as_secs_f64()) * 1e6 / CASES as f64);
    }
    let ratio = median(&mut ratios);
    let (_, few) = on_cluster(&binary, CASES)?;
    let (_, many) = on_cluster(&binary, MANY)?;
    ensure!(many < few + few / 4, "{many} KiB for {MANY} cases, {few} KiB for {CASES}");
    let lines = vec![
        format!(
            "{CASES} mock cases on two workers with {SLOTS} slots: {:.0} per second, {ratio:.2} of a bare loop that publishes, pulls and acknowledges messages of {JOB_BYTES} bytes ({:.0} per second; at least half is wanted), medians of {ROUNDS} runs",
            median(&mut rates),
            median(&mut bare_rates)
        ),
        format!("Overhead over a local run: {:.0} µs for a case", median(&mut overheads)),
        format!(
            "Peak memory of the coordinator: {:.1} MiB for {CASES} cases, {:.1} MiB for {MANY}",
            few as f64 / 1024.0,
            many as f64 / 1024.0
        ),
    ];
    Ok((lines, ratio >= 0.5))
}

fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

fn per_second(cases: usize, took: Duration) -> f64 {
    cases as f64 / took.as_secs_f64()
}

fn bare_loop(program: &Path) -> Result<f64> {
    let dir = tempfile::tempdir_in(program.parent().context("a folder")?)?;
    let port = free_port()?;
    let _nats = server(dir.path(), port, &[])?;
    let mut command = repository::command(program);
    command.arg(format!("nats://127.0.0.1:{port}"));
    command.args([CASES, JOB_BYTES, 2 * SLOTS].map(|number| number.to_string()));
    let output = command.output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).trim().parse()?)
}

/// How long a run takes, and the memory that its coordinator had at most, in KiB.
fn on_cluster(binary: &Path, cases: usize) -> Result<(Duration, u64)> {
    let port = free_port()?;
    let site = Site::new(binary, MOCK, cases, &format!("nats://127.0.0.1:{port}"))?;
    let _nats = server(&site.path("store"), port, &[])?;
    let _workers: Vec<Member> = ["one", "two"]
        .map(|name| site.worker(name, SLOTS, &site.url))
        .into_iter()
        .collect::<Result<_>>()?;
    sleep(Duration::from_secs(1));
    let url = site.url.clone();
    let result =
        timed(&site, &["eval", "cases.jsonl", "--quiet", "--out", "out.jsonl", "--cluster", &url])?;
    site.check_records(cases)?;
    Ok(result)
}

fn local(binary: &Path, cases: usize) -> Result<Duration> {
    let site = Site::new(binary, MOCK, cases, "")?;
    Ok(timed(&site, &["eval", "cases.jsonl", "--quiet", "--out", "out.jsonl"])?.0)
}

fn timed(site: &Site, args: &[&str]) -> Result<(Duration, u64)> {
    let started = Instant::now();
    let child = site.agentv("", args).stdin(Stdio::null()).spawn()?;
    let used = child.wait4()?;
    let took = started.elapsed();
    let log = fs::read_to_string(site.path("eval.log")).unwrap_or_default();
    ensure!(used.status.success(), "the run failed: {log}");
    Ok((took, used.rusage.maxrss / 1024))
}
