//! Links between pages: what they point at must be there, and the index must name every page.

use super::Finding;
use crate::repository::SourceFile;
use std::collections::{BTreeMap, HashMap};
use std::path::{Component, Path, PathBuf};

/// The index of `docs/`.
const INDEX: &str = "docs/README.md";
/// The index of `examples/`.
const EXAMPLES: &str = "examples/README.md";

/// Checks all Markdown files. `exists` knows what is in the tree, files that are no text included.
pub(super) fn check(files: &[SourceFile], exists: impl Fn(&Path) -> bool) -> Vec<Finding> {
    let pages: BTreeMap<&str, &SourceFile> = files
        .iter()
        .filter(|file| Path::new(&file.path).extension().is_some_and(|extension| extension == "md"))
        .map(|file| (file.path.as_str(), file))
        .collect();
    let mut findings = Vec::new();
    for page in pages.values() {
        for link in links(&page.text) {
            if let Some(problem) = problem(page, &link, &pages, &exists) {
                findings.push(Finding::new(page, link.line, problem));
            }
        }
    }
    findings.extend(unlisted(&pages));
    findings
}

/// A link as it stands in a page.
#[derive(Debug, PartialEq, Eq)]
struct Link {
    line: usize,
    target: String,
}

impl Link {
    fn is_elsewhere(&self) -> bool {
        ["http:", "https:", "mailto:"].iter().any(|scheme| self.target.starts_with(scheme))
    }

    /// The path that it names, from the top of the tree, and its anchor.
    fn resolve(&self, page: &SourceFile) -> (PathBuf, Option<&str>) {
        let (path, anchor) = match self.target.split_once('#') {
            Some((path, anchor)) => (path, Some(anchor)),
            None => (self.target.as_str(), None),
        };
        let here = Path::new(&page.path);
        let path = if path.is_empty() {
            here.to_owned()
        } else {
            normal(&here.parent().unwrap_or(Path::new("")).join(path))
        };
        (path, anchor)
    }
}

fn problem(
    page: &SourceFile,
    link: &Link,
    pages: &BTreeMap<&str, &SourceFile>,
    exists: impl Fn(&Path) -> bool,
) -> Option<String> {
    if link.is_elsewhere() {
        return None;
    }
    let (path, anchor) = link.resolve(page);
    if !exists(&path) {
        return Some(format!("the link to `{}` leads nowhere", link.target));
    }
    let (anchor, target) = (anchor?, pages.get(path.to_str()?)?);
    let known = anchors(&target.text).iter().any(|known| known == anchor);
    (!known).then(|| format!("`{}` has no heading `#{anchor}`", path.display()))
}

/// Pages and examples that their index does not name.
fn unlisted(pages: &BTreeMap<&str, &SourceFile>) -> Vec<Finding> {
    let named = |index: &str| -> Vec<PathBuf> {
        let index = pages.get(index).copied();
        index
            .into_iter()
            .flat_map(|page| links(&page.text).into_iter().map(|link| link.resolve(page).0))
            .collect()
    };
    let (docs, examples) = (named(INDEX), named(EXAMPLES));
    let mut findings = Vec::new();
    for (path, page) in pages {
        let path = Path::new(path);
        let (index, is_named) = if path.starts_with("docs") {
            (INDEX, docs.iter().any(|named| named == path))
        } else if path.starts_with("examples/features") && path.ends_with("README.md") {
            (EXAMPLES, examples.iter().any(|named| path.parent() == Some(named)))
        } else {
            continue;
        };
        if !is_named && path != Path::new(index) {
            findings.push(Finding::new(page, 1, format!("`{index}` does not name this page")));
        }
    }
    findings
}

/// The links of a page, without those in code.
fn links(text: &str) -> Vec<Link> {
    let mut links = Vec::new();
    for (line, content) in prose(text) {
        let mut rest = content.as_str();
        while let Some(at) = rest.find("](") {
            rest = &rest[at + 2..];
            // A target may be followed by a title.
            let end = rest.find([')', ' ']).unwrap_or(rest.len());
            links.push(Link { line, target: rest[..end].to_owned() });
        }
    }
    links
}

/// The anchors that headings of a page have, as GitHub makes them.
fn anchors(text: &str) -> Vec<String> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut anchors = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        if is_fence(line) {
            in_code = !in_code;
        }
        let title = line.trim_start_matches('#');
        if in_code || !line.starts_with('#') || !title.starts_with(' ') {
            continue;
        }
        let anchor = slug(title.trim());
        let count = seen.entry(anchor.clone()).or_default();
        anchors.push(if *count == 0 { anchor } else { format!("{anchor}-{count}") });
        *count += 1;
    }
    anchors
}

fn slug(title: &str) -> String {
    let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The lines that are no code, with their numbers; code inside of a line is blanked.
pub(super) fn prose(text: &str) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    let mut in_code = false;
    for (index, line) in text.lines().enumerate() {
        if is_fence(line) {
            in_code = !in_code;
        } else if !in_code {
            let outside = line.split('`').step_by(2).collect::<Vec<_>>();
            lines.push((index + 1, outside.join("`")));
        }
    }
    lines
}

fn is_fence(line: &str) -> bool {
    let start = line.trim_start();
    start.starts_with("```") || start.starts_with("~~~")
}

/// The path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            _ => normal.push(part),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_pages(pages: &[(&str, &str)], expected: &[&str]) {
        let files: Vec<SourceFile> = pages
            .iter()
            .map(|(path, text)| SourceFile { path: (*path).to_owned(), text: (*text).to_owned() })
            .collect();
        let there = |path: &Path| {
            files.iter().any(|file| Path::new(&file.path).starts_with(path))
                || path == Path::new("a.png")
        };
        let found: Vec<String> = check(&files, there).iter().map(ToString::to_string).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_link_leads_to_a_file_a_folder_or_elsewhere() {
        let text = "[a](b/c.md) [b](./b) ![p](a.png) [w](https://x.org/y) [n](b/d.md)\n";
        check_pages(
            &[("a.md", text), ("b/c.md", "[up](../a.md \"title\")")],
            &["a.md:1: the link to `b/d.md` leads nowhere"],
        );
    }

    #[test]
    fn an_anchor_is_a_heading() {
        let text = "# One `two`, three\n## Again\n## Again\n```\n# code\n```\n";
        let links = "[1](b.md#one-two-three) [2](b.md#again-1) [3](b.md#code)\n\n[4](#here)\n";
        check_pages(
            &[("a.md", links), ("b.md", text)],
            &["a.md:1: `b.md` has no heading `#code`", "a.md:3: `a.md` has no heading `#here`"],
        );
    }

    #[test]
    fn code_has_no_links() {
        check_pages(&[("a.md", "`[a](b.md)` `c` ok\n```\n[a](b.md)\n```\n")], &[]);
        check_pages(&[("a.md", "`x` [a](b.md)\n")], &["a.md:1: the link to `b.md` leads nowhere"]);
    }

    #[test]
    fn the_index_names_every_page() {
        let index = ("docs/README.md", "[a](guide/a.md)\n");
        let message = "docs/guide/b.md:1: `docs/README.md` does not name this page";
        check_pages(&[index, ("docs/guide/a.md", ""), ("docs/guide/b.md", "")], &[message]);
        let examples = ("examples/README.md", "[x](features/x)\n");
        let message =
            "examples/features/y/README.md:1: `examples/README.md` does not name this page";
        check_pages(
            &[
                examples,
                ("examples/features/x/README.md", ""),
                ("examples/features/y/README.md", ""),
            ],
            &[message],
        );
    }
}
