//! A code judge that tells what it was given.

use crate::TestContext;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A script for `type: code_judge` that keeps its stdin and environment of each call and prints a given text.
#[derive(Debug)]
pub struct JudgeDump {
    name: String,
    /// What `script:` names.
    pub script: PathBuf,
    calls: PathBuf,
}

/// What the judge was given once.
#[derive(Debug, Clone)]
pub struct JudgeCall {
    /// Its stdin, as it came.
    pub stdin: String,
    pub env: BTreeMap<String, String>,
}

/// Each call has a folder of its own, as judges of several cases may run at once.
const SCRIPT: &str = r#"#!/bin/sh
here=$(dirname "$0")
call=$(mktemp -d "$here/calls/XXXXXXXX") || exit 70
cat > "$call/stdin"
env -0 > "$call/env"
cat "$here/output"
"#;

impl JudgeDump {
    #[track_caller]
    pub(crate) fn write(cx: &TestContext, name: &str, output: &str) -> Self {
        cx.write(format!("{name}/output"), output);
        let calls = cx.path(format!("{name}/calls"));
        fs::create_dir(&calls).unwrap();
        Self { name: name.to_owned(), script: cx.script(format!("{name}/judge.sh"), SCRIPT), calls }
    }

    /// An entry for a list of evaluators, under the folder's name. More keys can be set on it.
    pub fn evaluator(&self) -> Value {
        json!({ "name": self.name, "type": "code_judge", "script": [self.script] })
    }

    /// Every call, in no particular order.
    #[track_caller]
    pub fn calls(&self) -> Vec<JudgeCall> {
        let folders = fs::read_dir(&self.calls).unwrap();
        folders.map(|folder| JudgeCall::read(&folder.unwrap().path())).collect()
    }

    /// The only call.
    #[track_caller]
    pub fn call(&self) -> JudgeCall {
        let mut calls = self.calls();
        assert!(calls.len() == 1, "expected one call of the judge, not {}", calls.len());
        calls.remove(0)
    }

    /// What the only call read on stdin.
    #[track_caller]
    pub fn payload(&self) -> Value {
        self.call().payload()
    }
}

impl JudgeCall {
    fn read(folder: &Path) -> Self {
        let env = fs::read(folder.join("env")).unwrap();
        Self {
            stdin: fs::read_to_string(folder.join("stdin")).unwrap(),
            env: variables(&String::from_utf8_lossy(&env)),
        }
    }

    #[track_caller]
    pub fn payload(&self) -> Value {
        serde_json::from_str(&self.stdin)
            .unwrap_or_else(|error| panic!("no JSON ({error}): {}", self.stdin))
    }
}

/// What `env -0` printed.
pub(crate) fn variables(printed: &str) -> BTreeMap<String, String> {
    let pairs = printed.split_terminator('\0').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}
