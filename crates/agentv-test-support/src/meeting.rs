//! Children that tell of their arrival and wait to be let go, so that a test knows what runs at the same time.

use crate::TestContext;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// The longest wait for a child; far more than it takes.
const PATIENCE: Duration = Duration::from_mins(1);

/// A place where children meet the test.
#[derive(Debug)]
pub struct Meeting {
    dir: String,
    arrivals: Receiver<String>,
    gate: File,
}

impl Meeting {
    #[track_caller]
    pub(crate) fn new(cx: &TestContext, name: &str) -> Self {
        let dir = cx.path(name);
        std::fs::create_dir(&dir).unwrap();
        Self::in_folder(&dir)
    }

    /// In a folder that is there.
    #[track_caller]
    pub(crate) fn in_folder(dir: &Path) -> Self {
        let arrivals = BufReader::new(pipe(&dir.join("arrivals")));
        let (tell, told) = channel();
        // Ends with the test's process: the pipe is open for as long as it is read.
        std::thread::spawn(move || {
            for line in arrivals.lines().map_while(Result::ok) {
                if tell.send(line).is_err() {
                    return;
                }
            }
        });
        Self { gate: pipe(&dir.join("gate")), arrivals: told, dir: dir.display().to_string() }
    }

    /// Shell text that tells who is there and goes on when the test says so.
    pub fn attend(&self, who: &str) -> String {
        format!("{}; read -r go < '{}/gate'", self.tell(who), self.dir)
    }

    /// Shell text that only tells who is there.
    pub fn tell(&self, who: &str) -> String {
        format!("echo {who} > '{}/arrivals'", self.dir)
    }

    /// Waits for the next child and says who it is.
    #[track_caller]
    pub fn next(&self) -> String {
        self.arrivals.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("nobody came"))
    }

    /// Everybody who has come and was not asked for.
    pub fn rest(&self) -> Vec<String> {
        self.arrivals.try_iter().collect()
    }

    /// Lets this many of those that wait, or come later, continue.
    #[track_caller]
    pub fn let_go(&mut self, count: usize) {
        self.gate.write_all("go\n".repeat(count).as_bytes()).unwrap();
    }
}

/// A named pipe, open at both ends, so that neither side waits for the other to open it.
#[track_caller]
fn pipe(path: &Path) -> File {
    #[expect(clippy::disallowed_methods, reason = "tests run programs from outside")]
    let made = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success(), "mkfifo failed");
    File::options().read(true).write(true).open(path).unwrap()
}
