//! Phrases that users do not understand at first sight, in texts that they read: Markdown outside of code, and the
//! program's string literals. A phrase in a generated page comes from a comment or from `--help`.

use super::{Finding, code, links, text};
use crate::repository::SourceFile;

/// A phrase, and longer ones with it that are fine. `asked` is fine for a model and wrong for a program, which
/// only a reader can tell, so only its worst form is here.
const BANNED: &[(&str, &[&str])] = &[
    ("stands", &["stands for"]),
    ("is no", &["is no longer", "there is no"]),
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

/// Every banned phrase with its place.
pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    files.iter().flat_map(find).collect()
}

fn find(file: &SourceFile) -> Vec<Finding> {
    let texts = if is_program(&file.path) {
        literals(&file.text)
    } else if is_page(&file.path) {
        paragraphs(&file.text)
    } else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    for (line, text) in texts {
        let found = phrases(&text).into_iter();
        findings.extend(
            found.map(|phrase| Finding::new(file, line, format!("banned phrase \"{phrase}\""))),
        );
    }
    findings
}

fn is_program(path: &str) -> bool {
    let mut parts = path.split('/');
    let is_source = parts.next() == Some("crates") && parts.nth(1) == Some("src");
    let tools = ["crates/agentv-test-support/", "crates/agentv-fuzz/"];
    let is_for_tests = text::is_test(path) || tools.iter().any(|tool| path.starts_with(tool));
    is_source && text::has_extension(path, "rs") && !is_for_tests
}

/// Whether users read it: documentation, examples, and what comes with a package.
fn is_page(path: &str) -> bool {
    let folders = ["docs/", "examples/", "packages/"];
    let is_for_users = folders.iter().any(|folder| path.starts_with(folder));
    text::has_extension(path, "md")
        && (is_for_users || ["README.md", "CONTRIBUTING.md"].contains(&path))
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
            let is_fine = |fine: &&str| {
                let start = fine.find(phrase).and_then(|offset| at.checked_sub(offset));
                start
                    .and_then(|start| text.get(start..))
                    .is_some_and(|text| text.starts_with(*fine))
            };
            if is_whole && !fine.iter().any(is_fine) {
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
        let found: Vec<String> = find(&file).iter().map(ToString::to_string).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn literals_of_the_program_are_read_and_nothing_else_of_it() {
        let path = "crates/a/src/b.rs";
        let source = "// Nobody.\nlet nobody = f(\"The key stands twice\", r#\"Whatever\"#);\n";
        check_words(
            path,
            source,
            &[
                "crates/a/src/b.rs:2: banned phrase \"stands\"",
                "crates/a/src/b.rs:2: banned phrase \"whatever\"",
            ],
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
            &[
                "crates/a/src/b.rs:1: banned phrase \"goes on\"",
                "crates/a/src/b.rs:1: banned phrase \"whatever\"",
            ],
        );
        check_words(
            "docs/a.md",
            "\n# Title\n\nIt\ngoes\n  on.\n",
            &["docs/a.md:4: banned phrase \"goes on\""],
        );
        check_words("docs/a.md", "It goes\n\non\n", &[]);
    }

    #[test]
    fn only_whole_words_count_and_longer_phrases_may_be_fine() {
        check_words("README.md", "It stands for a name, is no longer worthy, understands.\n", &[]);
        check_words("README.md", "There is no name.\n", &[]);
        check_words("README.md", "It is no name.\n", &["README.md:1: banned phrase \"is no\""]);
    }

    #[test]
    fn pages_are_read_without_their_code() {
        check_words("examples/a/README.md", "`nobody` and\n```\nnobody\n```\n", &[]);
        check_words(
            "examples/a/README.md",
            "Nobody\n",
            &["examples/a/README.md:1: banned phrase \"nobody\""],
        );
        check_words("fuzz/README.md", "Nobody\n", &[]);
    }
}
