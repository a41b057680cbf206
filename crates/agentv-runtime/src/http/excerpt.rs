//! What an error may show of a body: a short piece, without any part of a key.

use agentv_core::Secret;
use serde_json::Value;

/// How much of a server's words is shown.
const SHOWN: usize = 300;
/// This many characters in a row of a key are too much to show: servers like to repeat the beginning of a refused one.
const TELLING: usize = 8;

/// The server's own message if the body has one where APIs put it, else the head of the body; on one line.
pub(super) fn excerpt(body: &[u8], secrets: &[&Secret]) -> String {
    let said = serde_json::from_slice::<Value>(body).ok().and_then(|body| message(&body));
    // No body is shown whole, so no more of it than its head is looked at.
    let said = said.unwrap_or_else(|| {
        String::from_utf8_lossy(&body[..body.len().min(8 * SHOWN)]).into_owned()
    });
    let line = said.split_whitespace().collect::<Vec<_>>().join(" ");
    clip(&secrets.iter().fold(line, |line, secret| without(&line, secret)))
}

fn message(body: &Value) -> Option<String> {
    // Gemini wraps errors of streams in a list.
    let body = body.get(0).unwrap_or(body);
    let places = ["/error/message", "/message", "/detail", "/error_description", "/error"];
    let texts = places.iter().filter_map(|place| body.pointer(place)?.as_str());
    texts.map(str::to_owned).find(|text| !text.trim().is_empty())
}

/// Cuts between words: half of a secret would not be known for one.
fn clip(line: &str) -> String {
    let Some((end, _)) = line.char_indices().nth(SHOWN) else { return line.to_owned() };
    let end = if line[end..].starts_with(' ') { end } else { line[..end].rfind(' ').unwrap_or(0) };
    format!("{}…", line[..end].trim_end())
}

/// The text with every telling piece of the secret replaced by one `…`.
fn without(text: &str, secret: &Secret) -> String {
    let secret: Vec<char> = secret.expose().chars().collect();
    let text: Vec<char> = text.chars().collect();
    let piece = secret.len().min(TELLING);
    if piece == 0 {
        return text.into_iter().collect();
    }
    let mut hidden = vec![false; text.len()];
    for (at, window) in text.windows(piece).enumerate() {
        if secret.windows(piece).any(|part| part == window) {
            hidden[at..at + piece].fill(true);
        }
    }
    let mut shown = String::with_capacity(text.len());
    for (index, letter) in text.iter().enumerate() {
        match (hidden[index], index > 0 && hidden[index - 1]) {
            (false, _) => shown.push(*letter),
            (true, false) => shown.push('…'),
            (true, true) => {}
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &str, secret: &str, expected: &str) {
        assert_eq!(excerpt(body.as_bytes(), &[&Secret::new(secret)]), expected);
    }

    #[test]
    fn the_message_is_found_where_apis_put_it() {
        check(r#"{"error": {"message": "Overloaded", "type": "x"}}"#, "", "Overloaded");
        check(r#"{"type":"error","error":{"message":"m"},"message":"outer"}"#, "", "m");
        check(r#"[{"error": {"message": "quota"}}]"#, "", "quota");
        check(r#"{"error": "model not found"}"#, "", "model not found");
        check("<html>\n  <b>Bad</b> Gateway", "", "<html> <b>Bad</b> Gateway");
        check("", "", "");
    }

    #[test]
    fn no_part_of_a_key_is_shown() {
        check("bad key: sk-canary-0123456789.", "sk-canary-0123456789", "bad key: ….");
        check("bad key: sk-canary-01*****", "sk-canary-0123456789", "bad key: …*****");
        check("the pin 1234 is wrong", "1234", "the pin … is wrong");
    }

    #[test]
    fn a_long_body_is_cut() {
        let long = "é é ".repeat(5000);
        assert_eq!(excerpt(long.as_bytes(), &[]).chars().count(), SHOWN);
        assert_eq!(excerpt(format!("no {}", "x".repeat(5000)).as_bytes(), &[]), "no…");
    }
}
