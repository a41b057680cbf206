//! One public type name, one meaning: names that several modules declare, each for something else.

use super::{Finding, code, text};
use crate::repository::SourceFile;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// How many names are repeated today. It only ever goes down.
const REPEATED_NAMES_ALLOWED: usize = 26;

/// Names that may be repeated, and why. At most ten.
const ALLOWED: &[(&str, &str)] = &[(
    "Command",
    "a program to run, as in std, and the subcommands of `agentv`, as in clap's own examples",
)];

/// Where the types of one name are declared.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RepeatedName {
    name: String,
    /// Paths with lines, as in `a/b.rs:3`.
    places: Vec<String>,
}

/// More repeated names than there were.
pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let repeated = repeated(files);
    if repeated.len() <= REPEATED_NAMES_ALLOWED {
        return Vec::new();
    }
    vec![Finding {
        path: "xtask/src/tidy/names.rs".to_owned(),
        line: 1,
        message: format!(
            "{} public type names are declared more than once, at most {REPEATED_NAMES_ALLOWED} may be; \
             `cargo xtask tidy --names` lists them",
            repeated.len()
        ),
    }]
}

/// Every repeated name with the places of its types.
pub(super) fn list(files: &[SourceFile]) -> String {
    let repeated = repeated(files);
    let mut listed = String::new();
    for RepeatedName { name, places } in &repeated {
        let _ = writeln!(listed, "{name}");
        for place in places {
            let _ = writeln!(listed, "  {place}");
        }
    }
    let _ = write!(listed, "{} names, at most {REPEATED_NAMES_ALLOWED} allowed", repeated.len());
    listed
}

/// Without those that may be repeated.
fn repeated(files: &[SourceFile]) -> Vec<RepeatedName> {
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
        .filter(|(name, places)| places.len() > 1 && !may_repeat(name))
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
        let found: Vec<String> = repeated(&files)
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
