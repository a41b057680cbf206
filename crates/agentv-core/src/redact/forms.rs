//! The forms in which the value of a secret travels.

use super::SHORTEST_SECRET;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::fmt::Write as _;

/// What RFC 3986 leaves as it is.
const UNRESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// What JavaScript's `encodeURIComponent` leaves, too.
const COMPONENT: AsciiSet =
    UNRESERVED.remove(b'!').remove(b'\'').remove(b'(').remove(b')').remove(b'*');
/// What browsers leave in a path.
const PATH: AsciiSet = COMPONENT
    .remove(b'/')
    .remove(b':')
    .remove(b'@')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=');

/// The value itself, and as URLs, JSON and base64 have it. Nothing for a value that is too short to be told from text.
pub(super) fn of(value: &str) -> Vec<Vec<u8>> {
    let value = value.trim();
    if value.chars().count() < SHORTEST_SECRET {
        return Vec::new();
    }
    let mut forms = vec![value.to_owned()];
    forms.extend(in_url(value));
    forms.extend(in_json(value));
    forms.extend(in_base64(value));
    // A key of several lines is also printed line by line, with other words between them.
    let lines = value.lines().map(str::trim).filter(|line| *line != value);
    forms.extend(lines.filter(|line| line.len() >= 2 * SHORTEST_SECRET).map(str::to_owned));
    forms.into_iter().map(String::into_bytes).collect()
}

fn in_url(value: &str) -> Vec<String> {
    let encoded = |set: &'static AsciiSet| utf8_percent_encode(value, set).to_string();
    let mut forms = vec![encoded(&UNRESERVED), encoded(&COMPONENT), encoded(&PATH)];
    // HTML forms write a space as a plus sign.
    forms.push(forms[0].replace("%20", "+"));
    let lower: Vec<String> = forms.iter().map(|form| with_lower_hex(form)).collect();
    forms.extend(lower);
    forms
}

/// `%2F` as `%2f`, which is as good.
fn with_lower_hex(encoded: &str) -> String {
    let mut parts = encoded.split('%');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (hex, rest) = part.split_at(part.len().min(2));
        text.push('%');
        text.push_str(&hex.to_ascii_lowercase());
        text.push_str(rest);
    }
    text
}

/// In a string of JSON, and in a string of JSON that is itself in one.
fn in_json(value: &str) -> Vec<String> {
    let once = json_string(value);
    let slashes = once.replace('/', "\\/");
    let ascii = ascii_only(&once);
    let twice = json_string(&once);
    vec![once, slashes, ascii, twice]
}

/// The text between the quotes.
fn json_string(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// As Python's `json.dumps` writes other letters than those of ASCII.
fn ascii_only(text: &str) -> String {
    let mut ascii = String::new();
    for letter in text.chars() {
        if letter.is_ascii() {
            ascii.push(letter);
        } else {
            let mut units = [0; 2];
            for unit in letter.encode_utf16(&mut units) {
                let _ = write!(ascii, "\\u{unit:04x}");
            }
        }
    }
    ascii
}

/// Inside of any longer text in base64, as in `Basic base64(user:value)`. How a byte is written depends on its place modulo
/// three; the digits that also hold a part of what is around the value are left out.
fn in_base64(value: &str) -> Vec<String> {
    let mut forms = Vec::new();
    for before in 0..3 {
        let bytes = [&[0; 2][..before], value.as_bytes()].concat();
        // Six bits a digit.
        let digits = (before * 8).div_ceil(6)..bytes.len() * 8 / 6;
        for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
            forms.push(engine.encode(&bytes)[digits.clone()].to_owned());
        }
    }
    forms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, form: &str) {
        let forms: Vec<String> =
            of(value).into_iter().map(|form| String::from_utf8(form).unwrap()).collect();
        assert!(forms.iter().any(|known| known == form), "{form} is not among {forms:?}");
    }

    #[test]
    fn urls_json_and_base64_are_known() {
        let value = "pa/ss wörd\"+1";
        check(value, value);
        check(value, "pa%2Fss%20w%C3%B6rd%22%2B1");
        check(value, "pa%2fss+w%c3%b6rd%22%2b1");
        check(value, "pa/ss%20w%C3%B6rd%22+1");
        check(value, "pa/ss wörd\\\"+1");
        check(value, "pa\\/ss wörd\\\"+1");
        check(value, "pa/ss w\\u00f6rd\\\"+1");
        check(value, "pa/ss wörd\\\\\\\"+1");
    }

    #[test]
    fn base64_is_known_wherever_the_value_is_in_it() {
        let value = "sk-canary-~~~???";
        for around in [("", ""), ("u:", ""), ("user:", "\n"), ("a", "bc"), ("some", " text")] {
            let text = format!("{}{value}{}", around.0, around.1);
            for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
                let encoded = engine.encode(&text);
                let is_in = |form: &Vec<u8>| encoded.contains(std::str::from_utf8(form).unwrap());
                assert!(of(value).iter().any(is_in), "{encoded}");
            }
        }
    }

    #[test]
    fn short_values_have_no_form() {
        assert_eq!(of("1234567"), Vec::<Vec<u8>>::new());
        assert_eq!(of("  1234567\n"), Vec::<Vec<u8>>::new());
        assert!(!of("12345678").is_empty());
    }

    #[test]
    fn lines_of_a_key_are_known_one_by_one() {
        check("-----BEGIN X-----\nMIIEvQIBADANBgkq\n-----END X-----\n", "MIIEvQIBADANBgkq");
    }
}
