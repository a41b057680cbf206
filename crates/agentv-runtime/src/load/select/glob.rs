//! Globs as users of shells know them: `*` stops at `/`, `**` does not. Whether wildcards match a leading dot depends on what
//! is matched.

use crate::load::discover::walk::files_below;
use globset::{GlobBuilder, GlobMatcher};
use std::path::{Path, PathBuf};

/// How long a pattern may be. Matching takes time for every byte of the pattern at every byte of the text.
const MAX_BYTES: usize = 8192;

/// A pattern that was checked.
#[derive(Debug, Clone)]
pub struct Glob {
    matcher: GlobMatcher,
    /// Whether the pattern itself names hidden things.
    hidden: bool,
}

/// A pattern that cannot be used.
#[derive(Debug, Clone, thiserror::Error)]
#[error("`{pattern}` is not a valid pattern: {reason}")]
pub struct BadGlob {
    pattern: String,
    reason: String,
}

impl Glob {
    pub fn new(pattern: &str) -> Result<Self, BadGlob> {
        if pattern.len() > MAX_BYTES {
            let start: String = pattern.chars().take(60).collect();
            let reason = format!("it is longer than {MAX_BYTES} bytes");
            return Err(BadGlob { pattern: format!("{start}…"), reason });
        }
        let glob =
            GlobBuilder::new(pattern).literal_separator(true).backslash_escape(false).build();
        let glob = glob.map_err(|error| BadGlob {
            pattern: pattern.to_owned(),
            reason: error.kind().to_string(),
        })?;
        let hidden = pattern.split('/').any(|segment| segment.starts_with('.'));
        Ok(Self { matcher: glob.compile_matcher(), hidden })
    }

    /// Whether the text matches; the text's separators are `/`. Wildcards do not match a leading dot.
    pub fn matches(&self, text: &str) -> bool {
        let is_hidden = || {
            text.split('/')
                .any(|segment| segment.starts_with('.') && segment != "." && segment != "..")
        };
        self.matcher.is_match(text) && (self.hidden || !is_hidden())
    }

    /// The same, but wildcards match a leading dot, too.
    pub fn matches_hidden(&self, path: impl AsRef<Path>) -> bool {
        self.matcher.is_match(path)
    }
}

/// The files under `dir` that a pattern names, hidden ones included, links followed.
pub(in crate::load) fn expand(pattern: &str, dir: &Path) -> Result<Vec<PathBuf>, BadGlob> {
    let pattern = pattern.replace('\\', "/");
    let full = dir.join(&pattern);
    let full = full.to_string_lossy();
    let glob = Glob::new(&full)?;
    // Only what lies below the pattern's plain beginning is walked.
    let plain: PathBuf = Path::new(full.as_ref())
        .components()
        .take_while(|part| !has_wildcard(part.as_os_str()))
        .collect();
    let start = if plain.is_file() { plain.parent().unwrap_or(dir).to_owned() } else { plain };
    // A directory that cannot be read hides its files, not its neighbours.
    let mut found = files_below(&start, |name| name != "node_modules" && name != ".git").files;
    found.retain(|path| glob.matches_hidden(path));
    Ok(found)
}

fn has_wildcard(part: &std::ffi::OsStr) -> bool {
    part.to_string_lossy().contains(['*', '?', '[', '{'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, text: &str, expected: bool) {
        assert_eq!(Glob::new(pattern).unwrap().matches(text), expected, "{pattern} on {text}");
    }

    #[test]
    fn stars_stop_at_slashes() {
        check("*.md", "a.md", true);
        check("*.md", "d/a.md", false);
        check("**/*.md", "a.md", true);
        check("**/*.md", "d/e/a.md", true);
        check("**/prompts/**", "x/prompts/y/z.txt", true);
        check("**/prompts/**", "prompts/z.txt", true);
        check("a-{1,2}", "a-2", true);
    }

    #[test]
    fn wildcards_do_not_match_a_leading_dot() {
        check("**/*.md", ".hidden/a.md", false);
        check("*", ".env", false);
        check(".github/**/*.md", ".github/x/a.md", true);
    }

    #[test]
    fn a_bad_pattern_is_refused() {
        assert!(Glob::new("[").is_err());
    }

    #[test]
    fn a_pattern_that_takes_too_long_to_match_is_refused() {
        let of_length = |length| format!("*{}", "é".repeat(length / 2));
        assert!(Glob::new(&of_length(MAX_BYTES - 2)).is_ok());
        let refused = Glob::new(&of_length(MAX_BYTES)).unwrap_err().to_string();
        assert!(refused.ends_with("éé…` is not a valid pattern: it is longer than 8192 bytes"));
        assert!(refused.len() < 200, "{refused}");
    }
}
