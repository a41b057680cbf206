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
    clippy::disallowed_methods,
    reason = "only tests use this crate, and a panic is how a test fails"
)]

mod cases;
mod context;
mod fake_agent;
mod fake_code;
mod fake_llm;
mod invocation;
mod judge;
mod meeting;
mod nats;
mod suite;
mod target;
mod terminal;

pub use cases::{GRADER, cases};
pub use context::TestContext;
pub use fake_agent::{AgentCall, FakeAgent};
pub use fake_code::FakeCode;
pub use fake_llm::{FakeLlm, FakeReply, LlmCall};
#[cfg(target_os = "linux")]
pub use invocation::is_alive;
pub use invocation::{Invocation, Ran, Running, result_of};
pub use judge::{JudgeCall, JudgeDump};
pub use meeting::Meeting;
pub use nats::NatsServer;
pub use suite::suite;
pub use target::{cli_target, mock_target, openai_target, targets};
pub use terminal::{Shown, Terminal};
