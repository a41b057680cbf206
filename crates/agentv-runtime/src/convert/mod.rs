//! An eval file in another format. What the other format cannot hold is said, and lost only if that is wanted.

mod records;
mod table;
mod yaml;

use crate::atomic_file::AtomicFile;
use crate::file_input;
use crate::load::{Format, Report, Written, has_cases, written};
use agentv_wire::Object;
use serde_json::Value;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// What is to be done.
#[derive(Debug)]
pub struct Conversion {
    pub input: PathBuf,
    /// Its ending says the format.
    pub out: PathBuf,
    pub yaml: YamlShape,
    /// Replace files that are there, and lose what cannot be held.
    pub force: bool,
}

/// What becomes of JSONL in YAML.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum YamlShape {
    /// A document for each line, whatever the lines are, as AgentV 2.x writes it.
    Documents,
    /// A suite that can be run.
    Suite,
}

/// What was done.
#[derive(Debug)]
pub struct Converted {
    pub records: usize,
    /// The file beside the dataset that the suite's own keys went to.
    pub settings: Option<PathBuf>,
    /// What people should know, in sentences.
    pub remarks: Vec<String>,
    /// Warnings about the input.
    pub report: Report,
}

/// Why nothing was written.
#[derive(Debug, Error)]
pub enum ConvertError {
    #[error("`{}` is not an eval file", .0.display())]
    Unknown(PathBuf),
    #[error("`{}` already is {}", path.display(), format.name())]
    SameFormat { path: PathBuf, format: Format },
    #[error("`{}` already exists", .0.display())]
    Exists(PathBuf),
    #[error("the settings of the suite would have to go to `{}`, which is the input", .0.display())]
    InTheWay(PathBuf),
    #[error("{format} cannot hold all of it: {}", lost.join(", "))]
    Lossy { format: &'static str, lost: Vec<String> },
    #[error("the input cannot be read")]
    Faulty(Report),
    #[error("{0}")]
    Records(#[from] crate::results_io::ResultsError),
    #[error("`{}` cannot be written", path.display())]
    Unwritable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Writes a file in another format. Nothing is written unless all of it can be.
pub fn convert(conversion: &Conversion) -> Result<Converted, ConvertError> {
    let Conversion { input, out, yaml, force } = conversion;
    let format =
        |path: &Path| Format::of(path).ok_or_else(|| ConvertError::Unknown(path.to_owned()));
    let (from, to) = (format(input)?, format(out)?);
    if from == to && input.extension() == out.extension() {
        return Err(ConvertError::SameFormat { path: input.clone(), format: from });
    }
    if out.exists() && !force {
        return Err(ConvertError::Exists(out.clone()));
    }
    if from == Format::Yaml && to == Format::Jsonl && !is_suite(input) {
        return records::to_lines(input, out, *force);
    }
    let (found, report) = written(input);
    let Some(found) = found else { return Err(ConvertError::Faulty(report)) };
    let as_documents = (from, to) == (Format::Jsonl, Format::Yaml) && *yaml == YamlShape::Documents;
    let place = if as_documents { Settings::Nowhere } else { settings(conversion, &found, to)? };
    let text = if as_documents {
        yaml::documents(&found.cases).ok_or_else(unwritable_yaml)?
    } else {
        render(&found, to, matches!(place, Settings::Inside), conversion)?
    };
    let settings = match place {
        Settings::Beside(path) => Some(path),
        Settings::Inside | Settings::Nowhere => None,
    };
    let beside =
        settings.as_deref().map(|path| prepare(path, &settings_text(path, &found)?)).transpose()?;
    let file = prepare(out, text.as_bytes())?;
    for file in beside.into_iter().chain([file]) {
        file.put(*force)?;
    }
    let remarks = remarks(conversion, &found, as_documents);
    Ok(Converted { records: found.cases.len(), settings, remarks, report })
}

/// A file that cannot be read is taken for a suite, and told of then.
fn is_suite(path: &Path) -> bool {
    file_input::read_to_string(path).map_or(true, |text| has_cases(&text))
}

/// Where the suite's own keys go.
enum Settings {
    Nowhere,
    /// Into the file itself.
    Inside,
    /// Into this file, which is to be written.
    Beside(PathBuf),
}

fn settings(
    conversion: &Conversion,
    found: &Written,
    to: Format,
) -> Result<Settings, ConvertError> {
    let Conversion { input, out, force, .. } = conversion;
    let beside = out.with_extension("yaml");
    let is_there = found.beside.as_deref().is_some_and(|path| is_same_file(path, &beside));
    if found.head.is_empty() || (is_there && to != Format::Yaml) {
        return Ok(Settings::Nowhere);
    }
    if matches!(to, Format::Json | Format::Yaml) {
        return Ok(Settings::Inside);
    }
    if is_same_file(input, &beside) {
        return Err(ConvertError::InTheWay(beside));
    }
    if beside.exists() && !force {
        return Err(ConvertError::Exists(beside));
    }
    Ok(Settings::Beside(beside))
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    one == other
        || matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

fn render(
    found: &Written,
    to: Format,
    with_head: bool,
    conversion: &Conversion,
) -> Result<String, ConvertError> {
    Ok(match to {
        Format::Yaml => yaml::text(&suite(found, with_head)).ok_or_else(unwritable_yaml)?,
        Format::Json if with_head => pretty(&suite(found, true)),
        Format::Json => pretty(&Value::Array(listed(&found.cases))),
        Format::Jsonl => found.cases.iter().fold(String::new(), |mut text, case| {
            let _ = writeln!(text, "{}", Value::Object(case.clone()));
            text
        }),
        Format::Csv => {
            let is_tsv =
                conversion.out.extension().is_some_and(|it| it.eq_ignore_ascii_case("tsv"));
            let table = table::of(&found.cases);
            if !table.lost.is_empty() && !conversion.force {
                return Err(ConvertError::Lossy { format: "CSV", lost: table.lost });
            }
            table.text(if is_tsv { b'\t' } else { b',' })
        }
    })
}

/// Texts and keys can be quoted, so this is about values that are too deep, or too many.
fn unwritable_yaml() -> ConvertError {
    ConvertError::Lossy { format: "YAML", lost: vec!["it would be read differently".to_owned()] }
}

fn suite(found: &Written, with_head: bool) -> Value {
    let mut suite = if with_head { found.head.clone() } else { Object::new() };
    suite.insert(found.list.to_owned(), Value::Array(listed(&found.cases)));
    Value::Object(suite)
}

fn listed(cases: &[Object]) -> Vec<Value> {
    cases.iter().cloned().map(Value::Object).collect()
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

/// A file beside the old dataset is copied as it is, comments and all.
fn settings_text(path: &Path, found: &Written) -> Result<Vec<u8>, ConvertError> {
    let Some(old) = &found.beside else {
        let text = yaml::text(&Value::Object(found.head.clone()));
        return text.map(String::into_bytes).ok_or_else(unwritable_yaml);
    };
    file_input::read(old)
        .map_err(|source| ConvertError::Unwritable { path: path.to_owned(), source })
}

/// A file that is whole, but not yet where it belongs: half a file would be worse than none.
struct Prepared<'p> {
    path: &'p Path,
    file: AtomicFile,
}

fn prepare<'p>(path: &'p Path, bytes: &[u8]) -> Result<Prepared<'p>, ConvertError> {
    let prepare = || {
        let mut file = AtomicFile::create(path)?;
        file.write_all(bytes)?;
        Ok(file)
    };
    match prepare() {
        Ok(file) => Ok(Prepared { path, file }),
        Err(source) => Err(ConvertError::Unwritable { path: path.to_owned(), source }),
    }
}

impl Prepared<'_> {
    fn put(self, force: bool) -> Result<(), ConvertError> {
        let Self { path, file } = self;
        let put = if force { file.commit_synced() } else { file.commit_new_synced() };
        let unwritable = |source| ConvertError::Unwritable { path: path.to_owned(), source };
        put.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => ConvertError::Exists(path.to_owned()),
            _ => unwritable(error),
        })
    }
}

fn remarks(conversion: &Conversion, found: &Written, as_documents: bool) -> Vec<String> {
    let Conversion { input, out, .. } = conversion;
    let mut remarks = Vec::new();
    if found.has_comments {
        remarks.push("comments are not carried over".to_owned());
    }
    let is_dataset =
        found.cases.iter().all(|case| case.contains_key("id") && !case.contains_key("eval_id"));
    if as_documents && is_dataset && !found.cases.is_empty() {
        let remark =
            "each case is a document of its own; `--suite` writes an eval suite that can be run";
        remarks.push(remark.to_owned());
    }
    if !as_documents && input.parent() != out.parent() {
        let remark = "files that cases refer to are now resolved from the new file's directory";
        remarks.push(remark.to_owned());
    }
    remarks
}

#[cfg(test)]
mod tests;
