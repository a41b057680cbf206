//! Entry points to private parsers, for fuzzing. They are not in the program.

use super::chat::{Rates, Vendor, completions};
use super::replay::{self, RecordedOutcome};
use super::{anthropic, cli, gemini};
use crate::http::HttpResponse;
use agentv_core::Response;
use std::io;
use std::path::Path;

/// The answer of a `cli` target, without the trace file that it may name.
pub fn cli_output(text: &str) -> Response {
    cli::output::parse(text).response
}

/// The answers of a `cli` target to a batch, if all of its lines can be read.
pub fn cli_batch(text: &str) -> Vec<Response> {
    let lines = cli::batch::parse(text).unwrap_or_default();
    let nothing = cli::output::Otherwise::Nothing;
    let read = |line| cli::output::from_object(line, nothing).response;
    lines.values().map(read).collect()
}

/// What each chat API would make of a body.
pub fn chat_replies(body: &[u8]) -> Vec<Response> {
    let answer = HttpResponse::of_body(body);
    let replies = [
        (completions::read(&answer), Vendor::OpenAi, "gpt-4o"),
        (anthropic::api::read(&answer), Vendor::Anthropic, "claude-sonnet-4-5"),
        (gemini::api::read(&answer), Vendor::Gemini, "gemini-2.5-pro"),
    ];
    let read = |(reply, vendor, model): (Result<_, _>, _, _)| {
        let reply: super::chat::ChatReply = reply.ok()?;
        Some(reply.into_response(&Rates::new(None, vendor, model)))
    };
    replies.into_iter().filter_map(read).collect()
}

/// What a file of recordings has for a case.
pub fn recording(path: &Path, id: &str) -> io::Result<Result<RecordedOutcome, String>> {
    Ok(replay::recordings::Recordings::open(path)?.find(id))
}
