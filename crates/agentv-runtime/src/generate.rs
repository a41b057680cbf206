//! Asking a model to write what people would else write by hand.

use crate::deadline;
use crate::evaluators::json::first_object_where;
use crate::load::{NewRubric, Unrated};
use agentv_core::{CallContext, Candidate, EvalId, Provider, ProviderError, Request};
use serde_json::Value;
use std::fmt::Write;
use std::time::Duration;

/// How often a reply that cannot be read is asked for again.
const ASKS: usize = 3;

const CONTRACT: &str = r#"You write rubrics for evaluations. Reply with a single JSON object and nothing else:

{
  "rubrics": [
    {"id": "<short-kebab-case>", "expected_outcome": "<one checkable sentence>", "weight": <1 unless it matters more>, "required": <true or false>}
  ]
}

Write 3 to 7 rubrics. Each can be checked on its own from the answer alone, and none repeats another."#;

/// Makes rubrics for a case.
pub async fn rubrics(
    case: &Unrated,
    provider: &dyn Provider,
    time_limit: Option<Duration>,
    cx: &CallContext,
) -> Result<Vec<NewRubric>, ProviderError> {
    let mut question = format!("[[ ## expected_outcome ## ]]\n{}", case.expected_outcome.trim());
    let reference = case.reference_answer.as_deref().unwrap_or_default();
    for (name, text) in [("question", case.question.as_str()), ("reference_answer", reference)] {
        if !text.trim().is_empty() {
            // Writing to a string cannot fail.
            let _ = write!(question, "\n\n[[ ## {name} ## ]]\n{}", text.trim());
        }
    }
    let request = Request {
        system_prompt: Some(CONTRACT.to_owned()),
        ..Request::plain(&EvalId::from(case.id.as_str()), question)
    };
    for _ in 0..ASKS {
        let call = cx.child();
        let answering = async {
            provider.prepare(&call).await?;
            provider.invoke(&request, &call).await
        };
        let response = deadline::within(time_limit, answering, &call, "the target").await?;
        if let Some(rubrics) = read(&Candidate::new(response, Duration::ZERO, &[]).answer) {
            return Ok(rubrics);
        }
    }
    Err(ProviderError::failed(format!("the target gave no readable rubrics in {ASKS} attempts")))
}

fn read(answer: &str) -> Option<Vec<NewRubric>> {
    let reply =
        first_object_where(answer, |object| object.get("rubrics").is_some_and(Value::is_array))?;
    let items = reply.get("rubrics")?.as_array()?;
    let rubrics: Option<Vec<NewRubric>> = items.iter().map(one).collect();
    rubrics.filter(|rubrics| !rubrics.is_empty())
}

fn one(item: &Value) -> Option<NewRubric> {
    let text = |key: &str| {
        item.get(key).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
    };
    let weight = item
        .get("weight")
        .and_then(Value::as_f64)
        .filter(|weight| weight.is_finite() && *weight >= 0.0);
    Some(NewRubric {
        id: text("id")?.to_owned(),
        expected_outcome: text("expected_outcome")?.to_owned(),
        weight: weight.unwrap_or(1.0),
        required: item.get("required").and_then(Value::as_bool).unwrap_or(true),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_read_with_its_defaults() {
        let reply = r#"Sure: {"rubrics": [{"id": "a", "expected_outcome": " x ", "weight": 2}]}"#;
        let expected = NewRubric {
            id: "a".to_owned(),
            expected_outcome: "x".to_owned(),
            weight: 2.0,
            required: true,
        };
        assert_eq!(read(reply), Some(vec![expected]));
        for reply in
            ["", "{\"rubrics\": []}", "{\"rubrics\": [{\"id\": \"a\"}]}", "{\"rubrics\": 3}"]
        {
            assert_eq!(read(reply), None, "{reply}");
        }
    }
}
