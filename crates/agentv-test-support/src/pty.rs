//! The real program at a terminal: keys go in, and what a person would see is read back.

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::io::{Read as _, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// A program that says nothing for so long will never say what is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// Keys that are no letters.
pub mod keys {
    pub const ENTER: &str = "\r";
    pub const SPACE: &str = " ";
    pub const UP: &str = "\x1b[A";
    pub const DOWN: &str = "\x1b[B";
    pub const ESCAPE: &str = "\x1b";
    pub const CTRL_C: &str = "\x03";
}

/// A terminal of 100 columns and 40 lines with a program in it.
pub struct Terminal {
    screen: vt100::Parser,
    /// What the program wrote, in pieces; it is closed when the program and all that it started are gone.
    output: Receiver<Vec<u8>>,
    input: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    /// Everything since the start, escape sequences and all.
    raw: Vec<u8>,
    _master: Box<dyn MasterPty + Send>,
}

impl std::fmt::Debug for Terminal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Terminal:\n{}", self.screen())
    }
}

const SIZE: PtySize = PtySize { rows: 40, cols: 100, pixel_width: 0, pixel_height: 0 };

impl Terminal {
    #[track_caller]
    pub(crate) fn spawn(command: CommandBuilder) -> Self {
        let pair = native_pty_system().openpty(SIZE).unwrap();
        let child = pair.slave.spawn_command(command).unwrap();
        // Ours would keep the terminal open when the program has ended.
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().unwrap();
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // The terminal's end is an error here, as it is for a shell.
            while let Ok(read @ 1..) = reader.read(&mut buffer) {
                if sender.send(buffer[..read].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self {
            screen: vt100::Parser::new(SIZE.rows, SIZE.cols, 1000),
            output,
            input: pair.master.take_writer().unwrap(),
            child,
            raw: Vec::new(),
            _master: pair.master,
        }
    }

    /// Types.
    #[track_caller]
    pub fn send(&mut self, keys: &str) {
        self.input.write_all(keys.as_bytes()).unwrap();
        self.input.flush().unwrap();
    }

    /// What can be seen now, without empty lines at the end.
    pub fn screen(&self) -> String {
        self.screen.screen().contents().trim_end().to_owned()
    }

    /// Everything that was written so far, as it was written.
    pub fn raw(&self) -> String {
        String::from_utf8_lossy(&self.raw).into_owned()
    }

    /// Whether the cursor can be seen.
    pub fn shows_cursor(&self) -> bool {
        !self.screen.screen().hide_cursor()
    }

    /// Waits until the screen has this text.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        while !self.screen().contains(text) {
            let goes_on = self.read_some(deadline);
            assert!(goes_on, "`{text}` did not come; the screen is\n{}", self.screen());
        }
        self.screen()
    }

    /// Waits for the program's end, and gives its exit code and the last screen.
    #[track_caller]
    pub fn finish(mut self) -> Finished {
        let deadline = Instant::now() + PATIENCE;
        while self.read_some(deadline) {}
        assert!(
            Instant::now() < deadline,
            "the program does not end; the screen is\n{}",
            self.screen()
        );
        let status = self.child.wait().unwrap();
        // Death by a signal has no code; a shell would say 128 and the signal, which is not told here.
        let code = if status.signal().is_some() { -1 } else { status.exit_code().cast_signed() };
        Finished { code, screen: self.screen(), raw: self.raw(), shows_cursor: self.shows_cursor() }
    }

    /// Takes what comes next; `false` when nothing will come any more, or not in time.
    fn read_some(&mut self, deadline: Instant) -> bool {
        let left = deadline.saturating_duration_since(Instant::now());
        match self.output.recv_timeout(left) {
            Ok(bytes) => {
                self.screen.process(&bytes);
                self.raw.extend(bytes);
                true
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => false,
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A test that failed leaves nothing running.
        let _ = self.child.kill();
    }
}

/// A program that has ended at its terminal.
#[derive(Debug)]
pub struct Finished {
    pub code: i32,
    pub screen: String,
    pub raw: String,
    pub shows_cursor: bool,
}
