//! The mandatory-reading document for agents that can open files: links first, then the query.

use crate::Request;
use crate::suite::basename;
use std::path::{Path, PathBuf};

/// What files besides guidelines are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wording {
    Input,
    Attachment,
}

/// The whole document. Without files it is the query alone.
pub fn document(request: &Request, wording: Wording) -> String {
    let mut parts = Vec::new();
    if let Some(section) = section("guideline", &request.guideline_paths) {
        parts.push(section);
    }
    let other = match wording {
        Wording::Input => "input",
        Wording::Attachment => "attachment",
    };
    if let Some(section) = section(other, &request.file_paths) {
        parts.push(section);
    }
    if !parts.is_empty() {
        parts.push(RULES.to_owned());
    }
    parts.push(format!("[[ ## user_query ## ]]\n\n{}", request.question.trim()));
    parts.join("\n\n")
}

const RULES: &str = "If a file is missing, reply with `ERROR: missing-file <filename>` and stop.\n\
    Then apply system_instructions to the user query below.";

fn section(what: &str, paths: &[PathBuf]) -> Option<String> {
    if paths.is_empty() {
        return None;
    }
    let links: Vec<String> = paths.iter().map(|path| format!("* {}", link(path))).collect();
    Some(format!("Read all {what} files first:\n{}.", links.join("\n")))
}

/// A Markdown link to a file. Not percent-encoded: the readers take the text as it is.
pub fn link(path: &Path) -> String {
    let text = path.to_string_lossy().replace('\\', "/");
    let slash = if text.starts_with('/') { "" } else { "/" };
    format!("[{}](file://{slash}{text})", basename(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EvalId;

    fn request(guidelines: &[&str], files: &[&str]) -> Request {
        Request {
            guideline_paths: guidelines.iter().map(PathBuf::from).collect(),
            file_paths: files.iter().map(PathBuf::from).collect(),
            ..Request::plain(&EvalId::from("c"), " why?\n".to_owned())
        }
    }

    #[test]
    fn without_files_only_the_query_is_left() {
        assert_eq!(document(&request(&[], &[]), Wording::Input), "[[ ## user_query ## ]]\n\nwhy?");
    }

    #[test]
    fn links_come_before_the_query() {
        let text =
            document(&request(&["/r/a.md"], &["/r/b c.txt", "/r/d.txt"]), Wording::Attachment);
        assert_eq!(
            text,
            "Read all guideline files first:\n* [a.md](file:///r/a.md).\n\n\
             Read all attachment files first:\n* [b c.txt](file:///r/b c.txt)\n* [d.txt](file:///r/d.txt).\n\n\
             If a file is missing, reply with `ERROR: missing-file <filename>` and stop.\n\
             Then apply system_instructions to the user query below.\n\n\
             [[ ## user_query ## ]]\n\nwhy?"
        );
    }
}
