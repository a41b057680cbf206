//! The floors of the bench: what the machine costs when nobody does anything clever. A program of its own, since it must
//! be built as the measured one is.
#![expect(clippy::disallowed_methods, reason = "the bare way is what is measured here")]

use anyhow::{Context as _, Result, bail};
use serde::Serialize;
use serde_json::Value;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, BufWriter, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const USAGE: &str = "\
floor yaml-events FILE | parse-write IN OUT | spawn COUNT THREADS COMMAND | feed COUNT THREADS PROGRAM BYTES
    | serve MILLISECONDS | ask ADDRESS COUNT THREADS";

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words[..] {
        ["yaml-events", file] => yaml_events(file),
        ["parse-write", input, output] => parse_write(input, output),
        ["spawn", count, threads, command] => spawn(count.parse()?, threads.parse()?, command),
        ["feed", count, threads, program, bytes] => {
            feed(count.parse()?, threads.parse()?, program, bytes.parse()?)
        }
        ["serve", milliseconds] => serve(Duration::from_millis(milliseconds.parse()?)),
        ["ask", address, count, threads] => ask(address, count.parse()?, threads.parse()?),
        _ => bail!("{USAGE}"),
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
            // A name that nobody had before, as each answer's file is new: the system is quicker with names that it knows.
            let file = dir.join(format!("floor-{}-{number}", std::process::id()));
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
    on_threads(threads, work)
}

/// Starts a program again and again on some threads, gives it something to read and reads what it prints.
fn feed(count: usize, threads: usize, program: &str, bytes: usize) -> Result<()> {
    let next = AtomicUsize::new(0);
    let question = vec![b'x'; bytes];
    let work = || -> Result<()> {
        while next.fetch_add(1, Ordering::Relaxed) < count {
            #[expect(clippy::disallowed_methods, reason = "the bare way is what is measured here")]
            let mut command = Command::new(program);
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = command.spawn()?;
            child.stdin.take().context("a pipe")?.write_all(&question)?;
            let output = child.wait_with_output()?;
            if output.stdout.is_empty() {
                bail!("{}", String::from_utf8_lossy(&output.stderr));
            }
        }
        Ok(())
    };
    on_threads(threads, work)
}

/// Does the same on so many threads.
fn on_threads(threads: usize, work: impl Fn() -> Result<()> + Send + Sync) -> Result<()> {
    let work = &work;
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

/// A model that takes its time: answers chat completions after a pause, until its stdin ends. Prints its address first.
fn serve(pause: Duration) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{}", listener.local_addr()?)?;
    stdout.flush()?;
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that hangs up is done.
            std::thread::spawn(move || answer_all(&stream, pause).ok());
        }
    });
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    Ok(())
}

const ANSWER: &str = r#"{"id":"c","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"the answer"},"finish_reason":"stop"}],"usage":{"prompt_tokens":101,"completion_tokens":23}}"#;

fn answer_all(mut stream: &TcpStream, pause: Duration) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    while read_message(&mut reader)? {
        std::thread::sleep(pause);
        let (length, json) = (ANSWER.len(), "content-type: application/json");
        write!(stream, "HTTP/1.1 200 OK\r\n{json}\r\ncontent-length: {length}\r\n\r\n{ANSWER}")?;
    }
    Ok(())
}

/// Reads the head and the body of a request or an answer; false if the other side is done.
fn read_message(reader: &mut BufReader<&TcpStream>) -> Result<bool> {
    let (mut line, mut length) = (String::new(), 0);
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Ok(false);
        }
        if line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse()?;
        }
    }
    reader.read_exact(&mut vec![0; length])?;
    Ok(true)
}

/// Asks such a model again and again on some threads, each on a connection of its own, and makes nothing of the answers.
fn ask(address: &str, count: usize, threads: usize) -> Result<()> {
    let next = AtomicUsize::new(0);
    let body = "x".repeat(400);
    let request = format!("POST / HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let work = || -> Result<()> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        while next.fetch_add(1, Ordering::Relaxed) < count {
            stream.write_all(request.as_bytes())?;
            if !read_message(&mut BufReader::new(&stream))? {
                bail!("the model hung up");
            }
        }
        Ok(())
    };
    on_threads(threads, work)
}
