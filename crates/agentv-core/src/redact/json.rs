//! Masks every text of a value that can be written as JSON, whatever its type.

use super::Redactor;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::ser::{CharEscape, Formatter};
use std::io::{self, Write};

impl Redactor {
    /// The value without secrets in any of its texts, keys of mappings included. `None` if it has none, which is quick to
    /// tell; only a value with secrets is written and read again.
    pub fn masked<T>(&self, value: &T) -> Result<Option<T>, serde_json::Error>
    where
        T: Serialize + DeserializeOwned,
    {
        if self.is_off() || self.is_clean(value) {
            return Ok(None);
        }
        let mut texts = Texts { redactor: self, text: String::new() };
        let mut masked = Vec::new();
        value.serialize(&mut serde_json::Serializer::with_formatter(&mut masked, &mut texts))?;
        serde_json::from_slice(&masked).map(Some)
    }
}

/// Masks each text of a value while it is written.
struct Texts<'r> {
    redactor: &'r Redactor,
    /// The text under way. It comes in pieces, between characters that JSON escapes.
    text: String,
}

impl Formatter for &mut Texts<'_> {
    fn begin_string<W: ?Sized + Write>(&mut self, _writer: &mut W) -> io::Result<()> {
        self.text.clear();
        Ok(())
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        _writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        self.text.push_str(fragment);
        Ok(())
    }

    fn write_char_escape<W: ?Sized + Write>(
        &mut self,
        _writer: &mut W,
        escape: CharEscape,
    ) -> io::Result<()> {
        self.text.push(match escape {
            CharEscape::Quote => '"',
            CharEscape::ReverseSolidus => '\\',
            CharEscape::Solidus => '/',
            CharEscape::Backspace => '\u{8}',
            CharEscape::FormFeed => '\u{c}',
            CharEscape::LineFeed => '\n',
            CharEscape::CarriageReturn => '\r',
            CharEscape::Tab => '\t',
            CharEscape::AsciiControl(byte) => char::from(byte),
        });
        Ok(())
    }

    fn end_string<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        serde_json::to_writer(writer, &self.redactor.text(&self.text)).map_err(io::Error::from)
    }
}
