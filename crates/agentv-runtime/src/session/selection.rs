//! Which cases a spec asks for, and what can be wrong with a spec by itself.

use super::Refused;
use crate::load::{BadGlob, BadShard, Glob, IdFilter, Sample, Selection, TagFilter};
use agentv_core::amount;
use agentv_wire::{CaseSelection, RunSpec};
use std::path::Path;
use std::sync::Arc;

/// How many tags a message lists.
const TAGS_SHOWN: usize = 20;

/// How many cases of how many.
#[derive(Debug, Clone)]
pub struct Selected {
    /// Whether no case was to be left out.
    pub is_all: bool,
    pub cases: usize,
    pub of: usize,
    /// How many there were before a sample and a shard were taken of them.
    pub before_sampling: usize,
    /// What to say about tags that no case has.
    pub unknown_tags: Option<String>,
}

/// Refuses a spec that cannot be run, whatever the files say. Returns what is worth a warning.
pub(super) fn check(spec: &RunSpec) -> Result<Vec<String>, Refused> {
    let gates = &spec.gates;
    for (flag, score) in
        [("--threshold", gates.threshold), ("--case-threshold", gates.case_threshold)]
    {
        if let Some(score) = score.filter(|score| !(0.0..=1.0).contains(score)) {
            return Err(Refused::usage(
                format!("`{flag}` must be between 0 and 1, got {score}"),
                "scores are between 0 and 1",
            ));
        }
    }
    if let Some(cost) = spec.budget.max_cost_usd.filter(|cost| !(cost.is_finite() && *cost > 0.0)) {
        return Err(Refused::usage(
            format!("`--max-cost` must be above 0, got {cost}"),
            "give US dollars, like 2.5",
        ));
    }
    read(&spec.cases).map(|_| Vec::new())
}

/// The selection, but for what changed, which Git has to be asked for.
pub(super) fn read(cases: &CaseSelection) -> Result<Selection, Refused> {
    let bad_glob =
        |error: BadGlob| Refused { help: None, ..Refused::usage(error.to_string(), String::new()) };
    let shard = cases.shard.as_deref().map(str::parse).transpose().map_err(|error: BadShard| {
        Refused::usage(error.to_string(), "write `--shard 2/8` for the second of eight")
    })?;
    let filters = cases.filter.iter().map(|text| IdFilter::new(text)).collect::<Result<_, _>>();
    Ok(Selection {
        eval_id: cases.eval_id.as_deref().map(Glob::new).transpose().map_err(bad_glob)?,
        filters: filters.map_err(bad_glob)?,
        tags: TagFilter::new(cases.tags.clone()),
        only: (!cases.only.is_empty()).then(|| Arc::new(cases.only.clone())),
        changed: None,
        sample: cases.sample.map(|count| Sample { count, seed: cases.seed.unwrap_or(0) }),
        shard,
    })
}

/// What can still be wrong when all files are good.
pub(super) fn check_loaded(selected: &Selected, spec: &RunSpec, out: &Path) -> Result<(), Refused> {
    // A shard without cases is not a mistake: other shards have them all.
    let is_empty_shard = spec.cases.shard.is_some() && selected.before_sampling > 0;
    if selected.cases == 0 && !spec.cases.changed_files.is_empty() {
        return Err(Refused::nothing_to_do("no case depends on a changed file".to_owned()));
    }
    if selected.cases == 0 && !is_empty_shard {
        let (files, filters) = (count(selected.of), filters(&spec.cases));
        let tags = selected.unknown_tags.iter().map(|tags| format!(": {tags}"));
        return Err(Refused::usage(
            "No eval cases matched the provided filters.",
            format!("the files have {files}; check {filters}{}", tags.collect::<String>()),
        ));
    }
    if let Some(input) = spec.suites.iter().find(|input| is_same_file(input, out)) {
        let message = format!("`--out` would overwrite the eval file `{}`", input.display());
        return Err(Refused::usage(message, "choose another name for the results"));
    }
    Ok(())
}

/// Names the tags that no case has, and those that there are.
pub(super) fn unknown_tags(tags: &TagFilter) -> Option<String> {
    let (unknown, known) = tags.unknown();
    if unknown.is_empty() {
        return None;
    }
    let list = |tags: &[&str]| tags.iter().map(|tag| format!("`{tag}`")).collect::<Vec<_>>();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let shown = list(&known[..known.len().min(TAGS_SHOWN)]).join(", ");
    let known = match known.len() {
        0 => "no case has a tag".to_owned(),
        many if many > TAGS_SHOWN => format!("tags in use: {shown} and {} more", many - TAGS_SHOWN),
        _ => format!("tags in use: {shown}"),
    };
    Some(format!("no case has the tag {}; {known}", list(&unknown).join(" or ")))
}

fn count(cases: usize) -> String {
    amount::count(cases, "case", "cases")
}

/// The flags that leave cases out.
fn filters(cases: &CaseSelection) -> String {
    let flags = [
        ("`--eval-id`", cases.eval_id.is_some()),
        ("`--filter`", !cases.filter.is_empty()),
        ("`--tag`", !cases.tags.is_empty()),
        ("`--last-failed`", !cases.only.is_empty()),
        ("`--changed-since`", cases.changed_since.is_some()),
    ];
    let used: Vec<&str> = flags.iter().filter(|(_, used)| *used).map(|(flag, _)| *flag).collect();
    if used.is_empty() { "the files".to_owned() } else { used.join(", ") }
}

pub(super) fn is_same_file(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}
