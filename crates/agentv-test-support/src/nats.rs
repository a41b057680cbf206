//! A real NATS server with `JetStream`, on loopback.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Far more than it takes to start.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server that ends with the test.
#[derive(Debug)]
pub struct NatsServer {
    child: Child,
    dir: PathBuf,
    port: u16,
    extra: Vec<String>,
}

impl NatsServer {
    /// Starts one that keeps its data in a folder. Its log has every message.
    #[track_caller]
    pub fn start(dir: &Path) -> Self {
        Self::start_with(dir, &[])
    }

    /// The same with more arguments.
    #[track_caller]
    pub fn start_with(dir: &Path, extra: &[&str]) -> Self {
        fs::create_dir_all(dir).unwrap();
        let extra: Vec<String> = extra.iter().map(|word| (*word).to_owned()).collect();
        let child = spawn(dir, -1, &extra);
        let port = port_of(dir, child.id());
        let server = Self { child, dir: dir.to_owned(), port, extra };
        server.wait();
        server
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Kills it, as a power cut would.
    #[track_caller]
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts it again, with what it has on disk.
    #[track_caller]
    pub fn restart(&mut self) {
        self.child = spawn(&self.dir, i32::from(self.port), &self.extra);
        self.wait();
    }

    /// All messages that it has seen, and all that it has on disk.
    #[track_caller]
    pub fn everything(&self) -> Vec<u8> {
        let mut all = Vec::new();
        let mut dirs = vec![self.dir.clone()];
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    dirs.push(path);
                } else {
                    all.extend(fs::read(path).unwrap_or_default());
                }
            }
        }
        all
    }

    /// Publishes a message as any client could.
    #[track_caller]
    pub fn publish(&self, subject: &str, body: &str) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap());
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        write!(
            stream,
            "CONNECT {{\"verbose\":false}}\r\nPUB {subject} {}\r\n{body}\r\nPING\r\n",
            body.len()
        )
        .unwrap();
        line.clear();
        while !line.starts_with("PONG") {
            line.clear();
            assert!(lines.read_line(&mut line).unwrap() > 0, "the server has hung up");
        }
    }

    #[track_caller]
    fn wait(&self) {
        let until = Instant::now() + PATIENCE;
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(Instant::now() < until, "nats-server does not listen");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[track_caller]
fn spawn(dir: &Path, port: i32, extra: &[String]) -> Child {
    #[expect(clippy::disallowed_methods, reason = "tests run programs from outside")]
    let mut command = Command::new("nats-server");
    command
        .args(["--jetstream", "--addr", "127.0.0.1", "-DV", "--port", &port.to_string()])
        .args(["--store_dir", &dir.join("data").display().to_string()])
        .args(["--log", &dir.join("log").display().to_string()])
        .args(["--ports_file_dir", &dir.display().to_string()])
        .args(extra)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().unwrap_or_else(|error| {
        panic!("nats-server cannot be started ({error}): ./test.sh installs it")
    })
}

/// The port that the system chose, from the file that the server writes.
#[track_caller]
fn port_of(dir: &Path, pid: u32) -> u16 {
    let file = dir.join(format!("nats-server_{pid}.ports"));
    let until = Instant::now() + PATIENCE;
    loop {
        let text = fs::read_to_string(&file).unwrap_or_default();
        let ports: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        if let Some(url) = ports["nats"][0].as_str() {
            return url.rsplit(':').next().and_then(|port| port.parse().ok()).unwrap();
        }
        assert!(Instant::now() < until, "nats-server does not say where it listens");
        std::thread::sleep(Duration::from_millis(10));
    }
}
