//! Which files are guidelines: they go to the front of the prompt instead of into the question.

use super::glob::Glob;
use super::yaml;
use crate::config::{Env, Fields, Leftovers, Note, Notes};
use std::path::{Path, PathBuf};

/// Without any configuration, these are guidelines.
const DEFAULTS: [&str; 4] =
    ["**/*.instructions.md", "**/instructions/**", "**/*.prompt.md", "**/prompts/**"];

/// The patterns that hold for an eval file.
#[derive(Debug)]
pub(super) struct Guidelines {
    globs: Vec<Glob>,
    repo_root: PathBuf,
    /// Whether these are the defaults, which nobody wrote down.
    pub(super) are_defaults: bool,
}

impl Guidelines {
    /// Looks for `.agentv.yaml` beside the eval file, then for `.agentv/config.yaml` up to the repository's root. A file
    /// that cannot be used is noted, and the next one tried.
    pub(super) fn load(eval_dir: &Path, repo_root: &Path) -> (Self, Vec<Note>) {
        let mut notes = Vec::new();
        let beside = eval_dir.join(".agentv.yaml");
        let upwards = eval_dir.ancestors().take_while(|dir| dir.starts_with(repo_root));
        let candidates =
            std::iter::once(beside).chain(upwards.map(|dir| dir.join(".agentv/config.yaml")));
        for path in candidates.filter(|path| path.is_file()) {
            let (patterns, found) = read(&path);
            notes.extend(found);
            if let Some(globs) = patterns {
                return (
                    Self { globs, repo_root: repo_root.to_owned(), are_defaults: false },
                    notes,
                );
            }
        }
        let globs = DEFAULTS.iter().filter_map(|pattern| Glob::new(pattern).ok()).collect();
        (Self { globs, repo_root: repo_root.to_owned(), are_defaults: true }, notes)
    }

    /// Whether a file, given by its absolute path, is a guideline. Patterns see the path from the repository's root.
    pub(super) fn cover(&self, path: &Path) -> bool {
        let path = path.strip_prefix(&self.repo_root).unwrap_or(path);
        let text = path.to_string_lossy().replace('\\', "/");
        let text = text.trim_start_matches('/');
        self.globs.iter().any(|glob| glob.matches(text))
    }
}

/// The patterns of a configuration file; `None` if it has none. A file that cannot be read is passed over; one that is wrong
/// stops the run like any other.
fn read(path: &Path) -> (Option<Vec<Glob>>, Vec<Note>) {
    let mut notes = Notes::new(path);
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            notes.warning("config::unreadable", None, format!("the file cannot be read: {error}"));
            return (None, notes.finish().0);
        }
    };
    let patterns = check(&text, &mut notes);
    notes.locate(&text, 1);
    (patterns, notes.finish().0)
}

/// Checks a configuration file's text.
pub(super) fn check(text: &str, notes: &mut Notes) -> Option<Vec<Glob>> {
    let root = yaml::parse(text, notes)?;
    if root.is_null() {
        return None;
    }
    let env = Env::default();
    let mut fields =
        Fields::of(&root, "the configuration", crate::config::Cost::Command, notes, &env)?;
    fields.node("$schema");
    let span = fields.span_of("guideline_patterns");
    let patterns: Option<Vec<String>> = fields.take("guideline_patterns");
    let mut globs = Vec::new();
    for pattern in patterns.as_deref().unwrap_or_default() {
        match Glob::new(pattern) {
            Ok(glob) => globs.push(glob),
            Err(error) => {
                fields.error_at("config::pattern", span, error.to_string());
            }
        }
    }
    fields.finish(Leftovers::Warn);
    patterns.map(|_| globs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: bool) {
        let dir = Path::new("/nowhere/repo");
        let (guidelines, _) = Guidelines::load(&dir.join("evals"), dir);
        assert!(guidelines.are_defaults);
        assert_eq!(guidelines.cover(Path::new(path)), expected, "{path}");
    }

    #[test]
    fn the_defaults_cover_instructions_and_prompts() {
        check("/nowhere/repo/evals/x.instructions.md", true);
        check("/nowhere/repo/prompts/deep/a.txt", true);
        check("/nowhere/repo/evals/a.prompt.md", true);
        check("/nowhere/repo/evals/notes.md", false);
        check("/nowhere/repo/.github/prompts/a.md", false);
        check("/elsewhere/prompts/a.md", true);
    }
}
