//! Servers that say too much, never stop, or send the client elsewhere.

use crate::{context, eval};
use agentv_test_support::{FakeLlm, FakeReply, Ran, TestContext, cases, openai_target, targets};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

/// A server that sends this head, and then `piece` for ever, each after a pause.
fn endless(head: &str, piece: Vec<u8>, pause: Duration) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (url, head) = (format!("http://{}", listener.local_addr().unwrap()), head.to_owned());
    let serve = move |mut stream: TcpStream| {
        // The request is not read.
        let mut request = [0; 1];
        stream.read_exact(&mut request)?;
        stream.write_all(head.as_bytes())?;
        loop {
            stream.write_all(&piece)?;
            std::thread::sleep(pause);
        }
        #[expect(unreachable_code, reason = "it says what the closure returns")]
        std::io::Result::Ok(())
    };
    // Each ends when its client hangs up.
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = serve.clone();
            std::thread::spawn(move || serve(stream).ok());
        }
    });
    url
}

#[track_caller]
fn asked(cx: &TestContext, url: &str, more: &[&str]) -> Ran {
    let target = openai_target("default", url) + "    max_retries: 0\n";
    cx.write("targets.yaml", &targets(&[target]));
    cx.write("suite.yaml", &cases(&["a"]));
    let ran = eval(cx, more);
    ran.code(3);
    ran
}

#[track_caller]
fn error(cx: &TestContext, url: &str, more: &[&str]) -> String {
    asked(cx, url, more).record()["error"].as_str().unwrap_or_default().to_owned()
}

/// One chunk of a body in chunks.
fn chunk(bytes: usize) -> Vec<u8> {
    format!("{bytes:x}\r\n{}\r\n", "x".repeat(bytes)).into_bytes()
}

#[test]
fn an_error_is_not_read_to_its_end() {
    let head = "HTTP/1.1 500 Oh\r\ntransfer-encoding: chunked\r\n\r\n";
    let url = endless(head, chunk(1 << 16), Duration::ZERO);
    let error = error(&context(), &url, &[]);
    assert!(error.starts_with("HTTP 500 Internal Server Error from 127.0.0.1:"), "{error}");
    assert!(error.len() < 1000, "{} bytes", error.len());
}

#[test]
fn an_answer_may_have_a_size() {
    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let url = endless(head, chunk(1 << 20), Duration::ZERO);
    let said = error(&context(), &url, &[]);
    assert!(said.ends_with("is larger than 64 MiB"), "{said}");
    // It is enough that the server says so.
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 8000000000\r\n\r\n";
    let url = endless(head, Vec::new(), Duration::from_secs(1));
    let said = error(&context(), &url, &[]);
    assert!(said.ends_with("is larger than 64 MiB"), "{said}");
}

#[test]
fn an_answer_that_never_ends_is_under_the_time_limit() {
    for status in ["200 OK", "500 Oh"] {
        let head = format!("HTTP/1.1 {status}\r\ntransfer-encoding: chunked\r\n\r\n");
        let url = endless(&head, chunk(1), Duration::from_millis(20));
        let said = error(&context(), &url, &["--agent-timeout", "1", "--max-retries", "0"]);
        assert!(said.contains("timed out after 1s"), "{said}");
    }
}

#[test]
fn a_key_does_not_travel_to_another_port() {
    for scheme in ["http", "https"] {
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        let elsewhere = format!("{scheme}://{}/v1", other.local_addr().unwrap());
        let server =
            FakeLlm::start(move |_| FakeReply::raw(307, "").header("location", &elsewhere));
        let said = error(&context(), &server.url(), &[]);
        assert!(said.starts_with("HTTP 307"), "{said}");
        other.set_nonblocking(true).unwrap();
        assert!(other.accept().is_err(), "the other server was called");
    }
}
