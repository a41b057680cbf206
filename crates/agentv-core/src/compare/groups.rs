//! The same comparison for a part of the grades or of the cases: it shows where a change comes from.

use super::Scored;
use super::pairs::Pair;
use super::verdict::{Difference, test};
use crate::stats::{Resampling, mean};
use agentv_wire::comparison::ComparedGroup;
use std::collections::{BTreeMap, BTreeSet};

/// The pairs of one part.
#[derive(Debug, Default)]
struct Group {
    pairs: Vec<Difference>,
    errors1: usize,
    errors2: usize,
}

type Groups<'r> = BTreeMap<&'r str, Group>;

/// Evaluators by name. A case counts where both runs have a grade.
pub(super) fn by_evaluator(pairs: &[Pair<'_>], resampling: Resampling) -> Vec<ComparedGroup> {
    let mut groups = Groups::new();
    for pair in pairs {
        let (grades1, grades2) = (grades(&pair.baseline), grades(&pair.candidate));
        for (name, one) in &grades1 {
            groups.entry(name).or_default().errors1 += one.errors;
        }
        for (name, two) in &grades2 {
            let group = groups.entry(name).or_default();
            group.errors2 += two.errors;
            let one = grades1.get(name).and_then(|one| mean(one.scores.iter().copied()));
            if let (Some(score1), Some(score2)) = (one, mean(two.scores.iter().copied())) {
                group.pairs.push(Difference { score1, score2, cluster: pair.cluster });
            }
        }
    }
    finish(groups, resampling)
}

/// Cases by tag; a case with several tags is in several groups.
pub(super) fn by_tag(pairs: &[Pair<'_>], resampling: Resampling) -> Vec<ComparedGroup> {
    let mut groups = Groups::new();
    for pair in pairs {
        let records = pair.baseline.iter().chain(&pair.candidate);
        let tags: BTreeSet<&str> =
            records.flat_map(|record| record.tags.iter().map(|tag| &**tag)).collect();
        for tag in tags {
            groups.entry(tag).or_default().pairs.push(Difference::of(pair));
        }
    }
    finish(groups, resampling)
}

/// Cases by target, where targets tell them apart.
pub(super) fn by_target(pairs: &[Pair<'_>], resampling: Resampling) -> Vec<ComparedGroup> {
    let mut groups = Groups::new();
    for pair in pairs {
        if let Some(target) = pair.key.target {
            groups.entry(target).or_default().pairs.push(Difference::of(pair));
        }
    }
    finish(groups, resampling)
}

/// What one evaluator gave over the trials of a case.
#[derive(Debug, Default)]
struct Graded {
    scores: Vec<f64>,
    errors: usize,
}

fn grades<'r>(trials: &[&'r Scored]) -> BTreeMap<&'r str, Graded> {
    let mut grades: BTreeMap<&str, Graded> = BTreeMap::new();
    for grade in trials.iter().flat_map(|record| &record.grades) {
        let graded = grades.entry(&grade.evaluator).or_default();
        match grade.score {
            Some(score) => graded.scores.push(score),
            None => graded.errors += 1,
        }
    }
    grades
}

fn finish(groups: Groups<'_>, resampling: Resampling) -> Vec<ComparedGroup> {
    let compared = |(name, group): (&str, Group)| {
        let mean1 = mean(group.pairs.iter().map(|pair| pair.score1)).unwrap_or(0.0);
        let mean2 = mean(group.pairs.iter().map(|pair| pair.score2)).unwrap_or(0.0);
        ComparedGroup {
            name: name.to_owned(),
            cases: group.pairs.len(),
            mean1,
            mean2,
            mean_delta: mean2 - mean1,
            p_value: test(&group.pairs, resampling).p_value,
            errors1: group.errors1,
            errors2: group.errors2,
        }
    };
    groups.into_iter().map(compared).collect()
}
