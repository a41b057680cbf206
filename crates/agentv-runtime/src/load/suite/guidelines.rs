//! Which files are guidelines: they go to the front of the prompt instead of into the question.

use crate::config::{Env, Fields, Leftovers, Note, Notes, Scrub};
use crate::file_input;
use crate::load::select::glob::Glob;
use crate::load::syntax::yaml;
use crate::process::sandbox::{SandboxSettings, SandboxUser};
use agentv_core::redact::check_pattern;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Without any configuration, these are guidelines. Only a case with files needs them, and making them is nearly a
/// quarter of all that a run of one case does.
static DEFAULTS: LazyLock<Vec<Glob>> = LazyLock::new(|| {
    let patterns =
        ["**/*.instructions.md", "**/instructions/**", "**/*.prompt.md", "**/prompts/**"];
    patterns.iter().filter_map(|pattern| Glob::new(pattern).ok()).collect()
});

/// The patterns that hold for an eval file.
#[derive(Debug)]
pub(in crate::load) struct Guidelines {
    /// `None` for the defaults, which no file has.
    globs: Option<Vec<Glob>>,
    /// Patterns see paths from each of these folders.
    folders: Vec<PathBuf>,
    /// Whose children get only the secrets that they are passed.
    pub(super) scrub: Scrub,
    /// Texts that are masked besides secrets: `redact: [PATTERN]`.
    pub(in crate::load) redact: Vec<String>,
    /// The sandbox of scripts that grade, by `judges: {sandbox: …}`.
    pub(super) judge_sandbox: Option<SandboxSettings>,
    /// The files that say so.
    pub(super) sources: Vec<PathBuf>,
}

/// What a configuration file says.
#[derive(Debug, Default)]
pub(in crate::load) struct Configuration {
    patterns: Option<Vec<Glob>>,
    scrub_judges: Option<bool>,
    scrub_targets: Option<bool>,
    redact: Vec<String>,
    judge_sandbox: Option<SandboxSettings>,
}

impl Guidelines {
    /// Looks for `.agentv.yaml` beside the eval file, then for `.agentv/config.yaml` up to the repository's root. A file
    /// that cannot be used is noted, and the next one tried.
    pub(in crate::load) fn load(eval_dir: &Path, repo_root: &Path) -> (Self, Vec<Note>) {
        let mut notes = Vec::new();
        let beside = eval_dir.join(BESIDE);
        let upwards = eval_dir.ancestors().take_while(|dir| dir.starts_with(repo_root));
        let candidates =
            std::iter::once(beside).chain(upwards.map(|dir| dir.join(".agentv/config.yaml")));
        // The nearest file that says something about a matter decides it.
        let mut whole = Configuration::default();
        let mut folders = vec![repo_root.to_owned()];
        let mut sources = Vec::new();
        for path in candidates.filter(|path| path.is_file()) {
            let (configuration, found) = read(&path);
            notes.extend(found);
            sources.push(path.clone());
            if whole.patterns.is_none()
                && configuration.patterns.is_some()
                && path.ends_with(BESIDE)
            {
                folders.insert(0, eval_dir.to_owned());
            }
            whole.patterns = whole.patterns.or(configuration.patterns);
            whole.scrub_judges = whole.scrub_judges.or(configuration.scrub_judges);
            whole.scrub_targets = whole.scrub_targets.or(configuration.scrub_targets);
            // Patterns add up: a nearer file must not show what one above it hides.
            whole.redact.extend(configuration.redact);
            whole.judge_sandbox = whole.judge_sandbox.or(configuration.judge_sandbox);
        }
        let scrub = Scrub {
            judges: whole.scrub_judges.unwrap_or(false),
            targets: whole.scrub_targets.unwrap_or(false),
        };
        let redact = whole.redact;
        let judge_sandbox = whole.judge_sandbox;
        let guidelines =
            Self { globs: whole.patterns, folders, scrub, redact, judge_sandbox, sources };
        (guidelines, notes)
    }

    /// Whether these are the defaults.
    pub(super) fn are_defaults(&self) -> bool {
        self.globs.is_none()
    }

    /// Whether a file, given by its absolute path, is a guideline. Patterns of a `.agentv.yaml` see the path from its own
    /// folder, then from the repository's root; others from the root only. Wildcards match hidden folders: `.github` is
    /// where such files are.
    pub(super) fn cover(&self, path: &Path) -> bool {
        let globs = self.globs.as_ref().unwrap_or(&DEFAULTS);
        let below = self.folders.iter().filter_map(|folder| path.strip_prefix(folder).ok());
        let mut seen: Vec<&Path> = below.collect();
        if seen.is_empty() {
            seen.push(path);
        }
        seen.into_iter().any(|path| {
            let text = path.to_string_lossy().replace('\\', "/");
            let text = text.trim_start_matches('/');
            globs.iter().any(|glob| glob.matches_hidden(text))
        })
    }
}

/// The configuration beside an eval file.
const BESIDE: &str = ".agentv.yaml";

/// What a configuration file says. A file that cannot be read is passed over; one that is wrong stops the run like any
/// other.
fn read(path: &Path) -> (Configuration, Vec<Note>) {
    let mut notes = Notes::new(path);
    let text = match file_input::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            notes.warning("config::unreadable", None, format!("the file cannot be read: {error}"));
            return (Configuration::default(), notes.finish().0);
        }
    };
    let configuration = check(&text, &mut notes).unwrap_or_default();
    notes.locate(&text, 1);
    (configuration, notes.finish().0)
}

/// Checks a configuration file's text.
pub(in crate::load) fn check(text: &str, notes: &mut Notes) -> Option<Configuration> {
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
    let scrub = scrub(&mut fields);
    let (scrub_judges, judge_sandbox) = judges(&mut fields);
    let scrub_judges = scrub_judges.or(scrub);
    let scrub_targets = scrub_of("targets", &mut fields).or(scrub);
    let redact = redact(&mut fields);
    fields.finish(Leftovers::Warn);
    let patterns = patterns.map(|_| globs);
    Some(Configuration { patterns, scrub_judges, scrub_targets, redact, judge_sandbox })
}

/// `redact: [PATTERN]`
fn redact(fields: &mut Fields<'_, '_>) -> Vec<String> {
    let span = fields.span_of("redact");
    let patterns: Vec<String> = fields.take("redact").unwrap_or_default();
    for error in patterns.iter().filter_map(|pattern| check_pattern(pattern).err()) {
        fields.error_at("config::pattern", span, format!("`redact`: {error}"));
    }
    patterns
}

/// `judges: {env: scrub | inherit, sandbox: …}`
fn judges(fields: &mut Fields<'_, '_>) -> (Option<bool>, Option<SandboxSettings>) {
    let Some(mut own) = fields.sub(&["judges"]) else { return (None, None) };
    let sandbox = SandboxSettings::read(&mut own, SandboxUser::Judge);
    let scrub = scrub(&mut own);
    own.finish(Leftovers::Warn);
    (scrub, sandbox)
}

/// `targets: {env: scrub | inherit}`
fn scrub_of(key: &'static str, fields: &mut Fields<'_, '_>) -> Option<bool> {
    let mut own = fields.sub(&[key])?;
    let scrub = scrub(&mut own);
    own.finish(Leftovers::Warn);
    scrub
}

/// `env: scrub | inherit`
fn scrub(fields: &mut Fields<'_, '_>) -> Option<bool> {
    let env: String = fields.take("env")?;
    match env.as_str() {
        "scrub" => Some(true),
        "inherit" => Some(false),
        other => {
            let message =
                format!("`env` of {} must be `scrub` or `inherit`, not `{other}`", fields.owner());
            fields.error("config::env-choice", "env", message).help("write `env: scrub`");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: bool) {
        let dir = Path::new("/nowhere/repo");
        let (guidelines, _) = Guidelines::load(&dir.join("evals"), dir);
        assert!(guidelines.are_defaults());
        assert_eq!(guidelines.cover(Path::new(path)), expected, "{path}");
    }

    #[test]
    fn the_defaults_cover_instructions_and_prompts() {
        check("/nowhere/repo/evals/x.instructions.md", true);
        check("/nowhere/repo/prompts/deep/a.txt", true);
        check("/nowhere/repo/evals/a.prompt.md", true);
        check("/nowhere/repo/evals/notes.md", false);
        check("/nowhere/repo/.github/prompts/a.md", true);
        check("/nowhere/repo/.github/instructions/deep/a.md", true);
        check("/elsewhere/prompts/a.md", true);
    }
}
