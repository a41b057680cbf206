//! Values as YAML that people like to read: indented by two, texts of several lines as blocks, no line folded.

use crate::load::yaml_value;
use agentv_wire::Object;
use serde_json::Value;
use serde_saphyr::SerializerOptions;

/// One document, without a marker. `None` if no YAML would be read as this value.
pub(super) fn text(value: &Value) -> Option<String> {
    let pretty = serde_saphyr::ser_options! {
        compact_list_indent: false,
        folded_wrap_chars: usize::MAX,
    };
    // Whatever a text holds, it must be read as what it was.
    let plain = serde_saphyr::ser_options! { quote_all: true, prefer_block_scalars: false };
    rendered(value, pretty).or_else(|| rendered(value, plain))
}

/// `None` if it would be read differently value.
fn rendered(value: &Value, options: SerializerOptions) -> Option<String> {
    let text = serde_saphyr::to_string_with_options(value, options).ok()?;
    let text = format!("{}\n", text.trim_start_matches("---\n").trim_end_matches('\n'));
    (yaml_value(&text).as_ref() == Ok(value)).then_some(text)
}

/// A document for each record.
pub(super) fn documents(records: &[Object]) -> Option<String> {
    let documents = records.iter().map(|record| text(&Value::Object(record.clone())));
    let documents: Option<Vec<String>> =
        documents.map(|text| Some(format!("---\n{}", text?))).collect();
    Some(documents?.join("\n"))
}
