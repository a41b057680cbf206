//! Whether the answer is some text.

use crate::config::Fields;
use crate::evaluators::shown::quoted;
use crate::evaluators::{Build, FromConfig};
use agentv_core::{EvalContext, Evaluator, EvaluatorError, Verdict};
use async_trait::async_trait;
use schemars::JsonSchema;
use std::borrow::Cow;

/// How many characters of agreement are shown before a difference.
const LEAD: usize = 20;

/// Compares the answer with a text.
#[derive(Debug)]
pub struct Equals {
    config: EqualsConfig,
}

/// `type: equals`: the answer is this text and nothing else.
#[derive(Debug, JsonSchema)]
pub struct EqualsConfig {
    /// The text. The default is the case's reference answer: its last expected message.
    #[serde(default)]
    pub value: Option<String>,
    /// Leaves out blank space around both texts. The default is `true`.
    #[serde(default = "yes")]
    pub trim: bool,
    /// Takes upper and lower case for the same.
    #[serde(default)]
    pub ignore_case: bool,
}

fn yes() -> bool {
    true
}

impl FromConfig for Equals {
    const NAMES: &'static [&'static str] = &["equals"];
    type Config = EqualsConfig;

    fn read(fields: &mut Fields<'_, '_>, _build: &mut Build<'_>) -> Option<Self> {
        let value = fields.take("value");
        let trim = fields.take("trim").unwrap_or_else(yes);
        let ignore_case = fields.take("ignore_case").unwrap_or(false);
        Some(Self { config: EqualsConfig { value, trim, ignore_case } })
    }
}

#[async_trait]
impl Evaluator for Equals {
    async fn evaluate(&self, cx: &EvalContext<'_>) -> Result<Verdict, EvaluatorError> {
        let wanted = match &self.config.value {
            Some(value) => Cow::Borrowed(value.as_str()),
            None => Cow::Owned(cx.case.reference_answer()),
        };
        if self.config.value.is_none() && wanted.is_empty() {
            return Ok(Verdict::miss(
                "Nothing to compare with: neither `value` nor an expected message is given",
            ));
        }
        let wanted = self.prepared(&wanted);
        let answer = self.prepared(&cx.candidate.answer);
        Ok(if answer == wanted {
            Verdict::hit(format!("Equals {}", quoted(&wanted)))
        } else {
            Verdict::miss(difference(&answer, &wanted))
        })
    }
}

impl Equals {
    fn prepared<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let text = if self.config.trim { text.trim() } else { text };
        if self.config.ignore_case { text.to_lowercase().into() } else { text.into() }
    }
}

/// Long texts are shown from shortly before the place where they part.
fn difference(answer: &str, wanted: &str) -> String {
    let same = answer.chars().zip(wanted.chars()).take_while(|(a, b)| a == b).count();
    let skipped = same.saturating_sub(LEAD);
    let rest = |text: &str| quoted(&text.chars().skip(skipped).collect::<String>());
    let (got, expected) = (rest(answer), rest(wanted));
    if skipped == 0 {
        return format!("Expected {expected}, got {got}");
    }
    format!("Differs from character {} on: expected …{expected}, got …{got}", same + 1)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::Bench;
    use serde_json::{Value, json};

    #[track_caller]
    fn check(config: &Value, answer: &str, score: f64, text: &str) {
        let bench = Bench::new("equals", config).expecting(&json!("reference"));
        let verdict = bench.answer(answer);
        assert_eq!([verdict.hits, verdict.misses].concat(), [text]);
        assert_eq!(verdict.score, agentv_core::Score::clamped(score));
    }

    #[test]
    fn the_whole_answer_counts() {
        check(&json!({ "value": "42" }), " 42\n", 1.0, "Equals \"42\"");
        check(&json!({ "value": "42" }), "42!", 0.0, "Expected \"42\", got \"42!\"");
        check(&json!({ "value": "" }), " ", 1.0, "Equals \"\"");
    }

    #[test]
    fn blank_space_and_letter_case_can_count_or_not() {
        let config = json!({ "value": "A", "trim": false });
        check(&config, "A\n", 0.0, "Expected \"A\", got \"A\\n\"");
        check(&json!({ "value": "A", "ignore_case": true }), "a", 1.0, "Equals \"a\"");
    }

    #[test]
    fn the_reference_answer_is_the_default() {
        check(&json!({}), "reference", 1.0, "Equals \"reference\"");
        let verdict = Bench::new("equals", &json!({})).answer("x");
        assert_eq!(
            verdict.misses,
            ["Nothing to compare with: neither `value` nor an expected message is given"]
        );
    }

    #[test]
    fn a_late_difference_is_shown_where_it_is() {
        let same = "é".repeat(500);
        check(
            &json!({ "value": format!("{same}a") }),
            &format!("{same}b"),
            0.0,
            &format!(
                "Differs from character 501 on: expected …\"{0}a\", got …\"{0}b\"",
                "é".repeat(20)
            ),
        );
    }

    #[test]
    fn a_value_is_text() {
        assert_eq!(
            Bench::new("equals", &json!({ "value": 42 })).notes(),
            ["value: `value` of evaluator `e` must be text, not `42`"]
        );
    }
}
