//! What is fuzzed. A [`FuzzTarget`] takes any bytes and panics if something is wrong; it knows nothing of who makes the bytes.
//! Two engines do: libFuzzer, in the folder `fuzz`, and [`engine`], which needs no nightly toolchain.
//!
//! A *parser* target gets files or answers as they could be. A *structured* target reads its bytes as choices, makes
//! something valid of them, and follows it further: a suite and an answer to records, records to reports.
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a panic is how a target says that something is wrong"
)]
#![expect(clippy::disallowed_methods, reason = "files that fuzzing reads are its own and small")]

mod choices;
mod comparisons;
mod conversions;
pub mod engine;
mod grading;
mod judges;
mod mutate;
mod parsers;
mod records;
mod scratch;
pub mod seeds;

use seeds::Seeds;

/// Something that is fuzzed.
#[derive(Debug)]
pub struct FuzzTarget {
    pub name: &'static str,
    pub kind: FuzzKind,
    /// Panics if something is wrong.
    pub run: fn(&[u8]),
    pub seeds: Seeds,
}

/// What the bytes of a target are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FuzzKind {
    /// The input itself.
    Parser,
    /// Choices, of which something valid is made.
    Structured,
}

impl FuzzKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Parser => "parser",
            Self::Structured => "structured",
        }
    }
}

const fn parser(name: &'static str, run: fn(&[u8]), seeds: Seeds) -> FuzzTarget {
    FuzzTarget { name, kind: FuzzKind::Parser, run, seeds }
}

const fn structured(name: &'static str, run: fn(&[u8])) -> FuzzTarget {
    FuzzTarget { name, kind: FuzzKind::Structured, run, seeds: Seeds::NONE }
}

/// All of them.
pub const TARGETS: &[FuzzTarget] = &[
    parser("suite_yaml", parsers::suite_yaml, seeds::SUITES),
    parser("suite_json", parsers::suite_json, seeds::SUITES_JSON),
    parser("suite_jsonl", parsers::suite_jsonl, seeds::LINES),
    parser("suite_csv", parsers::suite_csv, seeds::TABLES),
    parser("targets", parsers::targets, seeds::TARGETS_FILES),
    parser("settings", parsers::settings, seeds::SETTINGS),
    parser("json_in_prose", parsers::json_in_prose, seeds::PROSE),
    parser("judge_reply", judges::reply, seeds::JUDGE_REPLIES),
    parser("script_output", judges::script_output, seeds::SCRIPT_OUTPUTS),
    parser("cli_output", parsers::cli_output, seeds::CLI_OUTPUTS),
    parser("claude_stream", parsers::claude_stream, seeds::CLAUDE),
    parser("codex_stream", parsers::codex_stream, seeds::CODEX),
    parser("other_streams", parsers::other_streams, seeds::OTHER_AGENTS),
    parser("chat_reply", parsers::chat_reply, seeds::CHAT_REPLIES),
    parser("proxy_request", judges::proxy_request, seeds::PROXY_REQUESTS),
    parser("journal", parsers::journal, seeds::JOURNALS),
    parser("results", parsers::results, seeds::RESULTS),
    parser("results_yaml", parsers::results_yaml, seeds::RESULTS_YAML),
    parser("cassette", parsers::cassette, seeds::CASSETTES),
    parser("recordings", parsers::recordings, seeds::RECORDINGS),
    parser("import", parsers::import, seeds::SESSIONS),
    parser("names", parsers::names, seeds::NAMES),
    structured("grade", grading::grade),
    structured("reports", records::reports),
    structured("totals", records::totals),
    structured("compare", comparisons::compare),
    structured("plan", comparisons::plan),
    structured("convert", conversions::convert),
    structured("resume", records::resume),
];

impl FuzzTarget {
    pub fn find(name: &str) -> Option<&'static Self> {
        TARGETS.iter().find(|target| target.name == name)
    }
}
