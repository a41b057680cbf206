//! The program: arguments in, exit code out. Everything else is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(agentv_cli::run(std::env::args_os()) as u8)
}
