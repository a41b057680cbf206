//! One test per scenario of the specification, against the real program. A test's name starts with the scenario's
//! numbers, as the fact sheet counts them; twins of the two editions share a test.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "only tests are here, and clippy's leave for tests leaves out their helper functions"
)]

mod claude_code;
mod cli_target;
mod codex;
mod grading;
mod judges;
mod llm_judge;
mod loading;
mod models;
mod proxy;
mod running;
mod sdk;
mod traces;
mod trajectory;
mod vscode;

use agentv_test_support::TestContext;

/// An empty repository with the program that this build made.
#[track_caller]
fn context() -> TestContext {
    TestContext::new(env!("CARGO_BIN_EXE_agentv"))
}
