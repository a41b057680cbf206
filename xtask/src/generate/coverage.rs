//! Which promises of the specification have a test: the catalogue beside the names of the tests.

use super::Generated;
use super::reference::NOTICE;
use crate::repository::root;
use anyhow::{Context as _, Result, bail};
use std::fs;

const CATALOGUE: &str = include_str!("../scenarios.tsv");
const TESTS: &str = "crates/agentv-cli/tests/spec";

/// One promise. Twins share it.
#[derive(Debug)]
struct Scenario<'a> {
    numbers: Vec<&'a str>,
    area: &'a str,
    promise: &'a str,
}

/// A test, and the numbers in its name.
#[derive(Debug, PartialEq, Eq)]
struct SpecTest {
    /// `file::function`.
    name: String,
    numbers: Vec<String>,
}

pub(super) fn page() -> Result<Generated> {
    let tests = tests_on_disk()?;
    let scenarios = catalogue(CATALOGUE)?;
    refuse_unknown_numbers(&scenarios, &tests)?;
    Ok(Generated::new("docs/reference/spec-coverage.md", render(&scenarios, &tests)))
}

fn catalogue(text: &str) -> Result<Vec<Scenario<'_>>> {
    let mut scenarios = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [numbers, area, promise] = columns[..] else { bail!("not three columns: {line}") };
        scenarios.push(Scenario { numbers: numbers.split(' ').collect(), area, promise });
    }
    Ok(scenarios)
}

/// The tests, or none where there is no such folder yet.
fn tests_on_disk() -> Result<Vec<SpecTest>> {
    let Ok(folder) = fs::read_dir(root().join(TESTS)) else { return Ok(Vec::new()) };
    let mut tests = Vec::new();
    for entry in folder {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            let module = path.file_stem().unwrap_or_default().to_string_lossy();
            tests.extend(tests_in(&module, &text));
        }
    }
    tests.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(tests)
}

/// Functions right under `#[test]`; other attributes and comments may stand in between.
fn tests_in(module: &str, text: &str) -> Vec<SpecTest> {
    let mut tests = Vec::new();
    let mut marked = false;
    for line in text.lines().map(str::trim) {
        if line == "#[test]" {
            marked = true;
        } else if let Some(function) = function_name(line).filter(|_| marked) {
            let numbers = numbers_in(function);
            if !numbers.is_empty() {
                tests.push(SpecTest { name: format!("{module}::{function}"), numbers });
            }
            marked = false;
        } else if !(line.is_empty() || line.starts_with("#[") || line.starts_with("//")) {
            marked = false;
        }
    }
    tests
}

fn function_name(line: &str) -> Option<&str> {
    let line = line.strip_prefix("pub ").unwrap_or(line);
    line.strip_prefix("fn ")?.split(['(', '<']).next()
}

/// `s008_s065_a_trace_is_kept` has two.
fn numbers_in(function: &str) -> Vec<String> {
    let is_number = |word: &&str| {
        let digits = word.strip_prefix('s').map(|digits| (digits, 3));
        let digits = digits.or_else(|| word.strip_prefix('d').map(|digits| (digits, 2)));
        digits.is_some_and(|(digits, length)| {
            digits.len() == length && digits.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    function.split('_').filter(is_number).map(str::to_uppercase).collect()
}

fn refuse_unknown_numbers(scenarios: &[Scenario<'_>], tests: &[SpecTest]) -> Result<()> {
    let known =
        |number: &String| scenarios.iter().any(|one| one.numbers.contains(&number.as_str()));
    for test in tests {
        if let Some(number) = test.numbers.iter().find(|number| !known(number)) {
            bail!("test `{}` names {number}, which the specification does not have", test.name);
        }
    }
    Ok(())
}

fn render(scenarios: &[Scenario<'_>], tests: &[SpecTest]) -> String {
    let covering = |scenario: &Scenario<'_>| -> Vec<String> {
        let names = tests.iter().filter(|test| {
            test.numbers.iter().any(|number| scenario.numbers.contains(&number.as_str()))
        });
        names.map(|test| format!("`{}`", test.name)).collect()
    };
    let all: usize = scenarios.iter().map(|scenario| scenario.numbers.len()).sum();
    let done = scenarios.iter().filter(|scenario| !covering(scenario).is_empty());
    let done: usize = done.map(|scenario| scenario.numbers.len()).sum();

    let mut text = format!(
        "{NOTICE}\n# Coverage of the specification\n\n\
         {done} of {all} scenarios (S) and design rules (D) have a test in `{TESTS}`; the others are open.\n\
         A number belongs to a test when it is part of its name. Twins, which say the same in two editions, share a row.\n"
    );
    let mut area = "";
    for scenario in scenarios {
        if scenario.area != area {
            area = scenario.area;
            text += &["\n## ", area, "\n\n| number | promise | tests |\n| --- | --- | --- |\n"]
                .concat();
        }
        let mut names = covering(scenario).join(", ");
        if names.is_empty() {
            "open".clone_into(&mut names);
        }
        let cells = [&scenario.numbers.join(" "), scenario.promise, &names];
        text += &["| ", &cells.join(" | "), " |\n"].concat();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_has_every_number_once() {
        let scenarios = catalogue(CATALOGUE).unwrap();
        let mut found: Vec<&str> = scenarios.iter().flat_map(|one| one.numbers.clone()).collect();
        found.sort_unstable();
        let expected = (1..=14).map(|rule| format!("D{rule:02}"));
        let expected = expected.chain((1..=154).map(|scenario| format!("S{scenario:03}")));
        assert_eq!(found, expected.collect::<Vec<_>>());
    }

    #[test]
    fn only_marked_functions_are_tests() {
        let text = "fn s001_helper() {}\n#[test]\n// Why.\n#[cfg(unix)]\nfn s002_d03_holds() {\n}\n\
                    #[test]\nfn plain() {}\n#[test]\nuse x;\nfn s003_not_marked() {}\n";
        let numbers = vec!["S002".to_owned(), "D03".to_owned()];
        let expected = SpecTest { name: "file::s002_d03_holds".to_owned(), numbers };
        assert_eq!(tests_in("file", text), [expected]);
    }

    #[test]
    fn a_test_covers_the_twins_of_its_number() {
        let scenarios = catalogue("S001 S145\tArea\tpromise\nS002\tArea\tother").unwrap();
        let test = SpecTest { name: "a::b".to_owned(), numbers: vec!["S145".to_owned()] };
        let page = render(&scenarios, &[test]);
        assert!(
            page.contains("| S001 S145 | promise | `a::b` |\n| S002 | other | open |"),
            "{page}"
        );
        assert!(page.contains("2 of 3"), "{page}");
    }

    #[test]
    fn a_number_that_is_not_in_the_catalogue_is_refused() {
        let scenarios = catalogue("S001\tArea\tpromise").unwrap();
        let test = SpecTest { name: "a::b".to_owned(), numbers: vec!["S999".to_owned()] };
        assert!(refuse_unknown_numbers(&scenarios, &[test]).is_err());
    }
}
