//! The program: arguments in, exit code out. Everything else is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    // A launcher of a sandbox is this program, too; it becomes another one.
    if let Some(code) = agentv_runtime::process::sandbox::launch_if_asked(std::env::args_os()) {
        return ExitCode::from(code);
    }
    ExitCode::from(agentv_cli::run(std::env::args_os()) as u8)
}
