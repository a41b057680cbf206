//! `agentv plan`: how many cases and trials it takes to see a difference.

use super::compare::{fail, shown};
use crate::args::PlanArgs;
use crate::results_args::PlanFormat;
use crate::settings::Environment;
use crate::terminal::{self, show_plan};
use agentv_core::plan::{Goal, Noise, TrialCounts, cases_needed, forecast, power};
use agentv_core::stats::{Resampling, mean};
use agentv_runtime::results_io::{CaseHistory, History, ResultsError, read_history};
use agentv_wire::comparison::MeanInterval;
use agentv_wire::plan::{ComparisonPlan, Forecast, PlanOption};
use agentv_wire::{Exit, number};
use std::path::Path;

pub(crate) fn run(args: &PlanArgs, environment: &Environment) -> Exit {
    if let Some((message, help)) = refusal(args) {
        return terminal::fail(&message, Some(help));
    }
    let mut histories = Vec::new();
    for name in &args.runs {
        match read(name, environment) {
            Ok(history) => histories.push(history),
            Err(error) => return fail(&error),
        }
    }
    let Some(noise) = noise(args, &histories) else {
        let help = "name runs with graded cases; two runs must have cases in common";
        return terminal::fail("there are no scores to plan with", Some(help));
    };
    let plan = plan(args, &noise, histories.last());
    match args.format {
        PlanFormat::Table => show_plan(&plan, args.workers, &mut environment.screen()),
        PlanFormat::Json => {
            environment.screen().data(&number::to_string_pretty(&plan).unwrap_or_default());
        }
    }
    Exit::Success
}

fn refusal(args: &PlanArgs) -> Option<(String, &'static str)> {
    let is_within = |value: f64, low: f64, high: f64| (low..=high).contains(&value);
    if !(args.difference > 0.0 && args.difference <= 1.0) {
        let message =
            format!("`--difference` must be above 0 and at most 1, got {}", args.difference);
        return Some((message, "give a difference of mean scores, like 0.05"));
    }
    if !is_within(args.power, 0.5, 0.999) {
        let message = format!("`--power` must be between 0.5 and 0.999, got {}", args.power);
        return Some((message, "leave it out for the usual 0.8"));
    }
    if !is_within(args.level, 0.001, 0.5) {
        let message = format!("`--level` must be between 0.001 and 0.5, got {}", args.level);
        return Some((message, "leave it out for the usual 0.05"));
    }
    let rate = args.rate.filter(|rate| !is_within(*rate, 0.0, 1.0))?;
    Some((format!("`--rate` must be between 0 and 1, got {rate}"), "give a pass rate, like 0.8"))
}

fn read(name: &Path, environment: &Environment) -> Result<History, ResultsError> {
    let path = environment.results_of(name)?;
    read_history(&path, &shown(&path, &environment.working_dir))
}

fn noise(args: &PlanArgs, histories: &[History]) -> Option<Noise> {
    match (args.rate, histories) {
        (Some(rate), _) => Some(Noise::of_rate(rate)),
        (None, [one]) => {
            let cases: Vec<Vec<f64>> = one.values().map(|case| case.scores.clone()).collect();
            Noise::of_run(&cases)
        }
        (None, [one, other]) => {
            let pairs = one.iter().filter_map(|(key, case)| {
                let other = other.get(key)?;
                Some((case.scores.clone(), other.scores.clone()))
            });
            let graded = pairs
                .filter(|(one, other): &(Vec<f64>, Vec<f64>)| !one.is_empty() && !other.is_empty());
            Noise::of_runs(&graded.collect::<Vec<_>>())
        }
        (None, _) => None,
    }
}

fn plan(args: &PlanArgs, noise: &Noise, earlier: Option<&History>) -> ComparisonPlan {
    // The pass rate is a test of its own where it is not the mean score.
    let is_one = earlier.is_none_or(|run| run.values().all(|case| case.scores_are_passes));
    let (tests, level) = if is_one { (1, args.level) } else { (2, args.level / 2.0) };
    let goal = Goal { difference: args.difference, power: args.power, level };
    let options = args.trials.iter().map(|trials| {
        let candidate = usize::from(*trials);
        let baseline = args.baseline_trials.map_or(candidate, usize::from);
        let trials = TrialCounts { baseline, candidate };
        option(trials, cases_needed(noise, &goal, trials), noise, &goal)
    });
    let with_forecast = |option: PlanOption| match earlier {
        Some(run) => with_forecast(option, run, args.workers),
        None => option,
    };
    ComparisonPlan {
        difference: args.difference,
        power: args.power,
        level: args.level,
        tests,
        noise: noise.wire(),
        options: options.map(with_forecast).collect(),
        earlier: earlier.and_then(|run| as_it_was(run, noise, &goal)),
    }
}

fn option(trials: TrialCounts, cases: Option<usize>, noise: &Noise, goal: &Goal) -> PlanOption {
    PlanOption {
        trials: trials.candidate,
        baseline_trials: trials.baseline,
        cases,
        power: cases.map(|cases| power(noise, goal, trials, cases)),
        records: cases.map(|cases| cases.saturating_mul(trials.candidate)),
        cost_usd: None,
        duration_ms: None,
    }
}

/// What the cases of the earlier run can show, with as many trials as most of them have.
fn as_it_was(run: &History, noise: &Noise, goal: &Goal) -> Option<PlanOption> {
    let mut counts: Vec<usize> =
        run.values().map(|case| case.scores.len()).filter(|count| *count > 0).collect();
    counts.sort_unstable();
    let trials = *counts.get(counts.len() / 2)?;
    let trials = TrialCounts { baseline: trials, candidate: trials };
    Some(option(trials, Some(counts.len()), noise, goal))
}

fn with_forecast(mut option: PlanOption, earlier: &History, workers: u16) -> PlanOption {
    let of = |amounts: fn(&CaseHistory) -> &[f64]| -> Option<Forecast> {
        let means = earlier.values().filter_map(|case| mean(amounts(case).iter().copied()));
        let mut means: Vec<f64> = means.collect();
        // The order of a map is not the same twice, and the draws depend on it.
        means.sort_by(f64::total_cmp);
        forecast(&means, option.records?, Resampling::default())
    };
    let workers = f64::from(workers);
    let shared = |Forecast { expected, interval: MeanInterval { low, high } }| Forecast {
        expected: expected / workers,
        interval: MeanInterval { low: low / workers, high: high / workers },
    };
    (option.cost_usd, option.duration_ms) =
        (of(|case| &case.costs), of(|case| &case.durations_ms).map(shared));
    option
}
