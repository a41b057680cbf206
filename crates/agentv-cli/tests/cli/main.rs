//! What users are promised beyond the scenarios of the specification, against the real program.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "only tests are here, and clippy's leave for tests leaves out their helper functions"
)]

mod agents;
mod bad_input;
mod budget;
mod cache;
mod cassettes;
mod clients;
mod compare;
mod convert;
mod criteria;
mod damaged;
mod data;
mod demo;
mod doctor;
mod earlier_formats;
mod editor;
mod environment;
mod eval;
mod events;
mod examples;
mod files;
mod gates;
mod generate;
mod grade;
mod habits;
mod hostile;
mod identity;
mod import;
mod init;
mod input;
mod judge_test;
mod judges;
mod kept_files;
mod lifecycle;
mod merge;
mod mistakes;
mod moved;
mod npm;
mod open_files;
mod output;
mod pasted;
mod plan;
mod readme;
mod real_clients;
mod redaction;
mod report;
mod resume;
mod run_names;
mod runs;
#[cfg(target_os = "linux")]
mod sandbox;
mod selection;
mod stages;
mod summary;
mod terminal;
mod trials;
mod validate;
mod verify;
mod views;
mod vscode;
mod watch;
mod workspace;

use agentv_test_support::{Meeting, Ran, TestContext, cases, cli_target, mock_target, targets};

/// An empty repository with the program that this build made.
#[track_caller]
fn context() -> TestContext {
    TestContext::new(env!("CARGO_BIN_EXE_agentv"))
}

/// The same with a mock named `default`, which says `ok`, and `suite.yaml` with these cases.
#[track_caller]
fn mocked(ids: &[&str]) -> TestContext {
    let cx = context();
    cx.write("targets.yaml", &targets(&[mock_target("default", "ok")]));
    cx.write("suite.yaml", &cases(ids));
    cx
}

/// Makes `default` a target that says `ok` once it is let go. It comes to the meeting under this name.
#[track_caller]
fn waiting(cx: &TestContext, name: &str) -> Meeting {
    let meeting = cx.meeting("meeting");
    let command = format!("{}; echo ok", meeting.attend(name));
    cx.write("targets.yaml", &targets(&[cli_target("default", &command)]));
    meeting
}

/// Runs `agentv eval suite.yaml --out out.jsonl` and more.
#[track_caller]
fn eval(cx: &TestContext, more: &[&str]) -> Ran {
    cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"].iter().chain(more)).run()
}

/// The ids of all records, sorted.
#[track_caller]
fn ids(ran: &Ran) -> Vec<String> {
    let records = ran.success().records();
    let mut ids: Vec<String> =
        records.iter().map(|record| record["eval_id"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids
}

/// Ends a process that a script wrote down.
#[track_caller]
fn kill(pid: &str) {
    #[expect(clippy::disallowed_methods, reason = "tests run programs from outside")]
    let killed =
        std::process::Command::new("sh").args(["-c", &format!("kill -9 {}", pid.trim())]).status();
    assert!(killed.unwrap().success());
}
