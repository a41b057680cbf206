//! Inputs from seeds, without any knowledge of what they reach: lines and words are moved, replaced and repeated, numbers
//! are driven to their edges, bytes are flipped. The input of a number is always the same.

/// A small random generator (SplitMix64): the same numbers on every machine.
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Below `limit`; 0 if that is 0.
    fn below(&mut self, limit: usize) -> usize {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the high half of the product is below the limit"
        )]
        let number = ((u128::from(self.next()) * limit as u128) >> 64) as usize;
        number
    }

    fn one<'l, T>(&mut self, list: &'l [T]) -> Option<&'l T> {
        list.get(self.below(list.len()))
    }
}

/// What inputs are made of.
#[derive(Debug)]
pub(crate) struct Mutator {
    seeds: Vec<Vec<u8>>,
    /// Words of all seeds.
    words: Vec<Vec<u8>>,
}

/// No input is longer.
pub(crate) const LONGEST: usize = 64 << 10;
/// How much is taken of a seed at once: mostly little, as many small inputs find more than a few large ones.
const WINDOWS: [usize; 8] = [150, 250, 250, 400, 400, 600, 800, 2000];

/// Pieces that formats are made of, and that they trip over.
const TOKENS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "'",
    "\\",
    "\n",
    "\r\n",
    "\r",
    "\t",
    " ",
    "  ",
    "- ",
    ": ",
    " #",
    "#",
    "|",
    ">-",
    "&a ",
    "*a",
    "<<: *a",
    "---\n",
    "...\n",
    "!!binary ",
    "? ",
    "%YAML 1.2\n",
    "@",
    "`",
    "```json\n",
    "```\n",
    "\u{feff}",
    "\u{2028}",
    "\u{0}",
    "é",
    "🦀",
    "\\u0000",
    "\\ud800",
    "\\ud83e\\udd80",
    "null",
    "true",
    "false",
    "~",
    "yes",
    "{}",
    "[]",
    "\"\"",
    "\"a\":",
    "{\"a\":",
    "[{",
    "}]",
    "${{ KEY }}",
    "${{ NONE }}",
    "{{ input }}",
    "{{",
    "}}",
    "..",
    "./",
    "*",
    "**",
    "?",
    "=",
    ";",
    "sep=;\n",
    "Bearer token",
    "Content-Length: 5\r\n",
    "Transfer-Encoding: chunked\r\n",
    "HTTP/1.1",
    "\r\n\r\n",
    "\u{ff}",
];

/// Numbers at the edges of what numbers are.
const NUMBERS: &[&str] = &[
    "0",
    "-0",
    "1",
    "-1",
    "0.5",
    "1.0",
    "1e-9",
    "1e9",
    "1e308",
    "1e309",
    "-1e400",
    "NaN",
    ".nan",
    ".inf",
    "255",
    "256",
    "65536",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775808",
    "340282366920938463463374607431768211456",
    "0x1F",
    "0o17",
    "1_000",
    "00",
    "2024-02-30",
    "99999999999999999999",
];

impl Mutator {
    pub(crate) fn new(seeds: Vec<Vec<u8>>) -> Self {
        let mut words: Vec<Vec<u8>> = seeds
            .iter()
            .flat_map(|seed| seed.split(|byte| !is_word(*byte)))
            .filter(|word| (2..40).contains(&word.len()))
            .map(<[u8]>::to_vec)
            .collect();
        words.sort();
        words.dedup();
        Self { seeds, words }
    }

    /// Puts an input into the buffer.
    pub(crate) fn fill(&self, dice: &mut Dice, input: &mut Vec<u8>) {
        input.clear();
        match dice.below(100) {
            0..4 => random(dice, input),
            4..12 => self.soup(dice, input),
            _ => {
                self.seed(dice, input);
                // One change reaches deep, many are seldom the same twice.
                let changes = if dice.below(4) == 0 { 1 } else { 2 + dice.below(6) };
                for _ in 0..changes {
                    self.change(dice, input);
                }
            }
        }
        if dice.below(4000) == 0 {
            enlarge(dice, input);
        }
        input.truncate(LONGEST);
    }

    /// Only choices, for a target that makes something of them.
    pub(crate) fn choose(dice: &mut Dice, input: &mut Vec<u8>) {
        input.clear();
        let length = 16 + dice.below(24) * dice.below(24);
        input.extend((0..length.div_ceil(8)).flat_map(|_| dice.next().to_le_bytes()));
        // Some choices all alike, which reaches deeper into the same thing.
        if dice.below(4) == 0 && !input.is_empty() {
            let (start, byte) = (dice.below(input.len()), dice.below(256).to_le_bytes()[0]);
            let end = (start + dice.below(32)).min(input.len());
            input[start..end].fill(byte);
        }
    }

    /// A seed, or whole lines of a long one.
    fn seed(&self, dice: &mut Dice, input: &mut Vec<u8>) {
        let Some(seed) = dice.one(&self.seeds) else { return };
        let window = WINDOWS[dice.below(WINDOWS.len())];
        if seed.len() <= window || dice.below(1000) == 0 {
            input.extend_from_slice(seed);
            return;
        }
        let start = if dice.below(2) == 0 { 0 } else { line_start(seed, dice.below(seed.len())) };
        let end = (start + window).min(seed.len());
        let end = if dice.below(4) == 0 { end } else { line_start(seed, end).max(start + 1) };
        input.extend_from_slice(&seed[start..end]);
    }

    fn soup(&self, dice: &mut Dice, input: &mut Vec<u8>) {
        for _ in 0..dice.below(60) {
            let token = self.token(dice).to_vec();
            input.extend_from_slice(&token);
        }
    }

    fn token(&self, dice: &mut Dice) -> &[u8] {
        let word = match dice.below(5) {
            0 | 1 => dice.one(&self.words).map(Vec::as_slice),
            2 => dice.one(NUMBERS).map(|number| number.as_bytes()),
            _ => None,
        };
        word.or_else(|| dice.one(TOKENS).map(|token| token.as_bytes())).unwrap_or_default()
    }

    fn change(&self, dice: &mut Dice, input: &mut Vec<u8>) {
        match dice.below(14) {
            0 => flip(dice, input),
            1 | 2 => self.replace_word(dice, input),
            3 => replace_number(dice, input),
            4 | 5 => {
                let at = dice.below(input.len() + 1);
                let token = self.token(dice).to_vec();
                splice(input, at..at, &token);
            }
            6 => {
                let range = range(dice, input, 40);
                input.drain(range);
            }
            7 => {
                let piece = input[range(dice, input, 80)].to_vec();
                let at = dice.below(input.len() + 1);
                splice(input, at..at, &piece);
            }
            8 => {
                let line = line(dice, input);
                input.drain(line);
            }
            9 | 10 => {
                let piece = input[line(dice, input)].to_vec();
                let at = line_start(input, dice.below(input.len() + 1));
                splice(input, at..at, &piece);
            }
            11 => {
                let at = line_start(input, dice.below(input.len() + 1));
                let indent = ["  ", " ", "    ", "\t", "- "][dice.below(5)];
                splice(input, at..at, indent.as_bytes());
            }
            12 => self.cross(dice, input),
            _ if dice.below(3) == 0 => {
                let length = dice.below(input.len() + 1);
                input.truncate(length);
            }
            _ => flip(dice, input),
        }
    }

    /// Puts a piece of another seed in.
    fn cross(&self, dice: &mut Dice, input: &mut Vec<u8>) {
        let Some(other) = dice.one(&self.seeds) else { return };
        let start = line_start(other, dice.below(other.len() + 1));
        let end = (start + dice.below(300)).min(other.len());
        let at = line_start(input, dice.below(input.len() + 1));
        splice(input, at..at, &other[start..end]);
    }

    fn replace_word(&self, dice: &mut Dice, input: &mut Vec<u8>) {
        let word = word_at(input, dice.below(input.len()));
        let token = self.token(dice).to_vec();
        splice(input, word, &token);
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'$' | b'.')
}

/// The word at a place; nothing if there is none.
fn word_at(input: &[u8], at: usize) -> std::ops::Range<usize> {
    let start = input[..at].iter().rposition(|byte| !is_word(*byte)).map_or(0, |before| before + 1);
    let end =
        input[at..].iter().position(|byte| !is_word(*byte)).map_or(input.len(), |end| at + end);
    start..end.max(start)
}

fn replace_number(dice: &mut Dice, input: &mut Vec<u8>) {
    let start = dice.below(input.len());
    let Some(digit) = input[start..].iter().position(u8::is_ascii_digit) else { return };
    let word = word_at(input, start + digit);
    let number = NUMBERS[dice.below(NUMBERS.len())];
    splice(input, word, number.as_bytes());
}

fn flip(dice: &mut Dice, input: &mut [u8]) {
    let at = dice.below(input.len());
    if let Some(byte) = input.get_mut(at) {
        *byte ^= 1 << dice.below(8);
    }
}

fn random(dice: &mut Dice, input: &mut Vec<u8>) {
    let length = dice.below(16) * dice.below(16);
    input.extend((0..length.div_ceil(8)).flat_map(|_| dice.next().to_le_bytes()));
}

/// Repeats a piece until the input is long.
fn enlarge(dice: &mut Dice, input: &mut Vec<u8>) {
    let piece = input[range(dice, input, 60)].to_vec();
    let at = dice.below(input.len() + 1);
    let times = (1 + dice.below(LONGEST)) / piece.len().max(1);
    splice(input, at..at, &piece.repeat(times));
}

fn range(dice: &mut Dice, input: &[u8], most: usize) -> std::ops::Range<usize> {
    let start = dice.below(input.len() + 1);
    let end = (start + 1 + dice.below(most)).min(input.len());
    start..end
}

/// What ends the lines of an input. JSON may be one long line, whose parts then count as lines.
fn line_end(input: &[u8]) -> u8 {
    let is_one_line = input.iter().take(4000).filter(|byte| **byte == b'\n').nth(1).is_none();
    if is_one_line { b',' } else { b'\n' }
}

/// The start of the line at a place.
fn line_start(input: &[u8], at: usize) -> usize {
    let end = line_end(input);
    input[..at].iter().rposition(|byte| *byte == end).map_or(0, |end| end + 1)
}

/// A line with its end.
fn line(dice: &mut Dice, input: &[u8]) -> std::ops::Range<usize> {
    let start = line_start(input, dice.below(input.len() + 1));
    let end = line_end(input);
    let length = input[start..].iter().position(|byte| *byte == end);
    start..length.map_or(input.len(), |length| start + length + 1)
}

fn splice(input: &mut Vec<u8>, range: std::ops::Range<usize>, piece: &[u8]) {
    drop(input.splice(range, piece.iter().copied()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_input_of_a_number_is_always_the_same() {
        let mutator = Mutator::new(vec![b"a: 1\nb: [x, y]\n".to_vec(), b"{}".to_vec()]);
        let input = |number| {
            let mut input = Vec::new();
            mutator.fill(&mut Dice::new(number), &mut input);
            input
        };
        let inputs: Vec<Vec<u8>> = (0..3000).map(input).collect();
        assert_eq!(inputs, (0..3000).map(input).collect::<Vec<_>>());
        let mut different = inputs.clone();
        different.sort();
        different.dedup();
        assert!(different.len() > 2000, "{} different inputs", different.len());
    }

    #[test]
    fn nothing_to_begin_with_is_no_trouble() {
        let mutator = Mutator::new(vec![Vec::new()]);
        let mut input = Vec::new();
        for number in 0..5000 {
            mutator.fill(&mut Dice::new(number), &mut input);
            Mutator::choose(&mut Dice::new(number), &mut input);
        }
    }
}
