//! `field_accuracy`: compares fields of a JSON answer with the expected ones.

mod compare;
mod config;
mod date;
mod expected;
mod path;
#[cfg(test)]
mod tests;

pub use config::{Aggregation, FieldAccuracyConfig, FieldConfig, Match};

use super::{Build, FromConfig, json};
use crate::config::Fields;
use agentv_core::score::aggregate;
use agentv_core::{EvalContext, Evaluator, EvaluatorError, Score, Verdict, Weight};
use async_trait::async_trait;
use config::Field;
use serde_json::Value;

/// How many hits, and how many misses, are told.
const TOLD: usize = 4;

/// Compares field by field. Makes no calls.
#[derive(Debug)]
pub struct FieldAccuracy {
    fields: Vec<Field>,
    aggregation: Aggregation,
}

impl FromConfig for FieldAccuracy {
    const NAMES: &'static [&'static str] = &["field_accuracy", "field-accuracy"];
    type Config = FieldAccuracyConfig;

    fn read(fields: &mut Fields<'_, '_>, _build: &mut Build<'_>) -> Option<Self> {
        let list = config::read(fields);
        let aggregation = fields.take("aggregation").unwrap_or_default();
        Some(Self { fields: list?, aggregation })
    }
}

#[async_trait]
impl Evaluator for FieldAccuracy {
    async fn evaluate(&self, cx: &EvalContext<'_>) -> Result<Verdict, EvaluatorError> {
        let Some(candidate) = json::first_value(&cx.candidate.answer) else {
            return Ok(Verdict::miss("Failed to parse candidate answer as JSON"));
        };
        let Some(expected) = expected::data(&cx.case.expected_messages) else {
            return Ok(Verdict::miss("No expected data found in expected_messages"));
        };
        Ok(self.grade(&candidate, &expected))
    }
}

impl FieldAccuracy {
    fn grade(&self, candidate: &Value, expected: &Value) -> Verdict {
        let (mut hits, mut misses, mut parts) = (Vec::new(), Vec::new(), Vec::new());
        for field in &self.fields {
            let Outcome { met, weight, text } = field.grade(candidate, expected);
            if met {
                hits.push(text);
            } else {
                misses.push(text);
            }
            parts.extend(weight.map(|weight| (Score::all_or_nothing(met), weight)));
        }
        let score = match self.aggregation {
            Aggregation::WeightedAverage => aggregate(parts),
            Aggregation::AllOrNothing => Score::all_or_nothing(misses.is_empty()),
        };
        let reasoning = format!("{}/{} fields matched", hits.len(), self.fields.len());
        hits.truncate(TOLD);
        misses.truncate(TOLD);
        Verdict { hits, misses, ..Verdict::of(score) }.because(reasoning)
    }
}

/// What became of one field.
struct Outcome {
    met: bool,
    /// What it counts for in the mean; `None` if it is not counted.
    weight: Option<Weight>,
    text: String,
}

impl Field {
    fn grade(&self, candidate: &Value, expected: &Value) -> Outcome {
        let path = &self.written;
        let outcome = |met, text| Outcome { met, weight: Some(self.weight), text };
        match (self.path.find(candidate), self.path.find(expected)) {
            (_, None) => outcome(true, format!("{path}: no expected value")),
            (None, Some(_)) if self.required => {
                outcome(false, format!("{path} (required, missing)"))
            }
            (None, Some(_)) => {
                Outcome { met: true, weight: None, text: format!("{path}: optional field missing") }
            }
            (Some(got), Some(wanted)) => match self.comparison.compare(got, wanted) {
                Ok(None) => outcome(true, path.clone()),
                Ok(Some(remark)) => outcome(true, format!("{path} ({remark})")),
                Err(remark) => outcome(false, format!("{path} ({remark})")),
            },
        }
    }
}
