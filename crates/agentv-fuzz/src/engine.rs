//! The engine for stable toolchains: makes inputs, runs them, and watches time and memory.
//!
//! The input of a number is always the same, so a run can be continued where it ended, and what it found can be found again.

use crate::mutate::{Dice, Mutator};
use crate::{FuzzKind, FuzzTarget};
use peak_alloc::PeakAlloc;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// An input that takes longer is a hang.
pub const TIME_LIMIT: Duration = Duration::from_secs(2);
/// An input of at most 64 KiB that takes more memory is a finding.
pub const MEMORY_LIMIT: usize = 64 << 20;
/// As much as a worker of the program has.
const STACK: usize = 2 << 20;

/// What to run.
#[derive(Debug, Clone)]
pub struct FuzzOrder {
    pub target: &'static FuzzTarget,
    /// The number of the first input.
    pub from: u64,
    /// The number after the last input.
    pub to: u64,
    pub deadline: Option<Instant>,
    /// Where each input is written before it is run, for one that ends the process.
    pub trace: Option<std::path::PathBuf>,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct FuzzRun {
    pub inputs: u64,
    pub bytes: u64,
    pub elapsed: Duration,
    /// How long the slowest input takes, at its best.
    pub slowest: Duration,
    pub slowest_input: Vec<u8>,
    /// How much memory an input took at most, in bytes.
    pub memory: usize,
    pub findings: Vec<FuzzFinding>,
}

/// An input that shows that something is wrong.
#[derive(Debug, Clone)]
pub struct FuzzFinding {
    /// What and where. Findings of the same place are told once.
    pub what: String,
    pub place: String,
    pub input: Vec<u8>,
}

/// What the watchdog sees of the worker. A lock and not a message: the watchdog must see the input that is run right now.
#[derive(Debug, Default)]
struct Watched {
    now: Mutex<Now>,
    is_over: AtomicBool,
}

#[derive(Debug, Default)]
struct Now {
    number: u64,
    input: Vec<u8>,
}

/// Runs inputs on a thread of its own. `hang` is told of an input that does not end; there is no way back from it.
pub fn run(order: &FuzzOrder, hang: impl Fn(FuzzFinding) + Send + 'static) -> FuzzRun {
    let watched = Arc::new(Watched::default());
    listen_to_panics();
    let worker = {
        let (order, watched) = (order.clone(), Arc::clone(&watched));
        let work = move || {
            let _over = Over(&watched);
            work(&order, &watched, hang)
        };
        thread::Builder::new().stack_size(STACK).spawn(work)
    };
    worker.expect("a thread").join().expect("panics are caught")
}

/// Says that the worker has ended, however it does.
struct Over<'w>(&'w Watched);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Release);
    }
}

fn work(
    order: &FuzzOrder,
    watched: &Arc<Watched>,
    hang: impl Fn(FuzzFinding) + Send + 'static,
) -> FuzzRun {
    let clock = ThreadClock::here();
    let watchdog = Arc::clone(watched);
    thread::spawn(move || watch(&watchdog, &clock, hang));
    let target = order.target;
    let mutator = Mutator::new(target.seeds.load());
    let seed =
        target.name.bytes().fold(0_u64, |hash, byte| hash.wrapping_mul(31) + u64::from(byte)) << 32;
    let (started, mut ran, mut input) = (Instant::now(), FuzzRun::default(), Vec::new());
    for number in order.from..order.to {
        if number % 64 == 0 && order.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            break;
        }
        let mut dice = Dice::new(seed ^ number.wrapping_mul(0x2545_f491_4f6c_dd1d));
        match target.kind {
            FuzzKind::Parser => mutator.fill(&mut dice, &mut input),
            FuzzKind::Structured => Mutator::choose(&mut dice, &mut input),
        }
        if let Some(path) = &order.trace {
            fs::write(path, &input).expect("the traced input can be written");
        }
        watched.set(number + 1, &input);
        ran.one(target, &input);
    }
    ran.elapsed = started.elapsed();
    ran
}

impl FuzzRun {
    fn one(&mut self, target: &FuzzTarget, input: &[u8]) {
        self.inputs += 1;
        self.bytes += input.len() as u64;
        PeakAlloc.reset_peak_usage();
        let before = PeakAlloc.current_usage();
        let started = Instant::now();
        let problem = attempt(target, input);
        let took = started.elapsed();
        let used = PeakAlloc.peak_usage().saturating_sub(before);
        self.memory = self.memory.max(used);
        if let Some((what, place)) = problem {
            self.found(target, what, place, input);
        } else if used > MEMORY_LIMIT {
            let what = format!("{} MiB of memory for {} bytes", used >> 20, input.len());
            self.found(target, what, "memory".to_owned(), input);
        } else if took > self.slowest {
            // The machine may have been busy with something else; the second time counts if it is shorter.
            let started = Instant::now();
            attempt(target, input);
            let took = took.min(started.elapsed());
            if took > self.slowest {
                (self.slowest, self.slowest_input) = (took, input.to_vec());
            }
        }
    }

    fn found(&mut self, target: &FuzzTarget, what: String, place: String, input: &[u8]) {
        if self.findings.iter().all(|known| known.place != place) {
            let input = smaller(target, input, &place);
            self.findings.push(FuzzFinding { what, place, input });
        }
    }
}

/// What is wrong and where, if this input shows it.
pub fn attempt(target: &FuzzTarget, input: &[u8]) -> Option<(String, String)> {
    catch_unwind(AssertUnwindSafe(|| (target.run)(input))).err()?;
    Some(PANIC.lock().unwrap_or_else(PoisonError::into_inner).clone())
}

/// Leaves out pieces of an input as long as it shows the same.
fn smaller(target: &FuzzTarget, input: &[u8], place: &str) -> Vec<u8> {
    let mut best = input.to_vec();
    let mut piece = best.len() / 2;
    let mut tries = 2000;
    while piece > 0 {
        let mut at = 0;
        while at + piece <= best.len() && tries > 0 {
            tries -= 1;
            let shorter = [&best[..at], &best[at + piece..]].concat();
            if attempt(target, &shorter).is_some_and(|(_, found)| found == place) {
                best = shorter;
            } else {
                at += piece;
            }
        }
        piece /= 2;
    }
    best
}

/// The last panic: what, and where.
static PANIC: Mutex<(String, String)> = Mutex::new((String::new(), String::new()));

/// Keeps the text and the place of a panic, instead of printing it.
pub fn listen_to_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let what = panic.payload_as_str().unwrap_or("a panic without words").to_owned();
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        *PANIC.lock().unwrap_or_else(PoisonError::into_inner) = (what, place);
    }));
}

impl Watched {
    fn set(&self, number: u64, input: &[u8]) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        now.number = number;
        now.input.clear();
        now.input.extend_from_slice(input);
    }

    fn input(&self) -> Vec<u8> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).input.clone()
    }

    fn number(&self) -> u64 {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).number
    }
}

/// Tells of an input that takes too long, or all memory, while it does.
fn watch(watched: &Watched, clock: &ThreadClock, hang: impl Fn(FuzzFinding)) {
    let (mut number, mut since, mut spent) = (0, Instant::now(), Duration::ZERO);
    while !watched.is_over.load(Ordering::Acquire) {
        thread::sleep(Duration::from_millis(50));
        if watched.number() != number {
            (number, since, spent) = (watched.number(), Instant::now(), clock.spent());
            continue;
        }
        // The processor time counts: other work on the machine is not a finding. An input that waits for something is one
        // after ten minutes.
        let is_slow = since.elapsed() > TIME_LIMIT
            && (clock.spent().saturating_sub(spent) > TIME_LIMIT
                || since.elapsed() > 300 * TIME_LIMIT);
        let is_huge = PeakAlloc.current_usage() > 32 * MEMORY_LIMIT;
        let (what, place) = match (is_slow, is_huge) {
            (true, _) => ("an input that does not end", "time"),
            (_, true) => ("an input that takes all memory", "memory"),
            _ => continue,
        };
        hang(FuzzFinding {
            what: what.to_owned(),
            place: place.to_owned(),
            input: watched.input(),
        });
        return;
    }
}

/// How much of the processor a thread has used, where the system tells.
struct ThreadClock {
    stat: Option<std::path::PathBuf>,
}

impl ThreadClock {
    /// Of the thread that asks.
    fn here() -> Self {
        let own = fs::read_link("/proc/thread-self").ok();
        Self { stat: own.map(|own| Path::new("/proc").join(own).join("stat")) }
    }

    fn spent(&self) -> Duration {
        let Some(stat) = &self.stat else { return Duration::MAX };
        let text = fs::read_to_string(stat).unwrap_or_default();
        // After the name, which may hold anything: the 12th and 13th field, in hundredths of a second.
        let fields = text.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
        let ticks: u64 =
            fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
        Duration::from_millis(ticks * 10)
    }
}
