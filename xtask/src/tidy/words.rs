//! Phrases that users do not understand at first sight, in texts that they read: the program's string literals, and
//! Markdown outside of code.

use super::{Finding, code, links, text};
use crate::repository::SourceFile;

/// How many there are today. It only ever goes down.
const BANNED_PHRASES_ALLOWED: usize = 230;

/// A phrase, and longer ones that start with it and are fine. `asked` is fine for a model and wrong for a program, which
/// nobody but a reader can tell, so only its worst form is here.
const BANNED: &[(&str, &[&str])] = &[
    ("stands", &["stands for"]),
    ("is no", &["is no longer"]),
    ("are none", &[]),
    ("somebody", &[]),
    ("nobody", &[]),
    ("who answers", &[]),
    ("says nothing of", &[]),
    ("so many", &[]),
    ("as it is told", &[]),
    ("taken up again", &[]),
    ("goes on", &[]),
    ("went wrong", &[]),
    ("out of it", &[]),
    ("no more than", &[]),
    ("whatever", &[]),
    ("asked again", &[]),
    ("worth", &[]),
    ("lots", &[]),
    ("marks", &[]),
];

/// More banned phrases than there were.
pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let found = find(files).len();
    if found <= BANNED_PHRASES_ALLOWED {
        return Vec::new();
    }
    vec![Finding {
        path: "xtask/src/tidy/words.rs".to_owned(),
        line: 1,
        message: format!(
            "{found} banned phrases in texts for users, at most {BANNED_PHRASES_ALLOWED} may be; \
             `cargo xtask tidy --words` lists them"
        ),
    }]
}

/// Every banned phrase with its place.
pub(super) fn list(files: &[SourceFile]) -> String {
    let found = find(files);
    let count = format!("{} phrases, at most {BANNED_PHRASES_ALLOWED} allowed", found.len());
    let lines: Vec<String> = found.iter().map(ToString::to_string).chain([count]).collect();
    lines.join("\n")
}

fn find(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        let texts = if is_program(&file.path) {
            literals(&file.text)
        } else if is_page(&file.path) {
            paragraphs(&file.text)
        } else {
            continue;
        };
        for (line, text) in texts {
            let found = phrases(&text).into_iter();
            findings.extend(found.map(|phrase| Finding::new(file, line, format!("\"{phrase}\""))));
        }
    }
    findings
}

fn is_program(path: &str) -> bool {
    let mut parts = path.split('/');
    let is_source = parts.next() == Some("crates") && parts.nth(1) == Some("src");
    let is_for_tests = text::is_test(path) || path.starts_with("crates/agentv-test-support/");
    is_source && text::has_extension(path, "rs") && !is_for_tests
}

fn is_page(path: &str) -> bool {
    let in_docs = path.starts_with("docs/") && text::has_extension(path, "md");
    in_docs || path == "README.md" || path.starts_with("examples/") && path.ends_with("/README.md")
}

/// The string literals of a source, each with the line it starts in. The reasons of lints are not for users.
fn literals(source: &str) -> Vec<(usize, String)> {
    let literals = code::literals(code::without_tests(source)).into_iter();
    literals
        .filter(|literal| !literal.before.trim_end().ends_with("reason ="))
        .map(|literal| (literal.line, joined(literal.text)))
        .collect()
}

/// A literal as it is printed, as far as words are concerned.
fn joined(literal: &str) -> String {
    let mut joined = String::new();
    for part in literal.replace("\\n", "\n").split("\\\n") {
        joined.push_str(if joined.is_empty() { part } else { part.trim_start() });
    }
    joined
}

/// The paragraphs of a page, each with the line it starts in.
fn paragraphs(page: &str) -> Vec<(usize, String)> {
    let mut paragraphs: Vec<(usize, String)> = Vec::new();
    let mut next = 0;
    for (line, content) in links::prose(page) {
        let content = content.trim();
        if content.is_empty() {
            continue;
        }
        match paragraphs.last_mut() {
            Some((_, paragraph)) if line == next => {
                paragraph.push(' ');
                paragraph.push_str(content);
            }
            _ => paragraphs.push((line, content.to_owned())),
        }
        next = line + 1;
    }
    paragraphs
}

/// The banned phrases in a text, as whole words.
fn phrases(text: &str) -> Vec<&'static str> {
    let text = text.to_lowercase();
    let in_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let mut found = Vec::new();
    for (phrase, fine) in BANNED {
        for (at, _) in text.match_indices(phrase) {
            let (before, rest) = text.split_at(at);
            let is_whole = !before.ends_with(in_word) && !rest[phrase.len()..].starts_with(in_word);
            if is_whole && !fine.iter().any(|fine| rest.starts_with(fine)) {
                found.push(*phrase);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_words(path: &str, text: &str, expected: &[&str]) {
        let file = SourceFile { path: path.to_owned(), text: text.to_owned() };
        let found: Vec<String> = find(&[file]).iter().map(ToString::to_string).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn literals_of_the_program_are_read_and_nothing_else_of_it() {
        let path = "crates/a/src/b.rs";
        let source = "// Nobody.\nlet nobody = f(\"The key stands twice\", r#\"Whatever\"#);\n";
        check_words(
            path,
            source,
            &["crates/a/src/b.rs:2: \"stands\"", "crates/a/src/b.rs:2: \"whatever\""],
        );
        check_words(path, "#[expect(dead_code, reason = \"nobody\")]\nfn f() {}\n", &[]);
        check_words(path, "#[cfg(test)]\nmod tests {\n    const A: &str = \"nobody\";\n}\n", &[]);
        check_words("crates/a/tests/b.rs", source, &[]);
        check_words("xtask/src/b.rs", source, &[]);
    }

    #[test]
    fn a_phrase_may_be_broken_over_lines() {
        let path = "crates/a/src/b.rs";
        check_words(
            path,
            "f(\"it goes \\\n   on\\nwhatever\")",
            &["crates/a/src/b.rs:1: \"goes on\"", "crates/a/src/b.rs:1: \"whatever\""],
        );
        check_words("docs/a.md", "\n# Title\n\nIt\ngoes\n  on.\n", &["docs/a.md:4: \"goes on\""]);
        check_words("docs/a.md", "It goes\n\non\n", &[]);
    }

    #[test]
    fn only_whole_words_count_and_longer_phrases_may_be_fine() {
        check_words("README.md", "It stands for a name, is no longer worthy, understands.\n", &[]);
        check_words("README.md", "It is no name.\n", &["README.md:1: \"is no\""]);
    }

    #[test]
    fn pages_are_read_without_their_code() {
        check_words("examples/a/README.md", "`nobody` and\n```\nnobody\n```\n", &[]);
        check_words("examples/a/README.md", "Nobody\n", &["examples/a/README.md:1: \"nobody\""]);
        check_words("CONTRIBUTING.md", "Nobody\n", &[]);
    }
}
