//! `{PROMPT}` and its kin in command templates: parsed once, rendered per case, never expanded twice.

use std::borrow::Cow;
use std::fmt;

/// A value that a command template can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placeholder {
    Prompt,
    Guidelines,
    EvalId,
    Attempt,
    /// Which trial of its case, from 0.
    Trial,
    Files,
    OutputFile,
}

impl Placeholder {
    /// Each with its name, in the order of the documentation.
    pub const ALL: [(Self, &'static str); 7] = [
        (Self::Prompt, "PROMPT"),
        (Self::Guidelines, "GUIDELINES"),
        (Self::EvalId, "EVAL_ID"),
        (Self::Attempt, "ATTEMPT"),
        (Self::Trial, "TRIAL"),
        (Self::Files, "FILES"),
        (Self::OutputFile, "OUTPUT_FILE"),
    ];

    fn of(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(placeholder, _)| *placeholder)
    }
}

/// A command template, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Value(Placeholder),
}

/// A template asks for something that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unsupported placeholder `{{{name}}}`")]
pub struct UnknownPlaceholder {
    pub name: String,
}

impl Template {
    /// Only `{UPPER_CASE}` is a placeholder; every other brace is the user's own, and `${NAME}` is the shell's.
    pub fn parse(text: &str) -> Result<Self, UnknownPlaceholder> {
        let mut pieces = Vec::new();
        let mut rest = text;
        let mut plain = String::new();
        while let Some(open) = rest.find('{') {
            let after = &rest[open + 1..];
            let length =
                after.bytes().take_while(|byte| byte.is_ascii_uppercase() || *byte == b'_').count();
            if length == 0 || after.as_bytes().get(length) != Some(&b'}') {
                plain.push_str(&rest[..=open]);
                rest = after;
                continue;
            }
            let name = &after[..length];
            let Some(placeholder) = Placeholder::of(name) else {
                if rest[..open].ends_with('$') {
                    plain.push_str(&rest[..=open]);
                    rest = after;
                    continue;
                }
                return Err(UnknownPlaceholder { name: name.to_owned() });
            };
            plain.push_str(&rest[..open]);
            if !plain.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut plain)));
            }
            pieces.push(Piece::Value(placeholder));
            rest = &after[length + 1..];
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Ok(Self { pieces })
    }

    /// Text in braces that is a placeholder but for its letter case, such as `{prompt}`, and is left as it is. Where the
    /// template also has the placeholder itself, the text is meant for the command.
    pub fn miscased(&self) -> Vec<(&str, Placeholder)> {
        let texts = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Text(text) => Some(text.as_str()),
            Piece::Value(_) => None,
        });
        let mut found = Vec::new();
        for text in texts {
            for (open, _) in text.match_indices('{') {
                let name = text[open + 1..].split('}').next().unwrap_or_default();
                let placeholder = Placeholder::of(&name.to_ascii_uppercase());
                let is_meant = |placeholder: &Placeholder| {
                    !text[..open].ends_with('$') && !self.asks_for(*placeholder)
                };
                found.extend(placeholder.filter(is_meant).map(|placeholder| (name, placeholder)));
            }
        }
        found
    }

    /// Whether the command learns which case it is run for.
    pub fn is_about_case(&self) -> bool {
        let is_input = |piece: &Piece| matches!(piece, Piece::Value(placeholder) if *placeholder != Placeholder::OutputFile);
        self.pieces.iter().any(is_input)
    }

    /// The whole words before the first placeholder.
    pub fn beginning(&self) -> &str {
        match self.pieces.as_slice() {
            [Piece::Text(plain)] => plain,
            [Piece::Text(plain), ..] => {
                plain.rfind(char::is_whitespace).map_or("", |end| &plain[..end])
            }
            _ => "",
        }
    }

    pub fn asks_for(&self, placeholder: Placeholder) -> bool {
        self.pieces.contains(&Piece::Value(placeholder))
    }

    /// Puts the values in, exactly as `value` gives them.
    pub fn render<'v>(&self, value: impl Fn(Placeholder) -> Cow<'v, str>) -> String {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(plain) => text.push_str(plain),
                Piece::Value(placeholder) => text.push_str(&value(*placeholder)),
            }
        }
        text
    }
}

impl fmt::Display for Placeholder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL
            .iter()
            .find(|(placeholder, _)| placeholder == self)
            .map_or("", |(_, name)| name);
        write!(f, "{{{name}}}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(template: &str, expected: &str) {
        let rendered = Template::parse(template).unwrap().render(|placeholder| match placeholder {
            Placeholder::Prompt => "{ATTEMPT}".into(),
            other => format!("<{other}>").into(),
        });
        assert_eq!(rendered, expected);
    }

    #[test]
    fn values_are_not_expanded_again() {
        check("run {PROMPT} {EVAL_ID}", "run {ATTEMPT} <{EVAL_ID}>");
    }

    #[test]
    fn other_braces_are_left_alone() {
        check(
            "awk '{print $1}' ${HOME} {} {path} { PROMPT } {{PROMPT}}",
            "awk '{print $1}' ${HOME} {} {path} { PROMPT } {{ATTEMPT}}",
        );
    }

    #[test]
    fn another_letter_case_is_noticed() {
        let check = |template: &str, expected: &[&str]| {
            let template = Template::parse(template).unwrap();
            let names: Vec<&str> = template.miscased().into_iter().map(|(name, _)| name).collect();
            assert_eq!(names, expected);
        };
        check("run {prompt} {Output_File}", &["prompt", "Output_File"]);
        check("run {PROMPT} '{prompt}'", &[]);
        check("run ${prompt} {path} {print $1} {", &[]);
    }

    #[test]
    fn unknown_names_are_refused() {
        assert_eq!(Template::parse("x {FOO}").unwrap_err().name, "FOO");
        assert_eq!(
            Template::parse("{EVAL_FILE}").unwrap_err().to_string(),
            "unsupported placeholder `{EVAL_FILE}`"
        );
    }
}
