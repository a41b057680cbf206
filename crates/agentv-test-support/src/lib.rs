//! What black-box tests share: an empty repository, the real `agentv` in a cleaned environment, and what it said.
//!
//! ```
//! # use agentv_test_support::{TestContext, mock_target, targets};
//! # let binary = "true"; // In the CLI's tests: env!("CARGO_BIN_EXE_agentv").
//! let cx = TestContext::new(binary);
//! cx.write("targets.yaml", &targets(&[mock_target("default", "42")]));
//! cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).run().success();
//! ```
//!
//! Nothing here returns an error: what cannot be done fails the test, at the line of the test that asked for it.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "only tests use this crate, and a panic is how a test fails"
)]

mod context;
mod fake_llm;
mod invocation;
mod judge;
mod target;

pub use context::TestContext;
pub use fake_llm::{Asked, FakeLlm, FakeReply};
pub use invocation::{Invocation, Ran};
pub use judge::{JudgeCall, JudgeDump};
pub use target::{cli_target, mock_target, targets};
