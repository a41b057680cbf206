//! Text of others on the screen: nothing in it moves the cursor or changes colours, and it fits.

use crate::clean::clean;
use std::borrow::Cow;
use unicode_width::UnicodeWidthStr as _;

/// On one line, with nothing that could draw on the user's terminal: as wide as it will be shown.
pub(super) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    match clean(&line) {
        Cow::Borrowed(_) => line,
        Cow::Owned(clean) => clean,
    }
}

/// The text, or its beginning with an `…`.
pub(super) fn cut_end(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let start = fitting(text.chars(), width.saturating_sub(1));
    format!("{}…", start.trim_end_matches([' ', '…']))
}

/// The text, or its start and its end around `…`: ids often differ in either.
pub(super) fn cut_middle(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(1);
    let start = fitting(text.chars(), room.div_ceil(2));
    let end = fitting(text.chars().rev(), room - start.as_str().width());
    format!("{start}…{}", end.chars().rev().collect::<String>())
}

/// An error in one line. Its end often says what failed, as in a traceback, so what does not fit is left out before that.
pub(super) fn cut_error(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(3);
    let start = fitting(text.chars(), room / 3);
    let end = fitting(text.chars().rev(), room - start.as_str().width());
    let end: String = end.chars().rev().collect();
    format!("{} … {}", start.trim_end(), end.trim_start())
}

/// The same in up to `most` lines of whole words: the start of the text, and its end.
pub(super) fn wrapped_error(text: &str, width: usize, most: usize) -> Vec<String> {
    let lines = wrapped(text, width, usize::MAX);
    let Some(cut) = lines.get(most.saturating_sub(1)..).filter(|cut| cut.len() > 1) else {
        return lines;
    };
    let words: Vec<&str> = cut.iter().flat_map(|line| line.split(' ')).collect();
    let mut last = words.last().map_or_else(String::new, |word| cut_end(word, width - 2));
    for word in words.iter().rev().skip(1) {
        if last.width() + word.width() + 3 > width {
            break;
        }
        last = format!("{word} {last}");
    }
    let start = lines.iter().take(most.saturating_sub(1)).cloned();
    start.chain([format!("… {last}")]).collect()
}

/// Lines of whole words, at most `most`; the last has an `…` if something is left.
pub(super) fn wrapped(text: &str, width: usize, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in one_line(text).split(' ').filter(|word| !word.is_empty()) {
        let is_full = lines.len() == most;
        match lines.last_mut() {
            Some(line) if line.width() + 1 + word.width() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            Some(line) if is_full => {
                *line = cut_end(&format!("{line}…"), width);
                break;
            }
            _ => lines.push(cut_end(word, width)),
        }
    }
    lines
}

/// As many characters as fit.
fn fitting(characters: impl Iterator<Item = char>, room: usize) -> String {
    let mut text = String::new();
    for character in characters {
        text.push(character);
        if text.width() > room {
            text.pop();
            break;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_cannot_draw_on_the_terminal() {
        assert_eq!(one_line("a\x1b[31m red\r\n\n  b\u{9b}2J"), "a\\x1b[31m red b\\u{9b}2J");
    }

    #[test]
    fn what_does_not_fit_is_cut() {
        assert_eq!(cut_end("refunds", 7), "refunds");
        assert_eq!(cut_end("refunds in time", 9), "refunds…");
        assert_eq!(cut_end("日本語", 5), "日本…");
        assert_eq!(cut_end("anything", 0), "…");
        assert_eq!(cut_middle("a-rather-long-name", 9), "a-ra…name");
    }

    #[test]
    fn words_are_kept_whole_and_lines_are_few() {
        let text = "one two three four five six";
        assert_eq!(wrapped(text, 9, 9), ["one two", "three", "four five", "six"]);
        assert_eq!(wrapped(text, 9, 2), ["one two", "three…"]);
        assert_eq!(wrapped("incomprehensibilities", 9, 2), ["incompre…"]);
        assert!(wrapped(" \n", 9, 2).is_empty());
    }

    #[test]
    fn an_error_keeps_its_end() {
        let text = "one two three four five six";
        assert_eq!(wrapped_error(text, 9, 9), ["one two", "three", "four five", "six"]);
        assert_eq!(wrapped_error(text, 9, 2), ["one two", "… six"]);
        assert_eq!(wrapped_error(text, 15, 1), ["… four five six"]);
        assert_eq!(wrapped_error("a b", 9, 1), ["a b"]);
        assert!(wrapped_error("", 9, 2).is_empty());
        assert_eq!(cut_error(text, 14), "one … five six");
        assert_eq!(cut_error(text, 27), text);
    }
}
