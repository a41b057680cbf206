//! How fast secrets are masked: a gigabyte of text without any, and the same with one in each kilobyte.
//! `cargo run --release -p agentv-core --example redact_speed`
#![expect(clippy::print_stdout, reason = "a developer's tool talks to its terminal")]

use agentv_core::{RedactedStream, Redactor, Response, Secret};
use std::sync::Arc;

const ANSWER: usize = 100_000;
const ANSWERS: usize = 10_000;

fn main() {
    let secrets: Vec<Secret> =
        (0..30).map(|at| Secret::new(format!("secret/{at:03}+of the\"environment"))).collect();
    let redactor = Arc::new(Redactor::new(&secrets, []));
    let words =
        "The quick agent reads 17 files, calls `grep -n \"fn main\"`, and says what it found.\n";
    let plain = words.repeat(ANSWER / words.len());
    let leaking = format!("{}{}\n", words.repeat(1000 / words.len()), secrets[7].expose());
    let leaking = leaking.repeat(ANSWER / leaking.len());
    println!("| text | way | MB/s |\n| --- | --- | ---: |");
    for (name, text) in [("no secret", &plain), ("one in 1 kB", &leaking)] {
        measure(name, "text", text, || redactor.text(text).len());
        let response = Response::text(text.as_str());
        measure(name, "answer", text, || {
            redactor
                .masked(&response)
                .ok()
                .flatten()
                .map_or(0, |masked| masked.text.map_or(0, |text| text.len()))
        });
        measure(name, "stream in pieces of 64 KiB", text, || {
            let (mut stream, mut out) = (RedactedStream::new(Arc::clone(&redactor)), Vec::new());
            text.as_bytes().chunks(64 << 10).for_each(|piece| stream.push(piece, &mut out));
            stream.finish(&mut out);
            out.len()
        });
    }
}

/// How long this thread has had a processor: other work on the machine does not count.
fn processor_seconds() -> f64 {
    #[expect(clippy::disallowed_methods, reason = "a tool of developers may look at its own clock")]
    let status = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = status.split(' ').next().and_then(|text| text.parse::<f64>().ok());
    nanoseconds.unwrap_or_default() / 1e9
}

#[expect(clippy::cast_precision_loss, reason = "a gigabyte is a small number")]
fn measure(name: &str, way: &str, text: &str, mut mask: impl FnMut() -> usize) {
    let started = processor_seconds();
    let mut bytes = 0;
    for _ in 0..ANSWERS {
        bytes += std::hint::black_box(mask());
    }
    let megabytes = (text.len() * ANSWERS) as f64 / 1e6;
    println!("| {name} | {way} | {:.0} |", megabytes / (processor_seconds() - started));
    std::hint::black_box(bytes);
}
