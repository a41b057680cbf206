//! Entry points to private parsers, for fuzzing. They are not in the program.

use super::code_judge::{proxy, verdict};
use super::composite::aggregate;
use crate::process::Captured;
use agentv_core::{CallContext, EvaluatorError, Targets, Verdict};
use tokio::io::{AsyncRead, AsyncWrite};

/// What a code judge printed.
pub fn script_verdict(stdout: &[u8]) -> Option<Verdict> {
    verdict::parse(&Captured::whole(stdout)).ok()
}

/// What the script of a composite printed.
pub fn aggregator_verdict(stdout: &str) -> Option<Verdict> {
    aggregate::printed(stdout).map(|(_, verdict)| verdict)
}

/// Serves one connection to the target proxy; its token is `token`.
pub async fn proxy_connection(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    targets: &dyn Targets,
    call: &CallContext,
) -> Result<(), EvaluatorError> {
    proxy::serve_connection(stream, targets, call).await
}
