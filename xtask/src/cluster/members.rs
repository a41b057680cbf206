//! A server, workers and a project to test with. All of it ends with the test.

use crate::repository;
use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const KEY: &str = "a key that all members share";
const PATIENCE: Duration = Duration::from_secs(20);

/// A process that ends with its owner.
#[derive(Debug)]
pub(super) struct Member(pub Child);

impl Drop for Member {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A folder with a project, and one for its workers with the same targets.
#[derive(Debug)]
pub(super) struct Site {
    pub dir: tempfile::TempDir,
    binary: PathBuf,
    pub url: String,
}

impl Site {
    /// `target` is the text of the one target; `[DIR]` in it is the folder.
    pub(super) fn new(binary: &Path, target: &str, cases: usize, url: &str) -> Result<Self> {
        // Not in `/tmp`, which may be memory.
        let parent = binary.parent().context("a folder")?;
        let dir = tempfile::Builder::new().prefix("cluster-").tempdir_in(parent)?;
        let path = dir.path();
        let targets =
            format!("targets:\n  - {}\n", target.replace("[DIR]", &path.display().to_string()));
        for folder in [".git", "worker/.git"] {
            fs::create_dir_all(path.join(folder))?;
        }
        fs::write(path.join("targets.yaml"), &targets)?;
        fs::write(path.join("worker/targets.yaml"), &targets)?;
        let graders = "execution: {evaluators: [{name: ok, type: contains, value: ok}]}\n";
        fs::write(path.join("cases.yaml"), graders)?;
        let mut rows = File::create(path.join("cases.jsonl"))?;
        for number in 0..cases {
            let row = json!({"id": format!("case-{number}"), "input": "q", "criteria": "x"});
            writeln!(rows, "{row}")?;
        }
        Ok(Self { dir, binary: binary.to_owned(), url: url.to_owned() })
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A command of the program, which knows the key.
    pub(super) fn agentv(&self, folder: &str, args: &[&str]) -> Command {
        let mut command = repository::command(&self.binary);
        command.args(args).current_dir(self.path(folder));
        command.env("AGENTV_CLUSTER_KEY", KEY).env("AGENTV_CLUSTER_ACK_WAIT", "3");
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    pub(super) fn worker(&self, name: &str, slots: usize, url: &str) -> Result<Member> {
        let cache = self.path("cache").display().to_string();
        let slots = slots.to_string();
        let args =
            ["worker", "--cluster", url, "--name", name, "-j", &slots, "--cache-dir", &cache];
        Ok(Member(self.agentv("worker", &args).spawn()?))
    }

    pub(super) fn eval(&self) -> Result<Member> {
        let out = self.path("out.jsonl").display().to_string();
        let log = File::create(self.path("eval.log"))?;
        let args = ["eval", "cases.jsonl", "--cluster", &self.url, "--out", &out];
        let mut command = self.agentv("", &args);
        command.stderr(log);
        Ok(Member(command.spawn()?))
    }

    /// The outcomes of all records, and whether each case has exactly one.
    pub(super) fn check_records(&self, cases: usize) -> Result<()> {
        let text = fs::read_to_string(self.path("out.jsonl"))?;
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for line in text.lines() {
            let record: Value = serde_json::from_str(line).context("a torn record")?;
            ensure!(record["outcome"] == "pass", "not passed: {record}");
            *counts.entry(record["eval_id"].to_string()).or_default() += 1;
        }
        ensure!(counts.len() == cases, "{} of {cases} cases have a record", counts.len());
        let twice = counts.iter().find(|(_, count)| **count > 1);
        ensure!(twice.is_none(), "recorded twice: {twice:?}");
        Ok(())
    }

    /// How many calls were made for cases that had one already. The target writes down each of its calls.
    pub(super) fn wasted_calls(&self) -> Result<usize> {
        let text = fs::read_to_string(self.path("calls"))?;
        let mut ids: Vec<&str> = text.lines().collect();
        let calls = ids.len();
        ids.sort_unstable();
        ids.dedup();
        Ok(calls - ids.len())
    }
}

/// A port that is free now.
pub(super) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Starts a NATS server with `JetStream`.
pub(super) fn server(dir: &Path, port: u16, more: &[String]) -> Result<Member> {
    let mut command = repository::command("nats-server");
    command
        .args(["--jetstream", "--addr", "127.0.0.1", "--port", &port.to_string()])
        .arg("--store_dir")
        .arg(dir)
        .args(more)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let member = Member(command.spawn().context("`nats-server` cannot be started")?);
    let until = Instant::now() + PATIENCE;
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        ensure!(Instant::now() < until, "nats-server does not listen");
        sleep(Duration::from_millis(10));
    }
    Ok(member)
}

/// Waits for a run, which must pass, and does something every few milliseconds meanwhile.
pub(super) fn wait(
    mut run: Member,
    site: &Site,
    mut meanwhile: impl FnMut() -> Result<()>,
) -> Result<Duration> {
    let started = Instant::now();
    loop {
        if let Some(status) = run.0.try_wait()? {
            let log = fs::read_to_string(site.path("eval.log")).unwrap_or_default();
            ensure!(status.success(), "the run failed ({status}): {log}");
            return Ok(started.elapsed());
        }
        ensure!(started.elapsed() < Duration::from_mins(5), "the run does not end");
        meanwhile()?;
        sleep(Duration::from_millis(20));
    }
}
