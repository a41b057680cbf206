//! Standard output that cannot be written.

use crate::mocked;
use agentv_test_support::{Ran, TestContext};

/// Runs a line of shell in the context's directory; `agentv` is the program.
#[track_caller]
fn shell(cx: &TestContext, line: &str) -> Ran {
    let sh = TestContext::new("sh");
    let line = format!(
        "cd '{}' && agentv() {{ '{}' \"$@\"; }}; {line}",
        cx.dir().display(),
        env!("CARGO_BIN_EXE_agentv")
    );
    sh.agentv(["-c", &line]).run()
}

#[test]
fn what_cannot_be_printed_is_exit_code_3() {
    let cx = mocked(&["a", "b"]);
    shell(&cx, "agentv eval suite.yaml --out out.jsonl").success();
    for command in [
        "eval suite.yaml --out more.jsonl",
        "eval suite.yaml --out more.jsonl --quiet",
        "eval suite.yaml --out more.jsonl --format json",
        "grade out.jsonl suite.yaml",
        "compare out.jsonl out.jsonl",
        "compare out.jsonl out.jsonl --format markdown",
        "compare out.jsonl out.jsonl --json",
        "runs list",
        "runs show --format json",
        "report out.jsonl --json -",
        "report out.jsonl --markdown -",
        "validate suite.yaml",
        "validate suite.yaml --format json",
        "doctor",
        "plan out.jsonl --difference 0.1",
        "schema eval",
        "completions bash",
        "cache stats",
        "merge out.jsonl --out merged.jsonl",
        "convert suite.yaml --out cases.jsonl",
        "--help",
        "--version",
        "eval --help",
    ] {
        let ran = shell(&cx, &format!("agentv {command} > /dev/full"));
        assert_eq!(ran.code, 3, "agentv {command}: {}", ran.stderr);
        ran.stderr_has("cannot be written: No space left on device");
    }
    // The work itself was done.
    assert_eq!(cx.read("more.jsonl").lines().count(), 2);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let cx = mocked(&["a", "b"]);
    for command in [
        "eval suite.yaml",
        "schema eval",
        "--help",
        "runs list",
        "compare .agentv/results/* .agentv/results/*",
    ] {
        let ran = shell(&cx, &format!("{{ agentv {command}; echo $? >&2; }} | true"));
        assert_eq!(ran.stderr, "0\n", "agentv {command}");
    }
}
