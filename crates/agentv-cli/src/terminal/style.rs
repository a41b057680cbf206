//! The few colours.

use anstyle::{AnsiColor, Style};

pub(super) const ERROR: Style = AnsiColor::Red.on_default().bold();
pub(super) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
pub(super) const HELP: Style = AnsiColor::Cyan.on_default().bold();
