//! One public type name, one meaning: names that several modules declare, each for something else.

use super::{Finding, code, text};
use crate::repository::SourceFile;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Names that may be repeated, and why. At most ten.
const ALLOWED: &[(&str, &str)] = &[
    (
        "Command",
        "a program to run, as in std, and the subcommands of `agentv`, as in clap's own examples",
    ),
    ("CaseFilter", "which cases of a file are loaded, and which of them a target answers"),
    ("Count", "a number of JSON that counts, and one count of the terminal's summary"),
    ("Entry", "a key with its value in a config file, and a record with all that is known of it"),
    ("Environment", "where a session runs, and the same with what only the command line knows"),
    ("Report", "what loading noticed, and the JSON report of the contract"),
    ("Role", "who speaks in a message, and in which role a target is called"),
];

/// Where the types of one name are declared.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RepeatedName {
    name: String,
    /// Paths with lines, as in `a/b.rs:3`.
    places: Vec<String>,
}

/// Names that are used for two things without a reason.
pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let finding = |RepeatedName { name, places }: RepeatedName| Finding {
        path: "xtask/src/tidy/names.rs".to_owned(),
        line: 1,
        message: format!(
            "the public type name `{name}` is declared more than once: {}",
            places.join(", ")
        ),
    };
    repeated(files, false).into_iter().map(finding).collect()
}

/// Every repeated name with the places of its types.
pub(super) fn list(files: &[SourceFile]) -> String {
    let repeated = repeated(files, true);
    let mut listed = String::new();
    for RepeatedName { name, places } in &repeated {
        let reason = ALLOWED.iter().find(|(allowed, _)| allowed == name).map(|(_, reason)| *reason);
        let _ = writeln!(listed, "{name}: {}", reason.unwrap_or("no reason is given"));
        for place in places {
            let _ = writeln!(listed, "  {place}");
        }
    }
    let _ = write!(listed, "{} names, at most 10 allowed", repeated.len());
    listed
}

/// Names that are declared more than once; those with a reason only if `with_allowed`.
fn repeated(files: &[SourceFile], with_allowed: bool) -> Vec<RepeatedName> {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files.iter().filter(|file| is_shipped(&file.path)) {
        let source = code::only(code::without_tests(&file.text));
        for (index, line) in source.lines().enumerate() {
            if let Some(name) = declared(line) {
                let place = format!("{}:{}", file.path, index + 1);
                places.entry(name.to_owned()).or_default().push(place);
            }
        }
    }
    let may_repeat = |name: &str| ALLOWED.iter().any(|(allowed, _)| *allowed == name);
    places
        .into_iter()
        .filter(|(name, places)| places.len() > 1 && (with_allowed || !may_repeat(name)))
        .map(|(name, places)| RepeatedName { name, places })
        .collect()
}

fn is_shipped(path: &str) -> bool {
    let is_source = path.starts_with("crates/") || path.starts_with("xtask/");
    let is_for_tests = text::is_test(path) || path.ends_with("/testing.rs");
    is_source && text::has_extension(path, "rs") && !is_for_tests
}

/// The name of the public type that a line declares: `pub(super) struct Name<'a> {`.
fn declared(line: &str) -> Option<&str> {
    let mut rest = line.trim_start().strip_prefix("pub")?;
    if let Some(scope) = rest.strip_prefix('(') {
        rest = &scope[scope.find(')')? + 1..];
    }
    let item = rest.strip_prefix(' ')?.trim_start();
    let item = item.strip_prefix("unsafe ").unwrap_or(item);
    let name = ["struct ", "enum ", "trait ", "type ", "union "]
        .iter()
        .find_map(|keyword| item.strip_prefix(keyword))?;
    let end = name.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(name.len());
    Some(&name[..end]).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_names(files: &[(&str, &str)], expected: &[&str]) {
        let files: Vec<SourceFile> = files
            .iter()
            .map(|(path, text)| SourceFile { path: (*path).to_owned(), text: (*text).to_owned() })
            .collect();
        let found: Vec<String> = repeated(&files, false)
            .into_iter()
            .map(|repeated| format!("{}: {}", repeated.name, repeated.places.join(" ")))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn every_visibility_and_kind_of_type_counts() {
        let first = "pub struct A;\npub(crate) enum B {}\npub(in crate::x) type C = u8;\n";
        let second = "    pub(super) trait A {}\npub struct B<'a>(&'a str);\npub union C {}\n";
        check_names(
            &[("crates/a/src/a.rs", first), ("xtask/src/b.rs", second)],
            &[
                "A: crates/a/src/a.rs:1 xtask/src/b.rs:1",
                "B: crates/a/src/a.rs:2 xtask/src/b.rs:2",
                "C: crates/a/src/a.rs:3 xtask/src/b.rs:3",
            ],
        );
    }

    #[test]
    fn private_types_tests_comments_and_other_items_do_not_count() {
        let first = "pub struct A;\npub fn B() {}\n";
        let second = "struct A;\n// pub struct A;\npub const B: u8 = 1;\n\
                      #[cfg(test)]\nmod tests {\n    pub struct A;\n}\n";
        check_names(
            &[
                ("crates/a/src/a.rs", first),
                ("crates/a/src/b.rs", second),
                ("crates/a/tests/c.rs", first),
                ("crates/a/src/d/tests.rs", first),
                ("examples/e.rs", first),
            ],
            &[],
        );
    }

    #[test]
    fn few_names_may_be_repeated_and_each_has_a_reason() {
        assert!(ALLOWED.len() <= 10);
        assert!(ALLOWED.iter().all(|(_, reason)| !reason.is_empty()));
        let name = ALLOWED[0].0;
        let text = format!("pub struct {name};\n");
        check_names(&[("crates/a/src/a.rs", &text), ("crates/a/src/b.rs", &text)], &[]);
    }
}
