//! What documentation shows as ` ```console ` is what the program prints.
//!
//! Each command after `$ ` is run by a shell, in a repository that has a copy of `examples/`; what follows it up to the
//! next one is its output. A comment `<!-- $ command -->` is run, too, and not shown. Models and VS Code are stand-ins. Times are not compared. To write the pages anew after a change of the output:
//! `AGENTV_UPDATE_DOCS=1 cargo nextest run -p agentv-cli pasted`.

use crate::examples::{copy, model, repository};
use agentv_test_support::TestContext;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const OPENING: &str = "```console\n";
const CLOSING: &str = "```\n";

#[test]
fn pasted_output_is_what_is_printed() {
    let mut stale = String::new();
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
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
    check("took 12ms, 1.5 s or 3 s.", "took #ms, # s or # s.");
    check("eval_2026-11-15T23-55-36-938Z.jsonl", "eval_#.jsonl");
    check("0.750 of 4 cases", "0.750 of 4 cases");
    check("30 steps", "30 steps");
}

#[expect(clippy::disallowed_methods, reason = "how whoever runs the tests asks for an update")]
fn is_update() -> bool {
    std::env::var_os("AGENTV_UPDATE_DOCS").is_some()
}

/// All pages whose output is checked.
fn pages() -> Vec<PathBuf> {
    let root = repository();
    let mut pages = vec![root.join("README.md")];
    let guides = [
        "budgets",
        "compare",
        "datasets",
        "getting-started",
        "grade",
        "moving-from-2.x",
        "plan",
        "reports",
        "trials",
        "verify",
    ];
    pages.extend(guides.map(|guide| root.join(format!("docs/guide/{guide}.md"))));
    let entries =
        |folder: &str| fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path());
    pages.extend(entries("docs/concepts"));
    pages.push(root.join("examples/quickstart/README.md"));
    pages.extend(entries("examples/features").map(|example| example.join("README.md")));
    pages.retain(|page| page.is_file());
    pages.sort();
    pages
}

/// The page, with the output that its commands give now.
fn with_fresh_output(page: &str) -> String {
    if !page.contains(OPENING) {
        return page.to_owned();
    }
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
        for command in preparations(&rest[..at]) {
            command.run(&cx, &environment);
        }
        let block = &rest[at + OPENING.len()..];
        let end = block.find(CLOSING).unwrap_or(block.len());
        fresh.push_str(&rest[..at + OPENING.len()]);
        for command in commands(&block[..end]) {
            fresh.push_str(&command.fresh(&cx, &environment));
        }
        rest = &block[end..];
    }
    fresh + rest
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
        // What only differs in times stays, so that an update changes no page for nothing.
        let output = if masked(&printed) == masked(&self.output) { &self.output } else { &printed };
        format!("{}{output}", self.shown)
    }

    fn run(&self, cx: &TestContext, environment: &[(&str, OsString)]) -> String {
        let script = format!("{{ {}; }} 2>&1", self.shown.trim_start_matches("$ ").trim());
        let shell = cx.agentv(["-c", &script]);
        let ran =
            environment.iter().fold(shell, |shell, (name, value)| shell.env(name, value)).run();
        let mut printed = ran.stdout.replace(&cx.dir().display().to_string(), "…");
        if !printed.is_empty() && !printed.ends_with('\n') {
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

/// The text without points in time and durations.
fn masked(text: &str) -> String {
    let (mut masked, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        masked.push_str(&rest[..at]);
        rest = &rest[at..];
        let is_time = rest.get(4..5) == Some("-") && rest.get(10..11) == Some("T");
        let inside = |c: char| c.is_ascii_digit() || c == '.' || (is_time && "-:TZ".contains(c));
        let mut number = &rest[..rest.find(|c| !inside(c)).unwrap_or(rest.len())];
        number = number.trim_end_matches('.');
        rest = &rest[number.len()..];
        let shown = if is_time || starts_with_unit(rest) { "#" } else { number };
        masked.push_str(shown);
    }
    masked + rest
}

fn starts_with_unit(text: &str) -> bool {
    let word = text.strip_prefix(' ').unwrap_or(text);
    let unit = &word[..word.find(|c: char| !c.is_alphabetic()).unwrap_or(word.len())];
    ["ms", "s"].contains(&unit)
}
