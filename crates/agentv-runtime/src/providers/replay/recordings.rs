//! A file of recordings. It may be large, so only the place of each of them is kept in memory.

use crate::config::suggestion;
use crate::file_input::{self, RECORD_CAP};
use agentv_core::Response;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// What became of one case, once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// The case's.
    pub id: String,
    #[serde(flatten)]
    pub outcome: RecordedOutcome,
}

/// An answer, or why there was none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedOutcome {
    Response(Box<Response>),
    Error(String),
}

/// The recordings of one file, by the id of their case.
#[derive(Debug)]
pub(in crate::providers) struct Recordings {
    path: PathBuf,
    places: HashMap<String, Place>,
    /// The first line that is not a recording.
    bad_line: Option<usize>,
}

/// Where a recording is.
#[derive(Debug, Clone, Copy)]
struct Place {
    line: usize,
    offset: u64,
    length: usize,
    /// Another line with the same id.
    twin: Option<usize>,
}

/// All that is looked at before a recording is wanted.
#[derive(Deserialize)]
struct Head<'l> {
    #[serde(borrow)]
    id: Cow<'l, str>,
}

impl Recordings {
    pub(in crate::providers) fn open(path: &Path) -> io::Result<Self> {
        let mut reader = BufReader::with_capacity(64 * 1024, file_input::open(path)?);
        let mut recordings = Self { path: path.to_owned(), places: HashMap::new(), bad_line: None };
        let (mut buffer, mut offset) = (Vec::new(), 0);
        for line in 1.. {
            buffer.clear();
            let length = file_input::read_line(&mut reader, &mut buffer, RECORD_CAP)?;
            if length == 0 {
                break;
            }
            recordings.note(&buffer, Place { line, offset, length, twin: None });
            offset += length as u64;
        }
        Ok(recordings)
    }

    fn note(&mut self, bytes: &[u8], place: Place) {
        if bytes.trim_ascii().is_empty() {
            return;
        }
        let Ok(Head { id }) = serde_json::from_slice(bytes) else {
            self.bad_line.get_or_insert(place.line);
            return;
        };
        match self.places.get_mut(id.as_ref()) {
            Some(known) => known.twin = known.twin.or(Some(place.line)),
            None => drop(self.places.insert(id.into_owned(), place)),
        }
    }

    /// What was recorded for a case, or why it cannot be told.
    pub(in crate::providers) fn find(&self, id: &str) -> Result<RecordedOutcome, String> {
        let Some(place) = self.places.get(id) else { return Err(self.miss(id)) };
        let shown = self.path.display();
        if let Some(twin) = place.twin {
            let lines = format!("lines {} and {twin}", place.line);
            return Err(format!("`{id}` is recorded twice in `{shown}`: see {lines}"));
        }
        let bytes = self
            .bytes(*place)
            .map_err(|error| format!("the recordings `{shown}` cannot be read: {error}"))?;
        let recording: Recording = serde_json::from_slice(&bytes).map_err(|error| {
            format!("line {} of `{shown}` is not a recording: {error}", place.line)
        })?;
        if recording.id == id {
            return Ok(recording.outcome);
        }
        Err(format!("`{shown}` was changed while it was in use"))
    }

    fn bytes(&self, place: Place) -> io::Result<Vec<u8>> {
        let mut file = file_input::open(&self.path)?;
        file.seek(SeekFrom::Start(place.offset))?;
        let mut bytes = vec![0; place.length];
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn miss(&self, id: &str) -> String {
        let near = suggestion(id, self.places.keys().map(String::as_str));
        let instead = near.map_or_else(
            || format!(" among its {}", self.places.len()),
            |near| format!("; did you mean `{near}`?"),
        );
        let bad = self.bad_line.map(|line| format!("; line {line} is not a recording"));
        let shown = self.path.display();
        format!("`{shown}` has no recording of `{id}`{instead}{}", bad.unwrap_or_default())
    }
}
