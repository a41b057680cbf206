//! What the command line names may be a pipe, as for any tool.

use super::fifo;
use crate::mocked;
use agentv_test_support::{Running, TestContext, cases, mock_target, targets};
use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;

/// Writes to a FIFO once it has a reader, until the reader closes it.
fn feed(path: PathBuf, text: String) {
    std::thread::spawn(move || {
        let mut pipe = File::options().write(true).open(path).unwrap();
        pipe.write_all(text.as_bytes()).ok();
    });
}

const LINE: &str =
    r#"{"id": "a", "input": "q", "evaluators": [{"type": "contains", "value": "ok"}]}"#;

#[track_caller]
fn passes(cx: &TestContext, args: &[&str]) {
    let ran = cx.agentv(args.iter().chain(&["--out", "out.jsonl"])).run();
    assert_eq!(ran.success().record()["score"], 1);
}

#[test]
fn suites_and_targets_may_come_through_a_pipe() {
    let cx = mocked(&["a"]);
    for (name, text) in [
        ("s.yaml", cases(&["a"])),
        ("s.jsonl", format!("{LINE}\n")),
        ("s.json", format!("[{LINE}]")),
    ] {
        feed(fifo(&cx, name), text.clone());
        passes(&cx, &["eval", name]);
        feed(cx.path(name), text);
        cx.agentv(["validate", name]).run().success();
    }
    let file = targets(&[mock_target("default", "ok")]);
    feed(fifo(&cx, "t.yaml"), file.clone());
    passes(&cx, &["eval", "suite.yaml", "--targets", "t.yaml"]);
    let args = ["eval", "suite.yaml", "--targets", "/dev/stdin", "--out", "out.jsonl"];
    cx.agentv(args).stdin(file).run().success();
}

#[test]
fn a_pipe_without_an_end_is_refused() {
    let cx = mocked(&["a"]);
    for (name, size) in [("s.yaml", "64 MiB"), ("s.jsonl", "256 MiB"), ("s.csv", "256 MiB")] {
        feed(fifo(&cx, name), "- a\n".repeat(70 << 20));
        let ran = cx.agentv(["eval", name, "--out", "out.jsonl"]).run();
        ran.code(2).stderr_has(&format!("it is larger than {size}"));
    }
}

#[test]
fn waiting_for_a_pipe_ends_with_a_signal() {
    for (name, args) in [
        ("s.yaml", &["eval", "s.yaml"][..]),
        ("s.jsonl", &["eval", "s.jsonl"]),
        ("t.yaml", &["eval", "suite.yaml", "--targets", "t.yaml"]),
    ] {
        let cx = mocked(&["a"]);
        let path = fifo(&cx, name);
        let running: Running = cx.agentv(args).start();
        // Opened as soon as it is read from, and then nothing comes.
        let pipe = File::options().write(true).open(path).unwrap();
        running.signal("INT");
        running.finish().code(130);
        drop(pipe);
    }
}
