//! `agentv import`, and `provider: replay` with what it wrote.

use crate::context;
use agentv_test_support::{Ran, TestContext, result_of};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// Puts a session of a real client into the test's directory.
#[track_caller]
fn session(cx: &TestContext, fixture: &str, name: &str) {
    let fixtures =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../agentv-runtime/src/import/fixtures");
    cx.write(name, &fs::read_to_string(fixtures.join(fixture)).unwrap());
}

const CLAUDE_TOOL: &str = "claude-code-2.1.325/tool.session.jsonl";
const CODEX_TOOL: &str = "codex-0.166.0/tool.session.jsonl";

#[track_caller]
fn import(cx: &TestContext, args: &[&str]) -> Ran {
    cx.agentv(["import"].iter().chain(args)).run()
}

/// Grades what was imported to `past` by these evaluators.
#[track_caller]
fn replay(cx: &TestContext, evaluators: &Value) -> Ran {
    let sidecar = json!({"execution": {"target": "replay", "evaluators": evaluators}});
    cx.write("past/imported.yaml", &sidecar.to_string());
    cx.agentv(["eval", "past/imported.jsonl", "--out", "out.jsonl"]).run()
}

#[test]
fn past_sessions_are_graded_without_a_model() {
    let cx = context();
    session(&cx, CLAUDE_TOOL, "sessions/claude.jsonl");
    session(&cx, CODEX_TOOL, "sessions/deep/codex.jsonl");
    let ran = import(&cx, &["sessions", "--out", "past"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let told = "Imported 2 cases: past/imported.jsonl\n\
                Recordings: past/imported.recordings.ndjson\n\
                Next: agentv eval past/imported.jsonl\n";
    assert_eq!(ran.stdout, told);

    // As it stands, and with evaluators of an author's own.
    let first = cx.agentv(["eval", "past/imported.jsonl", "--out", "first.jsonl"]).run();
    assert_eq!(first.success().records().len(), 2);
    assert_eq!(first.stderr, "");
    let ran = replay(
        &cx,
        &json!([
            {"name": "one-look", "type": "tool_trajectory", "mode": "any_order", "minimums": {"Bash": 1}},
            {"name": "sees", "type": "contains", "value": "hello.txt"},
            {"name": "cheap", "type": "cost", "budget": 0.01},
        ]),
    );
    let claude = ran.success().record_of("claude");
    assert_eq!(claude["candidate_answer"], "I see hello.txt. ✓ 日本語");
    assert_eq!(claude["target"], "replay");
    assert_eq!(claude["trace_summary"]["tool_calls_by_name"], json!({"Bash": 1}));
    let usage = json!({"input": 296, "output": 46, "cached": 80});
    assert_eq!(claude["execution_metrics"]["token_usage"], usage);
    for evaluator in ["one-look", "sees", "cheap"] {
        assert_eq!(result_of(&claude, evaluator)["score"], 1, "{evaluator}");
    }
    let codex = ran.record_of("codex");
    assert_eq!(codex["trace_summary"]["tool_calls_by_name"], json!({"command_execution": 1}));
    assert_eq!(result_of(&codex, "one-look")["score"], 0);
}

#[test]
fn captured_output_has_no_prompt_but_calls_and_answer() {
    let cx = context();
    session(&cx, "claude-code-2.1.325/tool.stream.jsonl", "claude.jsonl");
    session(&cx, "codex-0.166.0/tool.stream.jsonl", "codex.jsonl");
    import(&cx, &["claude.jsonl", "codex.jsonl", "--out", "past"]).success();
    let ran = replay(&cx, &json!([{"type": "contains", "value": "hello.txt"}]));
    assert_eq!(ran.success().records().len(), 2);
    assert_eq!(ran.record_of("claude")["score"], 1);
    assert_eq!(ran.record_of("codex")["score"], 1);
    assert!(cx.read("past/imported.jsonl").contains("the prompt is not in the captured output"));
}

#[test]
fn each_turn_is_a_case_with_what_was_said_before() {
    let cx = context();
    session(&cx, "codex-0.166.0/two_turns.session.jsonl", "s.jsonl");
    import(&cx, &["s.jsonl", "--out", "past"]).success();
    let lines = cx.read("past/imported.jsonl");
    let cases: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&cases[0]["id"], &cases[0]["input"]), (&json!("s"), &json!("List the files.")));
    let said = json!([
        {"role": "user", "content": "List the files."},
        {"role": "assistant", "content": "I see hello.txt. ✓ 日本語"},
        {"role": "user", "content": "And now?"},
    ]);
    assert_eq!((&cases[1]["id"], &cases[1]["input_messages"]), (&json!("s-turn-2"), &said));
    let ran = replay(&cx, &json!([{"type": "contains", "value": "file"}]));
    assert_eq!(ran.success().record_of("s-turn-2")["candidate_answer"], "Still one file.");
}

#[test]
fn a_run_that_failed_fails_again() {
    let cx = context();
    session(&cx, "claude-code-2.1.325/api_error.session.jsonl", "s.jsonl");
    import(&cx, &["s.jsonl", "--out", "past"]).success();
    let record = replay(&cx, &json!([{"type": "contains", "value": "x"}])).code(3).record();
    assert!(record["error"].as_str().unwrap().contains("the stub refuses"), "{record}");
}

#[test]
fn what_cannot_be_used_is_said_and_left_out() {
    let cx = context();
    session(&cx, CLAUDE_TOOL, "s/good.jsonl");
    // The same session under another name, the same name for another session, and three that are none.
    session(&cx, CLAUDE_TOOL, "s/copy.jsonl");
    session(&cx, CODEX_TOOL, "s/other/copy.jsonl");
    cx.write("s/empty.jsonl", "");
    cx.write("s/noise.jsonl", "\u{0}{[\nplain\n{\"a\": 1}\n");
    let whole = cx.read("s/good.jsonl").replace("sessionId\":\"", "sessionId\":\"x");
    cx.write("s/torn.jsonl", &whole[..whole.len() - 30]);
    let ran = import(&cx, &["s", "s/good.jsonl", "--out", "past"]);
    ran.success().stdout_has("Imported 3 cases");
    for said in [
        "warning: s/empty.jsonl: left out, since none of its lines is of a known format",
        "warning: s/noise.jsonl: left out, since none of its lines is of a known format",
        "warning: s/good.jsonl: left out: its session was imported before",
        "warning: s/torn.jsonl: the last line is cut off",
    ] {
        ran.stderr_has(said);
    }
    let ran = replay(&cx, &json!([{"type": "contains", "value": "hello.txt"}])).success().records();
    let mut ids: Vec<&str> = ran.iter().map(|record| record["eval_id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["copy", "copy-2", "torn"]);
}

#[test]
fn nothing_to_import_is_an_error() {
    let cx = context();
    cx.write("s/notes.txt", "plain");
    import(&cx, &["s", "--out", "past"]).code(2).stderr_has("no .jsonl files");
    import(&cx, &["none", "--out", "past"]).code(2).stderr_has("cannot be read");
    let ran = import(&cx, &["s/notes.txt", "--out", "past"]);
    ran.code(2).stderr_has("nothing was imported").stderr_has("claude-session");
    import(&cx, &["s/notes.txt", "--out", "past", "--format", "x"]).code(2);
    assert!(!cx.path("past/imported.jsonl").exists());
}

#[test]
fn nothing_is_overwritten_unasked_and_an_authors_files_never() {
    let cx = context();
    session(&cx, CLAUDE_TOOL, "a.jsonl");
    session(&cx, CODEX_TOOL, "b.jsonl");
    cx.write("evals/targets.yaml", "targets: [{name: mine, provider: mock}]\n");
    let ran = import(&cx, &["a.jsonl", "--out", "evals/past.jsonl"]);
    ran.success().stdout_has("evals/targets.yaml exists and was not changed");
    ran.stdout_has("    provider: replay\n    file: \"past.recordings.ndjson\"");
    cx.write("evals/past.yaml", "description: mine\n");
    let before = cx.read("evals/past.jsonl");
    let ran = import(&cx, &["b.jsonl", "--out", "evals/past.jsonl"]);
    ran.code(2).stderr_has("past.jsonl` already exists").stderr_has("--force");
    assert_eq!(cx.read("evals/past.jsonl"), before);
    import(&cx, &["b.jsonl", "--out", "evals/past.jsonl", "--force"]).success();
    assert_ne!(cx.read("evals/past.jsonl"), before);
    assert_eq!(cx.read("evals/past.yaml"), "description: mine\n");
    assert!(cx.read("evals/targets.yaml").contains("mine"));
    let left: Vec<_> = fs::read_dir(cx.path("evals")).unwrap().collect();
    assert_eq!(left.len(), 4, "{left:?}");
}

#[test]
fn a_case_without_a_recording_is_an_error_that_names_the_file() {
    let cx = context();
    session(&cx, CLAUDE_TOOL, "a.jsonl");
    import(&cx, &["a.jsonl", "--out", "past"]).success();
    let line = json!({"id": "b", "expected_outcome": "x", "input": "y"});
    cx.write("past/imported.jsonl", &format!("{line}\n"));
    let record = replay(&cx, &json!([{"type": "contains", "value": "x"}])).code(3).record();
    let error = record["error"].as_str().unwrap();
    assert!(error.contains("imported.recordings.ndjson` has no recording of `b`"), "{error}");
    fs::remove_file(cx.path("past/imported.recordings.ndjson")).unwrap();
    let ran = cx.agentv(["eval", "past/imported.jsonl", "--out", "out.jsonl"]).run();
    let error = ran.code(3).record()["error"].to_string();
    assert!(error.contains("imported.recordings.ndjson` cannot be read"), "{error}");
}
