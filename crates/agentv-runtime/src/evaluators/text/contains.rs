//! Whether the answer has some text in it.

use crate::config::{Fields, FromNode, Node, Wrong};
use crate::evaluators::shown::quoted;
use crate::evaluators::{Build, FromConfig};
use agentv_core::{EvalContext, Evaluator, EvaluatorError, Score, Verdict};
use async_trait::async_trait;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;

/// Looks for texts in the answer.
#[derive(Debug)]
pub struct Contains {
    config: ContainsConfig,
}

/// `type: contains`: the answer has some text in it.
#[derive(Debug, JsonSchema)]
pub struct ContainsConfig {
    /// The text to look for, or a list of them.
    pub value: Texts,
    /// Whether all of the texts are needed, or any one of them.
    #[serde(default)]
    pub mode: ContainsMode,
    /// Takes upper and lower case for the same.
    #[serde(default)]
    pub ignore_case: bool,
    /// Turns each text round: it must not be in the answer. With `mode: all` none of them may be there.
    #[serde(default)]
    pub negate: bool,
}

/// How many of the texts are needed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ContainsMode {
    #[default]
    All,
    Any,
}

/// One text or several; none is empty.
#[derive(Debug)]
pub struct Texts(Vec<String>);

impl FromConfig for Contains {
    const NAMES: &'static [&'static str] = &["contains"];
    type Config = ContainsConfig;

    fn read(fields: &mut Fields<'_, '_>, _build: &mut Build<'_>) -> Option<Self> {
        let value = fields.need("value");
        let mode = fields.take("mode").unwrap_or_default();
        let ignore_case = fields.take("ignore_case").unwrap_or(false);
        let negate = fields.take("negate").unwrap_or(false);
        Some(Self { config: ContainsConfig { value: value?, mode, ignore_case, negate } })
    }
}

#[async_trait]
impl Evaluator for Contains {
    async fn evaluate(&self, cx: &EvalContext<'_>) -> Result<Verdict, EvaluatorError> {
        let ContainsConfig { value, mode, ignore_case, negate } = &self.config;
        let folded = |text| if *ignore_case { lower_case(text) } else { Cow::Borrowed(text) };
        let answer = folded(&cx.candidate.answer);
        let mut verdict = Verdict::of(Score::ZERO);
        for text in &value.0 {
            let quoted = quoted(text);
            match (answer.contains(&*folded(text)), *negate) {
                (true, false) => verdict.hits.push(format!("Contains {quoted}")),
                (false, false) => verdict.misses.push(format!("Does not contain {quoted}")),
                (false, true) => verdict.hits.push(format!("Does not contain {quoted}")),
                (true, true) => {
                    verdict.misses.push(format!("Contains {quoted}, which it must not"));
                }
            }
        }
        let holds = match mode {
            ContainsMode::All => verdict.misses.is_empty(),
            ContainsMode::Any => !verdict.hits.is_empty(),
        };
        if holds {
            // With `any`, what else could have been there is nothing to complain of.
            verdict.misses.clear();
        }
        verdict.score = Score::all_or_nothing(holds);
        Ok(verdict)
    }
}

fn lower_case(text: &str) -> Cow<'_, str> {
    text.to_lowercase().into()
}

impl FromNode for ContainsMode {
    fn from_node(node: &Node<'_>) -> Result<Self, Wrong> {
        match node.as_text() {
            Some("all") => Ok(Self::All),
            Some("any") => Ok(Self::Any),
            _ => Err(Wrong { expected: "`all` or `any`" }),
        }
    }
}

impl FromNode for Texts {
    fn from_node(node: &Node<'_>) -> Result<Self, Wrong> {
        // Every answer contains the empty text, so looking for it is a mistake.
        let text = |node: &Node<'_>| Some(node.as_text().filter(|text| !text.is_empty())?.into());
        let texts: Option<Vec<String>> = match node.as_list() {
            Some(list) => list.iter().map(text).collect(),
            None => text(node).map(|text| vec![text]),
        };
        texts
            .filter(|texts| !texts.is_empty())
            .map(Self)
            .ok_or(Wrong { expected: "text, or a list of texts (a number needs quotes)" })
    }
}

impl JsonSchema for Texts {
    fn schema_name() -> Cow<'static, str> {
        "Texts".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            { "type": "string", "minLength": 1 },
            { "type": "array", "minItems": 1, "items": { "type": "string", "minLength": 1 } },
        ] })
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::Bench;
    use serde_json::{Value, json};

    #[track_caller]
    fn check(config: &Value, answer: &str, hits: &[&str], misses: &[&str]) {
        let verdict = Bench::new("contains", config).answer(answer);
        assert_eq!(verdict.hits, hits);
        assert_eq!(verdict.misses, misses);
        assert_eq!(verdict.score.value() > 0.5, misses.is_empty());
    }

    #[test]
    fn one_text() {
        check(&json!({ "value": "cd" }), "abcde", &["Contains \"cd\""], &[]);
        check(&json!({ "value": "CD" }), "abcde", &[], &["Does not contain \"CD\""]);
        check(
            &json!({ "value": "x".repeat(100) }),
            "",
            &[],
            &[&format!("Does not contain \"{}…\"", "x".repeat(80))],
        );
    }

    #[test]
    fn several_texts() {
        let config = |mode: &str| json!({ "value": ["a", "x"], "mode": mode });
        let (a, no_x) = ("Contains \"a\"", "Does not contain \"x\"");
        check(&config("all"), "abc", &[a], &[no_x]);
        check(&config("any"), "abc", &[a], &[]);
        check(&config("any"), "", &[], &["Does not contain \"a\"", no_x]);
    }

    #[test]
    fn letter_case_can_be_ignored() {
        let config = json!({ "value": "ÄB", "ignoreCase": true });
        check(&config, "xäbx", &["Contains \"ÄB\""], &[]);
    }

    #[test]
    fn negated_texts_must_be_absent() {
        let config = json!({ "value": ["a", "x"], "negate": true });
        check(&config, "abc", &["Does not contain \"x\""], &["Contains \"a\", which it must not"]);
        check(&config, "", &["Does not contain \"a\"", "Does not contain \"x\""], &[]);
    }

    #[test]
    fn there_must_be_something_to_look_for() {
        let wrong = "must be text, or a list of texts (a number needs quotes), not";
        for (value, shown) in [
            (json!(""), "empty text"),
            (json!([]), "a list"),
            (json!(["a", ""]), "a list"),
            (json!(42), "`42`"),
        ] {
            let notes = Bench::new("contains", &json!({ "value": value, "mode": "some" })).notes();
            assert_eq!(
                notes,
                [
                    format!("value: `value` of evaluator `e` {wrong} {shown}"),
                    "mode: `mode` of evaluator `e` must be `all` or `any`, not the text `some`"
                        .to_owned(),
                ]
            );
        }
    }
}
