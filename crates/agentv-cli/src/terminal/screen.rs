//! Standard output, buffered. Lines that scripts read have no colours; others have them where somebody can see them. When nobody reads any more (`| head`), printing ends and the work goes on.

use std::io::{self, Stdout, Write};

/// Where data and progress lines go.
#[derive(Debug)]
pub(crate) struct Screen {
    /// `None` once the other end is closed.
    out: Option<Stdout>,
    waiting: String,
}

impl Screen {
    pub(crate) fn new() -> Self {
        Self { out: Some(io::stdout()), waiting: String::new() }
    }

    pub(crate) fn line(&mut self, text: impl AsRef<str>) {
        self.waiting.push_str(text.as_ref());
        self.waiting.push('\n');
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
