//! What a session holds: prompts, and what came of each.

use crate::providers::agent_cli::Reading;
use crate::providers::replay::RecordedOutcome;
use agentv_core::Redactor;
use serde_json::Value;

/// All of one session.
#[derive(Debug, Default)]
pub struct Transcript {
    /// The client's own id of it.
    pub session: Option<String>,
    pub turns: Vec<Turn>,
    /// Prompts without an answer.
    pub unanswered: usize,
}

/// One prompt and what came of it.
#[derive(Debug)]
pub struct Turn {
    /// `None` where the format does not tell it: what a client prints does not hold its prompt.
    pub prompt: Option<String>,
    pub outcome: RecordedOutcome,
}

impl Transcript {
    /// Masks the secrets in what was said and done.
    pub fn mask(&mut self, redactor: &Redactor) -> Result<(), serde_json::Error> {
        for turn in &mut self.turns {
            turn.prompt = turn.prompt.take().map(|prompt| redactor.text(&prompt).into_owned());
            if let Some(masked) = redactor.masked(&turn.outcome)? {
                turn.outcome = masked;
            }
        }
        Ok(())
    }
}

impl Turn {
    pub(super) fn new(prompt: Option<String>, reading: Reading) -> Self {
        let outcome = if let Some(failure) = reading.failure {
            RecordedOutcome::Error(failure)
        } else if reading.is_cut {
            RecordedOutcome::Error("the recording ends before the answer".to_owned())
        } else if let Some(response) = reading.into_response() {
            RecordedOutcome::Response(Box::new(response))
        } else {
            RecordedOutcome::Error("nothing was said".to_owned())
        };
        Self { prompt, outcome }
    }

    /// The last thing that was said.
    pub fn answer(&self) -> Option<&str> {
        let RecordedOutcome::Response(response) = &self.outcome else { return None };
        let messages = response.messages.iter().flatten().rev();
        let mut said = messages.filter(|message| message.role == "assistant");
        said.find_map(|message| message.content.as_ref()?.as_str())
    }
}

/// The text of a message: text, or a list of blocks with text in them.
pub(super) fn text_of(content: &Value) -> Option<String> {
    let said = match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| block.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => return None,
    };
    (!said.trim().is_empty()).then_some(said)
}
