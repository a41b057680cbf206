//! Answers by what is asked: enough to play an agent, or a judge of it.

use crate::config::{Fields, FromNode, Leftovers, Node, Wrong};
use agentv_core::provider::Reported;
use agentv_core::{ProviderError, Request, Response};
use agentv_wire::{TokenUsage, TraceEvent};
use schemars::JsonSchema;

/// One answer of a scripted mock.
#[derive(Debug, Clone, Default, JsonSchema)]
pub struct MockReply {
    /// It answers questions that have this text in them, in any letter case; without it, all questions.
    #[serde(default)]
    pub when: Option<String>,
    /// The answer.
    #[serde(default)]
    pub response: String,
    /// Several answers, for trials: the first trial of a case gets the first, and so on from the start again. Beats
    /// `response`.
    #[serde(default)]
    pub responses: Vec<String>,
    /// Fails with this text instead of answering.
    #[serde(default)]
    pub error: Option<String>,
    /// A trace to come with the answer.
    #[serde(default)]
    pub trace: Option<Vec<TraceEvent>>,
    /// Milliseconds to wait before answering. Beats the target's.
    #[serde(default)]
    pub delay_ms: Option<u64>,
    /// Tokens that the answer is said to have used.
    #[serde(default)]
    pub token_usage: Option<TokenUsage>,
    /// US dollars that the answer is said to have cost.
    #[serde(default)]
    pub cost_usd: Option<f64>,
}

/// Reads the list; entries that cannot be used are left out, with a note each.
pub(super) fn read(fields: &mut Fields<'_, '_>) -> Vec<MockReply> {
    let Some(node) = fields.node("replies") else { return Vec::new() };
    let Some(list) = node.as_list() else {
        let message =
            format!("`replies` of {} must be a list, not {}", fields.owner(), node.describe());
        fields
            .error_at("config::type", node.span, message)
            .help("write one `- when: <text>` with a `response` per answer");
        return Vec::new();
    };
    let replies = list.iter().enumerate().filter_map(|(index, node)| {
        let owner = format!("reply {} of {}", index + 1, fields.owner());
        Some(read_one(fields.inside(node, owner)?))
    });
    replies.collect()
}

fn read_one(mut fields: Fields<'_, '_>) -> MockReply {
    let reply = MockReply {
        when: fields.take("when"),
        response: fields.take("response").unwrap_or_default(),
        responses: fields.take("responses").unwrap_or_default(),
        error: fields.take("error"),
        trace: fields.take::<Trace>("trace").map(|trace| trace.0),
        delay_ms: fields.take("delay_ms"),
        token_usage: fields.take::<Tokens>("token_usage").map(|tokens| tokens.0),
        cost_usd: fields.take("cost_usd"),
    };
    fields.finish(Leftovers::Warn);
    reply
}

/// A list of trace events.
pub(super) struct Trace(pub(super) Vec<TraceEvent>);

impl FromNode for Trace {
    fn from_node(node: &Node<'_>) -> Result<Self, Wrong> {
        let events = serde_json::from_value(node.to_value());
        events
            .map(Self)
            .map_err(|_| Wrong { expected: "a list of trace events, each with a known `type`" })
    }
}

struct Tokens(TokenUsage);

impl FromNode for Tokens {
    fn from_node(node: &Node<'_>) -> Result<Self, Wrong> {
        let tokens = serde_json::from_value(node.to_value());
        tokens
            .map(Self)
            .map_err(|_| Wrong { expected: "a mapping with the numbers `input` and `output`" })
    }
}

impl MockReply {
    /// Whether it is meant for this question.
    pub(super) fn answers(&self, request: &Request) -> bool {
        let question = request.question.to_lowercase();
        self.when.as_ref().is_none_or(|when| question.contains(&when.to_lowercase()))
    }

    pub(super) fn reply(&self, trial: u32) -> Result<Response, ProviderError> {
        if let Some(error) = &self.error {
            return Err(ProviderError::failed(error.clone()));
        }
        let turn = (trial as usize).checked_rem(self.responses.len());
        let answer = turn.map_or(&self.response, |turn| &self.responses[turn]);
        let reported = Reported {
            token_usage: self.token_usage,
            cost_usd: self.cost_usd,
            ..Reported::default()
        };
        Ok(Response { trace: self.trace.clone(), reported, ..Response::text(answer) })
    }
}
