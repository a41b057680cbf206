//! One record after the other, from JSONL or YAML.

use crate::file_input::{self, RECORD_CAP};
use crate::load::yaml_value;
use crate::run_dir::LinePlace;
use crate::writers::WriterKind;
use agentv_wire::number;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;
use thiserror::Error;

/// Why results cannot be read.
#[derive(Debug, Error)]
pub enum ResultsError {
    #[error("`{name}`: {problem}")]
    Missing { name: String, problem: String },
    #[error("`{path}` cannot be read")]
    Unreadable {
        path: String,
        #[source]
        source: io::Error,
    },
    #[error("{path}:{line}: not a result: {problem}")]
    Malformed { path: String, line: usize, problem: String },
}

/// Reads a file of results. Blank lines are skipped.
#[derive(Debug)]
pub struct Reader {
    /// For messages.
    path: String,
    format: Format,
    input: BufReader<File>,
    /// The record that was read last, as it is in the file.
    raw: Vec<u8>,
    /// The same as JSON, if it is not.
    converted: String,
    /// The line on which that record starts, from 1.
    line: usize,
    /// Lines that were taken from the input.
    lines: usize,
    /// Bytes that were taken from the input.
    taken: u64,
    /// The start of the next YAML document, which ended the one before.
    carried: Vec<u8>,
    records: usize,
    torn: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Jsonl,
    Yaml,
}

impl Reader {
    /// Files that end in `.yaml` or `.yml` are YAML, all others are JSONL. `name` is how messages call the file.
    pub fn open(path: &Path, name: &str) -> Result<Self, ResultsError> {
        let unreadable = |source| ResultsError::Unreadable { path: name.to_owned(), source };
        let is_yaml = WriterKind::of_path(path).name == "yaml";
        Ok(Self {
            path: name.to_owned(),
            format: if is_yaml { Format::Yaml } else { Format::Jsonl },
            input: BufReader::with_capacity(
                64 * 1024,
                file_input::open_argument(path).map_err(unreadable)?,
            ),
            raw: Vec::new(),
            converted: String::new(),
            line: 0,
            lines: 0,
            taken: 0,
            carried: Vec::new(),
            records: 0,
            torn: None,
        })
    }

    /// The next record, or `None` at the end.
    pub fn read<T: DeserializeOwned>(&mut self) -> Result<Option<T>, ResultsError> {
        let found = match self.format {
            Format::Jsonl => self.next_line(),
            Format::Yaml => self.next_document(),
        };
        let found =
            found.map_err(|source| ResultsError::Unreadable { path: self.path.clone(), source })?;
        if !found {
            return Ok(None);
        }
        let parsed = match self.format {
            Format::Jsonl => parse_line(&self.raw),
            Format::Yaml => self.parse_document(),
        };
        match parsed {
            Ok(record) => {
                self.records += 1;
                Ok(Some(record))
            }
            Err(fault) if self.is_torn(&fault) => {
                self.torn = Some(self.line);
                Ok(None)
            }
            Err(Fault { problem, .. }) => {
                let (path, line) = (self.path.clone(), self.line);
                Err(ResultsError::Malformed { path, line, problem })
            }
        }
    }

    /// The record that was read last, as JSON without line breaks.
    pub fn json(&self) -> &str {
        match self.format {
            Format::Jsonl => std::str::from_utf8(content(&self.raw)).unwrap_or_default(),
            Format::Yaml => &self.converted,
        }
    }

    /// Where in the file the record that was read last is. Only lines can be read again alone.
    pub fn place(&self) -> Option<LinePlace> {
        let bytes = self.raw.len();
        (self.format == Format::Jsonl).then(|| LinePlace { at: self.taken - bytes as u64, bytes })
    }

    /// The line on which the record that was read last starts.
    pub fn line(&self) -> usize {
        self.line
    }

    /// The line of a last record that was cut off, once the end was reached.
    pub fn torn(&self) -> Option<usize> {
        self.torn
    }

    fn next_line(&mut self) -> io::Result<bool> {
        loop {
            self.raw.clear();
            if file_input::read_line(&mut self.input, &mut self.raw, RECORD_CAP)? == 0 {
                return Ok(false);
            }
            self.lines += 1;
            self.taken += self.raw.len() as u64;
            self.line = self.lines;
            if !content(&self.raw).is_empty() {
                return Ok(true);
            }
        }
    }

    /// A line that starts with `---` starts a document; inside of one it cannot stand.
    fn next_document(&mut self) -> io::Result<bool> {
        self.raw.clear();
        self.raw.append(&mut self.carried);
        self.line = self.lines.max(1);
        loop {
            let start = self.raw.len();
            let left = RECORD_CAP.saturating_sub(start as u64);
            if file_input::read_line(&mut self.input, &mut self.raw, left)? == 0 {
                return Ok(has_content(&self.raw));
            }
            self.lines += 1;
            if !is_marker(&self.raw[start..]) {
                continue;
            }
            self.carried = self.raw.split_off(start);
            if has_content(&self.raw) {
                return Ok(true);
            }
            self.raw = std::mem::take(&mut self.carried);
            self.line = self.lines;
        }
    }

    fn parse_document<T: DeserializeOwned>(&mut self) -> Result<T, Fault> {
        let text = std::str::from_utf8(&self.raw).map_err(|error| Fault::form(&error))?;
        let value = yaml_value(text).map_err(|error| Fault::form(&error))?;
        if !value.is_object() {
            return Err(Fault::content("it is not a mapping"));
        }
        self.converted = number::to_string(&value).map_err(|error| Fault::form(&error))?;
        serde_json::from_str(&self.converted).map_err(|error| Fault::of(&error))
    }

    /// Whether the end of the file came too early. A whole value of the wrong shape is no such case, and neither is a
    /// file that never was one of results.
    fn is_torn(&mut self, fault: &Fault) -> bool {
        match self.format {
            Format::Jsonl => {
                let begins =
                    content(&self.raw).first().is_some_and(|byte| matches!(byte, b'{' | 0));
                !self.raw.ends_with(b"\n") && fault.is_form && begins
            }
            // A document that lost some of its lines is still YAML.
            Format::Yaml => self.records > 0 && self.carried.is_empty(),
        }
    }
}

/// Why a piece of a file is no record.
struct Fault {
    problem: String,
    /// It is not even JSON or YAML.
    is_form: bool,
}

impl Fault {
    fn form(problem: &impl ToString) -> Self {
        Self { problem: problem.to_string(), is_form: true }
    }

    fn content(problem: &str) -> Self {
        Self { problem: problem.to_owned(), is_form: false }
    }

    /// The parser counts lines from the start of the record, where there is only one.
    fn of(error: &serde_json::Error) -> Self {
        let text = error.to_string();
        let problem = text.split(" at line ").next().unwrap_or_default().to_owned();
        Self { problem, is_form: !error.is_data() }
    }
}

fn parse_line<T: DeserializeOwned>(raw: &[u8]) -> Result<T, Fault> {
    let content = content(raw);
    // A list would be taken for the values of a record.
    if content.starts_with(b"[") {
        return Err(Fault::content("it is a list and no object"));
    }
    // Looked at as a whole: the parser passes over fields without reading their letters.
    let text = std::str::from_utf8(content).map_err(|_| Fault::form(&"it is not UTF-8"))?;
    serde_json::from_str(text).map_err(|error| Fault::of(&error))
}

/// A line without the mark that some editors put before the first.
fn content(raw: &[u8]) -> &[u8] {
    raw.strip_prefix("\u{feff}".as_bytes()).unwrap_or(raw).trim_ascii()
}

fn is_marker(line: &[u8]) -> bool {
    line.strip_prefix(b"---").is_some_and(|rest| rest.first().is_none_or(u8::is_ascii_whitespace))
}

/// Whether there is more than a marker.
fn has_content(document: &[u8]) -> bool {
    let document = document.trim_ascii();
    !document.is_empty() && document != b"---"
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use std::io::Write as _;

    #[derive(Debug, Deserialize)]
    struct Case {
        eval_id: String,
    }

    /// Ids with their lines, and the line of a torn tail; or what is wrong.
    fn read(extension: &str, text: &[u8]) -> Result<(String, Option<usize>), String> {
        let mut file = tempfile::Builder::new().suffix(extension).tempfile().unwrap();
        file.write_all(text).unwrap();
        let mut reader = Reader::open(file.path(), "file").unwrap();
        let mut ids = Vec::new();
        loop {
            match reader.read::<Case>() {
                Ok(Some(case)) => ids.push(format!("{}@{}", case.eval_id, reader.line())),
                Ok(None) => return Ok((ids.join(" "), reader.torn())),
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    #[track_caller]
    fn check(extension: &str, text: impl AsRef<[u8]>, expected: &str, torn: Option<usize>) {
        assert_eq!(read(extension, text.as_ref()), Ok((expected.to_owned(), torn)));
    }

    #[track_caller]
    fn refuses(extension: &str, text: impl AsRef<[u8]>, expected: &str) {
        assert_eq!(read(extension, text.as_ref()), Err(expected.to_owned()));
    }

    #[test]
    fn lines_are_records() {
        check(".jsonl", "", "", None);
        check(".jsonl", "\u{feff}{\"eval_id\":\"a\"}\r\n\n  {\"eval_id\":\"b\"}", "a@1 b@3", None);
    }

    #[test]
    fn a_torn_tail_is_left_out() {
        check(".jsonl", "{\"eval_id\":\"a\"}\n{\"eval_id\":\"b\",\"sc", "a@1", Some(2));
        check(".jsonl", "{\"eval_id\":\"a\"}\n{\"eval_id\":\"b", "a@1", Some(2));
        check(".jsonl", "{\"eval_id\":\"", "", Some(1));
        // Cut within a letter, and zeros where the system did not get to write.
        check(".jsonl", b"{\"eval_id\":\"a\"}\n{\"eval_id\":\"\xc3", "a@1", Some(2));
        check(".jsonl", b"{\"eval_id\":\"a\"}\n\0\0\0\0", "a@1", Some(2));
    }

    #[test]
    fn anything_else_is_an_error_with_its_line() {
        refuses(
            ".jsonl",
            "{\"eval_id\":\"a\"}\n{\"eval\n{}\n",
            "file:2: not a result: EOF while parsing a string",
        );
        refuses(".jsonl", "{}\n", "file:1: not a result: missing field `eval_id`");
        refuses(".jsonl", "{\"x\":1}", "file:1: not a result: missing field `eval_id`");
        refuses(".jsonl", "[\"a\"]\n", "file:1: not a result: it is a list and no object");
        // In a field that is not read, too: a copy of the record would lose it.
        refuses(
            ".jsonl",
            b"{\"eval_id\":\"a\",\"x\":\"\xff\"}\n",
            "file:1: not a result: it is not UTF-8",
        );
        refuses(".jsonl", "eval_id: a", "file:1: not a result: expected value");
    }

    #[test]
    fn documents_are_records() {
        check(".yaml", "---\neval_id: a\n\n---\neval_id: b\n", "a@1 b@4", None);
        check(".yml", "eval_id: a\ntext: |\n  ---\n---\neval_id: b", "a@1 b@4", None);
        check(".yaml", "\n", "", None);
    }

    #[test]
    fn a_torn_document_is_left_out_and_a_bad_one_is_not() {
        check(".yaml", "---\neval_id: a\n---\ntimest", "a@1", Some(3));
        refuses(".yaml", "---\nx: 1\n", "file:1: not a result: missing field `eval_id`");
        refuses(".yaml", "---\nx\n---\neval_id: a\n", "file:1: not a result: it is not a mapping");
    }
}
