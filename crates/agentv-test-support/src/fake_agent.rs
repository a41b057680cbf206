//! An agent program that tells what it was given.

use crate::TestContext;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A stand-in for `claude`, `codex` and their kin, which keeps what each call was given and then does as it is told.
#[derive(Debug)]
pub struct FakeAgent {
    /// What `executable:` names.
    pub executable: PathBuf,
    calls: PathBuf,
}

/// What the agent was given once.
#[derive(Debug, Clone)]
pub struct AgentCall {
    pub args: Vec<String>,
    pub stdin: String,
    /// Where it ran.
    pub cwd: PathBuf,
    /// What it found there, a name each.
    pub files: Vec<String>,
    pub env: BTreeMap<String, String>,
}

/// Each call has a folder of its own, as several may run at once. It counts when it has its final name.
const SCRIPT: &str = r#"#!/bin/sh
here=$(dirname "$0")
call=$(mktemp -d "$here/calls/.XXXXXXXX") || exit 70
for argument in "$@"; do printf '%s\0' "$argument"; done > "$call/args"
cat > "$call/stdin"
pwd > "$call/cwd"
ls -A > "$call/files"
env -0 > "$call/env"
mv "$call" "$here/calls/$(basename "$call" | tr -d .)"
"#;

impl FakeAgent {
    #[track_caller]
    pub(crate) fn write(cx: &TestContext, name: &str, then: &str) -> Self {
        let calls = cx.path(format!("fakes/{name}-calls/calls"));
        fs::create_dir_all(&calls).unwrap();
        let script = format!("{SCRIPT}{then}\n");
        let executable = cx.script(format!("fakes/{name}-calls/{name}"), &script);
        Self { executable, calls }
    }

    /// A target of this provider that runs the stand-in, with more keys; an entry for [`targets`](crate::targets).
    pub fn target(&self, name: &str, provider: &str, more: &Value) -> String {
        let mut target =
            json!({ "name": name, "provider": provider, "executable": self.executable });
        let more = more.as_object().cloned().unwrap_or_default();
        target.as_object_mut().into_iter().for_each(|target| target.extend(more.clone()));
        format!("  - {target}\n")
    }

    /// Every call, in no particular order.
    #[track_caller]
    pub fn calls(&self) -> Vec<AgentCall> {
        let folders = fs::read_dir(&self.calls).unwrap();
        folders.map(|folder| AgentCall::read(&folder.unwrap().path())).collect()
    }

    /// The only call.
    #[track_caller]
    pub fn call(&self) -> AgentCall {
        let mut calls = self.calls();
        assert!(calls.len() == 1, "expected one call of the agent, not {}", calls.len());
        calls.remove(0)
    }
}

impl AgentCall {
    fn read(folder: &Path) -> Self {
        let text = |name: &str| {
            String::from_utf8_lossy(&fs::read(folder.join(name)).unwrap()).into_owned()
        };
        Self {
            args: text("args").split_terminator('\0').map(str::to_owned).collect(),
            stdin: text("stdin"),
            cwd: text("cwd").trim_end().into(),
            files: text("files").lines().map(str::to_owned).collect(),
            env: crate::judge::variables(&text("env")),
        }
    }

    /// The argument after this one.
    #[track_caller]
    pub fn value_of(&self, flag: &str) -> &str {
        let at = self.args.iter().position(|arg| arg == flag);
        let value = at.and_then(|at| self.args.get(at + 1));
        value.unwrap_or_else(|| panic!("no `{flag}` in {:?}", self.args))
    }
}
