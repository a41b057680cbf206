//! One page that needs nothing else: no network, no server, no font. Its script and its style are named by their hashes, and
//! nothing else may run (`Content-Security-Policy`).
//!
//! Each record is an element of JSON of its own, which the page reads when the case is opened; the table needs only the
//! columns at the end. So a page with 10 000 records is there at once, and this writer holds only the columns.

use super::source::{Entry, Knowledge};
use super::{Format, FormatKind, Head};
use agentv_core::outcome::is_graded;
use agentv_runtime::process::quote;
use agentv_wire::{Outcome, ReportSummary, number};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{self, Write};

pub(super) const KIND: FormatKind =
    FormatKind { name: "html", knowledge: Knowledge::All, new: || Box::<Html>::default() };

const PAGE: &str = include_str!("../../assets/viewer/page.html");
const STYLE: &str = include_str!("../../assets/viewer/viewer.css");
/// The modules of the page, each after those that it uses.
const MODULES: [&str; 9] = [
    include_str!("../../assets/viewer/formats.js"),
    include_str!("../../assets/viewer/dom.js"),
    include_str!("../../assets/viewer/data.js"),
    include_str!("../../assets/viewer/state.js"),
    include_str!("../../assets/viewer/overview.js"),
    include_str!("../../assets/viewer/table.js"),
    include_str!("../../assets/viewer/timeline.js"),
    include_str!("../../assets/viewer/case.js"),
    include_str!("../../assets/viewer/main.js"),
];

/// No text on the page is longer. Agents print megabytes, which are not read here.
const LONGEST: usize = 100_000;

#[derive(Debug, Default)]
struct Html {
    columns: Columns,
    datasets: Names,
    targets: Names,
    tags: Names,
    evaluators: Names,
}

/// What the table shows of each record. Names are places in lists.
#[derive(Debug, Default, Serialize)]
struct Columns {
    id: Vec<String>,
    dataset: Vec<usize>,
    target: Vec<usize>,
    trial: Vec<Option<u32>>,
    /// 0 pass, 1 fail, 2 ungraded, 3 error.
    outcome: Vec<u8>,
    score: Vec<f64>,
    why: Vec<Option<String>>,
    tags: Vec<Vec<usize>>,
    /// Pairs of an evaluator and its score; no score where it could not grade.
    grades: Vec<Vec<(usize, Option<f64>)>>,
    duration: Vec<Option<f64>>,
    cost: Vec<Option<f64>>,
    tokens: Vec<Option<f64>>,
}

/// Each name once.
#[derive(Debug, Default)]
struct Names {
    list: Vec<String>,
    places: HashMap<String, usize>,
}

impl Names {
    fn place(&mut self, name: &str) -> usize {
        if let Some(place) = self.places.get(name) {
            return *place;
        }
        let place = self.list.len();
        self.list.push(name.to_owned());
        self.places.insert(name.to_owned(), place);
        place
    }
}

impl Format for Html {
    fn begin(&mut self, head: &Head<'_>, out: &mut dyn Write) -> io::Result<()> {
        let script = script();
        let policy = format!(
            "default-src 'none'; script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'",
            hash(&script),
            hash(STYLE)
        );
        let page = PAGE.split_once("<!-- records -->").unwrap_or((PAGE, "")).0;
        // The title first: its text must not be taken for one of the other marks.
        let (before, after) = page.split_once("<!-- title -->").unwrap_or((page, ""));
        out.write_all(before.replace("<!-- policy -->", &policy).as_bytes())?;
        out.write_all(escaped(&title(head)).as_bytes())?;
        out.write_all(after.replace("<!-- style -->", STYLE).as_bytes())
    }

    fn entry(&mut self, entry: &Entry<'_>, out: &mut dyn Write) -> io::Result<()> {
        self.column(entry);
        let mut record: Value = serde_json::from_str(entry.json)?;
        shorten(&mut record);
        let mut case = json!({ "record": record });
        if let Some(expected) = entry.expected() {
            case["expected"] = json!(expected);
        }
        if let Some(answer) = entry.answer() {
            let mut steps = json!({ "messages": answer.messages, "trace": answer.trace });
            shorten(&mut steps);
            case["steps"] = steps;
        }
        if let Some(place) = entry.place() {
            let file = place.file.display().to_string();
            case["rerun"] = json!(rerun(&file, &entry.record.eval_id, &entry.record.target));
            case["place"] = json!({ "file": file, "line": place.line });
        }
        write_json(&format!("case-{}", entry.index), &case, out)
    }

    fn end(
        &mut self,
        head: &Head<'_>,
        summary: &ReportSummary,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let data = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "results": head.results,
            "run": head.run,
            "summary": summary,
            "names": {
                "dataset": self.datasets.list,
                "target": self.targets.list,
                "tag": self.tags.list,
                "evaluator": self.evaluators.list,
            },
            "columns": self.columns,
        });
        write_json("report", &data, out)?;
        let rest = PAGE.split_once("<!-- records -->").unwrap_or((PAGE, "")).1;
        out.write_all(rest.replace("/* script */", &script()).as_bytes())
    }
}

impl Html {
    fn column(&mut self, entry: &Entry<'_>) {
        let record = entry.record;
        let columns = &mut self.columns;
        columns.id.push(record.eval_id.clone());
        columns.dataset.push(self.datasets.place(&record.dataset));
        columns.target.push(self.targets.place(&record.target));
        columns.trial.push(record.trial);
        columns.outcome.push(match entry.outcome {
            Outcome::Pass => 0,
            Outcome::Fail => 1,
            Outcome::Ungraded => 2,
            Outcome::Error => 3,
        });
        columns.score.push(record.score);
        columns.why.push(entry.why());
        columns.tags.push(record.tags.iter().map(|tag| self.tags.place(tag)).collect());
        let grades = record.evaluators.iter().map(|grade| {
            (self.evaluators.place(&grade.name), is_graded(grade).then_some(grade.score))
        });
        columns.grades.push(grades.collect());
        let used = entry.usage.total();
        columns.duration.push(record.metrics.duration_ms);
        columns.cost.push(used.cost_usd);
        columns.tokens.push(used.token_usage.map(|_| used.tokens()));
    }
}

/// What the page is called.
fn title(head: &Head<'_>) -> String {
    let name = head.run.map_or(head.results, |run| run.run.as_str());
    format!("AgentV report: {name}")
}

/// All modules as one: within a page without other files there is nothing to import from.
fn script() -> String {
    let mut script = String::new();
    for line in MODULES.iter().flat_map(|module| module.lines()) {
        if line.starts_with("import ") {
            continue;
        }
        script.push_str(line.strip_prefix("export ").unwrap_or(line));
        script.push('\n');
    }
    script
}

/// As a policy names a script or a style.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(agentv_runtime::hash::sha256(text)))
}

/// How to run this case again, for a shell.
fn rerun(file: &str, eval_id: &str, target: &str) -> String {
    let word = |word: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':');
        if !word.is_empty() && word.chars().all(plain) { word.to_owned() } else { quote(word) }
    };
    let mut pattern = String::new();
    for character in eval_id.chars() {
        // The flag takes a pattern, and this is to be the one case.
        match character {
            '*' | '?' | '[' | ']' | '{' | '}' => pattern.extend(['[', character, ']']),
            _ => pattern.push(character),
        }
    }
    format!("agentv eval {} --eval-id {} --target {}", word(file), word(&pattern), word(target))
}

/// Cuts texts that are too long, wherever they are.
fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > LONGEST => {
            let end = (0..=LONGEST).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
            let more = text.len() - end;
            text.truncate(end);
            text.push_str("\n… ");
            text.push_str(&crate::format::size(more as u64));
            text.push_str(" more");
        }
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        _ => {}
    }
}

/// An element of data. Without `<` nothing in it can end the element.
fn write_json(id: &str, value: &Value, out: &mut dyn Write) -> io::Result<()> {
    let text = number::to_string(value)?.replace('<', "\\u003c");
    writeln!(out, "<script type=\"application/json\" id=\"{id}\">{text}</script>")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_run_again_by_its_very_id() {
        assert_eq!(rerun("a.yaml", "x", "t"), "agentv eval a.yaml --eval-id x --target t");
        assert_eq!(
            rerun("a b.yaml", "x*'", "t"),
            r#"agentv eval 'a b.yaml' --eval-id 'x[*]'"'"'' --target t"#
        );
    }

    #[test]
    fn long_texts_are_cut_between_letters() {
        let mut value = json!({ "a": ["é".repeat(LONGEST)] });
        shorten(&mut value);
        let text = value["a"][0].as_str().unwrap();
        assert!(text.ends_with("é\n… 100.0 kB more"), "{}", &text[text.len() - 30..]);
    }

    #[test]
    fn the_script_imports_nothing_and_its_names_are_unique() {
        let script = script();
        assert!(
            !script.lines().any(|line| line.contains(" from \"./") || line.starts_with("export"))
        );
        let names = script.lines().filter_map(|line| {
            let rest = line.strip_prefix("async ").unwrap_or(line);
            let rest = rest.strip_prefix("function ").or_else(|| rest.strip_prefix("const "))?;
            rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()
        });
        let mut names: Vec<&str> = names.collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
