//! Files and answers as they could be.

use crate::scratch::{self, ScratchDir};
use agentv_core::totals::RecordedTotals;
use agentv_core::{Response, WorkId};
use agentv_runtime::cassette::Player;
use agentv_runtime::evaluators::json;
use agentv_runtime::import;
use agentv_runtime::load::{self, Glob, IdFilter, Shard};
use agentv_runtime::providers::agent_cli::{EventReader, read_all};
use agentv_runtime::providers::claude_code::ClaudeReader;
use agentv_runtime::providers::codex::CodexReader;
use agentv_runtime::providers::copilot::CopilotReader;
use agentv_runtime::providers::gemini_cli::GeminiCliReader;
use agentv_runtime::providers::opencode::OpenCodeReader;
use agentv_runtime::providers::pi_coding_agent::PiReader;
use agentv_runtime::providers::{fuzzing, replay::RecordedOutcome};
use agentv_runtime::results_io::{Reader, Recorded, read_history, read_scored};
use agentv_runtime::run_dir::{Index, Journal};
use agentv_wire::{RecordSummary, RunEvent, RunInfo, number};
use serde_json::{Value, json};
use std::path::Path;

pub(crate) fn suite_yaml(bytes: &[u8]) {
    suite("suite.yaml", bytes);
}

pub(crate) fn suite_json(bytes: &[u8]) {
    suite("cases.json", bytes);
}

pub(crate) fn suite_jsonl(bytes: &[u8]) {
    suite("lines.jsonl", bytes);
}

pub(crate) fn suite_csv(bytes: &[u8]) {
    suite("table.csv", bytes);
}

/// Loads an eval file, and reads it as `convert` and `init` do.
fn suite(name: &str, bytes: &[u8]) {
    scratch::with(|scratch| {
        let path = scratch.file(name, bytes);
        scratch.load(&path);
        if bytes.len().is_multiple_of(16) {
            load::is_eval_file(&path);
            load::written(&path);
        }
    });
}

pub(crate) fn targets(bytes: &[u8]) {
    scratch::with(|scratch| {
        let path = scratch.file("targets.yaml", bytes);
        let (file, report) = scratch.loader.targets(&path, &scratch.loader.env);
        scratch.show(&report);
        for target in file.iter().flat_map(|file| &file.targets) {
            assert!(target.maker.is_none() || target.kind.is_some(), "a target of no kind");
        }
    });
}

/// `.env` and `.agentv.yaml`, beside a suite that is as it should be.
pub(crate) fn settings(bytes: &[u8]) {
    let suite = json!({ "evalcases": [{ "id": "a", "input": "hi", "criteria": "${{ B }}" }] });
    scratch::with(|scratch| {
        let dir = scratch.dir().join("settings");
        if !dir.is_dir() {
            std::fs::create_dir(&dir).expect("a directory");
        }
        let (name, other) = if bytes.len().is_multiple_of(2) {
            (".env", ".agentv.yaml")
        } else {
            (".agentv.yaml", ".env")
        };
        // What the input before left would be read, too.
        let _ = std::fs::remove_file(dir.join(other));
        let path = scratch.file(&format!("settings/{name}"), bytes);
        let (_, report) = scratch.loader.suite_of_document(&dir.join("suite.yaml"), &suite);
        scratch.show(&report);
        if bytes.len() % 16 == 1 {
            scratch.show(&load::validate(&path, &scratch.loader).1);
        }
    });
}

pub(crate) fn json_in_prose(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (object, value) = (json::first_object(&text), json::first_value(&text));
    assert!(value.is_some() || object.is_none(), "an object is a value");
    if let Some(value) = value {
        let written = value.to_string();
        assert_eq!(serde_json::from_str::<Value>(&written).ok(), Some(value));
    }
}

pub(crate) fn cli_output(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    is_kept(&fuzzing::cli_output(&text));
    fuzzing::cli_batch(&text).iter().for_each(is_kept);
}

pub(crate) fn claude_stream(bytes: &[u8]) {
    stream::<ClaudeReader>(bytes);
}

pub(crate) fn codex_stream(bytes: &[u8]) {
    stream::<CodexReader>(bytes);
}

/// The first byte says whose stream the rest is.
pub(crate) fn other_streams(bytes: &[u8]) {
    let Some((which, rest)) = bytes.split_first() else { return };
    match which % 4 {
        0 => stream::<CopilotReader>(rest),
        1 => stream::<GeminiCliReader>(rest),
        2 => stream::<OpenCodeReader>(rest),
        _ => stream::<PiReader>(rest),
    }
}

/// What a client prints: read, and told in its log.
fn stream<R: EventReader>(bytes: &[u8]) {
    if let Some(response) = read_all::<R>(bytes).into_response() {
        is_kept(&response);
    }
    if bytes.len().is_multiple_of(2) {
        for line in bytes.split(|byte| *byte == b'\n') {
            if let Ok(event) = serde_json::from_slice(line) {
                R::summary(&event);
            }
        }
    }
}

pub(crate) fn chat_reply(bytes: &[u8]) {
    fuzzing::chat_replies(bytes).iter().for_each(is_kept);
}

/// A journal keeps an answer as it is, so that a resumed run grades the same as the one that was killed.
fn is_kept(response: &Response) {
    let written = number::to_string(response).expect("JSON");
    let read: Response = serde_json::from_str(&written).expect("what was just written");
    let again = number::to_string(&read).expect("JSON");
    assert_eq!(again, written, "an answer is not the same after it was kept");
}

pub(crate) fn journal(bytes: &[u8]) {
    scratch::with(|scratch| {
        let path = scratch.file("journal.jsonl", bytes);
        let index = Index::read(&path).expect("a journal that can be read");
        for (work, answers) in &index.answers {
            round_trip(work);
            for answer in answers {
                answer.read(&path).expect("a line that is there");
            }
        }
        if bytes.len().is_multiple_of(4) {
            Journal::open(&path).expect("a journal that is continued");
            let _ = serde_json::from_slice::<RunInfo>(bytes);
            let _ = serde_json::from_slice::<RunEvent>(bytes);
        }
    });
}

/// The text form of a piece of work is read as the same work.
fn round_trip(work: &WorkId) {
    assert_eq!(work.to_string().parse().as_ref(), Ok(work));
}

pub(crate) fn results(bytes: &[u8]) {
    scratch::with(|scratch| read_results(scratch, "results.jsonl", bytes));
}

pub(crate) fn results_yaml(bytes: &[u8]) {
    scratch::with(|scratch| read_results(scratch, "results.yaml", bytes));
}

/// As `report`, `compare`, `plan` and `grade` read them.
fn read_results(scratch: &ScratchDir, name: &str, bytes: &[u8]) {
    let path = scratch.file(name, bytes);
    match bytes.len() % 4 {
        0 => drop(read_scored(&path, name, Some("group"))),
        1 => drop(read_history(&path, name)),
        2 => drop(Recorded::of_results(&path, name)),
        _ => count(&path, name),
    }
}

fn count(path: &Path, name: &str) {
    let mut reader = Reader::open(path, name).expect("a file that is there");
    let mut totals = RecordedTotals::default();
    while let Ok(Some(record)) = reader.read::<RecordSummary>() {
        assert!(reader.json().starts_with('{'), "a record without its text");
        totals.add(&record);
    }
    if !totals.is_mixed() {
        totals.finish().0.wire(None);
    }
}

pub(crate) fn cassette(bytes: &[u8]) {
    scratch::with(|scratch| {
        let path = scratch.file("calls.jsonl", bytes);
        if let Ok(player) = Player::open(&path, scratch.dir()) {
            player.is_legacy();
        }
    });
}

pub(crate) fn recordings(bytes: &[u8]) {
    scratch::with(|scratch| {
        let path = scratch.file("calls.ndjson", bytes);
        for id in ["a", "case", ""] {
            fuzzing::recording(&path, id).expect("a file that is there").ok();
        }
    });
}

pub(crate) fn import(bytes: &[u8]) {
    scratch::with(|scratch| {
        let path = scratch.file("session.jsonl", bytes);
        let session = import::read(&path, None).expect("a file that is there");
        for turn in &session.transcript.turns {
            turn.answer();
            if let RecordedOutcome::Response(response) = &turn.outcome {
                is_kept(response);
            }
        }
    });
}

/// Texts of command lines and keys: ids of work, patterns, shards.
pub(crate) fn names(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(work) = text.parse::<WorkId>() {
        round_trip(&work);
    }
    let work = WorkId {
        suite: (&*text).into(),
        eval_id: (&*text).into(),
        target: (&*text).into(),
        trial: u32::try_from(bytes.len()).unwrap_or(0),
    };
    round_trip(&work);
    if bytes.len().is_multiple_of(2) {
        if let Ok(glob) = Glob::new(&text) {
            glob.matches(&text);
            glob.matches_hidden(Path::new(&*text));
        }
    } else {
        let _ = IdFilter::new(&text);
    }
    let _ = text.parse::<Shard>();
    load::reads_as_var(&text);
    let _ = load::yaml_value(&text);
}
