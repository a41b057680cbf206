//! The same comparison for a part of the grades or of the cases: it shows where a change comes from.

use super::pairs::Pair;
use super::{Rules, Scored};
use crate::stats::{Level, PairedSample, holm};
use agentv_wire::comparison::{ComparedGroup, ComparisonSide};
use std::collections::{BTreeMap, BTreeSet};

/// The pairs of one part.
#[derive(Debug, Default)]
struct Group {
    scores: PairedSample,
    errors1: usize,
    errors2: usize,
    is_in_baseline: bool,
    is_in_candidate: bool,
}

impl Group {
    fn only_in(&self) -> Option<ComparisonSide> {
        match (self.is_in_baseline, self.is_in_candidate) {
            (true, false) => Some(ComparisonSide::Baseline),
            (false, true) => Some(ComparisonSide::Candidate),
            _ => None,
        }
    }

    fn add_pair(&mut self, pair: &Pair<'_>) {
        let scores =
            |trials: &[&Scored]| -> Vec<f64> { trials.iter().map(|record| record.score).collect() };
        self.scores.add(&scores(&pair.baseline), &scores(&pair.candidate), pair.cluster);
    }
}

type Groups<'r> = BTreeMap<&'r str, Group>;

/// Evaluators by name. A case counts where both runs have a grade.
pub(super) fn by_evaluator(pairs: &[Pair<'_>], rules: &Rules) -> Vec<ComparedGroup> {
    let mut groups = Groups::new();
    for pair in pairs {
        let (grades1, grades2) = (grades(&pair.baseline), grades(&pair.candidate));
        for (name, one) in &grades1 {
            let group = groups.entry(name).or_default();
            group.errors1 += one.errors;
            group.is_in_baseline = true;
        }
        for (name, two) in &grades2 {
            let group = groups.entry(name).or_default();
            group.errors2 += two.errors;
            group.is_in_candidate = true;
            if let Some(one) = grades1.get(name) {
                group.scores.add(&one.scores, &two.scores, pair.cluster);
            }
        }
    }
    finish(groups, rules)
}

/// Cases by tag; a case with several tags is in several groups.
pub(super) fn by_tag(pairs: &[Pair<'_>], rules: &Rules) -> Vec<ComparedGroup> {
    let mut groups = Groups::new();
    for pair in pairs {
        let records = pair.baseline.iter().chain(&pair.candidate);
        let tags: BTreeSet<&str> =
            records.flat_map(|record| record.tags.iter().map(|tag| &**tag)).collect();
        for tag in tags {
            groups.entry(tag).or_default().add_pair(pair);
        }
    }
    finish(groups, rules)
}

/// Cases by target, where targets tell them apart.
pub(super) fn by_target(pairs: &[Pair<'_>], rules: &Rules) -> Vec<ComparedGroup> {
    let mut groups = Groups::new();
    for pair in pairs {
        if let Some(target) = pair.key.target {
            groups.entry(target).or_default().add_pair(pair);
        }
    }
    finish(groups, rules)
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

fn finish(groups: Groups<'_>, rules: &Rules) -> Vec<ComparedGroup> {
    // A part without a case that both runs have is not tested.
    let tests = groups.values().filter(|group| !group.scores.is_empty()).count();
    let level = Level { alpha: rules.level, tests };
    let compared = |(name, group): (&str, Group)| {
        let (mean1, mean2) = group.scores.means().unwrap_or_default();
        ComparedGroup {
            name: name.to_owned(),
            cases: group.scores.len(),
            mean1,
            mean2,
            mean_delta: mean2 - mean1,
            p_value: group.scores.test(level, rules.resampling).p_value,
            p_adjusted: 1.0,
            errors1: group.errors1,
            errors2: group.errors2,
            only_in: group.only_in(),
        }
    };
    let mut compared: Vec<ComparedGroup> = groups.into_iter().map(compared).collect();
    let mut tested: Vec<&mut ComparedGroup> =
        compared.iter_mut().filter(|group| group.cases > 0).collect();
    let p_values: Vec<f64> = tested.iter().map(|group| group.p_value).collect();
    for (group, p_adjusted) in tested.iter_mut().zip(holm(&p_values)) {
        group.p_adjusted = p_adjusted;
    }
    compared
}
