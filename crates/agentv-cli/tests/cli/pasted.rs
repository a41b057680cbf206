//! What documentation shows as ` ```console ` is what a person sees who runs it.
//!
//! Every Markdown page of the README, `docs`, `examples` and `packages` is checked. Each command after `$ ` is run by a
//! shell on a terminal, in a repository that has a copy of `examples/`; what follows it up to the next one is its
//! output. Before a block:
//!
//! * A fenced block whose paragraph before it ends in `` `NAME`: `` is written to the file NAME.
//! * A comment `<!-- $ command -->` is run, and not shown.
//!
//! Models and VS Code are stand-ins. Times are not compared. To write the pages anew after a change of the output:
//! `AGENTV_UPDATE_DOCS=1 cargo nextest run -p agentv-cli pasted`.

use crate::examples::{copy, model, repository};
use agentv_test_support::TestContext;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const OPENING: &str = "```console\n";
const CLOSING: &str = "```\n";
/// The terminal. Its lines fit into the width of a page.
const ROWS: u16 = 50;
const COLUMNS: u16 = 100;

#[test]
fn the_first_pages_show_what_is_printed() {
    let root = repository();
    check_pages(vec![root.join("README.md"), root.join("CONTRIBUTING.md")]);
    check_pages(pages(&root.join("packages")));
}

#[test]
fn the_documentation_shows_what_is_printed() {
    check_pages(pages(&repository().join("docs")));
}

#[test]
fn the_examples_show_what_is_printed() {
    check_pages(pages(&repository().join("examples")));
}

#[test]
fn every_recipe_of_the_cookbook_is_run() {
    let page = fs::read_to_string(repository().join("docs/guide/cookbook.md")).unwrap();
    let recipes: Vec<&str> = page.split("\n### ").skip(1).collect();
    assert_eq!(recipes.len(), 20);
    for recipe in recipes {
        assert!(recipe.contains(OPENING), "there is nothing to run in: {recipe}");
    }
}

fn check_pages(mut pages: Vec<PathBuf>) {
    let mut stale = String::new();
    pages.sort();
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        if !text.contains(OPENING) {
            continue;
        }
        let fresh = with_fresh_output(&text);
        if fresh == text {
            continue;
        }
        if is_update() {
            fs::write(&page, fresh).unwrap();
        } else {
            writeln!(stale, "--- {} should have:\n{fresh}", page.display()).unwrap();
        }
    }
    assert!(stale.is_empty(), "{stale}\nAGENTV_UPDATE_DOCS=1 writes it");
}

#[test]
fn times_are_masked_and_other_numbers_are_not() {
    let check = |text: &str, expected: &str| assert_eq!(masked(text), expected);
    check("took 12ms, 1.5 s or  3 s.", "took#,# or#.");
    check("eval_2026-11-15T23-55-36-938Z.jsonl", "eval_#.jsonl");
    check("0.750 of 4 cases", "0.750 of 4 cases");
    check("30 steps", "30 steps");
    check("Answers: 2 (294 bytes)", "Answers: 2 (#)");
    check("2026-11-15T23-55-36-938Z-ef7e  killed", "#  killed");
}

#[test]
fn blocks_after_a_file_name_are_files() {
    let prose = "Save this as `a.yaml`:\n\n```yaml\na: 1\n\nb: 2\n```\n\nIt prints `text`:\n\n```text\nb\n```\n";
    assert_eq!(named_files(prose), [("a.yaml", "a: 1\n\nb: 2\n")]);
}

#[expect(clippy::disallowed_methods, reason = "how whoever runs the tests asks for an update")]
fn is_update() -> bool {
    std::env::var_os("AGENTV_UPDATE_DOCS").is_some()
}

/// All pages in a folder.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("node_modules") {
            pages.extend(self::pages(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
    pages
}

/// The page, with the output that its commands give now.
fn with_fresh_output(page: &str) -> String {
    let (cx, model) = (TestContext::new("sh"), model());
    let environment = [
        ("PATH", path()),
        ("MODEL_URL", model.url().into()),
        ("MODEL", "llama3.2".into()),
        ("VSCODE_CMD", cx.fake_code(".bin/code").program().into()),
    ];
    copy(&repository().join("examples"), &cx.path("examples"));
    copy(&repository().join("packages/python"), &cx.path("packages/python"));
    let (mut fresh, mut rest) = (String::new(), page);
    while let Some(at) = rest.find(OPENING) {
        let prose = rest[..at].strip_prefix(CLOSING).unwrap_or(&rest[..at]);
        for (name, text) in named_files(prose) {
            cx.write(name, text);
        }
        for command in preparations(prose) {
            command.run(&cx, &environment);
        }
        let block = &rest[at + OPENING.len()..];
        let end = block.find(CLOSING).unwrap_or(block.len());
        fresh.push_str(&rest[..at + OPENING.len()]);
        let commands = commands(&block[..end]);
        assert!(!commands.is_empty(), "nothing to run in this block: {}", &block[..end]);
        for command in commands {
            fresh.push_str(&command.fresh(&cx, &environment));
        }
        rest = &block[end..];
    }
    fresh + rest
}

/// The fenced blocks of the prose that are files, with their names.
fn named_files(prose: &str) -> Vec<(&str, &str)> {
    let mut files = Vec::new();
    let (mut before, mut rest) = ("", prose);
    while let Some((line, after)) = rest.split_once('\n') {
        rest = after;
        if line.starts_with("```") {
            let end = rest.find("\n```").map_or(rest.len(), |at| at + 1);
            files.extend(file_name(before).map(|name| (name, &rest[..end])));
            rest = rest[end..].split_once('\n').map_or("", |(_closing, after)| after);
        }
        if !line.is_empty() {
            before = line;
        }
    }
    files
}

/// The name that a line ends with, such as `cases.csv` in ``Save this as `cases.csv`:``.
fn file_name(line: &str) -> Option<&str> {
    let (_, name) = line.strip_suffix("`:")?.rsplit_once('`')?;
    let extension = Path::new(name).extension()?.to_str()?;
    ["csv", "json", "jsonl", "md", "py", "sh", "yaml"].contains(&extension).then_some(name)
}

/// `<!-- $ command -->` is run before what follows it, and is not shown.
fn preparations(prose: &str) -> impl Iterator<Item = Command> {
    let hidden = |line: &str| Some(line.strip_prefix("<!-- ")?.strip_suffix(" -->")?.to_owned());
    let commands = prose.lines().filter_map(hidden).filter(|command| command.starts_with("$ "));
    commands.map(|shown| Command { shown, output: String::new() })
}

/// A command of a page, and what the page says that it prints.
#[derive(Default)]
struct Command {
    /// As it stands on the page, with `$ ` and the ends of its lines.
    shown: String,
    output: String,
}

impl Command {
    fn fresh(&self, cx: &TestContext, environment: &[(&str, OsString)]) -> String {
        let printed = self.run(cx, environment);
        // A filter that no longer finds its line must not empty the page.
        let is_lost = printed.is_empty() && !self.output.is_empty();
        assert!(!is_lost, "this printed something once, and prints nothing now: {}", self.shown);
        // What only differs in times stays, so that an update changes no page for nothing.
        let output = if masked(&printed) == masked(&self.output) { &self.output } else { &printed };
        format!("{}{output}", self.shown)
    }

    fn run(&self, cx: &TestContext, environment: &[(&str, OsString)]) -> String {
        let shell = cx.agentv(["-c", self.shown.trim_start_matches("$ ").trim()]);
        let shell = environment.iter().fold(shell, |shell, (name, value)| shell.env(name, value));
        let shown = shell.on_terminal(ROWS, COLUMNS).finish();
        let mut printed = shown.roll.replace(&cx.dir().display().to_string(), "…");
        if !printed.is_empty() {
            printed.push('\n');
        }
        printed
    }
}

/// The program that this build made goes before all others.
fn path() -> OsString {
    let here = Path::new(env!("CARGO_BIN_EXE_agentv")).parent().unwrap().to_owned();
    #[expect(clippy::disallowed_methods, reason = "the one variable that tests inherit")]
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths([here].into_iter().chain(std::env::split_paths(&inherited))).unwrap()
}

fn commands(block: &str) -> Vec<Command> {
    let mut commands: Vec<Command> = Vec::new();
    for line in block.split_inclusive('\n') {
        if line.starts_with("$ ") {
            commands.push(Command { shown: line.to_owned(), output: String::new() });
        } else if let Some(last) = commands.last_mut() {
            let goes_on = last.output.is_empty() && last.shown.ends_with("\\\n");
            if goes_on { last.shown.push_str(line) } else { last.output.push_str(line) }
        }
    }
    commands
}

/// The text without points in time and durations, and without sizes of files: those with a duration in them are as long as
/// that takes to write.
fn masked(text: &str) -> String {
    let (mut masked, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        masked.push_str(&rest[..at]);
        rest = &rest[at..];
        let is_time = rest.get(4..5) == Some("-") && rest.get(10..11) == Some("T");
        // The id of a run ends in hexadecimal digits.
        let inside =
            |c: char| c.is_ascii_digit() || c == '.' || (is_time && "-:TZabcdef".contains(c));
        let mut number = &rest[..rest.find(|c| !inside(c)).unwrap_or(rest.len())];
        number = number.trim_end_matches('.');
        rest = &rest[number.len()..];
        let unit = unit(rest);
        if is_time || unit.is_some() {
            // Columns are as wide as their times.
            masked.truncate(masked.trim_end_matches(' ').len());
            masked.push('#');
            rest = &rest[unit.unwrap_or(0)..];
        } else {
            masked.push_str(number);
        }
    }
    masked + rest
}

/// The length of the unit that the text starts with.
fn unit(text: &str) -> Option<usize> {
    let word = text.strip_prefix(' ').unwrap_or(text);
    let end = word.find(|c: char| !c.is_alphabetic()).unwrap_or(word.len());
    ["ms", "s", "bytes"].contains(&&word[..end]).then_some(text.len() - word.len() + end)
}
