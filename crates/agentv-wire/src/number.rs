//! JSON text with numbers as JavaScript prints them: `1`, not `1.0`; `0.6666666666666666`; `1e+21`.
//!
//! Every JSON text that AgentV writes goes through here, so that records compare byte for byte with those of 2.x.

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};
use std::io;

/// A sum that stays a number: JSON has none for infinity, and what is written without one could not be read again.
pub(crate) fn sum(one: f64, other: f64) -> f64 {
    (one + other).min(f64::MAX)
}

/// One line, no spaces.
pub fn to_string<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<String> {
    text(value, JavaScript(CompactFormatter))
}

/// Two spaces of indent, as `JSON.stringify(value, null, 2)`.
pub fn to_string_pretty<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<String> {
    text(value, JavaScript(PrettyFormatter::new()))
}

/// One line, appended to a buffer; no newline after it.
pub fn to_writer<W: io::Write, T: Serialize + ?Sized>(
    writer: W,
    value: &T,
) -> serde_json::Result<()> {
    value.serialize(&mut Serializer::with_formatter(writer, JavaScript(CompactFormatter)))
}

fn text<T: Serialize + ?Sized>(value: &T, formatter: impl Formatter) -> serde_json::Result<String> {
    let mut bytes = Vec::with_capacity(256);
    value.serialize(&mut Serializer::with_formatter(&mut bytes, formatter))?;
    String::from_utf8(bytes).map_err(serde::ser::Error::custom)
}

/// The layout of `F`, with JavaScript's numbers.
struct JavaScript<F>(F);

impl<F: Formatter> Formatter for JavaScript<F> {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        // Most are whole, and need no search for the shortest digits.
        if let Some(whole) = whole(value) {
            return self.0.write_i64(writer, whole);
        }
        writer.write_all(ryu_js::Buffer::new().format_finite(value).as_bytes())
    }

    fn write_f32<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f32) -> io::Result<()> {
        writer.write_all(ryu_js::Buffer::new().format_finite(value).as_bytes())
    }

    fn begin_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}

/// The same number as an integer, if it is one that can be told from its neighbours.
#[expect(clippy::cast_possible_truncation, reason = "it has no fraction and is in range")]
fn whole(value: f64) -> Option<i64> {
    const LARGEST: f64 = 9_007_199_254_740_992.0;
    (value.fract() == 0.0 && value.abs() <= LARGEST).then_some(value as i64)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    #[track_caller]
    fn check(value: &Value, expected: &str) {
        assert_eq!(super::to_string(value).unwrap(), expected);
    }

    #[test]
    fn whole_numbers_have_no_fraction() {
        check(&json!(1.0), "1");
        check(&json!(-0.0), "0");
        check(&json!(0.0), "0");
        check(&json!(-41.0), "-41");
        check(&json!(9_007_199_254_740_992.0), "9007199254740992");
        check(&json!(9_007_199_254_740_994.0), "9007199254740994");
        check(&json!(1e20), "100000000000000000000");
    }

    #[test]
    fn fractions_are_the_shortest_that_round_trip() {
        check(&json!(2.0 / 3.0), "0.6666666666666666");
        check(&json!(0.1), "0.1");
        check(&json!(1e21), "1e+21");
        check(&json!(1e-7), "1e-7");
    }

    #[test]
    fn big_integers_keep_their_digits() {
        check(&json!(u64::MAX), "18446744073709551615");
    }

    #[test]
    fn pretty_is_two_spaces() {
        assert_eq!(
            super::to_string_pretty(&json!({"a": [1.0, {}]})).unwrap(),
            "{\n  \"a\": [\n    1,\n    {}\n  ]\n}"
        );
    }
}
