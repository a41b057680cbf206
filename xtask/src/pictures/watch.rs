//! The program on a pseudo-terminal, up to the moment that is wanted.

use anyhow::Result;
use pty_process::blocking::{Command, open};
use std::io::Read as _;
use std::num::NonZeroU16;
use std::path::Path;
use vt100::{Parser, Screen};

#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub rows: u16,
    pub columns: u16,
}

/// What the terminal showed.
pub(super) struct Watched {
    parser: Parser,
}

impl Watched {
    pub(super) fn screen(&self) -> &Screen {
        self.parser.screen()
    }
}

/// Runs it until the screen is as wanted, or to its end.
pub(super) fn watch(
    binary: &Path,
    args: &[&str],
    dir: &Path,
    size: Size,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<Watched> {
    let (pty, pts) = open()?;
    pty.resize(pty_process::Size::new(size.rows, size.columns))?;
    let command = Command::new(binary).args(args).current_dir(dir).env("TERM", "xterm-256color");
    let mut child = command.env_remove("CI").env_remove("NO_COLOR").spawn(pts)?;
    let least = |length: u16| NonZeroU16::new(length).unwrap_or(NonZeroU16::MIN);
    let mut parser = Parser::new(least(size.rows), least(size.columns), 0);
    let mut buffer = [0; 4096];
    // On Linux the end of the last program on a terminal is an error.
    while let Ok(count @ 1..) = (&pty).read(&mut buffer) {
        parser.process(&buffer[..count]);
        if is_wanted(&parser.screen().contents()) {
            child.kill()?;
            break;
        }
    }
    child.wait()?;
    Ok(Watched { parser })
}
