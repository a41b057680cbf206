//! `.env` files. Values are taken as they stand: `$` means nothing here, since keys and passwords hold it.

use crate::config::{Env, Note, Notes};
use crate::file_input;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The environment of an eval file: the process's variables, then the `.env` files from the nearest directory outwards.
/// Also the files that were read, and notes on those that could not be.
pub(in crate::load) fn overlay(env: &Env, dirs: &[PathBuf]) -> (Env, Vec<PathBuf>, Vec<Note>) {
    let mut added = BTreeMap::new();
    let (mut files, mut notes) = (Vec::new(), Vec::new());
    for dir in dirs {
        let path = dir.join(".env");
        match file_input::read(&path) {
            Ok(bytes) => {
                for (name, value) in parse(&String::from_utf8_lossy(&bytes)) {
                    added.entry(name).or_insert(value);
                }
                files.push(path);
            }
            // Python keeps virtual environments in directories of this name.
            Err(error) if error.kind() == ErrorKind::NotFound || path.is_dir() => {}
            Err(error) => notes.extend(unreadable(&path, &error)),
        }
    }
    (env.with_added(added), files, notes)
}

fn unreadable(path: &Path, error: &io::Error) -> Vec<Note> {
    let mut notes = Notes::new(path);
    let message = format!("the file cannot be read: {error}");
    notes.warning("env::unreadable", None, message).help("make it a file, or remove it");
    notes.finish().0
}

/// The directories whose `.env` counts, nearest first. The same as for file references, but never beyond the repository.
pub(in crate::load) fn directories(
    eval_dir: &Path,
    repo_root: &Path,
    working_dir: &Path,
) -> Vec<PathBuf> {
    let mut dirs: Vec<PathBuf> = Vec::new();
    let inside = eval_dir.starts_with(repo_root);
    let upwards = eval_dir.ancestors().take_while(|dir| !inside || dir.starts_with(repo_root));
    let upwards = upwards.take(if inside { usize::MAX } else { 1 });
    for dir in upwards.chain([repo_root, working_dir]) {
        if !dirs.iter().any(|known| known == dir) {
            dirs.push(dir.to_owned());
        }
    }
    dirs
}

fn parse(text: &str) -> Vec<(String, String)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    let mut variables = Vec::new();
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let line_end = rest.find('\n').unwrap_or(rest.len());
        let (line, after) = rest.split_at(line_end);
        rest = after.strip_prefix('\n').unwrap_or(after);
        let line = line.trim_start();
        let line = line.strip_prefix("export ").map_or(line, str::trim_start);
        let Some((name, value)) = line.split_once('=') else { continue };
        let name = name.trim();
        if name.is_empty()
            || !name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'))
        {
            continue;
        }
        let value = value.trim_start();
        let (value, rest_after) = match value.chars().next() {
            Some(quote @ ('"' | '\'' | '`')) => quoted(&value[1..], quote, rest),
            _ => (unquoted(value), rest),
        };
        rest = rest_after;
        variables.push((name.to_owned(), value));
    }
    variables
}

/// Up to a comment, without spaces around.
fn unquoted(value: &str) -> String {
    let end = value.find(" #").unwrap_or(value.len());
    let value = if value.starts_with('#') { "" } else { &value[..end] };
    value.trim().to_owned()
}

/// Up to the closing quote, which may stand on a later line.
fn quoted<'r>(line: &str, quote: char, rest: &'r str) -> (String, &'r str) {
    let finish = |value: &str| {
        if quote == '"' {
            value.replace("\\n", "\n").replace("\\r", "\r")
        } else {
            value.to_owned()
        }
    };
    if let Some(end) = line.find(quote) {
        return (finish(&line[..end]), rest);
    }
    match rest.find(quote) {
        Some(end) => {
            let value = format!("{line}\n{}", &rest[..end]);
            let after = &rest[end + 1..];
            (finish(&value), after.split_once('\n').map_or("", |(_, rest)| rest))
        }
        None => (unquoted(&format!("{quote}{line}")), rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str)]) {
        let expected: Vec<(String, String)> = expected
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        assert_eq!(parse(text), expected);
    }

    #[test]
    fn the_usual_forms_are_read() {
        check(
            "# c\nA=1\nexport B = two words # no\nC=\"x\\ny\" # c\nD='it $HOME #1'\nE=`b`\nF=\n  G=a=b#c\nnot a line\n",
            &[
                ("A", "1"),
                ("B", "two words"),
                ("C", "x\ny"),
                ("D", "it $HOME #1"),
                ("E", "b"),
                ("F", ""),
                ("G", "a=b#c"),
            ],
        );
        check(
            "K=\"-----BEGIN\nabc\n-----END\"\nL=1",
            &[("K", "-----BEGIN\nabc\n-----END"), ("L", "1")],
        );
        check("A=$B\r\nB='open\r\n", &[("A", "$B"), ("B", "'open")]);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "\\PC*|[A-C=\"'`# \\n$\\\\]{0,60}") {
            let _ = parse(&text);
        }
    }
}
