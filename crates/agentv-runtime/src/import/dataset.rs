//! Turns → files that `agentv eval` takes as they are: the dataset, what holds for all of its cases, the recordings, and the
//! target that replays them.

use super::{Transcript, Turn};
use crate::atomic_file::AtomicFile;
use crate::providers::replay::Recording;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The target that replays.
const TARGET: &str = "replay";

/// Where the files go.
#[derive(Debug, Clone)]
pub struct Out {
    dir: PathBuf,
    stem: String,
}

impl Out {
    /// A directory; or the dataset itself, whose name then is that of the other files.
    pub fn new(path: &Path) -> Self {
        let is_dataset = path.extension().is_some_and(|extension| extension == "jsonl");
        match (path.parent(), path.file_stem().filter(|_| is_dataset)) {
            (Some(dir), Some(stem)) => {
                Self { dir: dir.to_owned(), stem: stem.to_string_lossy().into_owned() }
            }
            _ => Self { dir: path.to_owned(), stem: "imported".to_owned() },
        }
    }

    pub fn dataset(&self) -> PathBuf {
        self.dir.join(format!("{}.jsonl", self.stem))
    }

    /// Not `.jsonl`: it is not a dataset and must not look like one.
    pub fn recordings(&self) -> PathBuf {
        self.dir.join(format!("{}.recordings.ndjson", self.stem))
    }

    fn sidecar(&self) -> PathBuf {
        self.dir.join(format!("{}.yaml", self.stem))
    }

    fn targets(&self) -> PathBuf {
        self.dir.join("targets.yaml")
    }

    /// An entry for a targets file.
    pub fn target_entry(&self) -> String {
        let file = format!("{}.recordings.ndjson", self.stem);
        format!("  - name: {TARGET}\n    provider: replay\n    file: {}\n", json!(file))
    }
}

/// Why a dataset cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    #[error("`{0}` already exists")]
    Exists(PathBuf),
    #[error("`{path}` cannot be written")]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// A dataset that is being written. Nothing of it can be seen before [`Dataset::finish`].
#[derive(Debug)]
pub struct Dataset {
    out: Out,
    cases: BufWriter<AtomicFile>,
    recordings: BufWriter<AtomicFile>,
    ids: HashSet<String>,
    /// Sessions that were added, so that none is there twice.
    sessions: HashSet<String>,
}

/// What became of the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenDataset {
    pub cases: usize,
    pub dataset: PathBuf,
    /// There was a targets file already, which is left alone.
    pub kept_targets: Option<PathBuf>,
}

impl Dataset {
    /// Makes the directory if need be. `replace`: a dataset that is there may be overwritten.
    pub fn create(out: Out, replace: bool) -> Result<Self, DatasetError> {
        let taken = [out.dataset(), out.recordings()].into_iter().find(|path| path.exists());
        if let Some(path) = taken.filter(|_| !replace) {
            return Err(DatasetError::Exists(path));
        }
        let create = |path: PathBuf| {
            let file = AtomicFile::create_with_directory(&path).map(BufWriter::new);
            file.map_err(|source| DatasetError::Write { path: out.dir.clone(), source })
        };
        let (cases, recordings) = (create(out.dataset())?, create(out.recordings())?);
        Ok(Self { cases, recordings, ids: HashSet::new(), sessions: HashSet::new(), out })
    }

    /// A case for each turn, named after the file. `Ok(false)` if the session is there already.
    pub fn add(&mut self, file: &Path, transcript: &Transcript) -> Result<bool, DatasetError> {
        if transcript.session.as_ref().is_some_and(|session| !self.sessions.insert(session.clone()))
        {
            return Ok(false);
        }
        let stem = file.file_stem().unwrap_or(file.as_os_str()).to_string_lossy();
        for (index, turn) in transcript.turns.iter().enumerate() {
            let name = match index {
                0 => stem.clone().into_owned(),
                _ => format!("{stem}-turn-{}", index + 1),
            };
            let id = self.unused(name);
            let case = Case {
                id: &id,
                conversation_id: transcript.session.as_deref(),
                expected_outcome: "Does what the prompt asks for",
                input: input(&transcript.turns[..index], turn),
            };
            let recording = Recording { id: id.clone(), outcome: turn.outcome.clone() };
            line(&mut self.cases, &case)
                .and_then(|()| line(&mut self.recordings, &recording))
                .map_err(|source| DatasetError::Write { path: self.out.dir.clone(), source })?;
        }
        Ok(true)
    }

    fn unused(&mut self, name: String) -> String {
        let names = std::iter::once(name.clone());
        let numbered = (2_u64..).map(|number| format!("{name}-{number}"));
        let id = names.chain(numbered).find(|id| !self.ids.contains(id)).unwrap_or(name);
        self.ids.insert(id.clone());
        id
    }

    pub fn cases(&self) -> usize {
        self.ids.len()
    }

    /// Puts the files in their places. What an author may have changed since an earlier import stays as it is.
    pub fn finish(self) -> Result<WrittenDataset, DatasetError> {
        let Self { out, cases, recordings, ids, .. } = self;
        keep(recordings, &out.recordings())?;
        keep(cases, &out.dataset())?;
        new_file(&out.sidecar(), &sidecar(&out))?;
        let targets = format!("targets:\n{}", out.target_entry());
        let is_new = new_file(&out.targets(), &targets)?;
        let kept_targets = (!is_new).then(|| out.targets());
        Ok(WrittenDataset { cases: ids.len(), dataset: out.dataset(), kept_targets })
    }
}

/// A line of the dataset.
#[derive(Serialize)]
struct Case<'c> {
    id: &'c str,
    #[serde(skip_serializing_if = "Option::is_none")]
    conversation_id: Option<&'c str>,
    expected_outcome: &'c str,
    #[serde(flatten)]
    input: Input,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Input {
    Input(String),
    InputMessages(Vec<Value>),
}

/// The prompt, after what was said before it in the same session.
fn input(earlier: &[Turn], turn: &Turn) -> Input {
    let unknown = "(the prompt is not in the captured output)";
    let prompt = turn.prompt.clone().unwrap_or_else(|| unknown.to_owned());
    if earlier.is_empty() {
        return Input::Input(prompt);
    }
    let message = |role: &str, content: &str| json!({ "role": role, "content": content });
    let mut messages = Vec::new();
    for turn in earlier {
        messages.extend(turn.prompt.as_deref().map(|prompt| message("user", prompt)));
        messages.extend(turn.answer().map(|answer| message("assistant", answer)));
    }
    messages.push(message("user", &prompt));
    Input::InputMessages(messages)
}

/// What holds for every case. The evaluator needs no model, and is there to be replaced.
fn sidecar(out: &Out) -> String {
    let name = json!(out.stem);
    format!(
        "# What holds for every line of {stem}.jsonl. Put your evaluators here.\n\
         dataset: {name}\n\
         execution:\n  \
         target: {TARGET}\n  \
         evaluators:\n    \
         - name: says-something\n      \
         type: regex\n      \
         pattern: '\\S'\n",
        stem = out.stem
    )
}

fn line(file: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    let text = agentv_wire::number::to_string(value).map_err(io::Error::other)?;
    writeln!(file, "{text}")
}

/// All or nothing: a file that is half written would be worse than none.
fn keep(file: BufWriter<AtomicFile>, path: &Path) -> Result<(), DatasetError> {
    let fail = |source| DatasetError::Write { path: path.to_owned(), source };
    file.into_inner()
        .map_err(io::IntoInnerError::into_error)
        .and_then(AtomicFile::commit)
        .map_err(fail)
}

/// `Ok(false)` if there is one already.
fn new_file(path: &Path, text: &str) -> Result<bool, DatasetError> {
    let written =
        std::fs::File::create_new(path).and_then(|mut file| file.write_all(text.as_bytes()));
    match written {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(source) => Err(DatasetError::Write { path: path.to_owned(), source }),
    }
}
