//! The figures themselves, with the limits that the project set itself.

use super::inputs::{
    CLAUDE, HUNDRED_THOUSAND, HUNDREDS, Inputs, LONG_ANSWERS, MILLION, MODEL_JUDGED, SANDBOXED,
    SOME, TEN_THOUSAND, THOUSAND,
};
use super::measure::{Measurement, Subject, in_turns, in_turns_at_once};
use super::report::{FigureRow, mib, ms};
use anyhow::{Context as _, Result, bail};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

const MIB: u64 = 1 << 20;
const WORKERS: &str = "8";
/// How long a prompt of these cases is for an agent. The stand-in reads it byte by byte, as shells do.
const PROMPT_BYTES: &str = "200";

/// What is measured, and on what.
#[derive(Debug)]
pub(super) struct Bench {
    pub agentv: PathBuf,
    /// The program with the bare loops.
    pub floor: PathBuf,
    pub inputs: Inputs,
    pub rounds: usize,
}

impl Bench {
    fn agentv(&self, args: &[&str]) -> Subject {
        Subject::new(&self.agentv, args, self.inputs.dir())
    }

    fn floor(&self, args: &[&str]) -> Subject {
        Subject::new(&self.floor, args, self.inputs.dir())
    }

    /// A run of this file; its records go to `out`.
    fn eval(&self, file: &str, target: &str, out: &str) -> Subject {
        self.eval_with(WORKERS, file, target, out)
    }

    fn eval_with(&self, workers: &str, file: &str, target: &str, out: &str) -> Subject {
        let targets = ["--targets", "targets.yaml", "--target", target];
        let more = ["--workers", workers, "--out", out];
        let args = [&["eval", file][..], &targets, &more].concat();
        self.agentv(&args).writing(self.inputs.path(out))
    }

    /// A figure of a program that did not do its work would be worth nothing.
    fn must_have_written(&self, out: &str, records: usize) -> Result<()> {
        let file = fs::File::open(self.inputs.path(out)).with_context(|| out.to_owned())?;
        let found = BufReader::new(file).split(b'\n').count();
        if found != records {
            bail!("{out} has {found} records instead of {records}");
        }
        Ok(())
    }
}

/// One or a few figures that are measured together.
type Figures = fn(&Bench) -> Result<Vec<FigureRow>>;

/// By the name that `--only` knows them by.
const FIGURES: [(&str, Figures); 14] = [
    ("start", |bench| Ok(vec![start(bench)?])),
    ("validate", |bench| Ok(vec![validate(bench)?])),
    ("ten-thousand", |bench| Ok(ten_thousand(bench)?.into())),
    ("million", |bench| if bench.inputs.million { Ok(million(bench)?.into()) } else { Ok(vec![]) }),
    (
        "slow-judge",
        |bench| if bench.inputs.million { Ok(vec![slow_judge(bench)?]) } else { Ok(vec![]) },
    ),
    ("trials", |bench| if bench.inputs.million { Ok(vec![trials(bench)?]) } else { Ok(vec![]) }),
    ("run-folder", |bench| Ok(vec![run_folder(bench)?])),
    ("children", |bench| Ok(vec![children(bench)?])),
    ("agents", |bench| Ok(vec![agents(bench)?])),
    ("judges", |bench| Ok(vec![judges(bench)?])),
    ("sandbox", |bench| Ok(vec![sandbox(bench)?])),
    ("masking", |bench| if bench.inputs.million { Ok(vec![masking(bench)?]) } else { Ok(vec![]) }),
    ("model-calls", |bench| Ok(model_calls(bench)?.into())),
    ("size", |bench| Ok(vec![size(bench)?])),
];

/// All figures, or those of this name.
pub(super) fn measure(bench: &Bench, only: Option<&str>) -> Result<Vec<FigureRow>> {
    let wanted = FIGURES.iter().filter(|(name, _)| only.is_none_or(|only| only == *name));
    let rows: Vec<Vec<FigureRow>> =
        wanted.map(|(_, figures)| figures(bench)).collect::<Result<_>>()?;
    if rows.is_empty() {
        let names: Vec<&str> = FIGURES.iter().map(|(name, _)| *name).collect();
        bail!("there is no such figure; there are {}", names.join(", "));
    }
    Ok(rows.into_iter().flatten().collect())
}

fn start(bench: &Bench) -> Result<FigureRow> {
    let empty = empty_program(bench.inputs.dir())?;
    let mut subjects =
        [bench.agentv(&["--version"]), Subject::new(&empty, &[], bench.inputs.dir())];
    // These are the shortest runs, so the noisiest.
    in_turns(bench.rounds * 3, &mut subjects)?;
    let [version, empty] = subjects.map(|subject| subject.median());
    let ratio = ratio(version.wall, empty.wall);
    Ok(FigureRow {
        figure: "`agentv --version`".to_owned(),
        value: ms(version.wall),
        limit: "3 × floor".to_owned(),
        floor: format!("{} (an empty process, {})", ms(empty.wall), mib(empty.peak)),
        ratio: Some(ratio),
        holds: ratio <= 3.0,
    })
}

/// A C program that does nothing, made by the linker driver that rustc needs anyway.
fn empty_program(dir: &Path) -> Result<PathBuf> {
    let (source, program) = (dir.join("empty.c"), dir.join("empty"));
    fs::write(&source, "int main(void) { return 0; }\n")?;
    let mut cc = crate::repository::command("cc");
    let made = cc.arg("-O2").arg("-o").arg(&program).arg(&source).stdout(Stdio::null()).status();
    if !made.context("cannot run `cc`, the C compiler")?.success() {
        bail!("`cc` cannot make an empty program");
    }
    Ok(program)
}

fn validate(bench: &Bench) -> Result<FigureRow> {
    let file = format!("{THOUSAND}-cases.yaml");
    let mut subjects = [bench.agentv(&["validate", &file]), bench.floor(&["yaml-events", &file])];
    in_turns(bench.rounds, &mut subjects)?;
    let [validate, events] = subjects.map(|subject| subject.median());
    Ok(at_most(3.0, "validate 1000 YAML cases", validate, "YAML events alone", events))
}

fn ten_thousand(bench: &Bench) -> Result<[FigureRow; 4]> {
    let (lines, yaml) = (format!("{TEN_THOUSAND}.jsonl"), format!("{TEN_THOUSAND}-cases.yaml"));
    let mut subjects = [
        bench.eval(&lines, "default", "from-jsonl.jsonl"),
        bench.eval(&yaml, "default", "from-yaml.jsonl"),
        bench.floor(&["parse-write", &lines, "floor.jsonl"]),
    ];
    in_turns(bench.rounds, &mut subjects)?;
    for out in ["from-jsonl.jsonl", "from-yaml.jsonl", "floor.jsonl"] {
        bench.must_have_written(out, TEN_THOUSAND)?;
    }
    let [lines, yaml, floor] = subjects.map(|subject| subject.median());
    let what = "parse and write";
    Ok([
        at_most(5.0, "10 000 mock cases from JSONL", lines, what, floor),
        memory("10 000 mock cases from JSONL, memory", lines, 20, floor),
        at_most(9.2, "10 000 mock cases from YAML", yaml, what, floor),
        memory("10 000 mock cases from YAML, memory", yaml, 36, floor),
    ])
}

fn million(bench: &Bench) -> Result<[FigureRow; 2]> {
    let out = "from-million.jsonl";
    let mut subjects = [
        bench.eval(&format!("{TEN_THOUSAND}.jsonl"), "default", "from-jsonl.jsonl"),
        bench.eval(&format!("{MILLION}.jsonl"), "default", out),
    ];
    in_turns_at_once(3, &mut subjects)?;
    bench.must_have_written(out, MILLION)?;
    fs::remove_file(bench.inputs.path(out))?;
    let [few, many] = subjects.map(|subject| subject.median());
    let cost = |sample: Measurement, cases: u32| sample.wall / cases;
    let (few_cost, many_cost) = (cost(few, 10_000), cost(many, 1_000_000));
    let ratio = ratio(many_cost, few_cost);
    let per_case = FigureRow {
        figure: "1 000 000 mock cases from JSONL, per case".to_owned(),
        value: micros(many_cost),
        limit: "1.3 × floor".to_owned(),
        floor: format!("{} (at 10 000 cases)", micros(few_cost)),
        ratio: Some(ratio),
        holds: ratio <= 1.3,
    };
    Ok([memory("1 000 000 mock cases from JSONL, memory", many, 48, few), per_case])
}

/// A million answers that come at once and wait for a judge that takes 5 ms: 512 of them may wait, the rest is not asked for.
fn slow_judge(bench: &Bench) -> Result<FigureRow> {
    let out = "from-slow-judge.jsonl";
    let mut subjects = [
        bench.eval(&format!("{TEN_THOUSAND}.jsonl"), "default", "from-jsonl.jsonl"),
        bench.eval_with("512", MODEL_JUDGED, "slowly-judged", out),
    ];
    in_turns_at_once(1, &mut subjects)?;
    bench.must_have_written(out, MILLION)?;
    fs::remove_file(bench.inputs.path(out))?;
    let [few, judged] = subjects.map(|subject| subject.median());
    Ok(memory("1 000 000 mock cases with a slow judge, memory", judged, 48, few))
}

/// 100 000 cases, three times each, beside 10 000 that are asked once.
fn trials(bench: &Bench) -> Result<FigureRow> {
    let out = "from-trials.jsonl";
    let mut subjects = [
        bench.eval(&format!("{TEN_THOUSAND}.jsonl"), "default", "from-jsonl.jsonl"),
        bench.eval(&format!("{HUNDRED_THOUSAND}.jsonl"), "default", out).with(&["--trials", "3"]),
    ];
    in_turns_at_once(3, &mut subjects)?;
    bench.must_have_written(out, 3 * HUNDRED_THOUSAND)?;
    fs::remove_file(bench.inputs.path(out))?;
    let [once, thrice] = subjects.map(|subject| subject.median());
    Ok(memory("100 000 mock cases, 3 trials each, memory", thrice, 24, once))
}

/// What it costs to keep a run so that it can be taken up again.
fn run_folder(bench: &Bench) -> Result<FigureRow> {
    let file = format!("{TEN_THOUSAND}.jsonl");
    let mut subjects = [
        bench.eval(&file, "default", "kept.jsonl"),
        bench.eval(&file, "default", "not-kept.jsonl").with(&["--no-run-folder"]),
    ];
    in_turns(bench.rounds, &mut subjects)?;
    for out in ["kept.jsonl", "not-kept.jsonl"] {
        bench.must_have_written(out, TEN_THOUSAND)?;
    }
    let [kept, not_kept] = subjects.map(|subject| subject.median());
    Ok(near("10 000 mock cases with a run folder", kept, "`--no-run-folder`", not_kept))
}

/// 200 children, as cases of a `cli` target and from a bare loop.
fn children(bench: &Bench) -> Result<FigureRow> {
    let count = SOME.to_string();
    let mut subjects = [
        bench.eval(&format!("{SOME}.jsonl"), "agent", "from-agent.jsonl"),
        bench.floor(&["spawn", &count, WORKERS, "echo the answer > "]),
    ];
    // What is compared differs by less than the machine drifts from second to second.
    in_turns(bench.rounds * 3, &mut subjects)?;
    bench.must_have_written("from-agent.jsonl", SOME)?;
    let [agent, spawn] = subjects.map(|subject| subject.median());
    let per_second = |sample: Measurement| 200.0 / sample.wall.as_secs_f64();
    let ratio = per_second(agent) / per_second(spawn);
    Ok(FigureRow {
        figure: "200 `cli` cases".to_owned(),
        value: format!("{:.0} per s", per_second(agent)),
        limit: "at least 0.85 × floor".to_owned(),
        floor: format!("{:.0} per s (a bare `sh -c` loop)", per_second(spawn)),
        ratio: Some(ratio),
        holds: ratio >= 0.85,
    })
}

/// 200 questions to an agent program that answers at once, and as many of it from a bare loop.
fn agents(bench: &Bench) -> Result<FigureRow> {
    let (count, program) = (SOME.to_string(), bench.inputs.path(CLAUDE));
    let mut subjects = [
        bench.eval(&format!("{SOME}.jsonl"), "claude", "from-claude.jsonl"),
        bench.floor(&["feed", &count, WORKERS, &program.to_string_lossy(), PROMPT_BYTES]),
    ];
    in_turns(bench.rounds, &mut subjects)?;
    bench.must_have_written("from-claude.jsonl", SOME)?;
    let [agents, spawn] = subjects.map(|subject| subject.median());
    let figure = "200 `claude-code` cases, on a stand-in";
    Ok(near(figure, agents, "a bare loop over the stand-in", spawn))
}

/// 200 code judges, and as many children from a bare loop.
fn judges(bench: &Bench) -> Result<FigureRow> {
    let count = SOME.to_string();
    let mut subjects = [
        bench.eval("judged.jsonl", "default", "from-judges.jsonl"),
        bench.floor(&["spawn", &count, WORKERS, "echo the answer > "]),
    ];
    in_turns(bench.rounds, &mut subjects)?;
    bench.must_have_written("from-judges.jsonl", SOME)?;
    let [judges, spawn] = subjects.map(|subject| subject.median());
    Ok(near("200 code judges", judges, "a bare `sh -c` loop", spawn))
}

/// 200 code judges in a sandbox each, and as many without: what a start costs.
fn sandbox(bench: &Bench) -> Result<FigureRow> {
    let mut subjects = [
        bench.eval(SANDBOXED, "default", "from-sandboxes.jsonl").with(&["--sandbox"]),
        bench.eval(SANDBOXED, "default", "from-judges.jsonl"),
    ];
    in_turns(bench.rounds, &mut subjects)?;
    for out in ["from-sandboxes.jsonl", "from-judges.jsonl"] {
        bench.must_have_written(out, SOME)?;
    }
    let [confined, free] = subjects.map(|subject| subject.median());
    let per_start = |sample: Measurement| sample.wall / 200;
    let ratio = ratio(confined.wall, free.wall);
    Ok(FigureRow {
        figure: "200 code judges with `--sandbox`, per judge".to_owned(),
        value: micros(per_start(confined)),
        limit: "4 × floor".to_owned(),
        floor: format!("{} (without)", micros(per_start(free))),
        ratio: Some(ratio),
        holds: ratio <= 4.0,
    })
}

/// A gigabyte of answers, with and without masking, by the processor time that it takes: the disk is not measured.
fn masking(bench: &Bench) -> Result<FigureRow> {
    let (file, out) = (format!("{TEN_THOUSAND}.jsonl"), "from-long-answers.jsonl");
    let eval = || {
        let args = ["eval", &file, "--targets", LONG_ANSWERS, "--workers", WORKERS, "--out", out];
        let subject = bench.agentv(&args).writing(bench.inputs.path(out));
        (0..10).fold(subject, |subject, number| {
            let value = format!("key/{number}+of\"service");
            subject.with_variable(&format!("SERVICE_{number}_KEY"), &value)
        })
    };
    let mut subjects = [eval(), eval().with(&["--no-redact"])];
    in_turns(bench.rounds, &mut subjects)?;
    bench.must_have_written(out, TEN_THOUSAND)?;
    let [masked, plain] = subjects.map(|subject| subject.median());
    let spent = masked.cpu.saturating_sub(plain.cpu).max(Duration::from_millis(1));
    let speed = 1000.0 / spent.as_secs_f64();
    Ok(FigureRow {
        figure: "1 GB of answers masked".to_owned(),
        value: format!("{speed:.0} MB/s"),
        limit: "500 MB/s".to_owned(),
        floor: format!("{} of {} processor time", ms(spent), ms(masked.cpu)),
        ratio: Some(ratio(masked.cpu, plain.cpu)),
        holds: speed >= 500.0,
    })
}

/// 500 calls of a model that takes 50 ms, 50 at a time: by the program and from bare threads. In the best of worlds that
/// takes half a second.
fn model_calls(bench: &Bench) -> Result<[FigureRow; 2]> {
    let model = Model::start(bench)?;
    bench.inputs.write_model("model.yaml", &model.address)?;
    let (file, count) = (format!("{HUNDREDS}.jsonl"), HUNDREDS.to_string());
    let (out, workers) = ("from-model.jsonl", "50");
    let args = ["eval", &file, "--targets", "model.yaml", "--target", "model"];
    let more = ["--workers", workers, "--out", out];
    let mut subjects = [
        bench.agentv(&[&args[..], &more].concat()),
        bench.floor(&["ask", &model.address, &count, workers]),
    ];
    in_turns(bench.rounds, &mut subjects)?;
    bench.must_have_written(out, HUNDREDS)?;
    let [calls, bare] = subjects.map(|subject| subject.median());
    let wall = at_most(1.12, "500 model calls of 50 ms, 50 at once", calls, "bare sockets", bare);
    let ratio = ratio(calls.cpu, bare.cpu);
    let cpu = FigureRow {
        figure: "the same, processor time per call".to_owned(),
        value: micros(calls.cpu / 500),
        limit: "7 × floor".to_owned(),
        floor: format!("{} (bare sockets)", micros(bare.cpu / 500)),
        ratio: Some(ratio),
        holds: ratio <= 7.0,
    };
    Ok([wall, cpu])
}

/// A model on this machine. It ends when its stdin does, so with this.
struct Model {
    child: Child,
    address: String,
}

impl Model {
    fn start(bench: &Bench) -> Result<Self> {
        let mut command = crate::repository::command(&bench.floor);
        command.args(["serve", "50"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("cannot start the model")?;
        let stdout = child.stdout.take().context("the model has no stdout")?;
        let mut address = String::new();
        BufReader::new(stdout).read_line(&mut address)?;
        Ok(Self { child, address: address.trim().to_owned() })
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().ok();
    }
}

fn size(bench: &Bench) -> Result<FigureRow> {
    let bytes = fs::metadata(&bench.agentv)?.len();
    // Tenths, in whole numbers: a file of this size does not need a fraction's precision.
    let tenths = bytes / 100_000;
    Ok(FigureRow {
        figure: "size of the program".to_owned(),
        value: format!("{}.{} MB", tenths / 10, tenths % 10),
        limit: "18 MB".to_owned(),
        floor: "–".to_owned(),
        ratio: None,
        holds: bytes <= 18_000_000,
    })
}

/// What may take `limit` times as long as its floor, which is `what`.
fn at_most(
    limit: f64,
    figure: &str,
    sample: Measurement,
    what: &str,
    bare: Measurement,
) -> FigureRow {
    let ratio = ratio(sample.wall, bare.wall);
    FigureRow {
        figure: figure.to_owned(),
        value: ms(sample.wall),
        limit: format!("{limit} × floor"),
        floor: format!("{} ({what})", ms(bare.wall)),
        ratio: Some(ratio),
        holds: ratio <= limit,
    }
}

/// What may cost a little more than its floor.
fn near(figure: &str, sample: Measurement, what: &str, bare: Measurement) -> FigureRow {
    at_most(1.3, figure, sample, what, bare)
}

fn memory(figure: &str, sample: Measurement, limit_mib: u64, bare: Measurement) -> FigureRow {
    FigureRow {
        figure: figure.to_owned(),
        value: mib(sample.peak),
        limit: mib(limit_mib * MIB),
        floor: mib(bare.peak),
        // Kibibytes fit, and a ratio needs no more.
        ratio: Some(kib(sample.peak) / kib(bare.peak)),
        holds: sample.peak <= limit_mib * MIB,
    }
}

fn ratio(time: Duration, floor: Duration) -> f64 {
    time.as_secs_f64() / floor.as_secs_f64()
}

fn micros(time: Duration) -> String {
    format!("{:.2} µs", time.as_secs_f64() * 1e6)
}

fn kib(bytes: u64) -> f64 {
    f64::from(u32::try_from(bytes / 1024).unwrap_or(u32::MAX))
}
