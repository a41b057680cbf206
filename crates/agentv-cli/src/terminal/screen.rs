//! Standard output, buffered. Lines that scripts read have no colours; others have them where somebody can see them. When nobody reads any more (`| head`), printing ends and the work goes on.

use std::fmt::{self, Write as _};
use std::io::{self, Stderr, Stdout, Write};

/// Where data and progress lines go.
#[derive(Debug)]
pub(crate) struct Screen {
    /// `None` once the other end is closed.
    out: Option<Stream>,
    waiting: String,
}

#[derive(Debug)]
enum Stream {
    Out(Stdout),
    /// Where standard output is for data only.
    Err(Stderr),
}

impl Screen {
    pub(crate) fn new() -> Self {
        Self { out: Some(Stream::Out(io::stdout())), waiting: String::new() }
    }

    /// For what is said besides data.
    pub(crate) fn beside_data() -> Self {
        Self { out: Some(Stream::Err(io::stderr())), waiting: String::new() }
    }

    /// For what nobody wants to hear.
    pub(crate) fn nowhere() -> Self {
        Self { out: None, waiting: String::new() }
    }

    pub(crate) fn line(&mut self, text: impl AsRef<str>) {
        self.print(format_args!("{}", text.as_ref()));
    }

    /// A line that is put together right here.
    pub(crate) fn print(&mut self, line: fmt::Arguments<'_>) {
        if self.out.is_none() {
            return;
        }
        // Text takes all that is written to it.
        let _ = writeln!(self.waiting, "{line}");
        if self.waiting.len() > 32 * 1024 {
            self.show();
        }
    }

    /// Hands over what was gathered.
    pub(crate) fn show(&mut self) {
        let Some(out) = &mut self.out else {
            self.waiting.clear();
            return;
        };
        let out: &mut dyn Write = match out {
            Stream::Out(out) => out,
            Stream::Err(out) => out,
        };
        let shown: io::Result<()> =
            out.write_all(self.waiting.as_bytes()).and_then(|()| out.flush());
        self.waiting.clear();
        if shown.is_err() {
            self.out = None;
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.show();
    }
}

/// Standard output for bytes that are no lines of ours. When nobody reads any more, the rest is dropped in silence.
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
