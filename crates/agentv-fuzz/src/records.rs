//! Records → totals, reports, and what a resumed run makes of a journal.

use crate::choices::Choices;
use crate::grading;
use crate::judges::Parrots;
use crate::scratch::{self, ScratchDir};
use agentv_core::totals::RecordedTotals;
use agentv_core::{Answered, EvalCase, Response, WorkId};
use agentv_runtime::run_dir::{Index, Journal};
use agentv_wire::{RecordSummary, RunTotals, number};
use quick_xml::events::Event;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Writes records and makes every report of them.
pub(crate) fn reports(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let records = records(&mut choices, Names::Any);
    scratch::with(|scratch| {
        let (totals, texts) = render(scratch, &records);
        assert_eq!(totals.all.recorded, records.len(), "a record was not counted");
        for (format, text) in &texts {
            let text = std::str::from_utf8(text).expect("a report is text");
            match *format {
                "html" => check_html(text),
                "junit" => check_junit(text, records.len()),
                "csv" => check_csv(text, records.len()),
                "json" => check_json(text, records.len()),
                _ => {}
            }
        }
    });
}

fn render(scratch: &ScratchDir, records: &[Value]) -> (RunTotals, Vec<(&'static str, Vec<u8>)>) {
    let lines: Vec<String> = records.iter().map(Value::to_string).collect();
    let path = scratch.file("reported.jsonl", (lines.join("\n") + "\n").as_bytes());
    let rendered = agentv_cli::fuzzing::reports(&path, scratch.dir());
    let (summary, texts) = rendered.expect("results that can be read");
    (summary.totals, texts)
}

/// Nothing that a record holds ends its script early.
fn check_html(text: &str) {
    const OPEN: &str = "<script type=\"application/json\" id=\"";
    for block in text.split(OPEN).skip(1) {
        let (_, data) = block.split_once('>').expect("the tag has an end");
        let (data, _) = data.split_once("</script>").expect("the script has an end");
        serde_json::from_str::<Value>(data).expect("data is JSON");
    }
    assert_eq!(text.matches("<script").count(), text.matches("</script").count());
    assert!(text.trim_end().ends_with("</html>"), "the page has no end");
}

fn check_junit(text: &str, records: usize) {
    let mut reader = quick_xml::Reader::from_str(text);
    reader.config_mut().check_end_names = true;
    let (mut cases, mut depth) = (0, 0_usize);
    loop {
        match reader.read_event().expect("JUnit is well-formed") {
            Event::Start(tag) => {
                depth += 1;
                cases += usize::from(tag.name().as_ref() == b"testcase");
                check_attributes(&tag);
            }
            Event::Empty(tag) => {
                cases += usize::from(tag.name().as_ref() == b"testcase");
                check_attributes(&tag);
            }
            Event::End(_) => depth -= 1,
            Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!((cases, depth), (records, 0), "JUnit has another number of cases");
    let is_allowed = |c: char| {
        matches!(c, '\t' | '\n' | '\r') || (c >= ' ' && !matches!(c, '\u{fffe}' | '\u{ffff}'))
    };
    assert!(text.chars().all(is_allowed), "JUnit has a character that XML does not allow");
}

fn check_attributes(tag: &quick_xml::events::BytesStart<'_>) {
    for attribute in tag.attributes() {
        let attribute = attribute.expect("attributes are well-formed");
        attribute
            .normalized_value(quick_xml::XmlVersion::Implicit1_0)
            .expect("attributes can be read");
    }
}

fn check_csv(text: &str, records: usize) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = csv::ReaderBuilder::new().has_headers(true).from_reader(text.as_bytes());
    let rows: Result<Vec<_>, _> = reader.records().collect();
    assert_eq!(rows.expect("rows of one length").len(), records, "CSV has another number of rows");
}

fn check_json(text: &str, records: usize) {
    let report: Value = serde_json::from_str(text).expect("the report for programs is JSON");
    let cases = report.get("cases").and_then(Value::as_array).map(Vec::len);
    assert_eq!(cases, Some(records), "JSON has another number of cases");
}

/// Whether two records may be of the same trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    Any,
    Unique,
}

/// Records as this and earlier versions have written them, in any order.
fn records(choices: &mut Choices<'_>, names: Names) -> Vec<Value> {
    let mut number = 0;
    let with_trials = choices.once_in(3);
    choices.list(6, |choices| {
        number += 1;
        let mut record = record(choices);
        match names {
            Names::Any => {}
            Names::Unique => record["eval_id"] = json!(format!("case {}", number / 2)),
        }
        if with_trials {
            record["trial"] =
                json!(if names == Names::Unique { number % 2 } else { choices.below(3) });
        } else if names == Names::Unique {
            record["eval_id"] = json!(format!("case {number}"));
        }
        record
    })
}

fn record(choices: &mut Choices<'_>) -> Value {
    let mut record = json!({
        "eval_id": choices.text(),
        "score": choices.share(),
        "target": choices.name(),
        "dataset": choices.name(),
    });
    choices.sometimes(
        &mut record,
        &[
            ("timestamp", |choices| {
                json!(choices.one(&["2026-01-01T00:00:00.000Z", "", "yesterday"]))
            }),
            ("suite", |choices| json!(choices.name())),
            ("status", |choices| json!(choices.one(&["pass", "fail", "great"]))),
            ("outcome", |choices| json!(choices.one(&["pass", "fail", "ungraded", "error", "x"]))),
            ("candidate_answer", |choices| json!(choices.text())),
            ("reasoning", |choices| json!(choices.text())),
            ("misses", |choices| json!(choices.list(3, Choices::text))),
            ("hits", |choices| json!(choices.list(3, Choices::text))),
            ("tags", |choices| json!(choices.list(2, Choices::text))),
            ("metadata", |choices| Value::Object(choices.object(1))),
            ("evaluator_results", |choices| {
                Value::Array(choices.list(3, |choices| result(choices, 1)))
            }),
        ],
    );
    choices.sometimes(&mut record, &[
        ("execution_metrics", metrics),
        ("trace_summary", |choices| json!({ "event_count": choices.below(9), "tool_calls_by_name": { choices.name(): choices.below(4) } })),
        ("lm_provider_request", |choices| json!({ "question": choices.text(), "guidelines": choices.text() })),
        ("file_changes", |choices| json!({ "files": [], "diff": choices.text() })),
    ]);
    if choices.once_in(4) {
        record["error"] = choices.json(1);
    }
    if choices.once_in(4) {
        record["simulated"] = json!(true);
    }
    record
}

fn metrics(choices: &mut Choices<'_>) -> Value {
    let mut metrics = json!({});
    choices.sometimes(
        &mut metrics,
        &[
            ("cost_usd", |choices| json!(choices.number().abs())),
            ("duration_ms", |choices| json!(choices.number().abs())),
            ("token_usage", |choices| json!(grading::usage(choices))),
        ],
    );
    metrics
}

fn result(choices: &mut Choices<'_>, depth: usize) -> Value {
    let (name, kind) =
        *choices.one(&[("alpha", "equals"), ("é 漢", "llm_judge"), ("x/y", "composite")]);
    let mut result = json!({
        "name": name,
        "type": kind,
        "score": choices.share(),
        "weight": choices.small(),
    });
    choices.sometimes(
        &mut result,
        &[
            ("verdict", |choices| json!(choices.one(&["pass", "borderline", "fail"]))),
            ("hits", |choices| json!(choices.list(2, Choices::text))),
            ("misses", |choices| json!(choices.list(2, Choices::text))),
            ("reasoning", |choices| json!(choices.text())),
            ("details", |choices| choices.json(2)),
            ("usage", |choices| json!({ "cost_usd": choices.number().abs() })),
        ],
    );
    if choices.once_in(4) {
        result["error"] =
            json!({ "kind": "parse", "message": choices.text(), "on_judge_error": "zero" });
    }
    if depth > 0 && choices.once_in(3) {
        let members = choices.list(2, |choices| self::result(choices, depth - 1));
        result["evaluator_results"] = Value::Array(members);
    }
    result
}

/// The numbers of a run do not depend on the order of its records, and every view can show them.
pub(crate) fn totals(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let mut records: Vec<RecordSummary> = records(&mut choices, Names::Unique)
        .into_iter()
        .map(|record| serde_json::from_value(record).expect("a record has a summary"))
        .collect();
    let before = numbers(&records, Shown::Yes);
    let turn = choices.below(records.len().max(1));
    records.rotate_left(turn);
    if choices.is() {
        records.reverse();
    }
    let after = numbers(&records, Shown::No);
    is_near(&before, &after, "");
}

/// Whether the numbers are also printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    Yes,
    No,
}

fn numbers(records: &[RecordSummary], shown: Shown) -> Value {
    let mut recorded = RecordedTotals::by_case();
    for record in records {
        recorded.add(record);
    }
    let (totals, _) = recorded.finish();
    let wire = totals.wire(Some(records.len()));
    if shown == Shown::Yes {
        agentv_cli::fuzzing::run_summary(&totals, &wire);
    }
    let all = &wire.all;
    assert_eq!(all.passed + all.failed + all.ungraded + all.errors, records.len());
    for interval in [all.mean_interval, all.pass_interval].into_iter().flatten() {
        assert!(interval.low <= interval.high, "{interval:?}");
    }
    let text = number::to_string(&wire).expect("totals are JSON");
    serde_json::from_str::<RunTotals>(&text).expect("totals can be read");
    serde_json::to_value(&wire).expect("totals are JSON")
}

/// The same but for the rounding of sums.
fn is_near(one: &Value, other: &Value, path: &str) {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            let (one, other) = (one.as_f64().unwrap_or(0.0), other.as_f64().unwrap_or(0.0));
            let scale = one.abs().max(other.abs()).max(1.0);
            assert!((one - other).abs() <= 1e-9 * scale, "{path}: {one} and {other}");
        }
        (Value::Object(one), Value::Object(other)) => {
            assert_eq!(one.len(), other.len(), "{path}");
            for (key, value) in one {
                is_near(value, other.get(key).unwrap_or(&Value::Null), &format!("{path}/{key}"));
            }
        }
        (Value::Array(one), Value::Array(other)) => {
            assert_eq!(one.len(), other.len(), "{path}");
            for (one, other) in one.iter().zip(other) {
                is_near(one, other, path);
            }
        }
        _ => assert_eq!(one, other, "{path}"),
    }
}

/// A journal that was cut anywhere still has every answer whose line is whole.
pub(crate) fn resume(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let cases = grading::cases(&mut choices);
    scratch::with(|scratch| {
        let path = scratch.file("kept.jsonl", b"");
        let journal = Journal::open(&path).expect("a journal");
        let (parrots, mut kept) = (Parrots::default(), Vec::new());
        for (number, case) in cases.iter().enumerate() {
            let response = grading::response(&mut choices);
            kept.push(keep(&journal, (case, number), response));
            let mut record = number::to_string(&*grading::graded(case, &mut choices, &parrots))
                .expect("JSON")
                .into_bytes();
            record.push(b'\n');
            journal.recorded((&kept[number].0, case), &mut record).expect("a line");
        }
        drop(journal);
        let whole = fs::read(&path).expect("a journal");
        let cut = whole.len() - choices.below(whole.len().clamp(1, 400));
        fs::write(&path, &whole[..cut]).expect("a journal");
        drop(Journal::open(&path).expect("a journal that is continued"));
        let lines = whole[..cut].split(|byte| *byte == b'\n').count() - 1;
        check_index(&path, &kept[..lines]);
    });
}

fn keep(
    journal: &Journal,
    (case, number): (&EvalCase, usize),
    response: Response,
) -> (WorkId, Response) {
    let work = WorkId {
        suite: case.suite.id.clone(),
        eval_id: case.id.clone(),
        target: "t".into(),
        trial: u32::try_from(number).unwrap_or(0),
    };
    let answered = Answered::whole(Ok(response.clone()), Duration::from_millis(7), 0);
    journal.answered((&work, case), &answered, false).expect("a line");
    (work, response)
}

fn check_index(path: &Path, kept: &[(WorkId, Response)]) {
    let index = Index::read(path).expect("a journal that can be read");
    assert_eq!(index.answers.len(), kept.len(), "another number of answers than whole lines");
    for (work, response) in kept {
        let answers = index.answers.get(work).expect("an answer for its work");
        let answer = answers[0].read(path).expect("a line").expect("an answer");
        let (read, written) = (number::to_string(&answer.response), number::to_string(response));
        assert_eq!(read.expect("JSON"), written.expect("JSON"));
    }
}
