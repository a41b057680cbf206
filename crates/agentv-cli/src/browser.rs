//! The program of the system that opens a file as its user wants.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

#[cfg(target_os = "macos")]
const OPENER: &str = "open";
#[cfg(not(target_os = "macos"))]
const OPENER: &str = "xdg-open";

/// How long the opener may take to fail. One that still runs has become the browser.
const PATIENCE: Duration = Duration::from_secs(5);

/// Opens a file and does not wait until it is closed. The error says why that failed.
pub(crate) fn open(path: &Path) -> Result<(), String> {
    #[expect(clippy::disallowed_methods, reason = "the browser must outlive this program")]
    let mut opener = Command::new(OPENER);
    opener.arg(path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = opener.spawn();
    let mut child = child.map_err(|error| format!("`{OPENER}` cannot be started: {error}"))?;
    let (sender, ended) = mpsc::channel();
    thread::spawn(move || sender.send(child.wait()));
    match ended.recv_timeout(PATIENCE) {
        Ok(Ok(status)) if !status.success() => Err(format!("`{OPENER}` failed ({status})")),
        _ => Ok(()),
    }
}
