//! Rules that a file breaks on its own: size, name, unfinished code, paths of somebody's machine, wide Markdown.

use super::{Finding, code};
use crate::repository::SourceFile;
use std::path::Path;

/// Lines before the unit tests.
const MAX_LINES: usize = 600;
const MAX_COLUMNS: usize = 120;
/// Names that say nothing, so that such a file never stops growing.
const EMPTY_NAMES: &[&str] = &["errors", "types", "utils", "helpers", "imp", "common"];
const UNFINISHED: &[&str] = &["todo!", "unimplemented!", "#[ignore"];
/// In two parts each, since this file is checked too.
const MACHINE_PATHS: &[&str] =
    &[concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/tm", "p/wt")];

pub(super) fn check(file: &SourceFile) -> Vec<Finding> {
    let mut findings = machine_paths(file);
    match Path::new(&file.path).extension().and_then(|extension| extension.to_str()) {
        Some("rs") => findings.extend(rust(file)),
        Some("md") => findings.extend(wide_markdown(file)),
        _ => {}
    }
    findings
}

fn rust(file: &SourceFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    let lines = code::without_tests(&file.text).lines().count();
    if lines > MAX_LINES {
        let message = format!("{lines} lines before the tests; at most {MAX_LINES}: split it");
        findings.push(Finding::new(file, lines, message));
    }
    let stem = Path::new(&file.path).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    if EMPTY_NAMES.contains(&stem) {
        let message = format!("`{stem}.rs` says nothing; name the file after what is in it");
        findings.push(Finding::new(file, 1, message));
    }
    let first = file.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    if !is_test(&file.path) && !first.starts_with("//!") {
        findings.push(Finding::new(file, 1, "no module comment (`//!`) at the head"));
    }
    findings.extend(unfinished(file));
    findings.extend(other_printers(file));
    findings
}

/// Text of others is cleaned by the one file that prints, so nothing else may. What the launcher of a sandbox says is read
/// by our own process, never by people.
fn other_printers(file: &SourceFile) -> Vec<Finding> {
    let is_shipped = file.path.starts_with("crates/") && file.path.contains("/src/");
    if !is_shipped
        || file.path.contains("test-support")
        || file.path.ends_with("terminal/screen.rs")
        || file.path.ends_with("process/sandbox/launch.rs")
    {
        return Vec::new();
    }
    let source = code::only(code::without_tests(&file.text));
    let is_print = |line: &str| {
        let is_look = line.contains(".is_terminal()") || line.contains("AutoStream::choice(");
        ["io::stdout()", "io::stderr()", "anstream::std"].iter().any(|name| line.contains(name))
            && !is_look
    };
    let lines = source.lines().enumerate().filter(|(_, line)| is_print(line));
    let message = "only `terminal/screen.rs` writes to standard output and standard error";
    lines.map(|(index, _)| Finding::new(file, index + 1, message)).collect()
}

pub(super) fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|found| found == extension)
}

/// Whether a file is only for tests, by where it is.
pub(super) fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.split('/').any(|part| part == "tests")
}

fn unfinished(file: &SourceFile) -> Vec<Finding> {
    let source = code::only(&file.text);
    let mut findings = Vec::new();
    for (index, line) in source.lines().enumerate() {
        for word in UNFINISHED.iter().filter(|word| line.contains(**word)) {
            findings.push(Finding::new(file, index + 1, format!("`{word}` is not finished code")));
        }
    }
    findings
}

fn machine_paths(file: &SourceFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        for path in MACHINE_PATHS.iter().filter(|path| has_absolute(line, path)) {
            let message = format!("`{path}…` is a path of one machine");
            findings.push(Finding::new(file, index + 1, message));
        }
    }
    findings
}

/// Whether the path starts here, and is not the inside of a longer one.
fn has_absolute(line: &str, path: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '}' | '*' | ']');
    line.match_indices(path).any(|(at, _)| !line[..at].ends_with(inside))
}

fn wide_markdown(file: &SourceFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    // Generated pages are as wide as the comments they are made of.
    if file.path.starts_with("docs/reference/") {
        return findings;
    }
    let mut in_code = false;
    for (index, line) in file.text.lines().enumerate() {
        let start = line.trim_start();
        if start.starts_with("```") || start.starts_with("~~~") {
            in_code = !in_code;
        }
        let columns = line.chars().count();
        // A table's row cannot be broken, nor can one long word.
        let breakable = !start.starts_with('|') && start.contains(' ');
        if !in_code && breakable && columns > MAX_COLUMNS {
            let message = format!("{columns} columns; at most {MAX_COLUMNS}");
            findings.push(Finding::new(file, index + 1, message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_file(path: &str, text: &str, expected: &[&str]) {
        let file = SourceFile { path: path.to_owned(), text: text.to_owned() };
        let found: Vec<String> = check(&file).iter().map(ToString::to_string).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_file_has_its_size_before_the_tests() {
        let long = format!("//! Long.\n{}", "fn f() {}\n".repeat(600));
        let message = "a.rs:601: 601 lines before the tests; at most 600: split it";
        check_file("a.rs", &long, &[message]);
        let tests =
            format!("//! Short.\n#[cfg(test)]\nmod tests {{\n{}}}\n", "fn f() {}\n".repeat(600));
        check_file("a.rs", &tests, &[]);
    }

    #[test]
    fn a_name_says_what_is_inside() {
        let message = "src/utils.rs:1: `utils.rs` says nothing; name the file after what is in it";
        check_file("src/utils.rs", "//! All.\n", &[message]);
        check_file("src/common/mod.rs", "//! All.\n", &[]);
    }

    #[test]
    fn unfinished_code_is_found_but_not_in_words() {
        let message = "a.rs:2: `todo!` is not finished code";
        check_file("a.rs", "//! A todo! of words.\nfn f() { todo!() }\n", &[message]);
        let message = "tests/a.rs:2: `#[ignore` is not finished code";
        check_file("tests/a.rs", "#[test]\n#[ignore = \"why\"]\nfn f() {}\n", &[message]);
    }

    #[test]
    fn only_one_file_prints() {
        let message = "crates/a/src/a.rs:2: only `terminal/screen.rs` writes to standard output and standard error";
        check_file("crates/a/src/a.rs", "//! A.\nfn f() { io::stderr().flush() }\n", &[message]);
        check_file("crates/a/src/a.rs", "//! A.\nfn f() { io::stdout().is_terminal() }\n", &[]);
    }

    #[test]
    fn a_source_file_starts_with_its_comment() {
        let message = "src/a.rs:1: no module comment (`//!`) at the head";
        check_file("src/a.rs", "fn f() {}\n", &[message]);
        check_file("src/a/tests.rs", "fn f() {}\n", &[]);
        check_file("tests/a.rs", "fn f() {}\n", &[]);
    }

    #[test]
    fn paths_of_a_machine_are_found_where_they_start() {
        let path = MACHINE_PATHS[0];
        let message = format!("a.md:1: `{path}…` is a path of one machine");
        check_file("a.md", &format!("see {path}x\n"), &[&message]);
        check_file("a.md", &format!("see docs{path}x and https://a.b{path}\n"), &[]);
    }

    #[test]
    fn markdown_is_narrow_but_for_tables_and_code() {
        let wide = "word ".repeat(25);
        check_file("a.md", &wide, &["a.md:1: 125 columns; at most 120"]);
        check_file("a.md", &format!("| {wide} |\n```\n{wide}\n```\n"), &[]);
        check_file("a.md", &"x".repeat(130), &[]);
        check_file("a.txt", &wide, &[]);
    }
}
