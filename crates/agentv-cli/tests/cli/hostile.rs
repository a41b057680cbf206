//! Text of others on terminals, in pipes and in CI logs: whatever is in ids, names, answers, reasons and messages of programs,
//! it acts on nothing and starts no line.

use crate::context;
use agentv_test_support::{Ran, TestContext, cli_target, targets};
use serde_json::{Value, json};

/// Sets the clipboard, changes colours (also with a single byte), ends its line, commands CI systems, turns text around.
const HOSTILE: &str = "x\u{1b}]52;c;cHduZWQ=\u{7}\u{9b}31m\r\n::error::owned\u{202e}##[error]owned ##vso[task.x]y\u{7f}";

/// A suite with one case that passes, one that fails and one in error, all of them hostile; and its targets.
fn hostile() -> TestContext {
    let cx = context();
    let answer = cx.write(".answers/hostile", HOSTILE);
    let answers = format!("cat '{}' > {{OUTPUT_FILE}}", answer.display());
    let fails = format!("cat '{}' >&2; exit 1", answer.display());
    cx.write(
        "targets.yaml",
        &targets(&[cli_target("default", &answers), cli_target("broken", &fails)]),
    );
    cx.write("suite.yaml", &suite());
    cx
}

fn suite() -> String {
    let case = |id: String, value: &str| {
        json!({
            "id": id, "criteria": HOSTILE,
            "input": [{ "role": "user", "content": HOSTILE }],
            "evaluators": [{ "name": format!("e{HOSTILE}"), "type": "contains", "value": value }],
        })
    };
    let cases = [
        case(format!("good{HOSTILE}"), "owned"),
        case(format!("bad{HOSTILE}"), &format!("not {HOSTILE}")),
    ];
    ascii(&json!({ "name": format!("suite{HOSTILE}"), "evalcases": cases }))
}

/// JSON that YAML reads, too: it allows no control characters, even of one byte.
fn ascii(value: &Value) -> String {
    let is_plain = |c: char| c.is_ascii() && !c.is_control();
    let escaped =
        |c: char| if is_plain(c) { c.to_string() } else { format!("\\u{:04x}", u32::from(c)) };
    value.to_string().chars().map(escaped).collect()
}

#[track_caller]
fn check_text(what: &str, text: &str) {
    let is_harmful = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
    };
    let found: Vec<String> =
        text.chars().filter(|c| is_harmful(*c)).map(|c| c.escape_unicode().to_string()).collect();
    assert!(found.is_empty(), "{what} has {found:?}:\n{}", text.escape_debug());
    for line in text.lines() {
        let is_command = line.trim_start().starts_with("::error::")
            || line.contains("##[")
            || line.contains("##vso[");
        assert!(!is_command, "{what} commands a CI system: {line}");
    }
}

#[track_caller]
fn check(ran: &Ran) {
    check_text("stdout", &ran.stdout);
    check_text("stderr", &ran.stderr);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(said.contains("owned"), "nothing of it is shown: {said}");
}

#[test]
fn a_run_shows_hostile_text_and_obeys_none_of_it() {
    let cx = hostile();
    let run = |flags: &[&str]| {
        let base = [
            "eval",
            "suite.yaml",
            "--target",
            "default",
            "--target",
            "broken",
            "--out",
            "out.jsonl",
        ];
        cx.agentv(base.iter().chain(flags)).run()
    };
    for flags in [&[][..], &["--quiet"], &["--verbose"], &["--format", "json"], &["--trials", "2"]]
    {
        let ran = run(flags);
        ran.code(3);
        check(&ran);
    }
    let colours = cx.agentv(["eval", "suite.yaml"]).env("CLICOLOR_FORCE", "1").run();
    // The colours are ours; what is left without them is clean.
    let mut plain = colours.stdout.clone();
    for style in ["1", "2", "31", "32", "33", "36", "0"] {
        plain = plain.replace(&format!("\u{1b}[{style}m"), "");
    }
    check_text("a run in colours", &plain);
    let github = cx.agentv(["eval", "suite.yaml"]).env("GITHUB_ACTIONS", "true");
    let github = github.env("GITHUB_STEP_SUMMARY", cx.path("summary.md")).run();
    let commands = github.stderr.lines().filter(|line| line.starts_with("::")).count();
    assert_eq!(commands, 1, "{}", github.stderr);
    check_text("stdout in a job", &github.stdout);
    check_text("stderr in a job", &github.stderr);
    check_text("the job's summary", &cx.read("summary.md"));
}

#[test]
fn a_terminal_is_not_drawn_on_by_others() {
    let cx = hostile();
    let args = ["eval", "suite.yaml", "--target", "default", "--target", "broken", "--verbose"];
    let shown = cx.agentv(args).env("TERM", "xterm-256color").on_terminal(50, 120).finish();
    shown.code(3);
    let raw = String::from_utf8_lossy(&shown.bytes);
    for sequence in ["\u{1b}]52", "\u{9b}", "\u{202e}", "\n::error::", "##["] {
        assert!(!raw.contains(sequence), "{sequence:?} in {raw:?}");
    }
    assert!(raw.contains("\\x1b]52"), "{raw:?}");
}

#[test]
fn every_command_that_reads_results_shows_them_cleaned() {
    let cx = hostile();
    for out in ["one.jsonl", "two.jsonl"] {
        cx.agentv(["eval", "suite.yaml", "--out", out]).run().success();
    }
    for args in [
        &["compare", "one.jsonl", "two.jsonl"][..],
        &["compare", "one.jsonl", "two.jsonl", "--format", "markdown"],
        &["compare", "one.jsonl", "two.jsonl", "--format", "json"],
        &["grade", "one.jsonl", "suite.yaml"],
        &["report", "one.jsonl", "--markdown", "-"],
        &["report", "one.jsonl", "--json", "-"],
        &["report", "one.jsonl", "--junit", "-"],
        &["judge", "test", "--record", "one.jsonl", "--", "cat", ".answers/hostile"],
    ] {
        let ran = cx.agentv(args).run();
        check(&ran);
    }
    let hostile_id = format!("bad{HOSTILE}");
    let ran = cx
        .agentv([
            "judge",
            "test",
            "--record",
            "one.jsonl",
            "--eval-id",
            &format!("{hostile_id}?"),
            "--",
            "cat",
        ])
        .run();
    check(&ran);
}

#[test]
fn files_and_their_names_are_shown_cleaned() {
    let cx = context();
    let name = format!("evals/{}.yaml", HOSTILE.replace('/', "_"));
    let odd = json!({ "evalcases": [{ "id": HOSTILE, HOSTILE: 1, "input": 3, "evaluators": [{ "type": HOSTILE }] }] });
    cx.write(&name, &ascii(&odd));
    cx.write(
        "raw.yaml",
        &format!(
            "evalcases:\n  - id: '{}'\n    nope: 1\n",
            HOSTILE.replace(['\r', '\n', '\u{1b}', '\u{7}', '\u{7f}'], "")
        ),
    );
    cx.write(
        "targets.yaml",
        &ascii(&json!({ "targets": [{ "name": HOSTILE, "provider": HOSTILE }] })),
    );
    for args in [
        &["validate", "evals", "raw.yaml", "targets.yaml"][..],
        &["validate", "evals", "raw.yaml", "targets.yaml", "--format", "json"],
        &["doctor"],
        &["doctor", "--format", "json"],
        &["eval", &name],
        &["eval", "raw.yaml", "--target", HOSTILE],
        &["runs", "show", HOSTILE],
        &["report", HOSTILE],
        &["eval", "raw.yaml", "--resume", HOSTILE],
        &[HOSTILE],
        &["eval", &format!("--owned{}", HOSTILE.replace('=', ""))],
        &["runs", "list", "--format", HOSTILE],
    ] {
        let ran = cx.agentv(args).run();
        check(&ran);
    }
}

#[test]
fn what_is_known_of_a_run_is_shown_cleaned() {
    let cx = hostile();
    let name = format!("{HOSTILE}.yaml").replace('/', "_");
    std::fs::copy(cx.path("suite.yaml"), cx.path(&name)).unwrap();
    cx.agentv(["eval", &name]).run().success();
    for args in [
        &["runs", "list"][..],
        &["runs", "show"],
        &["runs", "list", "--format", "json"],
        &["runs", "show", "--format", "json"],
    ] {
        let ran = cx.agentv(args).run();
        check(ran.success());
    }
}

/// `xmllint` is the judge of what is well-formed.
#[test]
fn junit_is_well_formed_whatever_answers_hold() {
    let cx = context();
    // The escape comes last: some take all that follows it for a sequence, and drop it.
    let odd: String = [0xfffe, 0xffff, 0x7f, 0x85, 0x1fffe, 0xfdd0, 0x0010_ffff]
        .into_iter()
        .chain(0..0x20)
        .filter_map(char::from_u32)
        .collect();
    let text = json!(odd);
    let record = json!({
        "eval_id": odd, "dataset": odd, "target": odd, "score": 0.0, "hits": [], "misses": [text], "timestamp": "t",
        "candidate_answer": odd, "reasoning": odd, "error": odd, "evaluator_results": [{ "name": odd, "type": "x", "score": 0.0 }],
    });
    cx.write("results.jsonl", &format!("{record}\n"));
    cx.agentv(["report", "results.jsonl", "--junit", "junit.xml"]).run().success();
    let lint = TestContext::new("xmllint");
    lint.agentv(["--noout".as_ref(), cx.path("junit.xml").as_os_str()]).run().success();
    assert!(cx.read("junit.xml").contains("\\u{ffff}"), "{}", cx.read("junit.xml"));
}
