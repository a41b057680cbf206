//! What a script printed, as a verdict.

use super::failure::ScriptFailure;
use crate::process::Captured;
use agentv_core::{Score, Verdict};
use agentv_wire::Object;
use serde_json::Value;

/// Reads the result. A `verdict` in it is ignored: the word follows from the score.
pub(in crate::evaluators) fn parse(stdout: &Captured) -> Result<Verdict, ScriptFailure> {
    if stdout.dropped() > 0 {
        return Err(ScriptFailure::TooLong { bytes: stdout.dropped() });
    }
    let text = stdout.text_lossy();
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return Err(ScriptFailure::Silent);
    }
    let printed = || text.to_owned();
    let value: Value = serde_json::from_str(text).map_err(|error| ScriptFailure::NotJson {
        reason: error.to_string(),
        printed: printed(),
    })?;
    let Value::Object(mut result) = value else {
        return Err(ScriptFailure::NotObject { printed: printed() });
    };
    let Some(score) = result.get("score").and_then(Value::as_f64) else {
        return Err(ScriptFailure::NoScore { printed: printed() });
    };
    let score = Score::checked(score).ok_or(ScriptFailure::ScoreRange { score })?;
    Ok(Verdict {
        hits: texts(&result, "hits"),
        misses: texts(&result, "misses"),
        reasoning: result.get("reasoning").and_then(Value::as_str).map(str::to_owned),
        details: details(&mut result)?,
        ..Verdict::of(score)
    })
}

/// What says something, of what should be a list of texts.
fn texts(result: &Object, key: &str) -> Vec<String> {
    let items = result.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let texts = items.iter().filter_map(Value::as_str).filter(|text| !text.trim().is_empty());
    texts.map(str::to_owned).collect()
}

/// Kept as it came. `null` is how many languages write that there are none.
fn details(result: &mut Object) -> Result<Option<Value>, ScriptFailure> {
    let found = match result.shift_remove("details") {
        None | Some(Value::Null) => return Ok(None),
        Some(details @ (Value::Object(_) | Value::Array(_))) => return Ok(Some(details)),
        Some(Value::String(_)) => "text",
        Some(Value::Number(_)) => "a number",
        Some(Value::Bool(_)) => "true or false",
    };
    Err(ScriptFailure::Details { found })
}
