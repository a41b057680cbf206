//! A server on this machine that answers like a model's API, as a test tells it to, and keeps what it was asked.
//!
//! It speaks HTTP/1.1 over plain sockets: breaking connections and cutting bodies is what it is for, and no framework lets
//! one do that.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The server. It ends with the test.
#[derive(Debug)]
pub struct FakeLlm {
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// One request that it got.
#[derive(Debug, Clone)]
pub struct LlmCall {
    /// From 0, in the order in which they came.
    pub number: usize,
    /// When all of it was there.
    pub at: Instant,
    pub method: String,
    /// Without the query.
    pub path: String,
    /// What is behind the `?`, or nothing.
    pub query: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    /// `null` if it is no JSON.
    pub body: Value,
}

/// What it answers.
#[derive(Debug, Clone)]
pub struct FakeReply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    delay: Duration,
    ending: Ending,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Whole,
    /// The connection ends before a word is said.
    Dropped,
    /// It ends in the middle of the body.
    Cut,
}

type Script = dyn Fn(&LlmCall) -> FakeReply + Send + Sync;

struct Shared {
    script: Box<Script>,
    /// A lock and not a message: the test reads it while requests come in.
    asked: Mutex<Vec<LlmCall>>,
    stopped: AtomicBool,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Shared")
    }
}

impl FakeLlm {
    /// Answers each request as the function says; it is told the request's number and all that was in it.
    #[track_caller]
    pub fn start(script: impl Fn(&LlmCall) -> FakeReply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            script: Box::new(script),
            asked: Mutex::default(),
            stopped: AtomicBool::new(false),
        });
        let served = Arc::clone(&shared);
        thread::spawn(move || accept(&listener, &served));
        Self { address, shared }
    }

    /// Says the same to everyone, in the shape of the API that was asked.
    #[track_caller]
    pub fn answering(text: &str) -> Self {
        let text = text.to_owned();
        Self::start(move |asked| FakeReply::text(asked, &text))
    }

    /// Gives these replies in turn, then `text` to everyone.
    #[track_caller]
    pub fn after(replies: impl IntoIterator<Item = FakeReply>, text: &str) -> Self {
        let (replies, text): (Vec<_>, _) = (replies.into_iter().collect(), text.to_owned());
        Self::start(move |asked| {
            let reply = replies.get(asked.number).cloned();
            reply.unwrap_or_else(|| FakeReply::text(asked, &text))
        })
    }

    /// `http://127.0.0.1:<port>`, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Everything that it was asked so far.
    pub fn asked(&self) -> Vec<LlmCall> {
        self.shared.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The only request.
    #[track_caller]
    pub fn only(&self) -> LlmCall {
        let mut asked = self.asked();
        assert!(asked.len() == 1, "expected one request, not {}", asked.len());
        asked.remove(0)
    }

    /// The times between the requests.
    pub fn gaps(&self) -> Vec<Duration> {
        let asked = self.asked();
        asked.windows(2).map(|pair| pair[1].at - pair[0].at).collect()
    }
}

impl Drop for FakeLlm {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for connections.
        TcpStream::connect(self.address).ok();
    }
}

impl LlmCall {
    /// A header's value, or nothing.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

impl FakeReply {
    pub fn json(status: u16, body: &Value) -> Self {
        Self::raw(status, body.to_string()).header("content-type", "application/json")
    }

    pub fn raw(status: u16, body: impl Into<Vec<u8>>) -> Self {
        let (headers, body) = (Vec::new(), body.into());
        Self { status, headers, body, delay: Duration::ZERO, ending: Ending::Whole }
    }

    /// An error as these APIs tell it.
    pub fn error(status: u16, message: &str) -> Self {
        Self::json(status, &json!({ "error": { "message": message, "type": "fake" } }))
    }

    /// An answer in the shape of the API that the path belongs to.
    pub fn text(asked: &LlmCall, text: &str) -> Self {
        if asked.path.ends_with("/messages") {
            Self::anthropic(text)
        } else if asked.path.ends_with(":generateContent") {
            Self::gemini(text)
        } else {
            Self::completion(asked.body["model"].as_str().unwrap_or("fake-model"), text)
        }
    }

    /// An answer of OpenAI or Azure: 101 tokens, 40 of them from a cache, then 23.
    pub fn completion(model: &str, text: &str) -> Self {
        Self::json(
            200,
            &json!({
                "id": "chatcmpl_fake",
                "object": "chat.completion",
                "model": model,
                "choices": [{
                    "index": 0,
                    "message": { "role": "assistant", "content": text, "refusal": null },
                    "finish_reason": "stop",
                }],
                "usage": {
                    "prompt_tokens": 101,
                    "completion_tokens": 23,
                    "prompt_tokens_details": { "cached_tokens": 40 },
                },
            }),
        )
    }

    /// An answer of Anthropic: 101 tokens, 40 more from a cache, then 23.
    pub fn anthropic(text: &str) -> Self {
        Self::json(
            200,
            &json!({
                "id": "msg_fake",
                "type": "message",
                "role": "assistant",
                "model": "fake-model",
                "content": [{ "type": "text", "text": text }],
                "stop_reason": "end_turn",
                "usage": {
                    "input_tokens": 101,
                    "cache_read_input_tokens": 40,
                    "output_tokens": 23,
                },
            }),
        )
    }

    /// An answer of Gemini: 101 tokens, 40 of them from a cache, then 23.
    pub fn gemini(text: &str) -> Self {
        Self::json(
            200,
            &json!({
                "candidates": [{
                    "content": { "role": "model", "parts": [{ "text": text }] },
                    "finishReason": "STOP",
                }],
                "modelVersion": "fake-model",
                "responseId": "resp_fake",
                "usageMetadata": {
                    "promptTokenCount": 101,
                    "cachedContentTokenCount": 40,
                    "candidatesTokenCount": 23,
                },
            }),
        )
    }

    /// Ends the connection without a word.
    pub fn dropped() -> Self {
        Self { ending: Ending::Dropped, ..Self::raw(200, "") }
    }

    /// Ends the connection in the middle of the body.
    #[must_use]
    pub fn cut(mut self) -> Self {
        self.ending = Ending::Cut;
        self
    }

    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Thinks for this long before it answers.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.stopped.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let shared = Arc::clone(shared);
        thread::spawn(move || {
            // A client that hangs up is no fault of the test.
            serve(&stream, &shared).ok();
        });
    }
}

/// Answers the requests of one connection until either side ends it.
fn serve(stream: &TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    while let Some(mut asked) = read(&mut reader)? {
        {
            let mut log = shared.asked.lock().unwrap_or_else(PoisonError::into_inner);
            asked.number = log.len();
            log.push(asked.clone());
        }
        let reply = (shared.script)(&asked);
        thread::sleep(reply.delay);
        if !write(stream, &reply)? {
            return stream.shutdown(Shutdown::Both);
        }
    }
    Ok(())
}

/// The next request, or nothing if the client is done.
fn read(reader: &mut BufReader<&TcpStream>) -> io::Result<Option<LlmCall>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let method = words.next().unwrap_or_default().to_owned();
    let (path, query) = {
        let address = words.next().unwrap_or_default();
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        (path.to_owned(), query.to_owned())
    };
    let mut headers = BTreeMap::new();
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Ok(Some(LlmCall { number: 0, at: Instant::now(), method, path, query, headers, body }))
}

/// Whether the connection may be used again.
fn write(mut stream: &TcpStream, reply: &FakeReply) -> io::Result<bool> {
    if reply.ending == Ending::Dropped {
        return Ok(false);
    }
    let FakeReply { status, headers, body, ending, .. } = reply;
    let mut head = format!("HTTP/1.1 {status} Fake\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        head.extend([name, ": ", value, "\r\n"]);
    }
    let mut bytes = (head + "\r\n").into_bytes();
    let shown = if *ending == Ending::Cut { body.len() / 2 } else { body.len() };
    bytes.extend_from_slice(&body[..shown]);
    stream.write_all(&bytes)?;
    Ok(*ending == Ending::Whole)
}
