//! Past sessions of agent programs → a dataset whose answers are replayed, so that evaluators can be tried on them with no
//! model at all. A format is a line in [`FORMATS`] and a [`Transcriber`].

mod claude_session;
mod codex_rollout;
mod dataset;
mod lines;
mod stream;
mod transcript;

#[cfg(test)]
mod tests;

pub use dataset::{Dataset, DatasetError, Out, WrittenDataset};
pub use transcript::{Transcript, Turn};

use crate::providers::claude_code::ClaudeReader;
use crate::providers::codex::CodexReader;
use agentv_core::amount::count;
use lines::{SessionLine, SessionLines};
use serde_json::Value;
use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use stream::ClientOutput;

/// The registry. A file is of the first format that knows one of its lines.
pub const FORMATS: &[SessionFormat] = &[
    SessionFormat {
        name: "claude-session",
        knows: claude_session::knows,
        start: || Box::<claude_session::ClaudeSession>::default(),
    },
    SessionFormat {
        name: "codex-rollout",
        knows: codex_rollout::knows,
        start: || Box::<codex_rollout::CodexRollout>::default(),
    },
    SessionFormat {
        name: "claude-stream",
        knows: stream::is_claudes,
        start: || Box::<ClientOutput<ClaudeReader>>::default(),
    },
    SessionFormat {
        name: "codex-stream",
        knows: stream::is_codexs,
        start: || Box::<ClientOutput<CodexReader>>::default(),
    },
];

/// A kind of file that holds sessions.
#[derive(Debug)]
pub struct SessionFormat {
    pub name: &'static str,
    /// Whether a line can only be of this format.
    knows: fn(&Value) -> bool,
    start: fn() -> Box<dyn Transcriber>,
}

impl SessionFormat {
    pub fn find(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name)
    }
}

/// Follows the events of one file. Whatever it does not know it passes over.
trait Transcriber {
    fn event(&mut self, event: &Value);

    fn finish(self: Box<Self>) -> Transcript;
}

/// What a file turned out to be.
#[derive(Debug, Default)]
pub struct ReadSession {
    /// `None` if no line of it is of a known format.
    pub format: Option<&'static str>,
    pub transcript: Transcript,
    /// What was passed over, for the user to know.
    pub remarks: Vec<String>,
}

/// Reads one file, in the format given or in that of its lines. Bad lines cost only themselves.
pub fn read(path: &Path, format: Option<&'static SessionFormat>) -> io::Result<ReadSession> {
    let mut lines = SessionLines::open(path)?;
    let mut under_way = UnderWay { format, ..UnderWay::default() };
    if let Some(format) = format {
        under_way.transcriber = Some((format.start)());
    }
    let mut skipped = Skipped::default();
    while let Some(line) = lines.next()? {
        match line {
            SessionLine::Events(events) => {
                for event in events {
                    under_way.event(event);
                }
            }
            SessionLine::Huge => skipped.huge += 1,
            SessionLine::Noise { is_cut } => {
                skipped.noise += usize::from(!is_cut);
                skipped.is_cut |= is_cut;
            }
        }
        if under_way.earlier.len() > HEAD {
            break;
        }
    }
    let UnderWay { format: Some(format), transcriber: Some(transcriber), .. } = under_way else {
        return Ok(ReadSession::default());
    };
    let transcript = transcriber.finish();
    let remarks = skipped.remarks(&transcript);
    Ok(ReadSession { format: Some(format.name), transcript, remarks })
}

/// After this many events that no format knows, none will.
const HEAD: usize = 100;

/// A file while it is read.
#[derive(Default)]
struct UnderWay {
    format: Option<&'static SessionFormat>,
    transcriber: Option<Box<dyn Transcriber>>,
    /// Events before the one that told the format.
    earlier: Vec<Value>,
}

impl UnderWay {
    fn event(&mut self, event: Value) {
        if self.transcriber.is_none() {
            self.format = FORMATS.iter().find(|format| (format.knows)(&event));
            let Some(format) = self.format else { return self.earlier.push(event) };
            let mut transcriber = (format.start)();
            self.earlier.drain(..).for_each(|event| transcriber.event(&event));
            self.transcriber = Some(transcriber);
        }
        if let Some(transcriber) = &mut self.transcriber {
            transcriber.event(&event);
        }
    }
}

/// What could not be read of a file.
#[derive(Debug, Default)]
struct Skipped {
    noise: usize,
    huge: usize,
    is_cut: bool,
}

impl Skipped {
    fn remarks(&self, transcript: &Transcript) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.noise > 0 {
            let lines = count(self.noise, "line without JSON was", "lines without JSON were");
            remarks.push(format!("{lines} passed over"));
        }
        if self.huge > 0 {
            let (one, many) = ("line over", "lines over");
            let lines = format!("{} {}", count(self.huge, one, many), lines::LIMIT);
            let verb = if self.huge == 1 { "was" } else { "were" };
            remarks.push(format!("{lines} {verb} passed over"));
        }
        if self.is_cut {
            remarks.push("the last line is cut off".to_owned());
        }
        if transcript.unanswered > 0 {
            let (one, many) = ("prompt without an answer was", "prompts without an answer were");
            remarks.push(format!("{} left out", count(transcript.unanswered, one, many)));
        } else if transcript.turns.is_empty() {
            remarks.push("it has no prompts".to_owned());
        }
        remarks
    }
}

/// The files to read: those named, and `.jsonl` files in directories at any depth, sorted. Links in directories are not
/// followed. With an error comes the path that was named.
pub fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, (PathBuf, io::Error)> {
    let mut files = Vec::new();
    for path in paths {
        gather(path, &mut files).map_err(|error| (path.clone(), error))?;
    }
    // A file that was named twice is read once.
    let mut seen = HashSet::new();
    files.retain(|file| seen.insert(file.canonicalize().unwrap_or_else(|_| file.clone())));
    Ok(files)
}

fn gather(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !path.metadata()?.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let entries: io::Result<Vec<PathBuf>> =
        path.read_dir()?.map(|entry| Ok(entry?.path())).collect();
    let mut entries = entries?;
    entries.sort();
    for entry in entries {
        let kind = entry.symlink_metadata()?.file_type();
        let is_lines = entry.extension().is_some_and(|extension| extension == "jsonl");
        if kind.is_dir() || (kind.is_file() && is_lines) {
            gather(&entry, files)?;
        }
    }
    Ok(())
}
