//! A suite and its cases, checked: what is here can be used as it is.

use crate::{
    EvalId, EvaluatorEntry, Score, SuiteId, TargetName, Trial, Trials, WorkId, WorkspaceSpec,
};
use agentv_wire::Object;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the cases of one eval file share.
#[derive(Debug)]
pub struct Suite {
    /// What the suite is known by, on every machine.
    pub id: SuiteId,
    /// The eval file, absolute.
    pub file: PathBuf,
    /// The directory of the eval file, where judges and commands run.
    pub dir: PathBuf,
    pub dataset: String,
    /// From this score up a case has status `pass`.
    pub pass_score: Score,
    /// Tools that look around rather than change something, for `exploration_ratio`.
    pub exploration_tools: Vec<String>,
    /// What a worker must have to get its cases.
    pub needs: BTreeSet<String>,
    /// Whether answers are kept from run to run, if the suite says so.
    pub cache: Option<bool>,
    /// How often each case is asked, if the suite says so.
    pub trials: Option<Trials>,
}

/// One question with what is expected of the answer and who grades it.
#[derive(Debug)]
pub struct EvalCase {
    pub suite: Arc<Suite>,
    pub id: EvalId,
    /// The position in the file, from 0: for the order of display and for streaming. It is not part of the identity.
    pub ordinal: usize,
    pub conversation_id: Option<String>,
    pub expected_outcome: String,
    pub input: Vec<InputMessage>,
    /// Messages as judges see them: file parts carry `path`, `text` and `resolved_path`.
    pub expected_messages: Vec<Value>,
    pub evaluators: Arc<[EvaluatorEntry]>,
    /// Whether the evaluators were written down, or are the default judge.
    pub evaluators_given: bool,
    /// A target that this case insists on.
    pub target: Option<TargetName>,
    pub tags: Vec<String>,
    /// The case's `metadata` as written, which nothing here reads. The suite's is not merged into it.
    pub metadata: Option<Arc<Object>>,
    /// What the case, or its suite, says of the directory that an agent works in.
    pub workspace: Option<Arc<WorkspaceSpec>>,
    pub fingerprint: Fingerprint,
    /// What another machine needs to read the case itself; only where work is sent away.
    pub written: Option<Arc<WrittenCase>>,
}

/// A case as its file has it.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenCase {
    pub case: Object,
    /// The files and directories that it names, or that its evaluators name.
    pub files: Vec<PathBuf>,
}

/// One message of a case's input.
#[derive(Debug, Clone, PartialEq)]
pub struct InputMessage {
    pub role: Role,
    pub content: Content,
    pub name: Option<String>,
    /// Tool calls of an assistant message, as written.
    pub tool_calls: Option<Value>,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    System,
    User,
    Assistant,
    Tool,
}

impl Role {
    /// All of them, for messages about wrong ones.
    pub const NAMES: [&'static str; 4] = ["system", "user", "assistant", "tool"];

    /// The role of this name.
    pub fn of(name: &str) -> Option<Self> {
        Some(match name {
            "system" => Self::System,
            "user" => Self::User,
            "assistant" => Self::Assistant,
            "tool" => Self::Tool,
            _ => return None,
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

/// What a message holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    Text(String),
    /// Parts, and the list they were made of.
    Parts {
        parts: Vec<Part>,
        written: Value,
    },
    /// Only tool calls.
    Nothing,
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    Text(String),
    File(Attachment),
    /// A file that matches the guideline patterns: it goes to the guidelines and not to the question.
    Guideline(Attachment),
    /// A part of a type that we do not know; its `value`, if that is text, still belongs to the question.
    Other(Option<String>),
}

/// A file that a case refers to.
#[derive(Debug, Clone, PartialEq)]
pub struct Attachment {
    /// As written, without leading separators.
    pub display: String,
    /// Absolute.
    pub path: PathBuf,
    pub text: Arc<str>,
}

impl Content {
    /// The parts; text alone is one part.
    pub fn parts(&self) -> impl Iterator<Item = PartRef<'_>> {
        let (text, parts) = match self {
            Self::Text(text) => (Some(PartRef::Text(text)), &[][..]),
            Self::Parts { parts, .. } => (None, parts.as_slice()),
            Self::Nothing => (None, &[][..]),
        };
        text.into_iter().chain(parts.iter().filter_map(PartRef::of))
    }
}

/// A part that shows in a prompt, borrowed.
#[derive(Debug, Clone, Copy)]
pub enum PartRef<'a> {
    Text(&'a str),
    File(&'a Attachment),
    Guideline(&'a Attachment),
}

impl<'a> PartRef<'a> {
    fn of(part: &'a Part) -> Option<Self> {
        Some(match part {
            Part::Text(text) => Self::Text(text),
            Part::File(file) => Self::File(file),
            Part::Guideline(file) => Self::Guideline(file),
            Part::Other(text) => Self::Text(text.as_deref()?),
        })
    }
}

impl EvalCase {
    /// The identity of one trial of this case on a target.
    pub fn work_id(&self, target: &TargetName, trial: Trial) -> WorkId {
        WorkId {
            suite: self.suite.id.clone(),
            eval_id: self.id.clone(),
            target: target.clone(),
            trial: trial.number(),
        }
    }

    fn parts(&self) -> impl Iterator<Item = PartRef<'_>> {
        self.input.iter().flat_map(|message| message.content.parts())
    }

    /// The plain question that judges see: all text, joined by spaces.
    pub fn question(&self) -> String {
        let mut question = String::new();
        for part in self.parts() {
            let PartRef::Text(text) = part else { continue };
            let text = text.trim();
            if text.is_empty() {
                continue;
            }
            if !question.is_empty() {
                question.push(' ');
            }
            question.push_str(text);
        }
        question
    }

    /// The files that were taken for guidelines, in the order of their references.
    pub fn guidelines(&self) -> impl Iterator<Item = &Attachment> {
        self.parts().filter_map(|part| match part {
            PartRef::Guideline(file) => Some(file),
            _ => None,
        })
    }

    /// The files that belong to the question.
    pub fn files(&self) -> impl Iterator<Item = &Attachment> {
        self.parts().filter_map(|part| match part {
            PartRef::File(file) => Some(file),
            _ => None,
        })
    }

    /// The last expected message as text; empty when there is none.
    pub fn reference_answer(&self) -> String {
        let Some(last) = self.expected_messages.last() else { return String::new() };
        match (last.get("content"), last.get("tool_calls")) {
            (Some(Value::String(text)), _) => text.clone(),
            (Some(content), _) => pretty(content),
            (None, Some(calls)) => pretty(calls),
            (None, None) => String::new(),
        }
    }

    /// The input as it was written, aliases expanded.
    pub fn input_messages(&self) -> Vec<Value> {
        self.input.iter().map(InputMessage::as_written).collect()
    }
}

impl InputMessage {
    fn as_written(&self) -> Value {
        let mut message = json!({ "role": self.role.name() });
        match &self.content {
            Content::Text(text) => message["content"] = json!(text),
            Content::Parts { written, .. } => message["content"] = written.clone(),
            Content::Nothing => {}
        }
        if let Some(name) = &self.name {
            message["name"] = json!(name);
        }
        if let Some(calls) = &self.tool_calls {
            message["tool_calls"] = calls.clone();
        }
        message
    }
}

fn pretty(value: &Value) -> String {
    agentv_wire::number::to_string_pretty(value).unwrap_or_default()
}

/// A hash of all that makes a case what it is: its text, the contents of its files, prompts and judge scripts.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint(pub [u8; 32]);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

/// The last component of a path, as text.
pub fn basename(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
