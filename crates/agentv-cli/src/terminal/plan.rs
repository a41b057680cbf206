//! A plan for people.

use super::Screen;
use super::style::Paint;
use super::table::{Cell, Side, TextTable};
use crate::format::{count, millis, money, percent};
use agentv_wire::plan::{ComparisonPlan, Forecast, NoiseSource, PlanNoise, PlanOption};

/// Prints what it takes to see the difference.
pub(crate) fn show_plan(plan: &ComparisonPlan, workers: u16, screen: &mut Screen) {
    screen.line(format!(
        "To see a true difference of {} with {} power at the level {}:",
        plan.difference,
        percent(plan.power),
        plan.level
    ));
    screen.line("");
    let has = |amount: fn(&PlanOption) -> Option<Forecast>| {
        plan.options.iter().any(|one| amount(one).is_some())
    };
    let (has_cost, has_time) = (has(|one| one.cost_usd), has(|one| one.duration_ms));
    let mut table = TextTable::new()
        .column("Trials", Side::Right, 6)
        .column("Cases", Side::Right, 5)
        .column("Records", Side::Right, 7)
        .column("Power", Side::Right, 5);
    if has_cost {
        table = table.column("Cost", Side::Left, 4);
    }
    if has_time {
        table = table.column("Time", Side::Left, 4);
    }
    for option in &plan.options {
        let mut row = vec![
            Cell::new(option.trials.to_string()),
            Cell::new(number(option.cases)),
            Cell::new(number(option.records)),
            Cell::new(option.power.map_or_else(|| "-".to_owned(), percent)),
        ];
        if has_cost {
            row.push(Cell::new(forecast(option.cost_usd, money)));
        }
        if has_time {
            row.push(Cell::new(forecast(option.duration_ms, millis)));
        }
        table.row(row);
    }
    for line in table.lines(Paint::of_stdout(), None) {
        screen.line(line);
    }
    screen.line("");
    for line in remarks(plan, workers, has_cost || has_time) {
        screen.line(line);
    }
}

fn number(amount: Option<usize>) -> String {
    amount.map_or_else(|| "-".to_owned(), |amount| amount.to_string())
}

fn forecast(amount: Option<Forecast>, text: impl Fn(f64) -> String) -> String {
    amount.map_or_else(String::new, |Forecast { expected, interval }| {
        format!("{} ({} to {})", text(expected), text(interval.low), text(interval.high))
    })
}

fn remarks(plan: &ComparisonPlan, workers: u16, has_forecast: bool) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(PlanOption { trials, cases: Some(cases), power: Some(power), .. }) = &plan.earlier {
        lines.push(format!(
            "The earlier run has {}, {} each: it would show this difference in {} of comparisons.",
            count(*cases, "case", "cases"),
            count(*trials, "trial", "trials"),
            percent(*power)
        ));
    }
    let PlanNoise { source, mean, within_case, between_cases, binary } = &plan.noise;
    lines.push(match source {
        NoiseSource::AssumedRate => format!("Assumed: every case passes with probability {mean}."),
        NoiseSource::Trials => format!(
            "Noise: mean score {mean:.3}; trials of a case scatter by {within_case:.3} (standard deviation)."
        ),
        NoiseSource::SingleTrials => format!(
            "Noise: mean score {mean:.3}; without trials, cases are taken to be as noisy as they differ from \
             each other ({within_case:.3})."
        ),
        NoiseSource::TwoRuns => format!(
            "Noise: mean score {mean:.3}; trials of a case scatter by {within_case:.3}, the effect between \
             cases by {between_cases:.3}."
        ),
    });
    if *source == NoiseSource::SingleTrials {
        lines.push("A run with `--trials 3` shows how noisy they really are.".to_owned());
    }
    if matches!(source, NoiseSource::Trials | NoiseSource::SingleTrials) {
        lines.push(
            "Assumed: the change is the same for all cases. A second run shows whether it is."
                .to_owned(),
        );
    }
    if *binary {
        lines.push(
            "Scores are 0 or 1: with one trial the power is that of McNemar's exact test."
                .to_owned(),
        );
    }
    if plan.tests > 1 {
        lines.push(
            "`compare` also tests the pass rate, so each test gets half of the level.".to_owned(),
        );
    }
    if plan.options.iter().any(|option| option.cases.is_none()) {
        lines.push(
            "`-`: scores cannot differ by that much, or it takes more than ten million cases."
                .to_owned(),
        );
    }
    if has_forecast {
        lines.push(format!(
            "Cost and time are of the candidate run with {}, by those of the earlier run (95 % intervals).",
            count(usize::from(workers), "worker", "workers")
        ));
    }
    lines
}
