//! What an agent is told, and the files that go with it.

use crate::file_input;
use agentv_core::Request;
use agentv_core::prompt::preread::{self, Wording};
use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// For agents whose files will not be seen.
pub const ANSWER_IN_TEXT: &str = "\
Do not create, change or delete any file. Your reply is all that is looked at, so it must hold everything that you would \
change: for each file its path and a unified diff, as `diff --git` prints it. Give code in full, in fenced blocks.";

/// Beyond this a file is linked and not copied into the prompt.
const TEXT_LIMIT: u64 = 256 << 10;

/// Links to the files, then the query, with rules in front.
pub fn with_links(request: &Request, rules: Option<&str>) -> String {
    with_rules(rules, preread::document(request, Wording::Input))
}

/// Rules in front of a prompt, where the client has no other place for them.
pub fn with_rules(rules: Option<&str>, prompt: String) -> String {
    match rules {
        Some(rules) => format!("{rules}\n\n{prompt}"),
        None => prompt,
    }
}

/// A prompt with the files' contents.
#[derive(Debug)]
pub struct Contents {
    pub text: String,
    /// Where files are that could only be linked, outside of the working directory. The agent must be allowed to read there.
    pub linked_dirs: Vec<PathBuf>,
}

/// The preread document, then the text of each file. What is binary, too long or unreadable stays a link.
pub fn with_contents(request: &Request, cwd: &Path) -> Contents {
    let mut text = preread::document(request, Wording::Input);
    let mut linked_dirs: Vec<PathBuf> = Vec::new();
    for path in request.input_files() {
        let inside = path.strip_prefix(cwd).ok();
        if let Some(contents) = contents(path) {
            let shown = inside.unwrap_or(path).to_string_lossy();
            let _ = write!(text, "\n\n<file path=\"{}\">\n{contents}\n</file>", attribute(&shown));
        } else if inside.is_none()
            && let Some(dir) = path.parent()
            && !linked_dirs.iter().any(|known| known == dir)
        {
            linked_dirs.push(dir.to_owned());
        }
    }
    Contents { text, linked_dirs }
}

/// A file's text, if it has one that is fit for a prompt.
fn contents(path: &Path) -> Option<String> {
    let bytes = file_input::read_capped(file_input::open(path).ok()?, TEXT_LIMIT).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    (!text.contains('\0')).then_some(text)
}

fn attribute(text: &str) -> Cow<'_, str> {
    if text.contains(['"', '&', '<']) {
        text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").into()
    } else {
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentv_core::EvalId;
    use std::fs;

    #[test]
    fn texts_are_given_and_the_rest_is_linked() {
        let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let write = |dir: &Path, name: &str, bytes: &[u8]| {
            let path = dir.join(name);
            fs::write(&path, bytes).unwrap();
            path
        };
        let large = vec![b'x'; usize::try_from(TEXT_LIMIT).unwrap() + 1];
        let request = Request {
            file_paths: vec![
                write(inside.path(), "a\"b.txt", b"one"),
                write(inside.path(), "picture", b"\x89PNG\0"),
                write(outside.path(), "c.txt", "zwei ✓".as_bytes()),
                write(outside.path(), "large", &large),
                write(outside.path(), "binary", b"\xff"),
                outside.path().join("missing"),
            ],
            ..Request::plain(&EvalId::from("c"), "why?".to_owned())
        };
        let Contents { text, linked_dirs } = with_contents(&request, inside.path());
        assert!(text.starts_with("Read all input files first:\n* [a\"b.txt](file://"), "{text}");
        let (_, files) = text.split_once("why?").unwrap();
        let shown = outside.path().join("c.txt");
        assert_eq!(
            files,
            format!(
                "\n\n<file path=\"a&quot;b.txt\">\none\n</file>\n\n<file path=\"{}\">\nzwei ✓\n</file>",
                shown.display()
            )
        );
        assert_eq!(linked_dirs, [outside.path()]);
    }
}
