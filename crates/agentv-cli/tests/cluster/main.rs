//! Runs on workers, with the real NATS server.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "only tests are here, and clippy's leave for tests leaves out their helper functions"
)]

mod commands;
mod failures;
mod files;
mod limits;
mod safety;
mod work;

use agentv_test_support::{Invocation, NatsServer, Running, TestContext};
use serde_json::Value;
use std::path::Path;

const KEY: &str = "a key that all members share";

/// A project, a server, and workers in folders of their own.
struct Cluster {
    workers: Vec<Running>,
    server: NatsServer,
    cx: TestContext,
}

impl Cluster {
    /// Without workers yet. The project and the workers have the same targets.
    #[track_caller]
    fn new(targets: &str) -> Self {
        let cx = TestContext::new(env!("CARGO_BIN_EXE_agentv"));
        cx.write("targets.yaml", targets);
        cx.write("worker/targets.yaml", targets);
        // A repository of its own: a worker sees nothing of the project.
        cx.write("worker/.git/HEAD", "ref: refs/heads/main\n");
        let server = NatsServer::start(&cx.path(".nats"));
        Self { workers: Vec::new(), server, cx }
    }

    /// A command that knows the cluster's key.
    fn agentv(&self, args: &[&str]) -> Invocation {
        self.cx
            .agentv(args)
            .env("AGENTV_CLUSTER_KEY", KEY)
            .env("AGENTV_CLUSTER_ACK_WAIT", "2")
            .env("AGENTV_CLUSTER", self.server.url())
    }

    /// `agentv eval --cluster … --out out.jsonl` and more.
    fn eval(&self, more: &[&str]) -> Invocation {
        let url = self.server.url();
        self.agentv(&[&["eval", "--cluster", &url, "--out", "out.jsonl"], more].concat())
    }

    /// Starts a worker and waits until it is ready.
    #[track_caller]
    fn worker(&mut self, name: &str, more: &[&str]) -> &Running {
        let started = self.worker_in("worker", name, more);
        self.workers.push(started);
        self.workers.last().unwrap()
    }

    /// The same in another folder, for the caller to keep.
    #[track_caller]
    fn worker_in(&self, folder: &str, name: &str, more: &[&str]) -> Running {
        let cache = self.cx.path(".cache").display().to_string();
        let args = ["worker", "--name", name, "--cache-dir", &cache];
        let mut started = self.agentv(&[&args, more].concat()).cwd(folder).start();
        let line = started.read_line();
        assert!(line.contains("is ready"), "{line}{:?}", started.finish());
        started
    }

    /// `agentv cluster status` as JSON.
    #[track_caller]
    fn status(&self) -> Value {
        let ran = self.agentv(&["cluster", "status", "--format", "json"]).run();
        serde_json::from_str(&ran.success().stdout).unwrap()
    }

    /// What the worker of this name says of itself.
    #[track_caller]
    fn worker_status(&self, name: &str) -> Value {
        let status = self.status();
        let workers = status["workers"].as_array().unwrap();
        workers.iter().find(|worker| worker["name"] == name).cloned().unwrap_or_default()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for worker in self.workers.drain(..) {
            worker.signal_if_alive("KILL");
            worker.finish();
        }
    }
}

/// The names of what a counting target wrote down, sorted.
#[track_caller]
fn calls(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let mut calls: Vec<String> = text.lines().map(str::to_owned).collect();
    calls.sort();
    calls
}

/// Waits until something is so. It polls, as other processes do not tell.
#[track_caller]
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let until = std::time::Instant::now() + std::time::Duration::from_mins(1);
    while !is_so() {
        assert!(std::time::Instant::now() < until, "waited in vain until {what}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// A suite of cases with these ids, which pass if the answer has `ok`.
fn suite(ids: &[&str]) -> String {
    agentv_test_support::cases(ids)
}
