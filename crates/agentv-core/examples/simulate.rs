//! Simulates comparisons of runs whose truth is known, and checks that what `agentv compare` says of them holds.
//! `cargo xtask stats` runs it. The seeds are fixed: each run prints the same.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's tool talks to its terminal"
)]

use agentv_core::compare::{ComparedRun, Rules, Scored, compare};
use agentv_core::plan::{Goal, Noise, TrialCounts, cases_needed, power as power_of_plan};
use agentv_core::stats::{Random, Resampling};
use agentv_wire::Outcome;
use agentv_wire::comparison::{Comparison, ComparisonVerdict, MeanInterval};
use std::ops::RangeInclusive;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

const LEVEL: f64 = 0.05;
/// How many comparisons the power of a cell is simulated with: its standard error is 1 %.
const POWER_COMPARISONS: usize = 1600;
/// Within what the power must be, without an allowance for that error.
const POWER: RangeInclusive<f64> = 0.75..=0.9;
const CASES: [usize; 5] = [6, 20, 60, 200, 1000];
const TRIALS: [(usize, usize); 4] = [(1, 1), (5, 5), (1, 3), (1, 10)];
const TARGETS: [usize; 2] = [1, 3];
/// Random numbers are drawn as seldom as still makes sense. A p-value that stays close to the level is not significant.
const SPARING: Resampling =
    Resampling { flips: 999, most_flips: 64_000, draws: 1999, comparisons: 0, seed: 1 };

/// What the scores of a trial are drawn from.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Scores {
    Binary(f64),
    Uniform,
    /// Most are high, a few low.
    Skewed,
    /// All the same, but one case in ten changes by 0.9: half of these up and half down, or all of them down.
    OneInTen {
        is_loss: bool,
    },
}

const SCORES: [Scores; 7] = [
    Scores::Binary(0.5),
    Scores::Binary(0.9),
    Scores::Binary(0.98),
    Scores::Uniform,
    Scores::Skewed,
    Scores::OneInTen { is_loss: false },
    Scores::OneInTen { is_loss: true },
];

impl Scores {
    fn name(self) -> String {
        match self {
            Self::Binary(chance) => format!("binary {chance}"),
            Self::Uniform => "uniform".to_owned(),
            Self::Skewed => "skewed".to_owned(),
            Self::OneInTen { is_loss: false } => "1 in 10 changes by ±0.9".to_owned(),
            Self::OneInTen { is_loss: true } => "1 in 10 loses 0.9".to_owned(),
        }
    }

    /// By how much the mean of the candidate is below that of the baseline, on top of a given loss.
    fn own_loss(self) -> f64 {
        if self == (Self::OneInTen { is_loss: true }) { 0.09 } else { 0.0 }
    }

    /// The scores of one case in both runs, the candidate's lower by `loss` on average.
    fn draw(
        self,
        (one, other): (usize, usize),
        loss: f64,
        changed: f64,
        random: &mut Random,
    ) -> [Vec<f64>; 2] {
        let mut trial = |loss: f64| match self {
            Self::Binary(chance) => f64::from(random.unit() < chance - loss),
            Self::Uniform => random.unit() - loss,
            Self::Skewed => 1.0 - random.unit().powi(4) - loss,
            Self::OneInTen { .. } => 0.0,
        };
        let Self::OneInTen { is_loss } = self else {
            return [
                (0..one).map(|_| trial(0.0)).collect(),
                (0..other).map(|_| trial(loss)).collect(),
            ];
        };
        // The loss means that more cases lose.
        let (before, after) = if changed < 0.1 + loss / 0.9 {
            let is_up = !is_loss && changed < 0.05;
            if is_up { (0.05, 0.95) } else { (0.95, 0.05) }
        } else {
            (0.95, 0.95)
        };
        [vec![before; one], vec![after; other]]
    }

    /// The score from which a record passes.
    fn pass_score(self) -> f64 {
        if matches!(self, Self::Binary(_)) { 1.0 } else { 0.5 }
    }
}

/// What is compared.
#[derive(Debug, Clone, Copy)]
struct Cell {
    scores: Scores,
    cases: usize,
    trials: (usize, usize),
    targets: usize,
}

impl Cell {
    /// How many comparisons are simulated: fewer of those that cost more.
    fn comparisons(self) -> usize {
        match self.cases {
            0..=200 => 600,
            // Cheap, and a rare change takes many of them to see its coverage.
            _ if matches!(self.scores, Scores::OneInTen { .. }) => 2500,
            _ => 500,
        }
    }

    /// A comparison of the mean scores alone, as of records that do not say whether they passed.
    fn simulate_mean(self, loss: f64, random: &mut Random) -> Comparison {
        let exact = Resampling { most_flips: 1_000_000, ..SPARING };
        self.simulate_runs(loss, false, exact, random)
    }

    fn simulate(self, loss: f64, resampling: Resampling, random: &mut Random) -> Comparison {
        self.simulate_runs(loss, true, resampling, random)
    }

    fn simulate_runs(
        self,
        loss: f64,
        has_status: bool,
        resampling: Resampling,
        random: &mut Random,
    ) -> Comparison {
        let targets = ["a", "b", "c"].map(Arc::<str>::from);
        let (mut baseline, mut candidate) = (Vec::new(), Vec::new());
        for case in 0..self.cases {
            let id: Arc<str> = format!("case-{case}").into();
            // Whether a case changes is the same on all targets.
            let changed = random.unit();
            for target in &targets[..self.targets] {
                let [one, other] = self.scores.draw(self.trials, loss, changed, random);
                let record = |score| Scored { has_status, ..self.record(&id, target, score) };
                baseline.extend(one.into_iter().map(record));
                candidate.extend(other.into_iter().map(record));
            }
        }
        let rules = Rules { level: LEVEL, resampling, ..Rules::default() };
        let candidate = ComparedRun { name: "candidate", records: &candidate };
        compare(ComparedRun { name: "baseline", records: &baseline }, &[candidate], &rules)
            .remove(0)
    }

    fn record(self, id: &Arc<str>, target: &Arc<str>, score: f64) -> Scored {
        let has_passed = score >= self.scores.pass_score();
        Scored {
            eval_id: Arc::clone(id),
            dataset: "suite".into(),
            target: Arc::clone(target),
            trial: None,
            score,
            outcome: if has_passed { Outcome::Pass } else { Outcome::Fail },
            has_status: true,
            tags: [].into(),
            cluster: None,
            grades: [].into(),
        }
    }
}

/// What came of a cell.
#[derive(Debug)]
struct Row {
    cell: Cell,
    /// The share of comparisons that called a difference where there was none, with the most that may.
    alarms: Option<(f64, f64)>,
    /// The share of intervals that held the truth, and how many there were.
    coverage: Option<(f64, usize)>,
    /// The power at the smallest effect that is printed, and that effect.
    power: Option<(f64, f64)>,
    contradictions: usize,
}

impl Row {
    fn of(cell: Cell) -> Self {
        let mut random = Random::new(20_261_118);
        let truth = -cell.scores.own_loss();
        let (mut alarms, mut contradictions) = (0, 0);
        let mut intervals = Vec::new();
        for _ in 0..cell.comparisons() {
            let comparison = cell.simulate(0.0, SPARING, &mut random);
            alarms += usize::from(is_difference(comparison.verdict));
            let statistics = &comparison.statistics;
            intervals.extend(statistics.interval);
            let measures = [Some(statistics), comparison.pass_statistics.as_ref()];
            contradictions += measures
                .into_iter()
                .flatten()
                .filter(|one| one.interval.is_some_and(|shown| contradicts(shown, one.verdict)))
                .count();
        }
        let covered = intervals.iter().filter(|shown| shown.low <= truth && truth <= shown.high);
        let covered = covered.count();
        let comparisons = float(cell.comparisons());
        let bound = alarm_bound(cell.comparisons());
        Self {
            cell,
            alarms: (truth == 0.0).then_some((float(alarms) / comparisons, bound)),
            // A share of a handful of intervals says nothing.
            coverage: (intervals.len() >= 100)
                .then(|| (float(covered) / float(intervals.len()), intervals.len())),
            power: power(cell, &mut random),
            contradictions,
        }
    }

    fn holds(&self) -> bool {
        self.contradictions == 0
            && self.alarms.is_none_or(|(share, bound)| share <= bound)
            && self.coverage.is_none_or(|(share, _)| share >= 0.93)
            && self.power.is_none_or(|(power, _)| POWER.contains(&power))
    }

    fn markdown(&self) -> String {
        let Cell { scores, cases, trials: (one, other), targets } = self.cell;
        let alarms = self.alarms.map(|(share, _)| format!("{:.1} %", share * 100.0));
        let coverage = self.coverage.map(|(share, _)| format!("{:.1} %", share * 100.0));
        let power =
            self.power.map(|(power, effect)| format!("{:.1} % at {effect:.3}", power * 100.0));
        let shown = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
        format!(
            "| {} | {cases} | {one} v {other} | {targets} | {} | {} | {} | {} |",
            scores.name(),
            shown(alarms),
            shown(coverage),
            shown(power),
            if self.holds() { "ok" } else { "over" }
        )
    }
}

/// The power of the test at the smallest effect that comparisons of equal runs print: at the median of those. `None` where
/// most say that no effect can be found reliably.
fn power(cell: Cell, random: &mut Random) -> Option<(f64, f64)> {
    // With 1000 cases, the larger cells would take an hour.
    let is_large = cell.cases > 200 && (cell.trials, cell.targets) != ((1, 1), 1);
    if cell.scores.own_loss() > 0.0 || is_large {
        return None;
    }
    // Few cases print effects that differ more.
    let printed = if cell.cases <= 20 { 201 } else { 61 };
    let effects = (0..printed).map(|seed| {
        let printing = Resampling { draws: 1, comparisons: 200, seed, ..SPARING };
        cell.simulate(0.0, printing, random).statistics.smallest_effect
    });
    // Larger than any effect where none is printed.
    let mut effects: Vec<f64> = effects.map(|effect| effect.unwrap_or(f64::INFINITY)).collect();
    effects.sort_by(f64::total_cmp);
    let effect = effects[effects.len() / 2];
    if effect.is_infinite() {
        return None;
    }
    let testing = Resampling { draws: 1, ..SPARING };
    let found = (0..POWER_COMPARISONS).filter(|_| {
        let comparison = cell.simulate(effect, testing, random);
        comparison.statistics.verdict == ComparisonVerdict::Regression
    });
    Some((float(found.count()) / float(POWER_COMPARISONS), effect))
}

/// The most false alarms that this many comparisons may have.
fn alarm_bound(comparisons: usize) -> f64 {
    LEVEL + 3.0 * (LEVEL * (1.0 - LEVEL) / float(comparisons)).sqrt()
}

fn is_difference(verdict: ComparisonVerdict) -> bool {
    matches!(verdict, ComparisonVerdict::Regression | ComparisonVerdict::Improvement)
}

fn contradicts(shown: MeanInterval, verdict: ComparisonVerdict) -> bool {
    let holds_zero = shown.low <= 0.0 && 0.0 <= shown.high;
    holds_zero == is_difference(verdict)
}

#[expect(clippy::cast_precision_loss, reason = "counts of comparisons are small")]
fn float(count: usize) -> f64 {
    count as f64
}

fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for scores in SCORES {
        for cases in CASES {
            for trials in TRIALS {
                for targets in TARGETS {
                    // Where trials and targets of a case are all the same, one number of them is enough.
                    let is_repeated = matches!(scores, Scores::OneInTen { .. });
                    if !is_repeated
                        || (trials, targets) == ((1, 1), 1)
                        || (trials, targets) == ((1, 10), 3)
                    {
                        cells.push(Cell { scores, cases, trials, targets });
                    }
                }
            }
        }
    }
    cells
}

/// What `agentv plan` forecasts, beside what is simulated.
#[derive(Debug)]
struct PlanRow {
    scores: Scores,
    difference: f64,
    trials: usize,
    cases: usize,
    forecast: f64,
    simulated: f64,
}

impl PlanRow {
    const COMPARISONS: usize = 1000;

    fn of((scores, difference, trials): (Scores, f64, usize)) -> Option<Self> {
        let noise = if let Scores::Binary(rate) = scores {
            Noise::of_rate(rate)
        } else {
            // What trials show of many cases.
            let mut random = Random::new(5);
            let draws = (0..2000).map(|_| scores.draw((5, 1), 0.0, 1.0, &mut random));
            Noise::of_run(&draws.map(|[trials, _]| trials).collect::<Vec<_>>())?
        };
        let goal = Goal { difference, power: 0.8, level: LEVEL };
        let counts = TrialCounts { baseline: trials, candidate: trials };
        let cases = cases_needed(&noise, &goal, counts)?;
        let cell = Cell { scores, cases, trials: (trials, trials), targets: 1 };
        let mut random = Random::new(99);
        let found = (0..Self::COMPARISONS).filter(|_| {
            let comparison = cell.simulate_mean(difference, &mut random);
            comparison.verdict == ComparisonVerdict::Regression
        });
        let simulated = float(found.count()) / float(Self::COMPARISONS);
        let forecast = power_of_plan(&noise, &goal, counts, cases);
        Some(Self { scores, difference, trials, cases, forecast, simulated })
    }

    fn holds(&self) -> bool {
        let error = (self.forecast * (1.0 - self.forecast) / float(Self::COMPARISONS)).sqrt();
        (self.simulated - self.forecast).abs() <= 3.0 * error
    }

    fn markdown(&self) -> String {
        format!(
            "| {} | {} | {} | {} | {:.1} % | {:.1} % | {} |",
            self.scores.name(),
            self.difference,
            self.trials,
            self.cases,
            self.forecast * 100.0,
            self.simulated * 100.0,
            if self.holds() { "ok" } else { "over" }
        )
    }
}

fn plans() -> Vec<(Scores, f64, usize)> {
    let mut plans = Vec::new();
    for (scores, difference) in [
        (Scores::Binary(0.5), 0.2),
        (Scores::Binary(0.8), 0.1),
        (Scores::Binary(0.9), 0.1),
        (Scores::Binary(0.98), 0.05),
        (Scores::Uniform, 0.1),
        (Scores::Skewed, 0.05),
        (Scores::Uniform, 0.25),
        (Scores::Binary(0.9), 0.25),
    ] {
        plans.extend([1, 3].map(|trials| (scores, difference, trials)));
    }
    plans
}

/// How often one of five candidates that are all equal to the baseline is called different.
fn five_equal_candidates() -> f64 {
    const COMPARISONS: usize = 1000;
    let cell = Cell { scores: Scores::Uniform, cases: 60, trials: (1, 1), targets: 1 };
    let mut random = Random::new(17);
    let target: Arc<str> = "a".into();
    let mut run = || -> Vec<Scored> {
        let records = (0..cell.cases).map(|case| {
            let id: Arc<str> = format!("case-{case}").into();
            cell.record(&id, &target, random.unit())
        });
        records.collect()
    };
    let alarms = (0..COMPARISONS).filter(|_| {
        let runs: [Vec<Scored>; 6] = std::array::from_fn(|_| run());
        let [baseline, candidates @ ..] =
            runs.each_ref().map(|records| ComparedRun { name: "run", records });
        let rules = Rules { level: LEVEL, resampling: SPARING, ..Rules::default() };
        let compared = compare(baseline, &candidates, &rules);
        compared.iter().any(|comparison| is_difference(comparison.verdict))
    });
    float(alarms.count()) / float(COMPARISONS)
}

/// The worst of the cells with these scores and this many cases.
fn summary(rows: &[&Row]) -> Option<String> {
    let Cell { scores, cases, .. } = rows.first()?.cell;
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let shown = |share: Option<f64>| share.map_or_else(|| "–".to_owned(), percent);
    let of = |value: fn(&Row) -> Option<f64>| rows.iter().filter_map(move |row| value(row));
    let alarms = of(|row| row.alarms.map(|(share, _)| share)).reduce(f64::max);
    let coverage = of(|row| row.coverage.map(|(share, _)| share)).reduce(f64::min);
    let power = || of(|row| row.power.map(|(power, _)| power));
    let (lowest, highest) = (power().reduce(f64::min), power().reduce(f64::max));
    let power = match lowest.zip(highest) {
        Some((low, high)) => format!("{} to {}", percent(low), percent(high)),
        None => "–".to_owned(),
    };
    let over = rows.iter().filter(|row| !row.holds()).count();
    let verdict = if over == 0 { "ok".to_owned() } else { format!("{over} over") };
    Some(format!(
        "| {} | {cases} | {} | {} | {power} | {verdict} |",
        scores.name(),
        shown(alarms),
        shown(coverage)
    ))
}

/// Works on all processors; the results are in the order of the work.
fn in_parallel<W: Sync, R: Send>(work: &[W], one: impl Fn(&W) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = work.get(at) else { break };
                    let result = one(item);
                    results.lock().unwrap_or_else(PoisonError::into_inner).push((at, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Prints the worst of the cells of each kind; with a word, every cell whose description has it.
fn main() -> ExitCode {
    let only = std::env::args().nth(1);
    let is_wanted =
        |cell: &Cell| only.as_ref().is_none_or(|only| format!("{cell:?}").contains(only));
    let cells: Vec<Cell> = cells().into_iter().filter(is_wanted).collect();
    let rows = in_parallel(&cells, |cell| {
        let row = Row::of(*cell);
        // It takes a while. What is found is shown as it comes.
        eprintln!("{}", row.markdown());
        row
    });
    let over: Vec<&Row> = rows.iter().filter(|row| !row.holds()).collect();
    if only.is_none() {
        println!("| scores | cases | false alarms, most | coverage, least | power | |");
        println!("| --- | ---: | ---: | ---: | ---: | --- |");
        for (scores, cases) in SCORES.into_iter().flat_map(|one| CASES.map(|cases| (one, cases))) {
            let same = |row: &&Row| row.cell.scores == scores && row.cell.cases == cases;
            let rows: Vec<&Row> = rows.iter().filter(same).collect();
            println!("{}", summary(&rows).unwrap_or_default());
        }
    }
    let listed: Vec<&Row> = if only.is_some() { rows.iter().collect() } else { over.clone() };
    if !listed.is_empty() {
        println!("\n| scores | cases | trials | targets | false alarms | coverage | power | |");
        println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |");
        for row in listed {
            println!("{}", row.markdown());
        }
    }
    let is_planned = only.as_ref().is_none_or(|only| only == "plan");
    let plans =
        if is_planned { in_parallel(&plans(), |plan| PlanRow::of(*plan)) } else { Vec::new() };
    let plans: Vec<PlanRow> = plans.into_iter().flatten().collect();
    if is_planned {
        println!("\n| scores | difference | trials | cases | forecast | simulated | |");
        println!("| --- | ---: | ---: | ---: | ---: | ---: | --- |");
        for plan in &plans {
            println!("{}", plan.markdown());
        }
    }
    let mut over = over.len() + plans.iter().filter(|plan| !plan.holds()).count();
    if is_planned {
        let (alarms, bound) = (five_equal_candidates(), alarm_bound(1000));
        println!(
            "\nOne of five equal candidates is called different in {:.1} % of comparisons.",
            alarms * 100.0
        );
        over += usize::from(alarms > bound);
    }
    println!("\n{} cells and {} plans, {over} over their limits", rows.len(), plans.len());
    if over == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
