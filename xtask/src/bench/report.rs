//! The table, and the page that keeps it with the machine and the date.

use crate::repository::output;
use anyhow::Result;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// One figure.
#[derive(Debug)]
pub(super) struct FigureRow {
    pub figure: String,
    pub value: String,
    pub limit: String,
    pub floor: String,
    pub ratio: Option<f64>,
    /// Whether the limit is kept.
    pub holds: bool,
}

pub(super) fn ms(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

/// Tenths of a mebibyte, in whole numbers.
pub(super) fn mib(bytes: u64) -> String {
    let tenths = bytes * 10 / (1 << 20);
    format!("{}.{} MiB", tenths / 10, tenths % 10)
}

pub(super) fn table(rows: &[FigureRow]) -> String {
    let mut table = "| figure | measured | limit | floor | of floor | |\n".to_owned();
    table += "| --- | ---: | ---: | ---: | ---: | --- |\n";
    for row in rows {
        let ratio = row.ratio.map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2} ×"));
        let word = if row.holds { "ok" } else { "**over**" };
        let cells = [&row.figure, &row.value, &row.limit, &row.floor, &ratio, word];
        table += &["| ", &cells.join(" | "), " |\n"].concat();
    }
    table
}

/// What it ran on.
#[derive(Debug)]
pub(super) struct Machine {
    cpu: String,
    cores: usize,
    memory: String,
    kernel: String,
    rustc: String,
    /// How busy the machine was before; a figure of a busy machine says little.
    load: String,
    /// Where the files are that are read and written.
    files: &'static str,
    date: String,
}

/// So many bytes, as the kernel says it of `MemTotal` and the like.
pub(super) fn memory(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = value_of(&text, name).and_then(|value| value.split(' ').next()?.parse::<u64>().ok());
    kib.unwrap_or_default() * 1024
}

impl Machine {
    pub(super) fn look(dir: &Path) -> Result<Self> {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let cpu = value_of(&read("/proc/cpuinfo"), "model name");
        let load = read("/proc/loadavg");
        Ok(Self {
            cpu: cpu.unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            memory: mib(memory("MemTotal")),
            kernel: format!(
                "{} {}",
                std::env::consts::OS,
                read("/proc/sys/kernel/osrelease").trim()
            ),
            rustc: output("rustc", &["--version"])?.trim().to_owned(),
            load: load.split(' ').next().unwrap_or_default().to_owned(),
            files: if dir.starts_with("/dev/shm") { "in memory" } else { "on disk" },
            date: jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(),
        })
    }
}

/// `name : value`, as `/proc` writes it.
fn value_of(text: &str, name: &str) -> Option<String> {
    let mut pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim().to_owned())
}

pub(super) fn page(table: &str, machine: &Machine, rounds: usize) -> String {
    let Machine { cpu, cores, memory, kernel, rustc, load, files, date } = machine;
    format!(
        "<!-- Made by `cargo xtask bench --write`. -->

# Benchmarks

What `cargo dist` builds, from outside: whole processes, medians of {rounds} runs (three times as many for `--version`
and for 200 children, three for a million cases and for trials). Each figure is beside a floor of the same run, and
the two take turns, so that a slow moment falls on both. Limits of times are multiples of the floor: a shared machine
needs 1.4 times as long for both from one hour to the next. Do not compare milliseconds of two runs. Peak memory is the
kernel's own count for the process; it cannot read less than what is shown for an empty process, which is the bench's
own.

{table}
| machine | |
| --- | --- |
| date | {date} |
| processor | {cpu}, {cores} cores |
| memory | {memory} |
| system | {kernel} |
| compiler | {rustc} |
| load before | {load} |
| files | {files} |

## What is measured

* `cargo dist` is a plain build with fat LTO. `cargo dist --trained` would arrange the program by a profile of these
  very runs; it is neither shipped nor measured here.
* Cases are made by `cargo xtask generate yaml|jsonl N`: 13 lines of YAML each, or the same on one line of JSONL, graded
  by one `contains`. Runs have 8 workers and write JSONL.
* Files are in memory where there is room (`/dev/shm`), else on disk; `--dir` puts them elsewhere. On a disk, how long a
  new file takes depends on how many were removed in the last minutes.
* Floors: an empty C program; the YAML parser's events with nothing made of them; a loop that parses each line with
  `serde_json` and writes a small record; 8 threads that start `sh -c`, read both pipes to the end, and read and remove
  the file that the shell wrote; 50 threads with a connection each that ask the same model and make nothing of its
  answers. The model is a server on the same machine, which takes its share of the processors.
"
    )
}

/// What others have added to a page, to its end: `cargo xtask crash --write`, `cargo xtask stats --write` and
/// `node tests/browser/bench.mjs --write`.
pub(super) fn added_sections(page: &str) -> &str {
    let start = ADDED.into_iter().filter_map(|heading| page.find(heading)).min();
    start.map_or("", |at| &page[at..])
}

/// The page with another section under one of the headings of [`ADDED`].
pub(crate) fn with_section(page: &str, heading: &str, section: &str) -> String {
    let added = added_sections(page);
    let mut text = page[..page.len() - added.len()].to_owned();
    for known in ADDED {
        if known == heading {
            text.extend([heading, "\n", section]);
        } else if let Some(at) = added.find(known) {
            let end = added[at + 1..].find("\n## ").map_or(added.len(), |end| at + 1 + end);
            text.push_str(&added[at..end]);
        }
    }
    text
}

/// Where the sections begin, in their order.
pub(crate) const CRASH: &str = "\n## Runs that are killed\n";
pub(crate) const STATISTICS: &str = "\n## Statistics\n";
pub(crate) const FUZZING: &str = "\n## Fuzzing\n";
pub(crate) const CLUSTER: &str = "\n## Cluster\n";
const BROWSER: &str = "\n## The HTML report\n";
const ADDED: [&str; 5] = [CRASH, CLUSTER, STATISTICS, FUZZING, BROWSER];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_measured_stays() {
        let browser = "\n## The HTML report\n\nb\n";
        assert_eq!(added_sections(&format!("a\n{browser}")), browser);
        assert_eq!(added_sections("a\n## Other\n"), "");
        let page = with_section(&format!("a\n{browser}"), CRASH, "c\n");
        assert_eq!(page, format!("a\n\n## Runs that are killed\n\nc\n{browser}"));
        assert_eq!(with_section(&page, CRASH, "d\n"), page.replace("\nc\n", "\nd\n"));
        let more = with_section(&page, STATISTICS, "s\n");
        assert_eq!(
            more,
            format!("a\n\n## Runs that are killed\n\nc\n\n## Statistics\n\ns\n{browser}")
        );
        assert_eq!(added_sections(&page), &page["a\n".len()..]);
    }

    #[test]
    fn a_row_says_whether_the_limit_holds() {
        let row = |holds| FigureRow {
            figure: "f".to_owned(),
            value: ms(Duration::from_micros(2400)),
            limit: "3 × floor".to_owned(),
            floor: mib(3 << 19),
            ratio: Some(1.234),
            holds,
        };
        let table = table(&[row(true), row(false)]);
        assert!(table.contains("| f | 2.4 ms | 3 × floor | 1.5 MiB | 1.23 × | ok |"), "{table}");
        assert!(table.contains("| **over** |"), "{table}");
    }

    #[test]
    fn values_are_found_by_name() {
        assert_eq!(value_of("a: 1\nb\t: 2 kB\n", "b"), Some("2 kB".to_owned()));
        assert_eq!(value_of("a: 1", "c"), None);
    }
}
