//! The same agent, run twenty times: its pass rate is a different one each time.

use super::chart::{At, BLUE, Chart, FAINT, INK, Lettering, PLAIN, RED, RULE};
use agentv_core::stats::{CONFIDENCE, Random, wilson_interval_of_sample};

const RUNS: u32 = 20;
const CASES: u32 = 50;
const TRUE_RATE: f64 = 0.7;
/// One interval of twenty misses, which is what 95 % intervals do on average.
const SEED: u64 = 31;

const LABEL: &str =
    "Twenty runs of one agent, whose pass rates differ by chance around its true rate";

const WIDTH: f64 = 760.0;
const TOP: f64 = 84.0;
const ROW: f64 = 18.0;
/// What the axis shows, and where.
const SHOWN: (f64, f64) = (0.4, 1.0);
const AXIS: (f64, f64) = (90.0, 640.0);

pub(super) fn draw() -> String {
    let bottom = TOP + ROW * f64::from(RUNS);
    let mut chart = Chart::new(WIDTH, bottom + 86.0, LABEL);
    let title = Lettering { is_bold: true, ..PLAIN };
    chart.text(At(24.0, 34.0), title, "One agent, 20 runs with 50 cases each");
    let faint = Lettering { colour: FAINT, ..PLAIN };
    chart.text(
        At(24.0, 56.0),
        faint,
        "Nothing changes between the runs. The true pass rate is 70 %.",
    );
    draw_axis(&mut chart, bottom);
    let mut random = Random::new(SEED);
    for run in 0..RUNS {
        let passed = (0..CASES).filter(|_| random.unit() < TRUE_RATE).count();
        draw_run(&mut chart, run, passed);
    }
    draw_legend(&mut chart, bottom + 62.0);
    chart.finish()
}

fn x(rate: f64) -> f64 {
    AXIS.0 + (rate - SHOWN.0) / (SHOWN.1 - SHOWN.0) * (AXIS.1 - AXIS.0)
}

fn draw_axis(chart: &mut Chart, bottom: f64) {
    let middle = Lettering { colour: FAINT, anchor: "middle", ..PLAIN };
    for percent in (40..=100).step_by(10) {
        let x = x(f64::from(percent) / 100.0);
        chart.line(At(x, TOP - 8.0), At(x, bottom), RULE, 0.6);
        chart.text(At(x, bottom + 20.0), middle, &format!("{percent} %"));
    }
    chart.dashed(At(x(TRUE_RATE), TOP - 8.0), At(x(TRUE_RATE), bottom), INK);
}

fn draw_run(chart: &mut Chart, run: u32, passed: usize) {
    let rate = f64::from(u32::try_from(passed).unwrap_or(CASES)) / f64::from(CASES);
    let Some(interval) = wilson_interval_of_sample(rate, f64::from(CASES), CONFIDENCE) else {
        return;
    };
    let y = TOP + ROW * (f64::from(run) + 0.5);
    let is_miss = TRUE_RATE < interval.low || TRUE_RATE > interval.high;
    let colour = if is_miss { RED } else { BLUE };
    let name = Lettering { colour: FAINT, anchor: "end", ..PLAIN };
    chart.text(At(AXIS.0 - 12.0, y + 5.0), name, &format!("run {}", run + 1));
    chart.line(At(x(interval.low), y), At(x(interval.high), y), colour, 2.5);
    chart.dot(At(x(rate), y), 5.0, colour);
    let seen = Lettering { colour, anchor: "end", is_bold: is_miss };
    chart.text(At(WIDTH - 60.0, y + 5.0), seen, &format!("{:.0} %", rate * 100.0));
}

fn draw_legend(chart: &mut Chart, y: f64) {
    let faint = Lettering { colour: FAINT, ..PLAIN };
    for (left, colour, text) in [
        (24.0, BLUE, "pass rate of a run, with its 95 % interval"),
        (400.0, RED, "misses the true rate: 1 run in 20"),
    ] {
        chart.line(At(left, y - 5.0), At(left + 30.0, y - 5.0), colour, 2.5);
        chart.dot(At(left + 15.0, y - 5.0), 5.0, colour);
        chart.text(At(left + 42.0, y), faint, text);
    }
}
