//! Asking a judge until its reply can be read.

use crate::deadline;
use agentv_core::call::{OnAccepted, Role};
use agentv_core::{CallContext, Candidate, EvalContext, EvaluatorError, NamedProvider, Request};
use agentv_wire::{FailureKind, TokenUsage, Usage};
use std::sync::Arc;
use std::time::Instant;

/// What a judge is asked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Question<'a> {
    pub user: &'a str,
    pub system: &'a str,
    /// How often it is asked if its reply cannot be read.
    pub max_asks: u64,
}

/// A reply that could be read, and what all asks together cost.
#[derive(Debug)]
pub(super) struct JudgeReply<T> {
    pub value: T,
    pub usage: Option<Usage>,
}

/// How much of an unreadable reply is shown.
const SHOWN_CHARS: usize = 200;

/// Asks until `read` can make something of the reply. Only an unreadable reply is worth another ask: failed calls are
/// retried by the target itself.
pub(super) async fn ask<T>(
    judge: &NamedProvider,
    question: Question<'_>,
    read: impl Fn(&str) -> Option<T>,
    cx: &EvalContext<'_>,
) -> Result<JudgeReply<T>, EvaluatorError> {
    let mut total = Total::default();
    let mut said = String::new();
    for _ in 0..question.max_asks {
        let on_accepted = Arc::default();
        let reply = match once(judge, question, &on_accepted, cx).await {
            Ok(reply) => reply,
            Err(error) => return Err(EvaluatorError { usage: total.boxed(), ..error }),
        };
        total.add(&reply);
        if let Some(value) = read(&reply.answer) {
            on_accepted.accept();
            return Ok(JudgeReply { value, usage: total.usage() });
        }
        said = reply.answer;
    }
    let times = if question.max_asks == 1 {
        "one attempt".to_owned()
    } else {
        format!("{} attempts", question.max_asks)
    };
    let message = format!(
        "the judge `{}` gave no valid JSON in {times}; it said: {}",
        judge.name,
        shown(&said)
    );
    Err(EvaluatorError { usage: total.boxed(), ..EvaluatorError::new(FailureKind::Parse, message) })
}

async fn once(
    judge: &NamedProvider,
    question: Question<'_>,
    on_accepted: &Arc<OnAccepted>,
    cx: &EvalContext<'_>,
) -> Result<Candidate, EvaluatorError> {
    let request = Request {
        system_prompt: Some(question.system.to_owned()),
        ..Request::plain(&cx.case.id, question.user.to_owned())
    };
    let call = CallContext {
        on_accepted: Some(Arc::clone(on_accepted)),
        ..cx.call.asking(Role::Judge, &judge.name, &request)
    };
    let started = Instant::now();
    let answering = async {
        judge.provider.prepare(&call).await?;
        judge.provider.invoke(&request, &call).await
    };
    let who = format!("the judge `{}`", judge.name);
    let response =
        deadline::within(call.time_limit, answering, &call, &who).await.map_err(|error| {
            let kind =
                if error.is_timeout() { FailureKind::Timeout } else { FailureKind::Provider };
            let message = if error.is_timeout() {
                error.message
            } else {
                format!("{who} failed: {}", error.message)
            };
            EvaluatorError::new(kind, message)
        })?;
    Ok(Candidate::new(response, started.elapsed(), &[]))
}

fn shown(said: &str) -> String {
    let said = said.trim();
    match said.char_indices().nth(SHOWN_CHARS) {
        _ if said.is_empty() => "nothing".to_owned(),
        Some((end, _)) => format!("{}…", &said[..end]),
        None => said.to_owned(),
    }
}

/// What several asks cost together. A sum is known only as far as its parts are.
#[derive(Debug, Default)]
pub(super) struct Total {
    tokens: Option<TokenUsage>,
    cost: Option<f64>,
}

impl Total {
    fn add(&mut self, reply: &Candidate) {
        self.add_usage(&Usage {
            token_usage: reply.metrics.token_usage,
            cost_usd: reply.metrics.cost_usd,
        });
    }

    pub(super) fn add_usage(&mut self, usage: &Usage) {
        if let Some(more) = usage.token_usage {
            let sum = self.tokens.get_or_insert_default();
            sum.input += more.input;
            sum.output += more.output;
            sum.cached =
                more.cached.map(|cached| sum.cached.unwrap_or(0.0) + cached).or(sum.cached);
        }
        if let Some(more) = usage.cost_usd {
            *self.cost.get_or_insert_default() += more;
        }
    }

    pub(super) fn usage(&self) -> Option<Usage> {
        let known = self.tokens.is_some() || self.cost.is_some();
        known.then_some(Usage { token_usage: self.tokens, cost_usd: self.cost })
    }

    pub(super) fn boxed(&self) -> Option<Box<Usage>> {
        self.usage().map(Box::new)
    }
}
