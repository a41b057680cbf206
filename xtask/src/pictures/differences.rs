//! What `agentv compare` looks at: the difference of each case, the interval of their mean, and the verdict.

use super::chart::{At, BLUE, Chart, FAINT, GREEN, INK, Lettering, PLAIN, RED, RULE};
use agentv_core::compare::{ComparedRun, Rules, Scored, compare};
use agentv_core::stats::{Random, Resampling};
use agentv_wire::Outcome;
use agentv_wire::comparison::{Comparison, ComparisonVerdict};
use std::collections::HashMap;
use std::sync::Arc;

const LABEL: &str =
    "Differences of cases as dots, the interval of their mean as a bar, and the verdict";

const WIDTH: f64 = 760.0;
const TOP: f64 = 46.0;
const PANEL: f64 = 132.0;
/// From the middle of the axis, which is 0, to a difference of 1.
const UNIT: f64 = 400.0;
const ZERO: f64 = 350.0;
/// Dots within this difference are one column.
const COLUMN: f64 = 0.03;

const SEED: u64 = 13;

/// Invented runs: how many cases, and the mean of their differences.
const RUNS: [(u16, f64); 3] = [(12, 0.06), (60, 0.06), (60, -0.08)];

pub(super) fn draw() -> String {
    let bottom = TOP + PANEL * 3.0;
    let mut chart = Chart::new(WIDTH, bottom + 70.0, LABEL);
    let title = Lettering { is_bold: true, ..PLAIN };
    chart.text(At(24.0, 34.0), title, "Three comparisons. Each dot is a case.");
    chart.dashed(At(ZERO, TOP + 8.0), At(ZERO, bottom), INK);
    for (number, (cases, mean)) in (0_u16..).zip(RUNS) {
        let differences = differences(cases, mean, SEED + u64::from(number));
        let y = TOP + PANEL * f64::from(number + 1) - 46.0;
        draw_panel(&mut chart, y, &differences);
    }
    draw_axis(&mut chart, bottom);
    chart.finish()
}

/// Differences that scatter by about 0.18 around this mean, exactly.
fn differences(cases: u16, mean: f64, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed);
    let mut noise = || (0..6).map(|_| random.unit() - 0.5).sum::<f64>() * 0.25;
    let drawn: Vec<f64> = (0..cases).map(|_| noise()).collect();
    let middle = drawn.iter().sum::<f64>() / f64::from(cases);
    drawn.iter().map(|value| value - middle + mean).collect()
}

fn draw_panel(chart: &mut Chart, y: f64, differences: &[f64]) {
    let mut columns: HashMap<i64, f64> = HashMap::new();
    for difference in differences {
        let column = (difference / COLUMN).round();
        #[expect(clippy::cast_possible_truncation, reason = "columns are few")]
        let height = columns.entry(column as i64).or_default();
        chart.dot(At(ZERO + column * COLUMN * UNIT, y - 10.0 - *height), 4.5, BLUE);
        *height += 10.5;
    }
    chart.line(At(130.0, y), At(580.0, y), RULE, 1.0);
    let comparison = compared(differences);
    let name = Lettering { is_bold: true, ..PLAIN };
    let faint = Lettering { colour: FAINT, ..PLAIN };
    chart.text(At(24.0, y - 14.0), name, &format!("{} cases", differences.len()));
    let mean = comparison.statistics.difference;
    chart.text(At(24.0, y + 6.0), faint, &format!("mean {mean:+.2}"));
    let (colour, verdict) = match comparison.verdict {
        ComparisonVerdict::Improvement => (GREEN, ["improvement", ""]),
        ComparisonVerdict::Regression => (RED, ["regression", ""]),
        _ => (FAINT, ["no evidence", "of a difference"]),
    };
    if let Some(interval) = comparison.statistics.interval {
        let y = y + 18.0;
        chart.line(
            At(ZERO + interval.low * UNIT, y),
            At(ZERO + interval.high * UNIT, y),
            colour,
            5.0,
        );
        chart.dot(At(ZERO + mean * UNIT, y), 6.0, colour);
    }
    let bold = Lettering { colour, is_bold: true, ..PLAIN };
    chart.text(At(610.0, y - 4.0), bold, verdict[0]);
    chart.text(At(610.0, y + 14.0), bold, verdict[1]);
}

/// What the program says about them.
fn compared(differences: &[f64]) -> Comparison {
    let runs = [0.0, 1.0].map(|share| {
        let cases = differences.iter().enumerate();
        cases.map(|(case, value)| scored(case, 0.5 + share * value)).collect::<Vec<_>>()
    });
    let baseline = ComparedRun { name: "baseline", records: &runs[0] };
    let candidate = ComparedRun { name: "candidate", records: &runs[1] };
    // The minimum detectable effect is not drawn, and takes most of the time.
    let resampling = Resampling { comparisons: 0, ..Resampling::default() };
    compare(baseline, &[candidate], &Rules { resampling, ..Rules::default() }).remove(0)
}

fn scored(case: usize, score: f64) -> Scored {
    Scored {
        eval_id: case.to_string().into(),
        dataset: Arc::from(""),
        target: Arc::from(""),
        trial: None,
        score,
        outcome: Outcome::Pass,
        has_status: false,
        tags: Box::default(),
        cluster: None,
        grades: Box::default(),
    }
}

fn draw_axis(chart: &mut Chart, bottom: f64) {
    let middle = Lettering { colour: FAINT, anchor: "middle", ..PLAIN };
    for (x, text) in
        [(ZERO - 0.4 * UNIT, "← worse"), (ZERO, "no difference"), (ZERO + 0.4 * UNIT, "better →")]
    {
        chart.text(At(x, bottom + 18.0), middle, text);
    }
    let faint = Lettering { colour: FAINT, ..PLAIN };
    let legend = "Bar: where the true mean difference may be (95 % interval). If it includes 0, it may be chance.";
    chart.text(At(24.0, bottom + 50.0), faint, legend);
}
