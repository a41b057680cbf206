//! The log of one call: every line that the agent printed, when it came.

use super::LogFormat;
use crate::clock;
use crate::new_paths::create_private_dir;
use crate::process::OutputStream;
use agentv_core::Redactor;
use agentv_wire::number;
use serde_json::Value;
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How much of a line without events is shown.
const SHOWN_CHARS: usize = 2000;

/// How much of a log is written as it comes, and how much of its end is kept besides.
const BEGINNING: u64 = 63 << 20;
const END: usize = 1 << 20;

/// Whose call it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogEntry<'a> {
    pub(super) title: &'a str,
    pub(super) target: &'a str,
    pub(super) eval_id: &'a str,
    pub(super) attempt: u32,
    pub(super) format: LogFormat,
    pub(super) summarize: fn(&Value) -> String,
    pub(super) redactor: &'a Arc<Redactor>,
}

/// A log that is being written. What the disk refuses is lost; the call goes on.
#[derive(Debug)]
pub(super) struct StreamLog {
    file: File,
    path: PathBuf,
    started: Instant,
    format: LogFormat,
    summarize: fn(&Value) -> String,
    redactor: Arc<Redactor>,
    /// How many bytes are written.
    written: u64,
    /// The last lines of a log that is too long, and how many bytes before them are lost.
    end: VecDeque<String>,
    end_bytes: usize,
    lost: u64,
}

impl StreamLog {
    pub(super) fn open(dir: &Path, entry: LogEntry<'_>) -> io::Result<Self> {
        let started = format!("{:.3}", clock::now());
        let attempt = entry.attempt + 1;
        let again = if entry.attempt > 0 { format!("_attempt-{attempt}") } else { String::new() };
        let time = started.replace([':', '.'], "-");
        let name = format!(
            "{time}_{}_{}{again}_{}.log",
            safe(entry.target),
            safe(entry.eval_id),
            eight_hex_digits()?
        );
        let path = dir.join(name);
        let mut file = create(&path).or_else(|error| match error.kind() {
            // Only the first call finds no directory.
            io::ErrorKind::NotFound => make(dir).and_then(|()| create(&path)),
            _ => Err(error),
        })?;
        let header = format!(
            "# {} stream log\n# target: {}\n# eval: {}\n# attempt: {attempt}\n# started: {started}\n\n",
            entry.title, entry.target, entry.eval_id,
        );
        // At once: a file writes every piece by itself.
        file.write_all(header.as_bytes())?;
        Ok(Self {
            file,
            path,
            started: Instant::now(),
            format: entry.format,
            summarize: entry.summarize,
            redactor: Arc::clone(entry.redactor),
            written: header.len() as u64,
            end: VecDeque::new(),
            end_bytes: 0,
            lost: 0,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Each event of the line, or the line itself if it has none.
    pub(super) fn line(&mut self, stream: OutputStream, line: &[u8], events: &[Value]) {
        let since = elapsed(self.started.elapsed());
        let name = match stream {
            OutputStream::Stdout => "stdout",
            OutputStream::Stderr => "stderr",
        };
        let prefix = format!("[{since}] [{name}] ");
        let mut text = String::new();
        for event in events {
            let _ = writeln!(text, "{prefix}{}", self.show(event, &prefix));
        }
        if events.is_empty() {
            let line = String::from_utf8_lossy(line);
            let line = line.trim_end();
            if line.is_empty() {
                return;
            }
            let mark = if stream == OutputStream::Stderr { "stderr: " } else { "" };
            let shown: String = line.chars().take(SHOWN_CHARS).collect();
            text = format!("{prefix}{mark}{shown}\n");
        }
        // What was printed is masked already, but not what escapes of JSON have hidden.
        let text = self.redactor.text(&text).into_owned();
        self.add(text);
    }

    fn add(&mut self, text: String) {
        if self.lost == 0 && self.end.is_empty() && self.written + text.len() as u64 <= BEGINNING {
            self.written += text.len() as u64;
            let _ = self.file.write_all(text.as_bytes());
            return;
        }
        self.end_bytes += text.len();
        self.end.push_back(text);
        while self.end_bytes > END
            && let Some(first) = self.end.pop_front()
        {
            self.end_bytes -= first.len();
            self.lost += first.len() as u64;
        }
    }

    /// Writes the end of a log that is too long. Gives how many bytes are missing before it.
    pub(super) fn finish(mut self) -> u64 {
        if self.lost > 0 {
            let _ = writeln!(self.file, "\n# … {} bytes left out …\n", self.lost);
        }
        for text in &self.end {
            let _ = self.file.write_all(text.as_bytes());
        }
        self.lost
    }

    /// Every line of a summary has the prefix, so that lines can be filtered. JSON stays as it is.
    fn show(&self, event: &Value, prefix: &str) -> String {
        match self.format {
            LogFormat::Summary => (self.summarize)(event).replace('\n', &format!("\n{prefix}")),
            LogFormat::Json => number::to_string_pretty(event).unwrap_or_default(),
        }
    }
}

/// Logs hold what agents said, so they are only for their owner.
fn make(dir: &Path) -> io::Result<()> {
    if let Some(all) = dir.parent().filter(|above| above.ends_with(".agentv/logs")) {
        create_private_dir(all)?;
    }
    create_private_dir(dir)
}

fn create(path: &Path) -> io::Result<File> {
    File::options().write(true).create_new(true).open(path)
}

/// Keeps the logs of cases apart that begin in the same millisecond.
fn eight_hex_digits() -> io::Result<String> {
    let number = getrandom::u32().map_err(|error| io::Error::other(error.to_string()))?;
    Ok(format!("{number:08x}"))
}

/// A name as a part of a file's name.
fn safe(name: &str) -> String {
    let mut safe = String::new();
    for c in name.chars().take(80) {
        if c.is_ascii_alphanumeric() || "._-".contains(c) {
            safe.push(c);
        } else if !safe.ends_with('_') {
            safe.push('_');
        }
    }
    safe
}

/// `+mm:ss`, with hours past one.
fn elapsed(since: Duration) -> String {
    let (hours, minutes, seconds) =
        (since.as_secs() / 3600, since.as_secs() / 60 % 60, since.as_secs() % 60);
    if hours > 0 {
        format!("+{hours:02}:{minutes:02}:{seconds:02}")
    } else {
        format!("+{minutes:02}:{seconds:02}")
    }
}

/// A text on one line, for summaries. Only its spacing is lost.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// An entry of the log with these values of an object below its head, as JSON: `  input: {"path":"a.txt"}`. A log that
/// left out what tools were given and what they returned could not explain a failed session.
pub fn with_details(head: String, object: &Value, keys: &[&str]) -> String {
    let mut entry = head;
    for key in keys {
        let is_something = |value: &&Value| !value.is_null() && value.as_str() != Some("");
        if let Some(value) = object.get(*key).filter(is_something) {
            let value = number::to_string(value).unwrap_or_default();
            let _ = write!(entry, "\n  {key}: {value}");
        }
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_the_directory() {
        assert_eq!(safe("../a b//c é.md"), ".._a_b_c_.md");
        assert_eq!(safe(&"x".repeat(900)).len(), 80);
    }

    #[test]
    fn hours_are_shown_past_one() {
        assert_eq!(elapsed(Duration::from_secs(61)), "+01:01");
        assert_eq!(elapsed(Duration::from_secs(3661)), "+01:01:01");
    }

    #[test]
    fn an_entry_is_whole() {
        assert_eq!(one_line("a\n b"), "a b");
        assert_eq!(one_line(&"é".repeat(500)), "é".repeat(500));
        let call = serde_json::json!({"input": {"path": "a"}, "output": "x\ny", "error": null});
        let entry = with_details("tool".to_owned(), &call, &["input", "output", "error", "none"]);
        assert_eq!(entry, "tool\n  input: {\"path\":\"a\"}\n  output: \"x\\ny\"");
    }
}
