//! The floors of the bench: what the machine costs when nobody does anything clever. A program of its own, since it must
//! be built as the measured one is.

use anyhow::{Context as _, Result, bail};
use serde::Serialize;
use serde_json::Value;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words[..] {
        ["yaml-events", file] => yaml_events(file),
        ["parse-write", input, output] => parse_write(input, output),
        ["spawn", count, threads, command] => spawn(count.parse()?, threads.parse()?, command),
        _ => bail!("floor yaml-events FILE | parse-write IN OUT | spawn COUNT THREADS COMMAND"),
    }
}

/// Reads a YAML file and makes nothing of it.
fn yaml_events(file: &str) -> Result<()> {
    let text = fs::read_to_string(file)?;
    for event in granit_parser::Parser::new_from_str(&text) {
        std::hint::black_box(event?);
    }
    Ok(())
}

/// What is written for a case.
#[derive(Serialize)]
struct Line<'a> {
    eval_id: &'a Value,
    score: f64,
    candidate_answer: &'a str,
    question: &'a Value,
}

/// Parses each line and writes a small record for it.
fn parse_write(input: &str, output: &str) -> Result<()> {
    let mut input = BufReader::with_capacity(1 << 16, File::open(input)?);
    let mut output = BufWriter::with_capacity(1 << 16, File::create(output)?);
    let mut text = String::new();
    while input.read_line(&mut text)? > 0 {
        let case: Value = serde_json::from_str(&text)?;
        let line = Line {
            eval_id: &case["id"],
            score: 1.0,
            candidate_answer: "the answer",
            question: &case["input_messages"],
        };
        serde_json::to_writer(&mut output, &line)?;
        output.write_all(b"\n")?;
        text.clear();
    }
    Ok(output.flush()?)
}

/// Starts `sh -c` again and again on some threads. The command gets a file of its own to write, which is read and removed.
fn spawn(count: usize, threads: usize, command: &str) -> Result<()> {
    let next = AtomicUsize::new(0);
    let dir = std::env::temp_dir();
    let work = || -> Result<()> {
        while let number = next.fetch_add(1, Ordering::Relaxed)
            && number < count
        {
            let file = dir.join(format!("floor-{number}"));
            #[expect(clippy::disallowed_methods, reason = "the bare way is what is measured here")]
            let mut shell = Command::new("/bin/sh");
            shell.arg("-c").arg(format!("{command}'{}'", file.display()));
            let output = shell.stdin(Stdio::null()).output()?;
            if !output.status.success() {
                bail!("{}", String::from_utf8_lossy(&output.stderr));
            }
            std::hint::black_box(fs::read(&file).context("the command wrote nothing")?);
            fs::remove_file(&file)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            match worker.join() {
                Ok(done) => done?,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(())
    })
}
