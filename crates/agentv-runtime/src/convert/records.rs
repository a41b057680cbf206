//! YAML documents, say results, as JSONL.

use super::{ConvertError, Converted, prepare};
use crate::load::Report;
use crate::results_io::Reader;
use serde_json::Value;
use std::path::Path;

pub(super) fn to_lines(input: &Path, out: &Path, force: bool) -> Result<Converted, ConvertError> {
    let name = input.display().to_string();
    let mut reader = Reader::open(input, &name)?;
    let mut text = String::new();
    let mut records = 0;
    while reader.read::<Value>()?.is_some() {
        text.push_str(reader.json());
        text.push('\n');
        records += 1;
    }
    let torn =
        reader.torn().map(|line| format!("the record on line {line} was cut off and is left out"));
    prepare(out, text.as_bytes())?.put(force)?;
    let remarks = torn.into_iter().collect();
    Ok(Converted { records, settings: None, remarks, report: Report::default() })
}
