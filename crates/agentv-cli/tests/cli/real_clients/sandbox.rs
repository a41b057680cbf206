//! A directory in which `agentv` runs with a client and the stub, and with nothing else to talk to.

use agentv_test_support::{Ran, TestContext};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where `test.sh` puts the clients, in the user's cache.
const CACHE: &str = "agentv-test-clients";
/// What a namespace is made with. `unshare` asks for more rights if it has none.
const NAMESPACE: &[&str] = &["--net", "--pid", "--mount", "--fork", "--mount-proc", "--kill-child"];

/// One of the two clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Client {
    Claude,
    Codex,
}

impl Client {
    /// What `targets.yaml` calls it.
    pub(super) fn provider(self) -> &'static str {
        match self {
            Self::Claude => "claude-code",
            Self::Codex => "codex",
        }
    }

    fn variable(self) -> &'static str {
        match self {
            Self::Claude => "AGENTV_TEST_CLAUDE",
            Self::Codex => "AGENTV_TEST_CODEX",
        }
    }

    fn cached(self) -> &'static str {
        match self {
            Self::Claude => "claude-code-2.1.325/claude",
            Self::Codex => "codex-0.166.0/vendor/x86_64-unknown-linux-musl/bin/codex",
        }
    }

    /// The binary: where `test.sh` says, else where it would have put it.
    fn find(self) -> Option<PathBuf> {
        if let Some(told) = variable(self.variable()) {
            return Some(told.into());
        }
        let cache = variable("XDG_CACHE_HOME").map(PathBuf::from);
        let cache = cache.or_else(|| Some(Path::new(&variable("HOME")?).join(".cache")))?;
        Some(cache.join(CACHE).join(self.cached())).filter(|path| path.exists())
    }
}

#[expect(clippy::disallowed_methods, reason = "tests are told by `test.sh` where the clients are")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// An empty repository whose `agentv` runs in a namespace, beside a stub that follows a scenario.
#[derive(Debug)]
pub(super) struct Sandbox {
    pub(super) cx: TestContext,
    /// The client itself.
    pub(super) binary: PathBuf,
    /// Holds the script that `cx` runs as if it were `agentv`.
    _outside: TestContext,
}

impl Sandbox {
    /// `None`, with a word about it, where it cannot be had.
    #[track_caller]
    pub(super) fn new(client: Client, scenario: &Value) -> Option<Self> {
        let Some(binary) = client.find() else {
            let what = format!("{client:?} is not installed; run ./test.sh, which does it");
            let is_required = variable("AGENTV_TEST_REAL_CLIENTS").as_deref() == Some("required");
            assert!(!is_required, "{what}");
            return skipped(&what);
        };
        assert!(binary.is_file(), "there is no client at {}", binary.display());
        let Some(unshare) = unshare() else {
            return skipped("namespaces are refused here");
        };
        let outside = crate::context();
        let script = format!(
            "#!/bin/sh\nexec {unshare} python3 -I '{tests}/clients/sandbox.py' \"$PWD\" '{agentv}' \"$@\"\n",
            tests = concat!(env!("CARGO_MANIFEST_DIR"), "/tests"),
            agentv = env!("CARGO_BIN_EXE_agentv"),
        );
        let cx = TestContext::new(outside.script("agentv", &script));
        cx.write("scenario.json", &scenario.to_string());
        // Keeps the command line, then becomes the client.
        let wrapper = format!(
            "#!/bin/sh\nfor argument in \"$@\"; do printf '%s\\n' \"$argument\"; done > '{}'\nexec '{}' \"$@\"\n",
            cx.path("arguments").display(),
            binary.display()
        );
        cx.script("client", &wrapper);
        Some(Self { cx, binary, _outside: outside })
    }

    /// Runs `agentv` in the namespace and checks that nothing is left in it.
    #[track_caller]
    pub(super) fn run(&self, args: &[&str], env: &[(&str, &str)]) -> Ran {
        let run = self.cx.agentv(args);
        let ran = env.iter().fold(run, |run, (name, value)| run.env(name, value)).run();
        let left: Vec<Value> = serde_json::from_str(&self.cx.read("left.json")).unwrap();
        assert!(left.is_empty(), "still alive: {left:?}\n{ran:?}");
        ran
    }

    /// What the client asked of the stub, without what is no question to a model.
    pub(super) fn requests(&self) -> Vec<Value> {
        let lines = self.cx.read("requests.jsonl");
        let all = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        all.filter(|request| matches!(request["api"].as_str(), Some("anthropic" | "responses")))
            .filter(|request| request["step"] != "side")
            .collect()
    }

    /// The client's command line, one argument after the other.
    pub(super) fn arguments(&self) -> Vec<String> {
        self.cx.read("arguments").lines().map(str::to_owned).collect()
    }
}

#[expect(clippy::print_stderr, reason = "whoever runs the tests should know")]
fn skipped<T>(why: &str) -> Option<T> {
    eprintln!("skipped: {why}");
    None
}

/// The command that opens the namespace, with what rights it needs.
fn unshare() -> Option<String> {
    [&[][..], &["--map-root-user"]].into_iter().find_map(|rights| {
        let flags = [rights, NAMESPACE].concat();
        #[expect(clippy::disallowed_methods, reason = "tests run programs from outside")]
        let tried = Command::new("unshare").args(&flags).arg("true").output();
        tried
            .is_ok_and(|tried| tried.status.success())
            .then(|| format!("unshare {}", flags.join(" ")))
    })
}
