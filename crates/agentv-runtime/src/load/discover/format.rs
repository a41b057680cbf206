//! Which files are eval files, by their names; the one place that says so.

use crate::config::{Node, Notes};
use crate::file_input::{self, CAP};
use crate::load::dataset::csv_header;
use crate::load::suite::defaults::TEXTS;
use crate::load::suite::head::CASES;
use crate::load::syntax::{json, yaml};
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// How an eval file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Yaml,
    Jsonl,
    Json,
    /// Comma-separated, or by whatever the header is.
    Csv,
}

impl Format {
    /// What the names of eval files end in, for messages.
    pub const ENDINGS: &'static str = ".yaml, .yml, .jsonl, .json, .csv or .tsv";

    /// By the ending of a file's name. `None` if it is no eval file.
    pub fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        Some(match extension.as_str() {
            "yaml" | "yml" => Self::Yaml,
            "jsonl" => Self::Jsonl,
            "json" => Self::Json,
            "csv" | "tsv" => Self::Csv,
            _ => return None,
        })
    }

    /// What it is called in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Yaml => "YAML",
            Self::Jsonl => "JSONL",
            Self::Json => "JSON",
            Self::Csv => "CSV",
        }
    }
}

/// Where the settings of a dataset stand: the YAML file of the same name. Suites in YAML have theirs inside.
pub(in crate::load) fn sidecar(dataset: &Path) -> Option<PathBuf> {
    let format = Format::of(dataset)?;
    (format != Format::Yaml).then(|| dataset.with_extension("yaml"))
}

/// Whether a YAML file only says something about the dataset beside it. One with cases is a suite of its own.
pub(in crate::load) fn is_sidecar(path: &Path) -> bool {
    let beside = |ending: &&str| path.with_extension(ending).is_file();
    path.extension().is_some_and(|extension| extension == "yaml")
        && ["jsonl", "json", "csv", "tsv"].iter().any(beside)
        && file_input::read_to_string(path).is_ok_and(|text| is_about_dataset(&text))
}

/// Whether a YAML text beside a dataset can be settings: it has no cases, and is no list of records, say of `convert`.
pub(in crate::load) fn is_about_dataset(text: &str) -> bool {
    !has_cases(text) && !has_records(text)
}

/// Whether a YAML text is records, each a document of its own.
fn has_records(text: &str) -> bool {
    let is_record = |root: Node<'_>| root.get("id").or(root.get("eval_id")).is_some();
    text.lines().filter(|line| *line == "---").count() > 1
        || yaml::parse(text, &mut Notes::new("")).is_some_and(is_record)
}

/// Whether a file holds cases, by its name and by a look into it. A YAML file that is broken does: better to complain about
/// one too many than to pass one over. Many files are JSON or CSV, so these must look like it.
pub fn is_eval_file(path: &Path) -> bool {
    let Some(format) = Format::of(path) else { return false };
    let is_named = path.file_name().is_some_and(|name| name.to_string_lossy().contains(".eval."));
    match format {
        Format::Yaml if is_sidecar(path) => false,
        Format::Jsonl => !has_results(path),
        _ if is_named => true,
        Format::Yaml => file_input::read_to_string(path).map_or(true, |text| {
            has_cases(&text)
                || (yaml::parse(&text, &mut Notes::new(path)).is_none() && !has_records(&text))
        }),
        Format::Json => file_input::read_to_string(path).is_ok_and(|text| is_json_suite(&text)),
        Format::Csv => csv_header::looks_like_cases(path),
    }
}

/// Whether a YAML text has a list of cases. Mostly that is cheap to see, and the list may be long.
pub fn has_cases(text: &str) -> bool {
    let at_left_edge =
        text.lines().any(|line| line.split_once(':').is_some_and(|(key, _)| CASES.contains(&key)));
    at_left_edge || yaml::parse(text, &mut Notes::new("")).is_some_and(|root| lists_cases(&root))
}

fn lists_cases(root: &Node<'_>) -> bool {
    CASES.iter().any(|key| root.get(key).is_some())
}

/// Whether a file holds cases by what is in it alone, for directories that may hold all kinds of files.
pub(super) fn shows_cases(path: &Path) -> bool {
    match Format::of(path) {
        Some(Format::Yaml) => {
            !is_sidecar(path) && file_input::read_to_string(path).is_ok_and(|text| has_cases(&text))
        }
        Some(Format::Jsonl) => first_line(path, is_case),
        Some(Format::Json | Format::Csv) => is_eval_file(path),
        None => false,
    }
}

/// Whether the first line is a record of a run.
fn has_results(path: &Path) -> bool {
    first_line(path, |record| record.get("eval_id").is_some() && record.get("id").is_none())
}

/// Whether the first line is JSON of this kind.
fn first_line(path: &Path, is_kind: impl Fn(&Node<'_>) -> bool) -> bool {
    let mut line = Vec::new();
    let read = file_input::open(path)
        .and_then(|file| file_input::read_line(&mut BufReader::new(file), &mut line, CAP));
    let line = read.ok().and_then(|_| std::str::from_utf8(&line).ok()).unwrap_or_default();
    json::parse(line.trim_start_matches('\u{feff}')).is_ok_and(|record| is_kind(&record))
}

fn is_case(item: &Node<'_>) -> bool {
    item.get("id").is_some()
        && TEXTS.iter().any(|keys| keys.iter().any(|key| item.get(key).is_some()))
}

fn is_json_suite(text: &str) -> bool {
    let Ok(root) = json::parse(text.strip_prefix('\u{feff}').unwrap_or(text)) else { return false };
    match root.as_list() {
        Some(items) => items.first().is_some_and(is_case),
        None => lists_cases(&root),
    }
}
