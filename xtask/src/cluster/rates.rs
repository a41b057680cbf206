//! A rate that holds over all workers together.

use super::Seen;
use super::members::{Site, free_port, server, wait};
use anyhow::{Context as _, Result, ensure};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

const PER_MINUTE: usize = 600;
const CASES: usize = 300;
const WINDOW: Duration = Duration::from_secs(10);

pub(super) fn run(binary: &Path) -> Result<Seen> {
    let times = Arc::new(Mutex::new(Vec::new()));
    let stub = stub(Arc::clone(&times))?;
    let port = free_port()?;
    let target = format!(
        "{{name: default, provider: openai, base_url: 'http://127.0.0.1:{stub}', model: m, rpm: {PER_MINUTE}}}"
    );
    let site = Site::new(binary, &target, CASES, &format!("nats://127.0.0.1:{port}"))?;
    let _nats = server(&site.path("store"), port, &[])?;
    let _workers = ["one", "two", "three"]
        .map(|name| site.worker(name, 8, &site.url))
        .into_iter()
        .collect::<Result<Vec<_>>>()?;
    let took = wait(site.eval()?, &site, || Ok(()))?;
    site.check_records(CASES)?;
    let times = times.lock().unwrap_or_else(PoisonError::into_inner).clone();
    ensure!(times.len() == CASES, "{} calls for {CASES} cases", times.len());
    let most = most_within(&times, WINDOW);
    let allowed = PER_MINUTE * 10 / 60;
    ensure!(most * 10 <= allowed * 11, "{most} calls in 10 s, where {allowed} are allowed");
    Ok(vec![format!(
        "A limit of {PER_MINUTE} calls per minute over three workers: at most {most} in any 10 s ({allowed} allowed, and a tenth more); {CASES} cases in {:.0} s",
        took.as_secs_f64()
    )])
}

/// The most calls in any window of this length.
fn most_within(times: &[Instant], window: Duration) -> usize {
    let mut times = times.to_vec();
    times.sort();
    let within = |first: &Instant| {
        times.iter().filter(|time| **time >= *first && **time < *first + window).count()
    };
    times.iter().map(within).max().unwrap_or(0)
}

/// A model that says `ok` and writes down when it was asked.
fn stub(times: Arc<Mutex<Vec<Instant>>>) -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let times = Arc::clone(&times);
            thread::spawn(move || drop(answer(stream, &times)));
        }
    });
    Ok(port)
}

fn answer(stream: TcpStream, times: &Mutex<Vec<Instant>>) -> Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    loop {
        let (mut line, mut length) = (String::new(), 0);
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        times.lock().unwrap_or_else(PoisonError::into_inner).push(Instant::now());
        while line.trim() != "" {
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().context("a length")?;
            }
            line.clear();
            reader.read_line(&mut line)?;
        }
        reader.by_ref().take(length).read_to_end(&mut Vec::new())?;
        let body = r#"{"choices":[{"message":{"role":"assistant","content":"ok"}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}"#;
        write!(
            writer,
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )?;
    }
}
