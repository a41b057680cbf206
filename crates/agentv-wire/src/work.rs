//! The identity of a piece of work: one trial of a case on a target.

use crate::{EvalId, SuiteId, TargetName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Write as _};
use std::str::FromStr;

/// One trial of a case of a suite on a target. Journals, events, cassettes and reports know work by this and by nothing
/// else.
///
/// Its text form is `suite#case@target`, with `~trial` after it for every trial but the first. A separator inside of a
/// part is escaped as in a URL (`%23` for `#`).
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub struct WorkId {
    pub suite: SuiteId,
    pub eval_id: EvalId,
    /// The target's name.
    pub target: TargetName,
    /// From 0.
    #[serde(default)]
    pub trial: u32,
}

/// A text that is not a [`WorkId`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidWorkId(String);

impl std::error::Error for InvalidWorkId {}

impl fmt::Display for InvalidWorkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not of the form `suite#case@target~trial`", self.0)
    }
}

impl fmt::Display for WorkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        escape(self.suite.as_str(), f)?;
        f.write_char('#')?;
        escape(self.eval_id.as_str(), f)?;
        f.write_char('@')?;
        escape(self.target.as_str(), f)?;
        if self.trial > 0 {
            write!(f, "~{}", self.trial)?;
        }
        Ok(())
    }
}

impl FromStr for WorkId {
    type Err = InvalidWorkId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || InvalidWorkId(text.to_owned());
        let (suite, rest) = text.split_once('#').ok_or_else(invalid)?;
        let (eval_id, rest) = rest.split_once('@').ok_or_else(invalid)?;
        let (target, trial) = match rest.split_once('~') {
            Some((target, trial)) => (target, trial.parse().map_err(|_| invalid())?),
            None => (rest, 0),
        };
        let part = |part: &str| unescape(part).ok_or_else(invalid);
        Ok(Self {
            suite: part(suite)?.into(),
            eval_id: part(eval_id)?.into(),
            target: part(target)?.into(),
            trial,
        })
    }
}

/// Escapes separators, and what would break a line or a column of a log.
fn escape(part: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for character in part.chars() {
        if matches!(character, '#' | '@' | '~' | '%') || character.is_ascii_control() {
            write!(f, "%{:02X}", u32::from(character))?;
        } else {
            f.write_char(character)?;
        }
    }
    Ok(())
}

fn unescape(part: &str) -> Option<String> {
    let mut text = String::with_capacity(part.len());
    let mut rest = part;
    while let Some((plain, escaped)) = rest.split_once('%') {
        text.push_str(plain);
        let code = u8::from_str_radix(escaped.get(..2)?, 16).ok().filter(u8::is_ascii)?;
        text.push(char::from(code));
        rest = &escaped[2..];
    }
    text.push_str(rest);
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(suite: &str, eval_id: &str, target: &str, trial: u32) -> WorkId {
        WorkId { suite: suite.into(), eval_id: eval_id.into(), target: target.into(), trial }
    }

    #[test]
    fn the_text_form_can_be_read_back() {
        for (work, text) in [
            (id("evals/a.yaml", "refund", "default", 0), "evals/a.yaml#refund@default"),
            (id("evals/a.yaml", "refund", "default", 2), "evals/a.yaml#refund@default~2"),
            (id("a#b.yaml", "100% @home", "x~1", 1), "a%23b.yaml#100%25 %40home@x%7E1~1"),
            (id("a.yaml", "two\nlines, é", "t", 0), "a.yaml#two%0Alines, é@t"),
        ] {
            assert_eq!(work.to_string(), text);
            assert_eq!(text.parse(), Ok(work));
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "a", "a#b", "a@b#c", "a#b@c~x", "a#b%4@c", "a#b%é@c", "a#b%FF@c"] {
            assert!(text.parse::<WorkId>().is_err(), "{text}");
        }
    }

    #[test]
    fn as_json_it_has_its_four_parts() {
        let json = serde_json::to_value(id("s", "c", "t", 1)).unwrap();
        assert_eq!(
            json,
            serde_json::json!({"suite": "s", "eval_id": "c", "target": "t", "trial": 1})
        );
        assert_eq!(serde_json::from_value::<WorkId>(json).unwrap(), id("s", "c", "t", 1));
    }
}
