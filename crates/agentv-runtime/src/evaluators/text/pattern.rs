//! Whether a regular expression matches the answer.

use crate::config::{Fields, FromNode, Node, Span, Wrong};
use crate::evaluators::shown::{clipped, quoted};
use crate::evaluators::{Build, FromConfig};
use agentv_core::{EvalContext, Evaluator, EvaluatorError, Verdict};
use async_trait::async_trait;
use regex::{Regex, RegexBuilder};
use schemars::JsonSchema;

/// The most memory that a compiled pattern, and the cache of a search with it, may take: `(\w{99}){99}` wants gigabytes.
const MEMORY: usize = 10 << 20;

/// Matches the answer against a pattern.
#[derive(Debug)]
pub struct Pattern {
    regex: Regex,
    negate: bool,
}

/// `type: regex`: the answer matches a regular expression, anywhere unless `^` and `$` say otherwise.
///
/// The syntax is that of the [`regex` crate](https://docs.rs/regex/latest/regex/#syntax): like Perl's, without look-around
/// and backreferences, and in return never slow.
#[derive(Debug, JsonSchema)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of its own")]
pub struct PatternConfig {
    /// The regular expression. `value` is another name for it.
    pub pattern: String,
    /// Takes upper and lower case for the same.
    #[serde(default)]
    pub ignore_case: bool,
    /// Lets `^` and `$` match at the beginning and end of each line.
    #[serde(default)]
    pub multi_line: bool,
    /// Lets `.` match the end of a line, too.
    #[serde(default)]
    pub dot_all: bool,
    /// Turns the check round: nothing in the answer may match.
    #[serde(default)]
    pub negate: bool,
}

impl FromConfig for Pattern {
    const NAMES: &'static [&'static str] = &["regex"];
    type Config = PatternConfig;

    fn read(fields: &mut Fields<'_, '_>, _build: &mut Build<'_>) -> Option<Self> {
        let pattern: Option<Written> = fields.need_of(&["pattern", "value"]);
        let ignore_case = fields.take("ignore_case").unwrap_or(false);
        let multi_line = fields.take("multi_line").unwrap_or(false);
        let dot_all = fields.take("dot_all").unwrap_or(false);
        let negate = fields.take("negate").unwrap_or(false);
        let Written { text, span } = pattern?;
        let built = RegexBuilder::new(&text)
            .case_insensitive(ignore_case)
            .multi_line(multi_line)
            .dot_matches_new_line(dot_all)
            .size_limit(MEMORY)
            .dfa_size_limit(MEMORY)
            .build();
        match built {
            Ok(regex) => Some(Self { regex, negate }),
            Err(error) => {
                let message = format!("`pattern` of {} {}", fields.owner(), complaint(&error));
                fields.error_at("regex::pattern", span, message);
                None
            }
        }
    }
}

/// A pattern with its place, since it goes by two names.
struct Written {
    text: String,
    span: Span,
}

impl FromNode for Written {
    fn from_node(node: &Node<'_>) -> Result<Self, Wrong> {
        Ok(Self { text: String::from_node(node)?, span: node.span })
    }
}

/// The library draws the pattern with a mark below; only its last line fits into a sentence.
fn complaint(error: &regex::Error) -> String {
    if let regex::Error::CompiledTooBig(limit) = error {
        return format!("is too big: it would take more than {} MiB", limit >> 20);
    }
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    format!("is not a valid regular expression: {}", last.trim_start_matches("error: "))
}

#[async_trait]
impl Evaluator for Pattern {
    async fn evaluate(&self, cx: &EvalContext<'_>) -> Result<Verdict, EvaluatorError> {
        let pattern = clipped(self.regex.as_str());
        Ok(match (self.regex.find(&cx.candidate.answer), self.negate) {
            (Some(_), false) => Verdict::hit(format!("Matches /{pattern}/")),
            (None, false) => Verdict::miss(format!("Does not match /{pattern}/")),
            (None, true) => Verdict::hit(format!("Does not match /{pattern}/")),
            (Some(found), true) => {
                let found = quoted(found.as_str());
                Verdict::miss(format!("Matches /{pattern}/, which it must not: {found}"))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::Bench;
    use serde_json::{Value, json};

    #[track_caller]
    fn check(config: &Value, answer: &str, score: f64, text: &str) {
        let verdict = Bench::new("regex", config).answer(answer);
        assert_eq!([verdict.hits, verdict.misses].concat(), [text]);
        assert_eq!(verdict.score, agentv_core::Score::clamped(score));
    }

    #[test]
    fn a_match_anywhere_will_do() {
        check(&json!({ "pattern": r"\d+" }), "on 42nd", 1.0, r"Matches /\d+/");
        check(&json!({ "value": r"^\d+$" }), "on 42nd", 0.0, r"Does not match /^\d+$/");
    }

    #[test]
    fn flags_change_what_matches() {
        check(&json!({ "pattern": "^b$" }), "a\nB", 0.0, "Does not match /^b$/");
        let flags = json!({ "pattern": "^b$", "multi_line": true, "ignore_case": true });
        check(&flags, "a\nB", 1.0, "Matches /^b$/");
        check(&json!({ "pattern": "a.b" }), "a\nb", 0.0, "Does not match /a.b/");
        check(&json!({ "pattern": "a.b", "dotAll": true }), "a\nb", 1.0, "Matches /a.b/");
    }

    #[test]
    fn a_negated_pattern_must_not_match() {
        let config = json!({ "pattern": "sor+y", "negate": true });
        check(&config, "fine", 1.0, "Does not match /sor+y/");
        let miss = "Matches /sor+y/, which it must not: \"sorrry\"";
        check(&config, "so sorrry", 0.0, miss);
    }

    #[track_caller]
    fn check_note(pattern: &Value, expected: &str) {
        assert_eq!(Bench::new("regex", &json!({ "pattern": pattern })).notes(), [expected]);
    }

    #[test]
    fn a_bad_pattern_is_noted_where_it_stands() {
        check_note(
            &json!("a(b"),
            "pattern: `pattern` of evaluator `e` is not a valid regular expression: unclosed group",
        );
        check_note(
            &json!("(?=a)"),
            "pattern: `pattern` of evaluator `e` is not a valid regular expression: look-around, \
             including look-ahead and look-behind, is not supported",
        );
        check_note(
            &json!(r"(\w{99}){99}"),
            "pattern: `pattern` of evaluator `e` is too big: it would take more than 10 MiB",
        );
        check_note(&json!(1), "pattern: `pattern` of evaluator `e` must be text, not `1`");
        assert_eq!(
            Bench::new("regex", &json!({ "value": "[" })).notes(),
            [
                "value: `pattern` of evaluator `e` is not a valid regular expression: unclosed character class"
            ]
        );
        assert_eq!(
            Bench::new("regex", &json!({ "negate": true })).notes(),
            ["negate: evaluator `e` needs `pattern`"]
        );
    }
}
