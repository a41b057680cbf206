//! `pictures`: what people see at a terminal, drawn from what the program really prints, and charts of what the statistics
//! mean, computed by the program's own functions.

mod chart;
mod differences;
mod repeated_runs;
mod svg;
mod watch;

use crate::repository::{build, metadata, root};
use anyhow::{Context as _, Result};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use watch::{Size, Watched, watch};

/// Gives the text of an SVG file.
type Draw = fn() -> String;

/// The charts, by their file names.
const CHARTS: [(&str, Draw); 2] =
    [("differences.svg", differences::draw), ("repeated-runs.svg", repeated_runs::draw)];

/// Draws the charts, then runs the program on a pseudo-terminal; writes `docs/images/`.
pub(crate) fn write() -> Result<()> {
    for (name, draw) in CHARTS {
        save(name, &draw())?;
    }
    build()?;
    let binary = metadata()?.target_directory.join("debug/agentv");
    let dir = tempfile::tempdir()?;
    picture("terminal.svg", "agentv demo", &demo(&binary, dir.path())?)?;
    picture("progress.svg", "agentv eval support.eval.yaml", &progress(&binary, dir.path())?)
}

fn picture(name: &str, title: &str, watched: &Watched) -> Result<()> {
    save(name, &svg::draw(watched.screen(), title))
}

fn save(name: &str, svg: &str) -> Result<()> {
    let path = root().join("docs/images").join(name);
    fs::create_dir_all(root().join("docs/images"))?;
    fs::write(&path, svg).with_context(|| format!("cannot write {}", path.display()))?;
    println!("wrote docs/images/{name}");
    Ok(())
}

/// The whole demo, on a screen so high that nothing leaves it.
fn demo(binary: &Path, dir: &Path) -> Result<Watched> {
    watch(binary, &["demo"], dir, Size { rows: 100, columns: 96 }, |_| false)
}

/// A larger run in its middle.
fn progress(binary: &Path, dir: &Path) -> Result<Watched> {
    let dir = dir.join("progress");
    fs::create_dir_all(&dir)?;
    fs::write(dir.join("targets.yaml"), TARGETS)?;
    let mut suite = SUITE.to_owned();
    for number in 0..60 {
        let topic = ["refund", "delivery", "warranty", "invoice", "login"][number % 5];
        write!(suite, "  - id: {topic}-{number:02}\n    expected_outcome: Helps\n")?;
        writeln!(suite, "    input: Question {number:02} about {topic}")?;
    }
    fs::write(dir.join("support.eval.yaml"), suite)?;
    let is_half = |screen: &str| screen.contains("38/60");
    watch(binary, &["eval", "support.eval.yaml"], &dir, Size { rows: 18, columns: 96 }, is_half)
}

const SUITE: &str = "\
execution:
  evaluators:
    - { name: helps, type: contains, value: here is how }
evalcases:
";

const TARGETS: &str = "\
targets:
  - name: default
    provider: mock
    workers: 8
    replies:
      - { when: question 07, response: I do not know., delay_ms: 700, cost_usd: 0.002 }
      - { when: question 19, error: 'the server is overloaded (status 529)', delay_ms: 900 }
      - { when: question 26, response: Please call us., delay_ms: 600, cost_usd: 0.002 }
      - when: login
        response: Sure, here is how.
        delay_ms: 4100
        cost_usd: 0.0043
        token_usage: { input: 1800, output: 240 }
      - when: question
        response: Sure, here is how.
        delay_ms: 700
        cost_usd: 0.0021
        token_usage: { input: 900, output: 120 }
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_are_what_the_statistics_give() {
        for (name, draw) in CHARTS {
            let kept = fs::read_to_string(root().join("docs/images").join(name)).unwrap();
            assert!(kept == draw(), "docs/images/{name} is stale; run `cargo xtask pictures`");
        }
    }

    #[test]
    fn charts_show_what_their_pages_say() {
        let differences = differences::draw();
        for verdict in ["no evidence", "improvement", "regression"] {
            assert_eq!(differences.matches(verdict).count(), 1, "{verdict}");
        }
        // One of twenty misses: its dot, its line and its rate, beside the dot and the line of the legend.
        assert_eq!(repeated_runs::draw().matches(chart::RED).count(), 5);
    }
}
