//! Commands that make a workspace ready.

use super::{Workshop, WorkspaceError};
use crate::process::{Command, EnvironmentRule, Gentle, ProgramExit, RunError, Stdin};
use agentv_core::CallContext;
use agentv_wire::env::EVAL_DIR;
use std::path::Path;
use std::time::Duration;

/// How long a command may take where no limit is set.
const LIMIT: Duration = Duration::from_mins(10);
/// How much of its output is kept, and how much of that is shown if it fails.
const OUTPUT_CAP: usize = 1 << 20;
const SAID_CHARS: usize = 2000;

/// Runs one command to its end, which must be a good one.
pub(super) async fn run(
    (shop, rule): (&Workshop, &EnvironmentRule),
    argv: &[String],
    workspace: &Path,
    limit: Option<Duration>,
    call: &CallContext,
) -> Result<(), WorkspaceError> {
    let shown = argv.join(" ");
    call.log.verbose(|| format!("setup of {}: {shown}", workspace.display()));
    let eval_dir = (EVAL_DIR.to_owned(), shop.eval_dir.to_string_lossy().into_owned());
    let command = Command {
        argv: argv.iter().map(Into::into).collect(),
        cwd: workspace.to_owned(),
        env: rule.of_call(&shop.secrets, call.purpose.role).with([eval_dir]),
        stdin: Stdin::Nothing,
        time_limit: Some(limit.unwrap_or(LIMIT)),
        output_cap: OUTPUT_CAP,
        gentle: Gentle::Terminate,
        sandbox: None,
    };
    let failed = |how: String| WorkspaceError::Setup { command: shown.clone(), how };
    let output = match shop.processes.run(command, call).await {
        Ok(output) => output,
        Err(RunError::Cancelled) => return Err(WorkspaceError::Cancelled),
        Err(RunError::Spawn { source, .. }) => {
            return Err(failed(format!("cannot be run: {source}")));
        }
        Err(error) => return Err(failed(error.to_string())),
    };
    if output.ended.is_success() {
        return Ok(());
    }
    let how = match output.ended {
        ProgramExit::Code(code) => format!("ended with exit code {code}"),
        ProgramExit::Signal(signal) => format!("was killed by signal {signal}"),
    };
    let said = [&output.stderr, &output.stdout].map(|stream| stream.tail(SAID_CHARS));
    Err(failed(match said.into_iter().find(|said| !said.is_empty()) {
        Some(said) => format!("{how}: {said}"),
        None => how,
    }))
}
