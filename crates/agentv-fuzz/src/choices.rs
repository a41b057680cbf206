//! Bytes as choices: what is made of them is valid, and small when they run out.

use arbitrary::Unstructured;
use serde_json::{Map, Number, Value, json};

/// The choices that an input makes.
pub(crate) struct Choices<'b>(Unstructured<'b>);

/// Makes the value of a key.
pub(crate) type Make = fn(&mut Choices<'_>) -> Value;

/// Texts that formats trip over.
const ODD_TEXTS: &[&str] = &[
    "",
    " ",
    "a",
    "null",
    "true",
    "no",
    "0",
    "-1.5",
    "1e999",
    "0x1F",
    "~",
    ".inf",
    "2024-02-30",
    "31.12.2024",
    "<<",
    "---",
    "- x: #y",
    "a: b",
    "{",
    "[1, {\"a\": 2}]",
    "{\"score\": 0.5}",
    "{\"score\": 7, \"hits\": [\"x\"]}",
    "{\"checks\": [{\"id\": \"a\", \"satisfied\": true}]}",
    "```json\n{\"a\": 1}\n```",
    "{{ candidate_answer }}",
    "{{input}} {{",
    "${{ KEY }}",
    "line\nline\r\n\tline\u{b}",
    "\u{0}\u{1}\u{1b}[31m",
    "é漢字🦀e\u{301}\u{200d}\u{202e}\u{feff}",
    "]]>",
    "</script><!--",
    "<b>&amp;\"'",
    "|`*_[]()#",
    "=cmd|' /C calc'!A0",
    "a;b,c\t\"d\"",
    "%23#@~1",
    "^(a+)+$",
    "\\d{1,3}",
    "a.b[0].c",
    "invoice.lines[1]",
];

/// Numbers at the edges of what numbers are.
const ODD_NUMBERS: &[f64] = &[
    0.0,
    1.0,
    0.5,
    -1.0,
    2.0,
    10.0,
    100.0,
    1e-9,
    0.1,
    0.300_000_000_000_000_04,
    1e15,
    9_007_199_254_740_993.0,
    1e300,
    -1e300,
    f64::MAX,
    f64::MIN_POSITIVE,
    -0.0,
    0.799_999_999_9,
];

impl<'b> Choices<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Self(Unstructured::new(bytes))
    }

    /// A number below `limit`, which is not 0; 0 when there is nothing left to choose by.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        let last = u16::try_from(limit - 1).unwrap_or(u16::MAX);
        self.0.int_in_range(0..=last).map_or(0, usize::from)
    }

    pub(crate) fn is(&mut self) -> bool {
        self.below(2) == 1
    }

    /// True once in this many times.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 1
    }

    pub(crate) fn one<'l, T>(&mut self, list: &'l [T]) -> &'l T {
        &list[self.below(list.len())]
    }

    pub(crate) fn byte(&mut self) -> u8 {
        self.0.arbitrary().unwrap_or(0)
    }

    /// A short text, most often one that is known to be odd.
    pub(crate) fn text(&mut self) -> String {
        match self.below(8) {
            0..4 => (*self.one(ODD_TEXTS)).to_owned(),
            4 => format!("{}{}", self.one(ODD_TEXTS), self.one(ODD_TEXTS)),
            5 => {
                let count = self.below(24);
                let bytes = self.0.bytes(count.min(self.0.len())).unwrap_or_default();
                String::from_utf8_lossy(bytes).into_owned()
            }
            6 => self.one(ODD_TEXTS).repeat(self.below(40)),
            _ => ["alpha", "beta", "Read", "Bash", "gamma"][self.below(5)].to_owned(),
        }
    }

    /// A word that is not blank and the same for the same number.
    pub(crate) fn name(&mut self) -> String {
        ["alpha", "beta", "Read", "Bash", "a#b", "é 漢", "x/y"][self.below(7)].to_owned()
    }

    pub(crate) fn number(&mut self) -> f64 {
        match self.below(3) {
            0 => *self.one(ODD_NUMBERS),
            1 => self.small(),
            _ => {
                let bits = self.0.arbitrary().unwrap_or(0);
                Some(f64::from_bits(bits)).filter(|number| number.is_finite()).unwrap_or(0.25)
            }
        }
    }

    /// A number from 0 to 20 in steps of a quarter.
    pub(crate) fn small(&mut self) -> f64 {
        f64::from(self.byte() % 81) / 4.0
    }

    /// A number from 0 to 1.
    pub(crate) fn share(&mut self) -> f64 {
        match self.below(4) {
            0 => 0.0,
            1 => 1.0,
            2 => f64::from(self.byte()) / 255.0,
            _ => f64::from(self.byte() % 11) / 10.0,
        }
    }

    pub(crate) fn some<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.is() { Some(make(self)) } else { None }
    }

    /// Up to this many.
    pub(crate) fn list<T>(&mut self, most: usize, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(most + 1)).map(|_| make(self)).collect()
    }

    /// Any JSON that is not too deep.
    pub(crate) fn json(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 5 } else { 7 }) {
            0 => Value::String(self.text()),
            1 => Value::Null,
            2 => Value::Bool(self.is()),
            3 => Number::from_f64(self.number()).map_or(Value::Null, Value::Number),
            4 => json!(i64::from(self.byte()) - 128),
            5 => Value::Array(self.list(3, |choices| choices.json(depth - 1))),
            _ => Value::Object(self.object(depth - 1)),
        }
    }

    pub(crate) fn object(&mut self, depth: usize) -> Map<String, Value> {
        let entries = self.list(3, |choices| {
            let key = if choices.is() { choices.name() } else { choices.text() };
            (key, choices.json(depth))
        });
        entries.into_iter().collect()
    }

    /// Puts some of these keys into an object.
    pub(crate) fn sometimes(&mut self, object: &mut Value, keys: &[(&str, Make)]) {
        for (key, make) in keys {
            if self.is() {
                object[*key] = make(self);
            }
        }
    }
}
