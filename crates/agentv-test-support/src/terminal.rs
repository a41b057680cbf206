//! The program on a terminal, and what a person sees there.

use crate::invocation::exit_code;
use pty_process::Size;
use pty_process::blocking::{Pty, open};
use std::fmt;
use std::io::{Read as _, Write as _};
use std::num::NonZeroU16;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use vt100::Parser;

/// Nothing takes so long unless it hangs.
const PATIENCE: Duration = Duration::from_secs(30);
/// More lines than any test prints: whatever has left the screen can still be read.
const ROLL: u16 = 2000;

/// A run on a pseudo-terminal of its own, which is also its controlling one: Ctrl-C reaches it as it would at home.
pub struct Terminal {
    child: Child,
    pty: Arc<Pty>,
    /// What it printed, from the thread that reads; ends with the program.
    printed: Receiver<Vec<u8>>,
    screen: Parser,
    /// The same on paper that does not end.
    roll: Parser,
    bytes: Vec<u8>,
}

/// What a run on a terminal has left there.
pub struct Shown {
    pub code: i32,
    /// What is on the screen, without colours.
    pub screen: String,
    /// All that was printed and not erased, also what has left the screen.
    pub roll: String,
    /// All bytes that it printed.
    pub bytes: Vec<u8>,
    pub is_cursor_visible: bool,
}

impl Terminal {
    #[track_caller]
    pub(crate) fn start(mut command: Command, rows: u16, columns: u16) -> Self {
        let (pty, pts) = open().unwrap();
        pty.resize(Size::new(rows, columns)).unwrap();
        if !command.get_envs().any(|(name, _)| name == "TERM") {
            command.env("TERM", "xterm-256color");
        }
        let child = pty_process::blocking::Command::from(command).spawn(pts).unwrap();
        let pty = Arc::new(pty);
        // From the thread that reads to the test, which so can wait with a limit.
        let (chunks, printed) = channel();
        let reading = Arc::clone(&pty);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // On Linux the end of the last program on a terminal is an error.
            while let Ok(count @ 1..) = (&*reading).read(&mut buffer) {
                if chunks.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        let (screen, roll) = (parser(rows, columns), parser(ROLL, columns));
        Self { child, pty, printed, screen, roll, bytes: Vec::new() }
    }

    /// What is on the screen now, without colours.
    pub fn screen(&self) -> String {
        self.screen.screen().contents()
    }

    /// Waits until the screen shows this.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) -> String {
        self.wait_until(text, |screen| screen.contains(text))
    }

    /// Waits until the screen is as wanted; `wish` says in a failed test what was waited for.
    #[track_caller]
    pub fn wait_until(&mut self, wish: &str, is_met: impl Fn(&str) -> bool) -> String {
        // What draws itself over again and again always has something more to say.
        let until = Instant::now() + PATIENCE;
        loop {
            let screen = self.screen();
            if is_met(&screen) {
                return screen;
            }
            let more = self.read().and_then(|()| {
                if Instant::now() < until { Ok(()) } else { Err(RecvTimeoutError::Timeout) }
            });
            assert!(more.is_ok(), "waited for `{wish}` ({more:?}), but the screen is\n{screen}");
        }
    }

    fn read(&mut self) -> Result<(), RecvTimeoutError> {
        let chunk = self.printed.recv_timeout(PATIENCE)?;
        self.screen.process(&chunk);
        self.roll.process(&chunk);
        self.bytes.extend(chunk);
        Ok(())
    }

    /// Presses keys. `\r` is Enter, `\x03` is Ctrl-C.
    #[track_caller]
    pub fn press(&mut self, keys: &str) {
        (&*self.pty).write_all(keys.as_bytes()).unwrap();
    }

    /// Pulls at the window's corner.
    #[track_caller]
    pub fn resize(&mut self, rows: u16, columns: u16) {
        self.pty.resize(Size::new(rows, columns)).unwrap();
        self.screen.screen_mut().set_size(whole(rows), whole(columns));
        self.roll.screen_mut().set_size(whole(ROLL), whole(columns));
    }

    /// Waits for the end.
    #[track_caller]
    pub fn finish(mut self) -> Shown {
        while match self.read() {
            Ok(()) => true,
            Err(RecvTimeoutError::Disconnected) => false,
            Err(RecvTimeoutError::Timeout) => {
                self.child.kill().ok();
                panic!("it does not end; the screen is\n{}", self.screen())
            }
        } {}
        let code = exit_code(self.child.wait().unwrap());
        Shown {
            code,
            screen: self.screen(),
            roll: self.roll.screen().contents(),
            is_cursor_visible: !self.screen.screen().hide_cursor(),
            bytes: self.bytes,
        }
    }
}

fn parser(rows: u16, columns: u16) -> Parser {
    Parser::new(whole(rows), whole(columns), 0)
}

#[track_caller]
fn whole(length: u16) -> NonZeroU16 {
    NonZeroU16::new(length).unwrap()
}

impl fmt::Debug for Terminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a terminal that shows\n{}", self.screen())
    }
}

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exit code {}, and on the terminal\n{}", self.code, self.roll)
    }
}

impl Shown {
    #[track_caller]
    pub fn code(&self, expected: i32) -> &Self {
        assert!(self.code == expected, "expected exit code {expected}\n{self:?}");
        self
    }

    #[track_caller]
    pub fn has(&self, text: &str) -> &Self {
        assert!(self.roll.contains(text), "expected `{text}`\n{self:?}");
        self
    }

    #[track_caller]
    pub fn lacks(&self, text: &str) -> &Self {
        assert!(!self.roll.contains(text), "did not expect `{text}`\n{self:?}");
        self
    }
}
