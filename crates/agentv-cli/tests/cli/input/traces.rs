//! The file that an answer names as its trace: the command's own, in its own directories.

use super::fifo;
use crate::{context, eval};
use agentv_test_support::{Ran, TestContext, cli_target, suite, targets};
use serde_json::json;

const TRACE: &str = r#"[{"type": "tool_call", "name": "A"}]"#;

/// Grades an answer by whether its trace has a call of `A`. `answer` is what the shell says to the output file.
#[track_caller]
fn graded(cx: &TestContext, answer: &str) -> Ran {
    cx.write("answer.sh", &format!("{answer} > \"$1\"\n"));
    let command = "sh ./answer.sh {OUTPUT_FILE}";
    cx.write("targets.yaml", &targets(&[cli_target("default", command)]));
    let evaluator =
        json!([{ "type": "tool_trajectory", "mode": "any_order", "minimums": { "A": 1 } }]);
    cx.write("suite.yaml", &suite(evaluator));
    eval(cx, &[])
}

#[track_caller]
fn answering(cx: &TestContext, reference: &str) -> Ran {
    let answer = json!({ "text": "t", "trace_ref": reference });
    graded(cx, &format!("echo '{answer}'"))
}

#[test]
fn a_trace_is_read_from_the_directories_of_the_command() {
    let cx = context();
    cx.write("deep/trace.json", TRACE);
    assert_eq!(answering(&cx, "deep/trace.json").record()["score"], 1);
    assert_eq!(answering(&cx, "./deep/../deep/trace.json").record()["score"], 1);
    let absolute = cx.path("deep/trace.json").display().to_string();
    assert_eq!(answering(&cx, &absolute).record()["score"], 1);
    std::os::unix::fs::symlink("deep/trace.json", cx.path("link.json")).unwrap();
    assert_eq!(answering(&cx, "link.json").record()["score"], 1);
    let beside = format!(
        "echo '{TRACE}' > \"$1.trace\"; printf '{{\"text\": \"t\", \"trace_ref\": \"%s\"}}' \"$1.trace\""
    );
    assert_eq!(graded(&cx, &beside).record()["score"], 1);
}

#[test]
fn a_trace_elsewhere_is_ignored() {
    let (cx, other) = (context(), context());
    let outside = other.write("trace.json", TRACE);
    std::os::unix::fs::symlink(&outside, cx.path("link.json")).unwrap();
    std::os::unix::fs::symlink(other.dir(), cx.path("dir")).unwrap();
    let up = format!("../{}/trace.json", other.dir().file_name().unwrap().display());
    for reference in [outside.to_str().unwrap(), &up, "link.json", "dir/trace.json"] {
        let ran = answering(&cx, reference);
        assert_eq!(ran.record()["score"], 0, "{reference}");
        let dir = cx.dir().display();
        ran.stderr_has(&format!(
            "the trace file `{reference}` is ignored: it is outside of `{dir}`"
        ));
    }
}

#[test]
fn a_trace_that_is_no_file_is_ignored() {
    let cx = context();
    fifo(&cx, "pipe.json");
    std::fs::File::create(cx.path("sparse.json")).unwrap().set_len(8 << 30).unwrap();
    for (reference, why) in [
        ("/dev/urandom", "it is a device, not a regular file"),
        ("pipe.json", "it is a FIFO, not a regular file"),
        ("sparse.json", "it is larger than 10 MiB"),
    ] {
        let ran = answering(&cx, reference);
        ran.stderr_has(&format!("the trace file `{reference}` is ignored: {why}"));
        assert_eq!(ran.record()["candidate_answer"], "t");
    }
}

#[test]
fn an_answer_in_json_is_not_searched_for_a_trace() {
    let cx = context();
    cx.write("trace.json", TRACE);
    let answer = json!({ "answer": 42, "trace_ref": "trace.json" });
    let ran = graded(&cx, &format!("echo '{answer}'"));
    assert_eq!(ran.record()["score"], 0);
}
