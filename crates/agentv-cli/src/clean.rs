//! Text of others where people and CI systems read it: answers, ids, names, messages of programs. Nothing in it can act on a
//! terminal, hide or turn around what is shown, start a line of its own, or command a CI system.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The text as one line. What could do harm is shown as an escape, such as `\n`, `\x1b` or `\u{202e}`.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    without_commands(escaped(text, is_harmful))
}

/// The same for a text of several lines: these stay, and so do tabs.
pub(crate) fn clean_lines(text: &str) -> String {
    let is_harmful = |character: char| is_harmful(character) && character != '\t';
    let lines = text.split('\n').map(|line| without_commands(escaped(line, is_harmful)));
    lines.collect::<Vec<_>>().join("\n")
}

/// The same for JSON, in which such a character can only be in a string: it is escaped as JSON has it.
pub(crate) fn clean_json(json: &str) -> Cow<'_, str> {
    let is_harmful = |character: char| is_harmful(character) && character != '\n';
    let mut clean = without_marks(Cow::Borrowed(json), "\\u005b");
    if clean.chars().any(is_harmful) {
        let mut escaped = String::with_capacity(clean.len() + 16);
        for character in clean.chars() {
            if is_harmful(character) {
                // None of them is above U+FFFF.
                let _ = write!(escaped, "\\u{:04x}", u32::from(character));
            } else {
                escaped.push(character);
            }
        }
        clean = Cow::Owned(escaped);
    }
    clean
}

/// Control characters, what ends a line or turns its direction around, and what XML does not allow.
fn is_harmful(character: char) -> bool {
    match character {
        ' '..='~' => false,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            true
        }
        '\u{fffe}' | '\u{ffff}' => true,
        other => other.is_control(),
    }
}

fn escaped(text: &str, is_harmful: impl Fn(char) -> bool) -> Cow<'_, str> {
    // Almost every text is clean, and then it is not copied. Most are ASCII, which is quick to tell.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Cow::Borrowed(text);
    }
    let Some(first) = text.find(&is_harmful) else { return Cow::Borrowed(text) };
    let mut clean = String::with_capacity(text.len() + 16);
    clean.push_str(&text[..first]);
    for character in text[first..].chars() {
        match character {
            other if !is_harmful(other) => clean.push(other),
            '\n' | '\r' | '\t' => clean.extend(character.escape_default()),
            other if other.is_ascii() => {
                let _ = write!(clean, "\\x{:02x}", u32::from(other));
            }
            other => clean.extend(other.escape_unicode()),
        }
    }
    Cow::Owned(clean)
}

/// GitHub obeys a line that starts with `::word::`.
fn without_commands(line: Cow<'_, str>) -> Cow<'_, str> {
    let line = without_marks(line, "\\[");
    if line.trim_start().starts_with("::") { Cow::Owned(format!("\\{line}")) } else { line }
}

/// GitHub, Azure and `TeamCity` obey `##[word]`, `##vso[…]` and `##teamcity[…]` anywhere in a line.
fn without_marks<'t>(text: Cow<'t, str>, bracket: &str) -> Cow<'t, str> {
    if !text.contains("##") {
        return text;
    }
    let (mut safe, mut rest) = (String::with_capacity(text.len() + 8), &*text);
    while let Some(at) = rest.find("##") {
        let name = rest[at..].trim_start_matches('#');
        let end = name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len());
        safe.push_str(&rest[..rest.len() - name.len() + end]);
        rest = &name[end..];
        if let Some(after) = rest.strip_prefix('[') {
            safe.push_str(bracket);
            rest = after;
        }
    }
    safe.push_str(rest);
    Cow::Owned(safe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_act_on_a_terminal_is_shown() {
        let check = |text: &str, expected: &str| assert_eq!(clean(text), expected);
        check("plain Übung 日本 👩‍🚀", "plain Übung 日本 👩‍🚀");
        check("a\x1b]52;c;QQ==\x07b\x7f", "a\\x1b]52;c;QQ==\\x07b\\x7f");
        check("a\u{9b}2J\u{85}\u{2028}b", "a\\u{9b}2J\\u{85}\\u{2028}b");
        check("a\r\n\tb", "a\\r\\n\\tb");
        check("\u{202e}gpj.exe\u{2066}\u{200f}", "\\u{202e}gpj.exe\\u{2066}\\u{200f}");
        check("\u{fffe}\u{ffff}", "\\u{fffe}\\u{ffff}");
    }

    #[test]
    fn no_text_commands_a_ci_system() {
        let check = |text: &str, expected: &str| assert_eq!(clean(text), expected);
        check("::error::x", "\\::error::x");
        check("  ::add-mask::x", "\\  ::add-mask::x");
        check("a\n::error::x", "a\\n::error::x");
        check("see std::io ::", "see std::io ::");
        check("a ##[error]x ##vso[task]y", "a ##\\[error]x ##vso\\[task]y");
        check("###[group]", "###\\[group]");
        check("## Title ## [1]", "## Title ## [1]");
    }

    #[test]
    fn lines_stay_lines_and_json_stays_json() {
        assert_eq!(clean_lines("a\n\tb\x1b\u{ffff}\n::x::"), "a\n\tb\\x1b\\u{ffff}\n\\::x::");
        let json = "{\n \"a\": \"\u{9b}\u{202e}\u{7f}##[x]\"\n}";
        assert_eq!(clean_json(json), "{\n \"a\": \"\\u009b\\u202e\\u007f##\\u005bx]\"\n}");
        let read: serde_json::Value = serde_json::from_str(&clean_json(json)).unwrap();
        assert_eq!(read["a"], "\u{9b}\u{202e}\u{7f}##[x]");
    }
}
