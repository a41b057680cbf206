//! What a judge is told to say, and what it said → a verdict.

use super::json::first_object_where;
use agentv_core::Verdict;
use serde_json::Value;

/// The rules of the reply. They hold for custom prompts, too.
pub(super) const CONTRACT: &str = r#"You grade answers. Reply with a single JSON object and nothing else: no prose, no code fence.

{
  "score": <a number from 0.0 to 1.0>,
  "hits": [<at most 4 short strings: what the answer does right>],
  "misses": [<at most 4 short strings: what it gets wrong or leaves out>],
  "reasoning": "<one or two sentences>"
}"#;

/// How many hits, and how many misses, are kept.
const KEPT: usize = 4;

/// The first JSON object with a score, bare or in the middle of prose. `None` if there is none.
pub(super) fn read(text: &str) -> Option<Verdict> {
    let object =
        first_object_where(text, |object| object.get("score").is_some_and(Value::is_number))?;
    let reasoning = object
        .get("reasoning")
        .and_then(Value::as_str)
        .map(str::trim)
        .filter(|text| !text.is_empty());
    Some(Verdict {
        hits: texts(object.get("hits")),
        misses: texts(object.get("misses")),
        reasoning: reasoning.map(str::to_owned),
        ..Verdict::of_model(object.get("score")?.as_f64()?)
    })
}

/// The texts of a list that say something. What is no list is no texts.
fn texts(value: Option<&Value>) -> Vec<String> {
    let items = value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let said =
        items.iter().filter_map(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    said.take(KEPT).map(str::to_owned).collect()
}
