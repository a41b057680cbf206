//! Standard output and standard error: the only place of the program that writes to them. Lines are cleaned by their type
//! ([`Line`]); data for programs is JSON, or text of our own. When the pipe is closed (`| head`), printing ends and the work
//! goes on; when it cannot be written for another reason (a full disk), the work goes on and the exit code says so.

use super::line::Line;
use crate::clean::{clean, clean_json};
use agentv_wire::Exit;
use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::io::{self, Stderr, Stdout, Write};
use std::sync::{Arc, OnceLock};

/// The standard output of one command. All its screens share what became of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct StandardOutput {
    failure: Arc<OnceLock<io::Error>>,
}

impl StandardOutput {
    /// Where data and progress lines go.
    pub(crate) fn screen(&self) -> Screen {
        Screen { out: Some(Stream::Out(io::stdout(), self.clone())), waiting: String::new() }
    }

    /// Prints what clap has to say, with its own colours.
    pub(super) fn usage(&self, error: &clap::Error) {
        if let Err(failed) = error.print()
            && !error.use_stderr()
        {
            self.note(failed);
        }
    }

    /// The exit code of a command: what could not be printed is work that was not done.
    pub(crate) fn conclude(&self, exit: Exit) -> Exit {
        let Some(error) = self.failure.get() else { return exit };
        let help = "free some space, or send the output elsewhere";
        super::complain(&format!("standard output cannot be written: {error}"), Some(help));
        exit.max(Exit::Incomplete)
    }

    fn note(&self, error: io::Error) {
        if error.kind() != io::ErrorKind::BrokenPipe {
            // Of several reasons the first is the one.
            let _ = self.failure.set(error);
        }
    }
}

/// Prints lines, buffered.
#[derive(Debug)]
pub(crate) struct Screen {
    /// `None` once the other end is closed.
    out: Option<Stream>,
    waiting: String,
}

#[derive(Debug)]
enum Stream {
    Out(Stdout, StandardOutput),
    /// Where standard output is for data only.
    Err(Stderr),
    /// Lines are made and dropped.
    #[cfg(feature = "fuzzing")]
    Discarded,
}

impl Screen {
    /// For what is said besides data.
    pub(crate) fn beside_data() -> Self {
        Self { out: Some(Stream::Err(io::stderr())), waiting: String::new() }
    }

    /// Drops everything.
    pub(crate) fn nowhere() -> Self {
        Self { out: None, waiting: String::new() }
    }

    /// For lines that are made and thrown away.
    #[cfg(feature = "fuzzing")]
    pub(crate) fn discarding() -> Self {
        Self { out: Some(Stream::Discarded), waiting: String::new() }
    }

    pub(crate) fn line(&mut self, line: impl Into<Line>) {
        if self.out.is_some() {
            self.waiting.push_str(line.into().as_str());
            self.end_line();
        }
    }

    /// A line without colours that is put together right here: it is copied only if it must be cleaned.
    pub(crate) fn print(&mut self, line: fmt::Arguments<'_>) {
        if self.out.is_none() {
            return;
        }
        let start = self.waiting.len();
        // Text takes all that is written to it.
        let _ = write!(self.waiting, "{line}");
        if let Cow::Owned(cleaned) = clean(&self.waiting[start..]) {
            self.waiting.replace_range(start.., &cleaned);
        }
        self.end_line();
    }

    /// Lines that programs read: JSON, or text that is all our own.
    pub(crate) fn data(&mut self, text: &str) {
        if self.out.is_some() {
            self.waiting.push_str(&clean_json(text));
            self.end_line();
        }
    }

    /// Commands to a CI system, whose parts were cleaned when they were put together.
    pub(super) fn commands(&mut self, lines: &[String]) {
        for line in lines {
            self.waiting.push_str(line);
            self.end_line();
        }
    }

    /// Lines with colours that another crate made of texts that were cleaned before.
    pub(super) fn rendered(&mut self, lines: &str) {
        self.waiting.push_str(lines);
        self.end_line();
    }

    fn end_line(&mut self) {
        self.waiting.push('\n');
        if self.waiting.len() > 32 * 1024 {
            self.show();
        }
    }

    /// Hands over what was gathered.
    pub(crate) fn show(&mut self) {
        let waiting = self.waiting.as_bytes();
        let shown = match &mut self.out {
            None => Ok(()),
            Some(Stream::Out(out, _)) => out.write_all(waiting).and_then(|()| out.flush()),
            Some(Stream::Err(out)) => out.write_all(waiting),
            #[cfg(feature = "fuzzing")]
            Some(Stream::Discarded) => Ok(()),
        };
        self.waiting.clear();
        if let Err(error) = shown
            && let Some(Stream::Out(_, output)) = self.out.take()
        {
            output.note(error);
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.show();
    }
}

/// Standard output for bytes that are no lines of ours. When the reader is gone, the rest is dropped in silence.
#[derive(Debug)]
pub(crate) struct StdoutData(Option<Stdout>);

impl StdoutData {
    pub(crate) fn new() -> Self {
        Self(Some(io::stdout()))
    }

    fn ended(&mut self, error: io::Error) -> io::Result<()> {
        if error.kind() == io::ErrorKind::BrokenPipe {
            self.0 = None;
            return Ok(());
        }
        Err(error)
    }
}

impl Write for StdoutData {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(out) = &mut self.0 else { return Ok(bytes.len()) };
        match out.write(bytes) {
            Ok(count) => Ok(count),
            Err(error) => self.ended(error).map(|()| bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        let Some(out) = &mut self.0 else { return Ok(()) };
        match out.flush() {
            Ok(()) => Ok(()),
            Err(error) => self.ended(error),
        }
    }
}

/// Text that moves the cursor of a terminal: the frame of a live display, made of lines.
pub(super) fn draw(text: &mut String) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    text.clear();
    stdout.flush()
}

/// Columns and rows of the terminal that standard output is, if it is one.
pub(super) fn stdout_size() -> Option<(usize, usize)> {
    let size = terminal_size::terminal_size_of(io::stdout());
    size.map(|(width, height)| (width.0.into(), height.0.into()))
}
